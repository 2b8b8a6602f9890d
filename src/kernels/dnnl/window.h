#pragma once

#include <vector>

#include "kernels/dnnl/assembly.h"

namespace stowage::kernels::fast {

/// Movement of a kernel over the spatial dimensions of its input, per dimension.
struct Window {
  memory::dims kernel{};
  memory::dims strides{};
  memory::dims dilations{};   ///< As in ONNX: 1 is dense.
  memory::dims pads_begin{};  ///< For a transposed convolution: cut off from the output.
  memory::dims pads_end{};

  /// The extent of the kernel, including dilation.
  [[nodiscard]] std::int64_t extent(std::size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
  /// Dilations as in oneDNN: 0 is dense.
  [[nodiscard]] memory::dims gaps() const;
};

/// The dimensions after batch and channels.
[[nodiscard]] memory::dims spatial_of(const Shape& shape);

/// The ONNX attributes of a kernel of that size over an input of those spatial dimensions. Throws Unsupported
/// for invalid ones, and for paddings and strides that reach far beyond the input, whose offsets oneDNN
/// computes in 32 bits.
[[nodiscard]] Window window_of(const Signature& signature, const memory::dims& kernel,
                               const memory::dims& spatial);

/// Places of the kernel in each dimension; if `is_ceiled`, including those only partly on the input.
[[nodiscard]] memory::dims places_of(const Window& window, const memory::dims& spatial, bool is_ceiled);

/// Throws Unsupported unless the output has this shape.
void expect_output(const Signature& signature, const memory::dims& expected);

}  // namespace stowage::kernels::fast
