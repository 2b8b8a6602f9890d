// Padding is what the two formats say differently: ONNX counts it, or names a policy, TFLite only names one.
// With SAME there are as many windows as strides, and the odd row of padding is behind: with stride 2 over an
// even number of rows the first window has no padding at all, so the last rows become ready without new
// input.

#include "model/row_windows.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace stowage::model {

using namespace std::string_view_literals;

std::optional<std::size_t> window_axis(const Site& site) {
  constexpr std::array moving{"CONV_2D"sv,        "DEPTHWISE_CONV_2D"sv, "AVERAGE_POOL_2D"sv,
                              "MAX_POOL_2D"sv,    "L2_POOL_2D"sv,        "RESIZE_BILINEAR"sv,
                              "DEPTH_TO_SPACE"sv, "SPACE_TO_DEPTH"sv,    "RESIZE_NEAREST_NEIGHBOR"sv};
  constexpr std::array moving_onnx{"Conv"sv,         "QLinearConv"sv,       "ConvInteger"sv,
                                   "MaxPool"sv,      "AveragePool"sv,       "LpPool"sv,
                                   "Resize"sv,       "ConvTranspose"sv,     "DepthToSpace"sv,
                                   "SpaceToDepth"sv, "GlobalAveragePool"sv, "GlobalMaxPool"sv};
  if (std::find(moving.begin(), moving.end(), site.type()) != moving.end()) return 1;
  if (std::find(moving_onnx.begin(), moving_onnx.end(), site.type()) != moving_onnx.end()) return 2;
  return std::nullopt;
}

