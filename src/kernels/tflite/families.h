#pragma once

#include "kernels/kernels.h"

namespace stowage::kernels {

// The kernels, by the file that defines them.
[[nodiscard]] TablePart convolution_kernels();
[[nodiscard]] TablePart fully_connected_kernels();
[[nodiscard]] TablePart pooling_kernels();
[[nodiscard]] TablePart softmax_kernels();
[[nodiscard]] TablePart arithmetic_kernels();
[[nodiscard]] TablePart activation_kernels();
[[nodiscard]] TablePart elementwise_kernels();
[[nodiscard]] TablePart reduction_kernels();
[[nodiscard]] TablePart movement_kernels();
[[nodiscard]] TablePart indexing_kernels();
[[nodiscard]] TablePart batch_kernels();
[[nodiscard]] TablePart resizing_kernels();
[[nodiscard]] TablePart transpose_conv_kernels();
[[nodiscard]] TablePart product_kernels();
[[nodiscard]] TablePart svdf_kernels();
[[nodiscard]] TablePart joining_kernels();
[[nodiscard]] TablePart lstm_kernels();
[[nodiscard]] TablePart quantize_kernels();
[[nodiscard]] TablePart variable_kernels();
[[nodiscard]] TablePart fourier_kernels();
[[nodiscard]] TablePart detection_kernels();

}  // namespace stowage::kernels
