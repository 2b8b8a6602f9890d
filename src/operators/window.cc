// The two formats describe padding differently: ONNX counts it or names a policy, TFLite only names one. SAME
// gives as many windows as strides, and the odd row of padding comes last. With stride 2 over an even number
// of rows the first window has no padding, so the last rows become ready without new input.

#include <algorithm>
#include <string>
#include <string_view>

#include "operators/families.h"
#include "operators/multiplies.h"
#include "operators/readings.h"
#include "operators/shapes.h"
#include "operators/tflite_shapes.h"

namespace stowage::operators {

std::optional<std::size_t> window_axis(const Site& site) {
  const std::size_t axis = site.facts().windows.axis;
  return axis == 0 ? std::nullopt : std::optional(axis);
}

bool moves_windows_along(const Site& site, std::size_t axis) {
  const auto first = window_axis(site);
  const std::size_t rank = site.output_shape().size();
  return first && axis >= *first && axis < (site.is_tflite() ? rank - 1 : rank);
}

namespace {

bool has_weights(const Site& site) { return site.facts().windows.weights != 0; }

struct WindowRows {
  std::int64_t taps = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;  ///< Padding before the first row.

  [[nodiscard]] std::int64_t reach() const { return (taps - 1) * dilation + 1; }
};

/// Padding before the first row so that `out` windows fit; the odd row comes last.
std::int64_t same_padding(const WindowRows& window, std::int64_t in, std::int64_t out) {
  return std::max<std::int64_t>(0, (out - 1) * window.stride + window.reach() - in) / 2;
}

/// The input that windows move over: behind the shape of the output and the weights, or the first.
std::size_t data_of(const Site& site) { return site.facts().windows.data; }

WindowRows tflite_window(const Site& site, std::size_t axis) {
  const Attributes& attributes = site.attributes();
  const bool is_height = axis == 1;
  WindowRows window{.stride = attributes.integer(is_height ? "stride_h" : "stride_w", 1),
                    .dilation = attributes.integer(is_height ? "dilation_h_factor" : "dilation_w_factor", 1)};
  const bool is_transposed = site.facts().rows == transposed_window;
  const Shape weights = site.input_shape(1);
  window.taps = has_weights(site) ? (weights.size() == 4 ? weights[axis] : 0)
                                  : attributes.integer(is_height ? "filter_height" : "filter_width", 0);
  if (is_transposed) window.dilation = 1;
  const std::int64_t in = site.input_shape(data_of(site))[axis];
  const std::int64_t out = site.output_shape()[axis];
  // A transposed window moves over the output.
  if (attributes.integer("padding", 0) == 0)
    window.before = is_transposed ? same_padding(window, out, in) : same_padding(window, in, out);
  return window;
}

/// An attribute with one integer per axis that windows move along; `otherwise` if it has fewer.
std::int64_t at_axis(const Site& site, std::string_view attribute, std::size_t index,
                     std::int64_t otherwise) {
  const auto values = site.attributes().integers(attribute, {});
  return index < values.size() ? values[index] : otherwise;
}

WindowRows onnx_window(const Site& site, std::size_t axis) {
  const std::size_t place = axis - 2;  // among the axes that windows move along
  const Shape kernel = site.input_shape(site.facts().windows.weights);
  WindowRows window{.stride = at_axis(site, "strides", place, 1),
                    .dilation = at_axis(site, "dilations", place, 1),
                    .before = at_axis(site, "pads", place, 0)};
  window.taps =
      has_weights(site) ? (kernel.size() > axis ? kernel[axis] : 0) : at_axis(site, "kernel_shape", place, 0);
  const std::string policy = site.attributes().text("auto_pad", "NOTSET");
  if (policy == "VALID") window.before = 0;
  if (policy.starts_with("SAME")) {
    const std::int64_t in = site.input_shape(0)[axis];
    const std::int64_t out = site.output_shape()[axis];
    const std::int64_t all = std::max<std::int64_t>(0, (out - 1) * window.stride + window.reach() - in);
    window.before = policy == "SAME_UPPER" ? all / 2 : all - all / 2;
  }
  return window;
}

std::optional<WindowRows> window_rows(const Site& site, std::size_t axis) {
  if (!moves_windows_along(site, axis) ||
      site.input_shape(data_of(site)).size() != site.output_shape().size())
    return std::nullopt;
  const WindowRows window = site.is_tflite() ? tflite_window(site, axis) : onnx_window(site, axis);
  if (std::min({window.taps, window.stride, window.dilation}) < 1) return std::nullopt;
  return window;
}

/// The filter is [1, height, width, output channels].
bool has_filter_for_each_channel(const Site& site) { return site.facts().windows.channels == 3; }

/// Groups of channels; none if they are unknown.
std::optional<std::int64_t> groups_of(const Site& site, std::int64_t inputs) {
  if (!site.is_tflite()) return site.attributes().integer("group", 1);
  if (has_filter_for_each_channel(site)) return inputs;
  const Shape weights = site.input_shape(1);
  return weights.size() == 4 && weights[3] == inputs ? std::optional<std::int64_t>(1) : std::nullopt;
}

/// A channel of the output reads its own weights, and the channels of its group.
Reading windowed_channel(const Site& site, std::size_t input, std::size_t axis) {
  if (!has_weights(site)) return input == 0 ? same_row(axis) : shared();
  const std::int64_t inputs = site.input_shape(0)[axis];
  const std::int64_t outputs = site.output_shape()[axis];
  if (input != 0) {  // weights, biases, and parameters of quantization
    const Shape shape = site.input_shape(input);
    const std::size_t own = shape.size() == 4 ? site.facts().windows.channels : 0;
    return shape[own] == outputs ? same_row(own) : shape.size() == 1 && shape[0] == 1 ? shared() : all();
  }
  const auto groups = groups_of(site, inputs);
  if (groups == 1) return shared();
  const bool is_one_each = groups == inputs && inputs > 0 && outputs % inputs == 0 && outputs > 0;
  return is_one_each ? rows_along(axis, {.divisor = outputs / inputs}) : all();
}

}  // namespace

namespace {

/// Real numbers under weights of int8 of TFLite are rounded by what is in the whole image.
bool is_hybrid(const Site& site) {
  const Tensor* const data = site.input(0);
  const Tensor* const weights = site.input(1);
  return site.is_tflite() && has_weights(site) && data != nullptr && weights != nullptr &&
         data->dtype == DType::float32 && weights->dtype == DType::int8;
}

}  // namespace

Reading windowed(const Site& site, std::size_t input, std::size_t axis) {
  if (is_hybrid(site)) return together();
  if (site.input_shape(0).size() == site.output_shape().size() &&
      axis == (site.is_tflite() ? site.output_shape().size() - 1 : 1))
    return windowed_channel(site, input, axis);
  if (input != 0) return shared();
  if (axis == 0) return same_row(0);
  const auto window = window_rows(site, axis);
  if (!window) return all();
  return rows_along(axis, {.scale = window->stride,
                           .offset = -window->before,
                           .taps = window->taps,
                           .dilation = window->dilation});
}

namespace {

/// Padding before the first row if the output's extent determines it, not the attribute "pads".
std::int64_t padding_of_transposed(const Site& site, const WindowRows& window, std::size_t axis) {
  const std::string policy = site.attributes().text("auto_pad", "NOTSET");
  if (!site.attributes().has("output_shape") && !policy.starts_with("SAME")) return window.before;
  const std::int64_t full = window.stride * (site.input_shape(0)[axis] - 1) +
                            at_axis(site, "output_padding", axis - 2, 0) + window.reach();
  const std::int64_t all = std::max<std::int64_t>(0, full - site.output_shape()[axis]);
  return policy == "SAME_UPPER" ? all / 2 : all - all / 2;
}

}  // namespace

/// Row i of the input adds to row y of the output through element y + before - i * stride of the window.
Reading transposed_window(const Site& site, std::size_t input, std::size_t axis) {
  if (input != data_of(site)) return shared();
  if (axis == 0) return same_row(0);
  const auto window = window_rows(site, axis);
  if (!window) return all();
  const std::int64_t before = site.is_tflite() ? window->before : padding_of_transposed(site, *window, axis);
  const std::int64_t taps = (window->reach() - 1) / window->stride + 1;
  return rows_along(
      axis, {.divisor = window->stride, .offset = before - (taps - 1) * window->stride, .taps = taps});
}

bool is_pool_of_all(const Site& site, std::size_t axis) {
  const auto window = window_rows(site, axis);
  if (!window || site.output_shape()[axis] != 1) return false;
  return window->before == 0 && window->dilation == 1 && window->taps >= site.input_shape(0)[axis];
}

namespace {

std::vector<std::size_t> sums_of_one_window(const Site& site) {
  const auto axis = window_axis(site);
  return axis && is_pool_of_all(site, *axis) ? std::vector{*axis} : std::vector<std::size_t>();
}

std::int64_t count_for_channel(const Site& site) {
  const Windows& windows = site.facts().windows;
  return count_for(site.input_shape(windows.weights), windows.channels);
}

std::optional<std::int64_t> multiplies_of_filter(const Site& site) {
  return products_of(site.output_shape(), count_for_channel(site));
}

std::optional<std::int64_t> multiplies_of_transposed(const Site& site) {
  return products_of(site.input_shape(data_of(site)), count_for_channel(site));
}

}  // namespace

std::span<const Facts> window_family() {
  static constexpr Facts rows[] = {
      {.onnx = "AveragePool",
       .shape = shapes::pool,
       .inputs = 1,
       .rows = windowed,
       .splits = true,
       .windows = {.axis = 2},
       .sums = sums_of_one_window},
      {.onnx = "CausalConvWithState", .shape = shapes::causal_convolution, .inputs = 2},
      {.onnx = "Col2Im", .shape = shapes::column_to_image, .inputs = 3},
      {.onnx = "Conv",
       .shape = shapes::convolution,
       .inputs = 2,
       .rows = windowed,
       .splits = true,
       .windows = {.axis = 2, .weights = 1},
       .adds_taps = true,
       .multiplies = multiplies_of_filter},
      {.onnx = "ConvInteger",
       .shape = shapes::integer_convolution,
       .inputs = 2,
       .rows = windowed,
       .windows = {.axis = 2, .weights = 1},
       .multiplies = multiplies_of_filter},
      {.onnx = "ConvTranspose",
       .shape = shapes::transposed_convolution,
       .inputs = 2,
       .rows = transposed_window,
       .windows = {.axis = 2, .weights = 1},
       .multiplies = multiplies_of_transposed},
      {.onnx = "DeformConv", .shape = shapes::convolution, .inputs = 3},
      {.onnx = "LpPool",
       .shape = shapes::pool,
       .inputs = 1,
       .rows = windowed,
       .windows = {.axis = 2},
       .sums = sums_of_one_window},
      {.onnx = "MaxPool",
       .shape = shapes::max_pool,
       .inputs = 1,
       .rows = windowed,
       .counts_rows = true,
       .splits = true,
       .windows = {.axis = 2},
       .sums = sums_of_one_window},
      {.onnx = "MaxRoiPool", .shape = shapes::region_pool, .inputs = 2},
      {.onnx = "MaxUnpool", .shape = shapes::max_unpool, .inputs = 2},
      {.onnx = "QLinearConv",
       .shape = shapes::quantized_convolution,
       .inputs = 8,
       .rows = windowed,
       .windows = {.axis = 2, .weights = 3},
       .multiplies = multiplies_of_filter},
      {.onnx = "RoiAlign", .shape = shapes::region_align, .inputs = 3},
      {.onnx = "com.microsoft.FusedConv", .shape = shapes::convolution, .inputs = 2},
      {.onnx = "com.microsoft.QLinearAveragePool",
       .shape = shapes::pool,
       .inputs = 1,
       .rows = windowed,
       .splits = true,
       .windows = {.axis = 2}},
      {.onnx = "com.microsoft.QLinearConv", .shape = shapes::quantized_convolution, .inputs = 4},
      {.tflite = "AVERAGE_POOL_2D",
       .shape = tflite_shapes::pool,
       .rows = windowed,
       .splits = true,
       .windows = {.axis = 1},
       .sums = sums_of_one_window},
      {.tflite = "CONV_2D",
       .shape = tflite_shapes::convolution,
       .rows = windowed,
       .splits = true,
       .windows = {.axis = 1, .weights = 1},
       .multiplies = multiplies_of_filter},
      {.tflite = "CONV_3D", .shape = tflite_shapes::convolution_3d},
      {.tflite = "CONV_3D_TRANSPOSE", .shape = tflite_shapes::shaped_by_first},
      {.tflite = "Convolution2DTransposeBias",
       .rows = transposed_window,
       .windows = {.axis = 1, .weights = 1, .channels = 3},
       .multiplies = multiplies_of_transposed,
       .is_custom = true},
      {.tflite = "DEPTHWISE_CONV_2D",
       .shape = tflite_shapes::depthwise_convolution,
       .rows = windowed,
       .splits = true,
       .windows = {.axis = 1, .weights = 1, .channels = 3},
       .multiplies = multiplies_of_filter},
      {.tflite = "L2_POOL_2D",
       .shape = tflite_shapes::pool,
       .rows = windowed,
       .windows = {.axis = 1},
       .sums = sums_of_one_window},
      {.tflite = "MAX_POOL_2D",
       .shape = tflite_shapes::pool,
       .rows = windowed,
       .splits = true,
       .windows = {.axis = 1},
       .sums = sums_of_one_window},
      {.tflite = "TRANSPOSE_CONV",
       .shape = tflite_shapes::shaped_by_first,
       .rows = transposed_window,
       .windows = {.axis = 1, .data = 2, .weights = 1, .channels = 3},
       .multiplies = multiplies_of_transposed},
  };
  return rows;
}

}  // namespace stowage::operators
