#include "kernels/kernels.h"

#include "kernels/tflite/families.h"

namespace stowage::kernels {

const KernelTable& tflite_kernels() {
  static const KernelTable table =
      table_of({convolution_kernels,    fully_connected_kernels, pooling_kernels,     softmax_kernels,
                arithmetic_kernels,     activation_kernels,      elementwise_kernels, reduction_kernels,
                movement_kernels,       indexing_kernels,        batch_kernels,       resizing_kernels,
                transpose_conv_kernels, product_kernels,         svdf_kernels,        joining_kernels,
                lstm_kernels,           quantize_kernels,        variable_kernels,    fourier_kernels,
                detection_kernels});
  return table;
}

}  // namespace stowage::kernels
