// The module runs networks with plain loops: oneDNN is many times larger than all the rest. Libraries that were
// built without oneDNN have a table of their own, which then counts.
#include "kernels/kernels.h"

namespace stowage::kernels {

[[gnu::weak]] const KernelTable& dnnl_kernels() {
  static const KernelTable none;
  return none;
}

[[gnu::weak]] std::string dnnl_name() { return {}; }

}  // namespace stowage::kernels
