// The module runs networks with plain loops: oneDNN is many times larger than all the rest.
#include "kernels/kernels.h"

namespace stowage::kernels {

const KernelTable& dnnl_kernels() {
  static const KernelTable none;
  return none;
}

}  // namespace stowage::kernels
