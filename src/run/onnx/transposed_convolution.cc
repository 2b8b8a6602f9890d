// ConvTranspose: a convolution backwards. Every element of the input is spread over the window of the output
// that it meets, a row at a time.

#include "run/onnx/elements.h"
#include "run/onnx/tables.h"
#include "run/onnx/window.h"

namespace stowage::run::onnx_ops {
namespace {

/// In the window, "input" is what it moves over: the output of the operator.
struct Spread {
  Window window{};
  std::int64_t batches = 1;
  std::int64_t groups = 1;
  std::int64_t inputs = 1;   ///< Channels of the input, per group.
  std::int64_t outputs = 1;  ///< Channels of the output, per group.
};

/// Adds one channel of the input, spread by its filter, to a plane of the output.
template <typename Sum, typename Element>
void spread(const Window& window, const Element* x, const Element* w, Sum* plane) {
  const auto& [depth, height, width] = window.axes;
  for (std::int64_t k = 0; k < window.elements(); ++k) {
    const std::int64_t kd = k / (height.kernel * width.kernel);
    const std::int64_t kh = k / width.kernel % height.kernel;
    const std::int64_t kw = k % width.kernel;
    const Sum weight = value_of(w[k]);
    const Interval planes = depth.outputs_inside(kd);
    const Interval rows = height.outputs_inside(kh);
    const Interval places = width.outputs_inside(kw);
    if (places.begin == places.end) continue;
    for (std::int64_t d = planes.begin; d < planes.end; ++d) {
      for (std::int64_t h = rows.begin; h < rows.end; ++h) {
        const Element* const from = x + (d * height.output + h) * width.output;
        Sum* const row = plane + (depth.place(d, kd) * height.input + height.place(h, kh)) * width.input;
        for (std::int64_t i = places.begin; i < places.end; ++i)
          row[width.place(i, kw)] += weight * value_of(from[i]);
      }
    }
  }
}

template <typename Element>
void spread_all(const Spread& s, const Pointers& pointers) {
  using Sum = Value<Element>;
  constexpr bool is_beside = !std::is_same_v<Sum, Element>;
  const std::int64_t size = s.window.inputs();
  const std::int64_t from_size = s.window.outputs();
  const auto* const x = pointers.input<Element>(0);
  const auto* const w = pointers.input<Element>(1);
  const auto* const bias = pointers.input<Element>(2);
  auto* to = pointers.output<Element>(0);
  const std::int64_t channels = s.groups * s.outputs;
  for (std::int64_t i = 0; i < s.batches * channels; ++i, to += size) {
    const std::int64_t group = i % channels / s.outputs;
    Sum* plane = nullptr;
    if constexpr (is_beside) {
      plane = reinterpret_cast<Sum*>(pointers.scratch);
    } else {
      plane = to;
    }
    std::fill_n(plane, size, bias == nullptr ? Sum{0} : value_of(bias[i % channels]));
    for (std::int64_t c = 0; c < s.inputs; ++c) {
      const std::int64_t channel = group * s.inputs + c;
      const std::int64_t filter = channel * s.outputs + i % s.outputs;
      spread(s.window, x + (i / channels * s.groups * s.inputs + channel) * from_size,
             w + filter * s.window.elements(), plane);
    }
    if constexpr (is_beside) std::transform(plane, plane + size, to, element_of<Element, Sum>);
  }
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
  Kernel result = for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    return {.run = [s](const Pointers& pointers) { spread_all<Element>(s, pointers); }};
  });
  if (bits_of(input.dtype) == 16) result.scratch = s.window.inputs() * extent(sizeof(float));
  return result;
}

}  // namespace

TablePart transposed_convolution_kernels() { return {{"ConvTranspose", transposed_convolution}}; }

}  // namespace stowage::run::onnx_ops
