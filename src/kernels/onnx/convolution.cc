#include "kernels/onnx/convolution.h"

#include "kernels/onnx/tables.h"
#include "kernels/poison.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// A kernel of one element with stride 1 reads the rows of the input in order: all form one long row.
Convolution flattened(Convolution c) {
  for (const WindowAxis& axis : c.window.axes) {
    if (axis.kernel != 1 || axis.stride != 1 || axis.begin != 0 || axis.end != 0) return c;
  }
  const std::int64_t all = c.window.inputs();
  c.window.axes = {};
  c.window.axes[2].input = c.window.axes[2].output = all;
  return c;
}

/// Sums of float16 and bfloat16 are float32, in separate memory.
template <typename Element>
void convolve_rows(const Convolution& c, const RowPointers& at) {
  using Sum = Value<Element>;
  constexpr bool is_beside = !std::is_same_v<Sum, Element>;
  const std::int64_t size = c.window.axes[2].output;
  const auto* const w = at.whole.input<Element>(1);
  const auto* const bias = at.whole.input<Element>(2);
  for (std::int64_t i = 0; i < c.batches * c.channels(); ++i) {
    const std::int64_t channel = i % c.channels();
    const std::int64_t batch = i / c.channels();
    const auto row_of = [&](std::int64_t row) {
      if constexpr (is_beside) {
        return reinterpret_cast<Sum*>(at.whole.scratch) + (row - at.begin) * size;
      } else {
        return at.output.at<Element>(row, batch, channel);
      }
    };
    for (std::int64_t row = at.begin; row < at.end && !at.adds; ++row)
      std::fill_n(row_of(row), size, bias == nullptr ? Sum{0} : value_of(bias[channel]));
    const std::int64_t first = batch * at.input.batch + c.first_input(channel) * at.input.channel;
    convolve<Element, Sum>(c, at.input, first, w + channel * c.inputs * c.window.elements(),
                           {.begin = at.begin, .end = at.end}, row_of);
    for (std::int64_t row = at.begin; row < at.end && is_beside; ++row)
      std::transform(row_of(row), row_of(row) + size, at.output.at<Element>(row, batch, channel),
                     element_of<Element, Sum>);
  }
}

Image image_of(const Convolution& c, std::int64_t channels, std::int64_t WindowAxis::*extent,
               std::size_t element) {
  const auto& [depth, height, width] = c.window.axes;
  return {.batches = c.batches,
          .channels = channels,
          .rows = depth.*extent * height.*extent,
          .row = width.*extent,
          .element = onnx_ops::extent(element)};
}

Kernel convolution(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& weights = input_of(signature, 1);
  const Argument* const bias = signature.has_input(2) ? &*signature.inputs[2] : nullptr;
  expect_dtype(weights, input.dtype, "the weights");
  expect_dtype(output_of(signature), input.dtype, "the output");
  if (bias != nullptr) expect_dtype(*bias, input.dtype, "the bias");
  const Convolution c = convolution_of(signature, input, weights, bias);
  const Bytes scratch = bits_of(input.dtype) == 16 ? c.window.outputs() * extent(sizeof(float)) : 0;
  return for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    Kernel kernel = kernel_of(c, sizeof(Element), sizeof(Element), convolve_rows<Element>, scratch);
    kernel.adds_rows = std::is_same_v<Value<Element>, Element>;
    return kernel;
  });
}

}  // namespace

__attribute__((no_sanitize("address", "undefined"))) void add_row(float* row, const float* from,
                                                                  std::int64_t step, std::int64_t size,
                                                                  float weight) {
  expect_accessible(row, static_cast<std::size_t>(size) * sizeof(float));
  expect_accessible(from, static_cast<std::size_t>((size - 1) * step + 1) * sizeof(float));
  for (std::int64_t i = 0; i < size; ++i) row[i] += weight * from[i * step];
}

Kernel kernel_of(const Convolution& convolution, std::size_t input_element, std::size_t output_element,
                 std::function<void(const Convolution&, const RowPointers&)> run, Bytes scratch) {
  const Convolution flat = flattened(convolution);
  Kernel kernel = kernel_by_rows(
      image_of(flat, flat.groups * flat.inputs, &WindowAxis::input, input_element),
      image_of(flat, flat.channels(), &WindowAxis::output, output_element),
      [flat, run](const RowPointers& at) { run(flat, at); }, scratch);
  kernel.run_rows = [convolution, run](const RowPointers& at) { run(convolution, at); };
  return kernel;
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
  Convolution result{.window = window_of(signature, input.shape, output.shape, kernel),
                     .batches = input.shape[0],
                     .groups = groups,
                     .inputs = weights.shape[1],
                     .outputs = weights.shape[0] / groups};
  if (output.shape[0] != input.shape[0] || output.shape[1] != weights.shape[0])
    refuse("the output {} is not of {} channels", show(output.shape), weights.shape[0]);
  return result;
}

TablePart convolution_kernels() { return {{"Conv", convolution}}; }

}  // namespace stowage::kernels::onnx_ops
