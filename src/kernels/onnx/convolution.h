#pragma once

#include "kernels/onnx/elements.h"
#include "kernels/onnx/window.h"
#include "kernels/rows.h"

/// Convolutions of all kinds. Multiplies each weight with a row of the input and adds the products to
/// a row of the output, so that the innermost loop runs along both. Cost: one multiplication for each weight
/// and place of the output.
namespace stowage::kernels::onnx_ops {

struct Convolution {
  Window window{};
  std::int64_t batches = 1;
  std::int64_t groups = 1;
  std::int64_t inputs = 1;   ///< Channels of the input, per group.
  std::int64_t outputs = 1;  ///< Channels of the output, per group.

  [[nodiscard]] std::int64_t channels() const { return groups * outputs; }
  /// The first input channel that an output channel reads.
  [[nodiscard]] std::int64_t first_input(std::int64_t channel) const { return channel / outputs * inputs; }
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

/// The same for float32. If bytes are checked, they are checked row by row.
void add_row(float* row, const float* from, std::int64_t step, std::int64_t size, float weight);

/// A kernel that calls run(convolution, rows) to compute rows of the output.
[[nodiscard]] Kernel kernel_of(const Convolution& convolution, std::size_t input_element,
                               std::size_t output_element,
                               std::function<void(const Convolution&, const RowPointers&)> run,
                               Bytes scratch);

/// Adds the product of one filter and all channels of its group to the wanted rows of an output plane, each
/// at row_of(row). `first` is the start of the first channel in each input row, `w` the filter's first
/// weight. Zero points are for integers.
template <typename X, typename Sum, typename W, typename RowOf>
void convolve(const Convolution& convolution, const Rows<const std::byte>& input, std::int64_t first,
              const W* w, Interval wanted, const RowOf& row_of, Sum x_zero = 0, Sum w_zero = 0) {
  const auto& [depth, height, width] = convolution.window.axes;
  const std::byte* const* const rows = input.first.data();
  for (std::int64_t channel = 0; channel < convolution.inputs; ++channel) {
    const std::int64_t begin = first + channel * input.channel;
    for (std::int64_t k = 0; k < convolution.window.elements(); ++k) {
      const std::int64_t kd = k / (height.kernel * width.kernel);
      const std::int64_t kh = k / width.kernel % height.kernel;
      const std::int64_t kw = k % width.kernel;
      const Sum weight = difference(static_cast<Sum>(value_of(*w++)), w_zero);
      const Interval planes = depth.outputs_inside(kd);
      const Interval inside = height.outputs_inside(kh);
      const Interval places = width.outputs_inside(kw);
      if (places.begin == places.end) continue;
      const std::int64_t last = std::min(inside.end, wanted.end);
      for (std::int64_t d = planes.begin; d < planes.end; ++d) {
        for (std::int64_t h = std::max(inside.begin, wanted.begin); h < last; ++h) {
          const std::int64_t row = depth.place(d, kd) * height.input + height.place(h, kh);
          if (rows[row] == nullptr) continue;
          Sum* const to = row_of(d * height.output + h) + places.begin;
          const X* const from = reinterpret_cast<const X*>(rows[row]) + begin + width.place(places.begin, kw);
          const std::int64_t size = places.end - places.begin;
          if constexpr (std::is_same_v<Sum, float> && std::is_same_v<X, float>) {
            add_row(to, from, width.stride, size, weight);
          } else {
            add_row(to, from, width.stride, size, weight, x_zero);
          }
        }
      }
    }
  }
}

}  // namespace stowage::kernels::onnx_ops
