// ConvTranspose: a reversed convolution. Every element of the input is spread over its window of the output,
// one row at a time.

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"
#include "kernels/onnx/window.h"
#include "kernels/rows.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// In the window, "input" is the tensor that it moves over: the output of the operator.
struct Spread {
  Window window{};
  std::int64_t batches = 1;
  std::int64_t groups = 1;
  std::int64_t inputs = 1;   ///< Channels of the input, per group.
  std::int64_t outputs = 1;  ///< Channels of the output, per group.
};

/// Adds one input channel, spread by its filter, to the wanted rows of an output plane, each at row_of(row).
/// `first` is the start of the channel in each row of the input.
template <typename Element, typename RowOf>
void spread(const Window& window, const Rows<const std::byte>& input, std::int64_t first, const Element* w,
            Interval wanted, const RowOf& row_of) {
  const auto& [depth, height, width] = window.axes;
  for (std::int64_t k = 0; k < window.elements(); ++k) {
    const std::int64_t kd = k / (height.kernel * width.kernel);
    const std::int64_t kh = k / width.kernel % height.kernel;
    const std::int64_t kw = k % width.kernel;
    const auto weight = value_of(w[k]);
    const Interval planes = depth.outputs_inside(kd);
    const Interval rows = height.outputs_inside(kh);
    const Interval places = width.outputs_inside(kw);
    if (places.begin == places.end) continue;
    for (std::int64_t d = planes.begin; d < planes.end; ++d) {
      for (std::int64_t h = rows.begin; h < rows.end; ++h) {
        const std::int64_t out = depth.place(d, kd) * height.input + height.place(h, kh);
        if (out < wanted.begin || out >= wanted.end) continue;
        const auto* const from = input.at<Element>(d * height.output + h, 0) + first;
        auto* const row = row_of(out);
        for (std::int64_t i = places.begin; i < places.end; ++i)
          row[width.place(i, kw)] += weight * value_of(from[i]);
      }
    }
  }
}

template <typename Element>
void spread_rows(const Spread& s, const RowPointers& at) {
  using Sum = Value<Element>;
  constexpr bool is_beside = !std::is_same_v<Sum, Element>;
  const std::int64_t size = s.window.axes[2].input;
  const auto* const w = at.whole.input<Element>(1);
  const auto* const bias = at.whole.input<Element>(2);
  const std::int64_t channels = s.groups * s.outputs;
  for (std::int64_t i = 0; i < s.batches * channels; ++i) {
    const std::int64_t channel = i % channels;
    const std::int64_t batch = i / channels;
    const auto row_of = [&](std::int64_t row) {
      if constexpr (is_beside) {
        return reinterpret_cast<Sum*>(at.whole.scratch) + (row - at.begin) * size;
      } else {
        return at.output.at<Element>(row, batch, channel);
      }
    };
    for (std::int64_t row = at.begin; row < at.end; ++row)
      std::fill_n(row_of(row), size, bias == nullptr ? Sum{0} : value_of(bias[channel]));
    for (std::int64_t c = 0; c < s.inputs; ++c) {
      const std::int64_t from = channel / s.outputs * s.inputs + c;
      const std::int64_t filter = from * s.outputs + channel % s.outputs;
      spread(s.window, at.input, batch * at.input.batch + from * at.input.channel,
             w + filter * s.window.elements(), {.begin = at.begin, .end = at.end}, row_of);
    }
    for (std::int64_t row = at.begin; row < at.end && is_beside; ++row)
      std::transform(row_of(row), row_of(row) + size, at.output.at<Element>(row, batch, channel),
                     element_of<Element, Sum>);
  }
}

Image image_of(const Spread& s, std::int64_t channels, std::int64_t WindowAxis::*extent,
               std::size_t element) {
  const auto& [depth, height, width] = s.window.axes;
  return {.batches = s.batches,
          .channels = channels,
          .rows = depth.*extent * height.*extent,
          .row = width.*extent,
          .element = onnx_ops::extent(element)};
}

Kernel transposed_convolution(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& weights = input_of(signature, 1);
  const Argument& output = output_of(signature);
  expect_dtype(weights, input.dtype, "the weights");
  expect_dtype(output, input.dtype, "the output");
  if (input.shape.size() < 2 || weights.shape.size() < 2) refuse("input or weights have no channels");
  const std::int64_t groups = signature.attributes.integer("group", 1);
  if (groups <= 0 || input.shape[1] % groups != 0)
    refuse("group {} does not divide {} channels", groups, input.shape[1]);
  if (weights.shape[0] != input.shape[1])
    refuse("weights are for {} channels, expected {}", weights.shape[0], input.shape[1]);
  const Shape kernel(weights.shape.begin() + 2, weights.shape.end());
  const Spread s{.window = transposed_window_of(signature, input.shape, output.shape, kernel),
                 .batches = input.shape[0],
                 .groups = groups,
                 .inputs = input.shape[1] / groups,
                 .outputs = weights.shape[1]};
  if (output.shape[0] != s.batches || output.shape[1] / groups != s.outputs || output.shape[1] % groups != 0)
    refuse("the output {} is not of {} channels in {} groups", show(output.shape), s.outputs, groups);
  if (signature.has_input(2)) {
    expect_shape(*signature.inputs[2], {output.shape[1]}, "the bias");
    expect_dtype(*signature.inputs[2], input.dtype, "the bias");
  }
  const Bytes scratch = bits_of(input.dtype) == 16 ? s.window.inputs() * extent(sizeof(float)) : 0;
  return for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    return kernel_by_rows(
        image_of(s, s.groups * s.inputs, &WindowAxis::output, sizeof(Element)),
        image_of(s, s.groups * s.outputs, &WindowAxis::input, sizeof(Element)),
        [s](const RowPointers& at) { spread_rows<Element>(s, at); }, scratch);
  });
}

}  // namespace

TablePart transposed_convolution_kernels() { return {{"ConvTranspose", transposed_convolution}}; }

}  // namespace stowage::kernels::onnx_ops
