#pragma once

#include "kernels/onnx/elements.h"

namespace stowage::kernels::onnx_ops {

/// Makes the kernel for the type of indices: int32 or int64.
template <typename Make>
[[nodiscard]] Kernel for_indices(const Argument& indices, const Make& make) {
  return for_type(indices.dtype, index_types, make);
}

/// The shape of slices that tuples of `depth` indices select, after the dimensions of the tuples.
[[nodiscard]] inline Shape sliced_shape(const Shape& tuples, const Shape& data, std::size_t depth) {
  Shape shape(tuples.begin(), tuples.end() - 1);
  shape.insert(shape.end(), data.begin() + extent(depth), data.end());
  return shape;
}

}  // namespace stowage::kernels::onnx_ops
