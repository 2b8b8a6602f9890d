// The fast kernels of a build without oneDNN: none, so plain loops run everything.

#include "kernels/kernels.h"
#include "stowage/parts.h"

namespace stowage::kernels {

const KernelTable& dnnl_kernels() {
  static const KernelTable none;
  return none;
}

}  // namespace stowage::kernels

namespace stowage {

std::string name_of_fast_kernels() { return {}; }

}  // namespace stowage
