#include "run/kernels.h"

namespace stowage::run {

const KernelTable& onnx_kernels() {
  static const KernelTable table;
  return table;
}

}  // namespace stowage::run
