#include "kernels/kernels.h"

#include "kernels/tflite/families.h"

namespace stowage::kernels {

const KernelTable& tflite_kernels() {
  static const KernelTable table = [] {
    KernelTable all;
    for (const auto add :
         {add_convolutions, add_fully_connected, add_pooling, add_softmax, add_arithmetic, add_activations,
          add_elementwise, add_reductions, add_moves, add_joining, add_indexing, add_batches, add_resizing,
          add_transpose_conv, add_products, add_svdf, add_lstm, add_quantize})
      add(all);
    return all;
  }();
  return table;
}

}  // namespace stowage::kernels
