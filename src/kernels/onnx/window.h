#pragma once

#include <algorithm>
#include <array>

#include "kernels/onnx/operands.h"

/// Movement of the window of a convolution or pool over its input.
namespace stowage::kernels::onnx_ops {

/// Half-open.
struct Interval {
  std::int64_t begin;
  std::int64_t end;
};

/// One axis: place i of the output and element k of the window meet at place(i, k) of the input.
struct WindowAxis {
  std::int64_t input = 1;
  std::int64_t output = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t begin = 0;  ///< Padding before the input; `end`: after it.
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t place(std::int64_t i, std::int64_t k) const {
    return i * stride + k * dilation - begin;
  }

  /// Extent of the kernel, including dilation.
  [[nodiscard]] std::int64_t reach() const { return (kernel - 1) * dilation + 1; }

  /// The places of the output for which place(i, k) is in the input.
  [[nodiscard]] Interval outputs_inside(std::int64_t k) const {
    const std::int64_t offset = k * dilation - begin;
    const std::int64_t low = offset >= 0 ? 0 : (stride - 1 - offset) / stride;
    const std::int64_t high = offset >= input ? 0 : (input - 1 - offset) / stride + 1;
    return {.begin = low, .end = std::max(low, std::min(output, high))};
  }

  /// The elements of the window for which place(i, k) is at least `low` and below `high`.
  [[nodiscard]] Interval kernel_between(std::int64_t i, std::int64_t low, std::int64_t high) const {
    const std::int64_t start = i * stride - begin;
    const std::int64_t first = start >= low ? 0 : (low - start + dilation - 1) / dilation;
    const std::int64_t last = start >= high ? 0 : (high - 1 - start) / dilation + 1;
    return {.begin = first, .end = std::max(first, std::min(kernel, last))};
  }
};

/// Depth, height and width; axes that the operator lacks have one element.
struct Window {
  std::array<WindowAxis, 3> axes{};

  [[nodiscard]] std::int64_t inputs() const { return axes[0].input * axes[1].input * axes[2].input; }
  [[nodiscard]] std::int64_t outputs() const { return axes[0].output * axes[1].output * axes[2].output; }
  [[nodiscard]] std::int64_t elements() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
};

/// The window over dimensions of an input from the third on. Refuses it unless it gives the output's shape.
[[nodiscard]] Window window_of(const Signature& signature, const Shape& input, const Shape& output,
                               const Shape& kernel);

/// The window of a transposed convolution: it moves over the output, one place per input element.
[[nodiscard]] Window transposed_window_of(const Signature& signature, const Shape& input, const Shape& output,
                                          const Shape& kernel);

}  // namespace stowage::kernels::onnx_ops
