#include "run/onnx/convolution.h"

#include "run/onnx/tables.h"
#include "run/poison.h"

namespace stowage::run::onnx_ops {
namespace {

/// A kernel of one element that moves by one meets each row of the input as it is: all are one long row.
Window flattened(Window window) {
  for (const WindowAxis& axis : window.axes) {
    if (axis.kernel != 1 || axis.stride != 1 || axis.begin != 0 || axis.end != 0) return window;
  }
  const std::int64_t all = window.inputs();
  window.axes = {};
  window.axes[2].input = window.axes[2].output = all;
  return window;
}

/// Sums of float16 and bfloat16 are float32, in memory beside the output.
template <typename Element>
void convolve_all(const Convolution& c, const Pointers& pointers) {
  using Sum = Value<Element>;
  constexpr bool is_beside = !std::is_same_v<Sum, Element>;
  const std::int64_t size = c.window.outputs();
  const auto* const x = pointers.input<Element>(0);
  const auto* const w = pointers.input<Element>(1);
  const auto* const bias = pointers.input<Element>(2);
  auto* to = pointers.output<Element>(0);
  const std::int64_t channels = c.groups * c.outputs;
  for (std::int64_t i = 0; i < c.batches * channels; ++i, to += size) {
    const std::int64_t channel = i % channels;
    const std::int64_t first = (i / channels * c.groups + channel / c.outputs) * c.inputs;
    Sum* plane = nullptr;
    if constexpr (is_beside) {
      plane = reinterpret_cast<Sum*>(pointers.scratch);
    } else {
      plane = to;
    }
    std::fill_n(plane, size, bias == nullptr ? Sum{0} : value_of(bias[channel]));
    convolve(c, x + first * c.window.inputs(), w + channel * c.inputs * c.window.elements(), plane);
    if constexpr (is_beside) std::transform(plane, plane + size, to, element_of<Element, Sum>);
  }
}

Kernel convolution(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& weights = input_of(signature, 1);
  const Argument* const bias = signature.has_input(2) ? &*signature.inputs[2] : nullptr;
  expect_dtype(weights, input.dtype, "the weights");
  expect_dtype(output_of(signature), input.dtype, "the output");
  if (bias != nullptr) expect_dtype(*bias, input.dtype, "the bias");
  const Convolution c = convolution_of(signature, input, weights, bias);
  Kernel kernel = for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    return {.run = [c](const Pointers& pointers) { convolve_all<Element>(c, pointers); }};
  });
  if (bits_of(input.dtype) == 16) kernel.scratch = c.window.outputs() * extent(sizeof(float));
  return kernel;
}

}  // namespace

__attribute__((no_sanitize("address", "undefined"))) void add_row(float* row, const float* from,
                                                                  std::int64_t step, std::int64_t size,
                                                                  float weight) {
  expect_accessible(row, static_cast<std::size_t>(size) * sizeof(float));
  expect_accessible(from, static_cast<std::size_t>((size - 1) * step + 1) * sizeof(float));
  for (std::int64_t i = 0; i < size; ++i) row[i] += weight * from[i * step];
}

Convolution convolution_of(const Signature& signature, const Argument& input, const Argument& weights,
                           const Argument* bias) {
  const Argument& output = output_of(signature);
  if (input.shape.size() < 2 || weights.shape.size() < 2) refuse("input or weights have no channels");
  const std::int64_t groups = signature.attributes.integer("group", 1);
  if (groups <= 0 || input.shape[1] % groups != 0 || weights.shape[0] % groups != 0)
    refuse("group {} does not divide {} or {} channels", groups, input.shape[1], weights.shape[0]);
  if (weights.shape[1] != input.shape[1] / groups)
    refuse("weights are for {} channels, expected {}", weights.shape[1], input.shape[1] / groups);
  if (bias != nullptr) expect_shape(*bias, {weights.shape[0]}, "the bias");
  const Shape kernel(weights.shape.begin() + 2, weights.shape.end());
  Convolution result{.window = flattened(window_of(signature, input.shape, output.shape, kernel)),
                     .batches = input.shape[0],
                     .groups = groups,
                     .inputs = weights.shape[1],
                     .outputs = weights.shape[0] / groups};
  if (output.shape[0] != input.shape[0] || output.shape[1] != weights.shape[0])
    refuse("the output {} is not of {} channels", show(output.shape), weights.shape[0]);
  return result;
}

TablePart convolution_kernels() { return {{"Conv", convolution}}; }

}  // namespace stowage::run::onnx_ops
