// The module runs networks with plain loops: oneDNN is many times larger than all the rest. Libraries that were
// built without oneDNN have a table of their own, which then counts.
#include "kernels/kernels.h"
#include "stowage/parts.h"

namespace stowage::kernels {

[[gnu::weak]] const KernelTable& dnnl_kernels() {
  static const KernelTable none;
  return none;
}

}  // namespace stowage::kernels

namespace stowage {

[[gnu::weak]] std::string name_of_fast_kernels() { return {}; }

}  // namespace stowage
