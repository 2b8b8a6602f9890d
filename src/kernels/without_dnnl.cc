// The fast kernels of a build without oneDNN: none, so plain loops run everything.

#include "kernels/kernels.h"

namespace stowage::kernels {

const KernelTable& dnnl_kernels() {
  static const KernelTable none;
  return none;
}

std::string dnnl_name() { return {}; }

}  // namespace stowage::kernels
