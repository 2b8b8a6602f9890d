#pragma once

#include "kernels/kernel.h"

namespace stowage::kernels::onnx_ops {

// The kernels, by the file that defines them.
[[nodiscard]] TablePart unary_kernels();
[[nodiscard]] TablePart binary_kernels();
[[nodiscard]] TablePart variadic_kernels();
[[nodiscard]] TablePart cast_kernels();
[[nodiscard]] TablePart copy_kernels();
[[nodiscard]] TablePart constant_kernels();
[[nodiscard]] TablePart view_kernels();
[[nodiscard]] TablePart pad_kernels();
[[nodiscard]] TablePart gather_kernels();
[[nodiscard]] TablePart scatter_kernels();
[[nodiscard]] TablePart reduce_kernels();
[[nodiscard]] TablePart order_kernels();
[[nodiscard]] TablePart softmax_kernels();
[[nodiscard]] TablePart normalize_kernels();
[[nodiscard]] TablePart layer_kernels();
[[nodiscard]] TablePart convolution_kernels();
[[nodiscard]] TablePart transposed_convolution_kernels();
[[nodiscard]] TablePart pool_kernels();
[[nodiscard]] TablePart product_kernels();
[[nodiscard]] TablePart attention_kernels();
[[nodiscard]] TablePart rotary_kernels();
[[nodiscard]] TablePart quantize_kernels();
[[nodiscard]] TablePart quantized_kernels();
[[nodiscard]] TablePart recurrent_kernels();
[[nodiscard]] TablePart quantized_recurrent_kernels();
[[nodiscard]] TablePart resize_kernels();
[[nodiscard]] TablePart einsum_kernels();
[[nodiscard]] TablePart image_kernels();
[[nodiscard]] TablePart loss_kernels();
[[nodiscard]] TablePart suppression_kernels();
[[nodiscard]] TablePart ml_kernels();

}  // namespace stowage::kernels::onnx_ops