bool is_tflite(const Site& site) {
  return std::none_of(site.type().begin(), site.type().end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

std::optional<AxisRows> same_row(std::size_t axis) { return AxisRows{.axis = axis}; }

namespace {

struct WindowRows {
  std::int64_t taps = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;  ///< Padding in front of the first row.

  [[nodiscard]] std::int64_t reach() const { return (taps - 1) * dilation + 1; }
};

/// Padding in front so that `out` windows fit, the odd row behind.
std::int64_t same_padding(const WindowRows& window, std::int64_t in, std::int64_t out) {
  return std::max<std::int64_t>(0, (out - 1) * window.stride + window.reach() - in) / 2;
}

WindowRows tflite_window(const Site& site) {
  const Attributes& attributes = site.attributes();
  WindowRows window{.stride = attributes.integer("stride_h", 1),
                    .dilation = attributes.integer("dilation_h_factor", 1)};
  const bool has_weights = site.type() == "CONV_2D" || site.type() == "DEPTHWISE_CONV_2D";
  const Shape weights = site.input_shape(1);
  window.taps = has_weights ? (weights.size() == 4 ? weights[1] : 0) : attributes.integer("filter_height", 0);
  if (attributes.integer("padding", 0) == 0)
    window.before = same_padding(window, site.input_shape(0)[1], site.output_shape()[1]);
  return window;
}

/// An attribute of one integer for each axis that windows move along, or less of them: none is told.
std::int64_t at_axis(const Site& site, std::string_view attribute, std::size_t index,
                     std::int64_t otherwise) {
  const auto values = site.attributes().integers(attribute, {});
  return index < values.size() ? values[index] : otherwise;
}

WindowRows onnx_window(const Site& site) {
  const bool has_weights = site.type().starts_with("Conv") || site.type() == "QLinearConv";
  const std::size_t weights = site.type() == "QLinearConv" ? 3 : 1;
  const Shape kernel = site.input_shape(weights);
  WindowRows window{.stride = at_axis(site, "strides", 0, 1),
                    .dilation = at_axis(site, "dilations", 0, 1),
                    .before = at_axis(site, "pads", 0, 0)};
  window.taps = has_weights ? (kernel.size() > 2 ? kernel[2] : 0) : at_axis(site, "kernel_shape", 0, 0);
  const std::string policy = site.attributes().text("auto_pad", "NOTSET");
  if (policy == "VALID") window.before = 0;
  if (policy.starts_with("SAME")) {
    const std::int64_t in = site.input_shape(0)[2];
    const std::int64_t out = site.output_shape()[2];
    const std::int64_t all = std::max<std::int64_t>(0, (out - 1) * window.stride + window.reach() - in);
    window.before = policy == "SAME_UPPER" ? all / 2 : all - all / 2;
  }
  return window;
}

std::optional<WindowRows> window_rows(const Site& site) {
  const auto axis = window_axis(site);
  if (!axis || site.input_shape(0).size() <= *axis || site.output_shape().size() <= *axis)
    return std::nullopt;
  const WindowRows window = is_tflite(site) ? tflite_window(site) : onnx_window(site);
  if (std::min({window.taps, window.stride, window.dilation}) < 1) return std::nullopt;
  return window;
}

}  // namespace

std::optional<AxisRows> windowed(const Site& site, std::size_t input, std::size_t axis) {
  if (input != 0) return std::nullopt;
  if (axis == 0) return same_row(0);
  const auto window = window_rows(site);
  if (!window || axis != window_axis(site)) return std::nullopt;
  return AxisRows{.axis = axis,
                  .rows = {.scale = window->stride,
                           .offset = -window->before,
                           .taps = window->taps,
                           .dilation = window->dilation}};
}

/// Row y of the output gets from row i of the input what element y + before - i * stride of the window gives.
std::optional<AxisRows> transposed_window(const Site& site, std::size_t input, std::size_t axis) {
  const bool has_output_shape = site.attributes().has("output_shape");
  const bool is_padded_alike = site.attributes().text("auto_pad", "NOTSET").starts_with("SAME");
  if (input != 0 || has_output_shape || is_padded_alike) return std::nullopt;
  const auto window = window_rows(site);
  if (!window || axis != window_axis(site)) return std::nullopt;
  const std::int64_t taps = (window->reach() - 1) / window->stride + 1;
  return AxisRows{
      .axis = axis,
      .rows = {
          .divisor = window->stride, .offset = window->before - (taps - 1) * window->stride, .taps = taps}};
}

/// The row at or below the place that a row of the output has in the input, and the next.
std::optional<AxisRows> resize(const Site& site, std::size_t input, std::size_t axis) {
  if (input != 0) return std::nullopt;
  const std::int64_t in = site.input_shape(0).at(axis);
  const std::int64_t out = site.output_shape().at(axis);
  if (in == out) return same_row(axis);
  const bool has_floats = site.type() == "Resize" && site.has_input(2) && !site.input_shape(2).empty() &&
                          site.input_shape(2)[0] > 0;
  const bool is_whole = out % in == 0 || in % out == 0;  // else a scale in the file may not be out / in
  if (site.attributes().text("mode", "nearest") == "cubic" || (has_floats && !is_whole)) return std::nullopt;
  std::string mode = site.attributes().text("coordinate_transformation_mode", "half_pixel");
  if (is_tflite(site)) {
    mode = site.attributes().integer("align_corners", 0) != 0        ? "align_corners"
           : site.attributes().integer("half_pixel_centers", 0) != 0 ? "half_pixel"
                                                                     : "asymmetric";
  }
  if (site.attributes().integer("antialias", 0) != 0 || out == 1) return std::nullopt;
  if (mode == "asymmetric") return AxisRows{axis, {.scale = in, .divisor = out, .taps = 2}};
  if (mode == "align_corners") return AxisRows{axis, {.scale = in - 1, .divisor = out - 1, .taps = 2}};
  if (mode != "half_pixel" && mode != "pytorch_half_pixel") return std::nullopt;
  return AxisRows{axis, {.scale = 2 * in, .divisor = 2 * out, .offset = in - out, .taps = 2}};
}

std::optional<AxisRows> blocks(const Site& site, std::size_t input, std::size_t axis) {
  const std::int64_t in = site.input_shape(0).at(axis);
  const std::int64_t out = site.output_shape().at(axis);
  if (input != 0 || axis != (is_tflite(site) ? 1U : 2U)) return std::nullopt;
  if (out % in == 0) return AxisRows{axis, {.divisor = out / in}};
  return in % out == 0 ? std::optional(AxisRows{axis, {.scale = in / out, .taps = in / out}}) : std::nullopt;
}

bool is_pool_of_all(const Site& site, std::size_t axis) {
  const auto window = window_rows(site);
  if (!window || axis != window_axis(site) || site.output_shape()[axis] != 1) return false;
  return window->before == 0 && window->dilation == 1 && window->taps >= site.input_shape(0)[axis];
}

}  // namespace stowage::model
