// The two formats describe padding differently: ONNX counts it or names a policy, TFLite only names one. SAME
// gives as many windows as strides, and the odd row of padding comes last. With stride 2 over an even number
// of rows the first window has no padding, so the last rows become ready without new input.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "model/row_readings.h"

namespace stowage::model {

using namespace std::string_view_literals;

std::optional<std::size_t> window_axis(const Site& site) {
  constexpr std::array moving{"CONV_2D"sv,        "DEPTHWISE_CONV_2D"sv, "AVERAGE_POOL_2D"sv,
                              "MAX_POOL_2D"sv,    "L2_POOL_2D"sv,        "RESIZE_BILINEAR"sv,
                              "DEPTH_TO_SPACE"sv, "SPACE_TO_DEPTH"sv,    "RESIZE_NEAREST_NEIGHBOR"sv,
                              "TRANSPOSE_CONV"sv};
  constexpr std::array moving_onnx{"Conv"sv,         "QLinearConv"sv,  "ConvInteger"sv,
                                   "MaxPool"sv,      "AveragePool"sv,  "LpPool"sv,
                                   "Resize"sv,       "Upsample"sv,     "ConvTranspose"sv,
                                   "DepthToSpace"sv, "SpaceToDepth"sv, "GlobalAveragePool"sv,
                                   "GlobalMaxPool"sv};
  if (std::find(moving.begin(), moving.end(), site.type()) != moving.end()) return 1;
  if (std::find(moving_onnx.begin(), moving_onnx.end(), site.type()) != moving_onnx.end()) return 2;
  return std::nullopt;
}

bool moves_windows_along(const Site& site, std::size_t axis) {
  const auto first = window_axis(site);
  const std::size_t rank = site.output_shape().size();
  return first && axis >= *first && axis < (is_tflite(site) ? rank - 1 : rank);
}

namespace {

bool has_weights(const Site& site) {
  return site.type() == "CONV_2D" || site.type() == "DEPTHWISE_CONV_2D" || site.type().starts_with("Conv") ||
         site.type() == "QLinearConv";
}

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
std::size_t data_of(const Site& site) { return site.type() == "TRANSPOSE_CONV" ? 2 : 0; }

WindowRows tflite_window(const Site& site, std::size_t axis) {
  const Attributes& attributes = site.attributes();
  const bool is_height = axis == 1;
  WindowRows window{.stride = attributes.integer(is_height ? "stride_h" : "stride_w", 1),
                    .dilation = attributes.integer(is_height ? "dilation_h_factor" : "dilation_w_factor", 1)};
  const bool is_transposed = site.type() == "TRANSPOSE_CONV";
  const Shape weights = site.input_shape(1);
  window.taps = has_weights(site) || is_transposed
                    ? (weights.size() == 4 ? weights[axis] : 0)
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
  const std::size_t weights = site.type() == "QLinearConv" ? 3 : 1;
  const Shape kernel = site.input_shape(weights);
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
  const WindowRows window = is_tflite(site) ? tflite_window(site, axis) : onnx_window(site, axis);
  if (std::min({window.taps, window.stride, window.dilation}) < 1) return std::nullopt;
  return window;
}

/// Groups of channels; none if they are unknown.
std::optional<std::int64_t> groups_of(const Site& site, std::int64_t inputs) {
  if (!is_tflite(site)) return site.attributes().integer("group", 1);
  if (site.type() == "DEPTHWISE_CONV_2D") return inputs;
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
    const std::size_t own = site.type() == "DEPTHWISE_CONV_2D" && shape.size() == 4 ? 3 : 0;
    return shape[own] == outputs ? same_row(own) : shape.size() == 1 && shape[0] == 1 ? shared() : all();
  }
  const auto groups = groups_of(site, inputs);
  if (groups == 1) return shared();
  const bool is_one_each = groups == inputs && inputs > 0 && outputs % inputs == 0 && outputs > 0;
  return is_one_each ? rows_along(axis, {.divisor = outputs / inputs}) : all();
}

}  // namespace

Reading windowed(const Site& site, std::size_t input, std::size_t axis) {
  if (site.input_shape(0).size() == site.output_shape().size() &&
      axis == (is_tflite(site) ? site.output_shape().size() - 1 : 1))
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
  const std::int64_t before = is_tflite(site) ? window->before : padding_of_transposed(site, *window, axis);
  const std::int64_t taps = (window->reach() - 1) / window->stride + 1;
  return rows_along(
      axis, {.divisor = window->stride, .offset = before - (taps - 1) * window->stride, .taps = taps});
}

bool is_pool_of_all(const Site& site, std::size_t axis) {
  const auto window = window_rows(site, axis);
  if (!window || site.output_shape()[axis] != 1) return false;
  return window->before == 0 && window->dilation == 1 && window->taps >= site.input_shape(0)[axis];
}

}  // namespace stowage::model
