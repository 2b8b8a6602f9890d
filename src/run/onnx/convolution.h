#pragma once

#include "run/onnx/elements.h"
#include "run/onnx/window.h"

/// Convolutions of all kinds. Idea: each weight is multiplied with a row of the input and added to a row of
/// the output, so that the innermost loop runs along both. Cost: one multiplication for each weight and place
/// of the output.
namespace stowage::run::onnx_ops {

struct Convolution {
  Window window{};
  std::int64_t batches = 1;
  std::int64_t groups = 1;
  std::int64_t inputs = 1;   ///< Channels of the input, per group.
  std::int64_t outputs = 1;  ///< Channels of the output, per group.
};

/// Checks `input`, `weights` and an optional bias of a convolution against its output.
[[nodiscard]] Convolution convolution_of(const Signature& signature, const Argument& input,
                                         const Argument& weights, const Argument* bias);

/// row[i] += weight * (from[i * step] - zero)
template <typename Sum, typename X>
void add_row(Sum* row, const X* from, std::int64_t step, std::int64_t size, Sum weight, Sum zero) {
  const auto term = [&](const X& x) {
    if constexpr (std::is_integral_v<Sum>)
      return product(weight, difference(static_cast<Sum>(value_of(x)), zero));
    return static_cast<Sum>(weight * static_cast<Sum>(value_of(x)));
  };
  if (step == 1) {
    for (std::int64_t i = 0; i < size; ++i) row[i] = sum(row[i], term(from[i]));
  } else {
    for (std::int64_t i = 0; i < size; ++i) row[i] = sum(row[i], term(from[i * step]));
  }
}

/// The same for float32. Its bytes are checked row by row, where they are checked.
void add_row(float* row, const float* from, std::int64_t step, std::int64_t size, float weight);

/// Adds the product of one filter and all channels of its group to a plane of the output. `x` is the first
/// channel, `w` the filter's first weight. The zero points are those of whole numbers.
template <typename Sum, typename X, typename W>
void convolve(const Convolution& convolution, const X* x, const W* w, Sum* plane, Sum x_zero = 0,
              Sum w_zero = 0) {
  const auto& [depth, height, width] = convolution.window.axes;
  for (std::int64_t channel = 0; channel < convolution.inputs; ++channel) {
    const X* const from = x + channel * convolution.window.inputs();
    for (std::int64_t k = 0; k < convolution.window.elements(); ++k) {
      const std::int64_t kd = k / (height.kernel * width.kernel);
      const std::int64_t kh = k / width.kernel % height.kernel;
      const std::int64_t kw = k % width.kernel;
      const Sum weight = difference(static_cast<Sum>(value_of(*w++)), w_zero);
      const Interval planes = depth.outputs_inside(kd);
      const Interval rows = height.outputs_inside(kh);
      const Interval places = width.outputs_inside(kw);
      if (places.begin == places.end) continue;
      for (std::int64_t d = planes.begin; d < planes.end; ++d) {
        for (std::int64_t h = rows.begin; h < rows.end; ++h) {
          const std::int64_t row = (depth.place(d, kd) * height.input + height.place(h, kh)) * width.input;
          Sum* const to = plane + (d * height.output + h) * width.output + places.begin;
          const X* const x_row = from + row + width.place(places.begin, kw);
          const std::int64_t size = places.end - places.begin;
          if constexpr (std::is_same_v<Sum, float> && std::is_same_v<X, float>) {
            add_row(to, x_row, width.stride, size, weight);
          } else {
            add_row(to, x_row, width.stride, size, weight, x_zero);
          }
        }
      }
    }
  }
}

}  // namespace stowage::run::onnx_ops
