#include "kernels/kernels.h"

#include "kernels/onnx/operands.h"
#include "kernels/onnx/tables.h"
#include "stowage/error.h"

namespace stowage::kernels {
namespace {

KernelTable all_parts() {
  using namespace onnx_ops;
  return table_of({unary_kernels,
                   binary_kernels,
                   variadic_kernels,
                   cast_kernels,
                   copy_kernels,
                   constant_kernels,
                   view_kernels,
                   pad_kernels,
                   gather_kernels,
                   scatter_kernels,
                   reduce_kernels,
                   order_kernels,
                   softmax_kernels,
                   normalize_kernels,
                   layer_kernels,
                   convolution_kernels,
                   transposed_convolution_kernels,
                   pool_kernels,
                   product_kernels,
                   attention_kernels,
                   rotary_kernels,
                   quantize_kernels,
                   quantized_kernels,
                   quantized_recurrent_kernels,
                   recurrent_kernels,
                   resize_kernels,
                   einsum_kernels,
                   image_kernels,
                   loss_kernels,
                   suppression_kernels,
                   ml_kernels});
}

const KernelTable& parts() {
  static const KernelTable table = all_parts();
  return table;
}

/// Checks once, for all kernels, that shapes are valid and attributes have their types.
Kernel prepare_checked(const Signature& signature) {
  onnx_ops::check_operands(signature);
  try {
    return parts().at(signature.type)(signature);
  } catch (const Error& error) {
    throw Unsupported{error.what()};
  }
}

}  // namespace

const KernelTable& onnx_kernels() {
  static const KernelTable table = [] {
    KernelTable checked = all_parts();
    for (auto& [type, prepare_one] : checked) prepare_one = prepare_checked;
    return checked;
  }();
  return table;
}

}  // namespace stowage::kernels
