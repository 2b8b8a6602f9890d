// On each axis a table gives, for an element of the output, the elements of the input and their
// weights. Modes differ in the table only.
//
// Sources: ONNX's operator Resize; the steps of TensorFlow Lite's reference kernels.

#include "operators/resize_taps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace stowage::operators {
namespace {

template <typename Value>
using Named = std::pair<std::string_view, Value>;

constexpr std::array<Named<ResizeMode>, 4> mode_names{{{"nearest", ResizeMode::nearest},
                                                       {"linear", ResizeMode::linear},
                                                       {"bilinear", ResizeMode::linear},
                                                       {"cubic", ResizeMode::cubic}}};

constexpr std::array<Named<Coordinates>, 7> coordinate_names{
    {{"asymmetric", Coordinates::asymmetric},
     {"half_pixel", Coordinates::half_pixel},
     {"pytorch_half_pixel", Coordinates::pytorch_half_pixel},
     {"tf_half_pixel_for_nn", Coordinates::tf_half_pixel_for_nn},
     {"align_corners", Coordinates::align_corners},
     {"half_pixel_symmetric", Coordinates::half_pixel_symmetric},
     {"tf_crop_and_resize", Coordinates::tf_crop_and_resize}}};

constexpr std::array<Named<Rounding>, 4> rounding_names{{{"round_prefer_floor", Rounding::prefer_floor},
                                                         {"round_prefer_ceil", Rounding::prefer_ceil},
                                                         {"floor", Rounding::floor},
                                                         {"ceil", Rounding::ceil}}};

/// The value of an attribute by its name; refused if the name is unknown.
template <typename Value, std::size_t Count>
Value value_of(const ResizeCall& call, const char* attribute, const char* otherwise,
               const std::array<Named<Value>, Count>& names, std::string& refusal) {
  const std::string name = call.attributes.text(attribute, otherwise);
  const auto* const found =
      std::find_if(names.begin(), names.end(), [&](const Named<Value>& it) { return it.first == name; });
  if (found != names.end()) return found->second;
  refusal = fmt::format("there is no {} {}", attribute, name);
  return names[0].second;
}

/// The resized axes: all, or those that are named. None: a named axis does not exist.
std::optional<std::vector<std::size_t>> resized_axes(const ResizeCall& call) {
  const auto rank = static_cast<std::int64_t>(call.input.size());
  std::vector<std::size_t> axes;
  if (!call.attributes.has("axes")) {
    for (std::size_t d = 0; d < call.input.size(); ++d) axes.push_back(d);
    return axes;
  }
  for (const std::int64_t axis : call.attributes.integers("axes", {})) {
    if (axis < -rank || axis >= rank) return std::nullopt;
    axes.push_back(static_cast<std::size_t>(axis < 0 ? axis + rank : axis));
  }
  return axes;
}

/// Uses one scale for all axes, so that none becomes larger (smaller) than its size.
void keep_aspect_ratio(const ResizeCall& call, const std::vector<std::size_t>& resized, Resizing& it) {
  const std::string policy = call.attributes.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return;
  if (policy != "not_larger" && policy != "not_smaller") {
    it.refusal = fmt::format("there is no keep_aspect_ratio_policy {}", policy);
    return;
  }
  const bool is_least = policy == "not_larger";
  double common = is_least ? std::numeric_limits<double>::infinity() : 0;
  for (std::size_t i = 0; i < resized.size(); ++i) {
    const double own = static_cast<double>((*call.sizes)[i]) / static_cast<double>(it.axes[resized[i]].input);
    common = is_least ? std::min(common, own) : std::max(common, own);
  }
  for (const std::size_t d : resized) it.axes[d].scale = common;
}

/// The scales are given, or follow from the sizes.
void scale_axes(const ResizeCall& call, const std::vector<std::size_t>& resized, Resizing& it) {
  std::vector<double> scales = call.scales.value_or(std::vector<double>{});
  for (const float scale : call.attributes.reals("scales", {})) scales.push_back(static_cast<double>(scale));
  const bool has_sizes = call.sizes && !call.sizes->empty();
  if ((has_sizes ? call.sizes->size() : scales.size()) != resized.size()) {
    it.refusal = fmt::format("scales or sizes are not those of {} axes", resized.size());
    return;
  }
  const std::vector<double> region = call.region.value_or(std::vector<double>{});
  for (std::size_t i = 0; i < resized.size(); ++i) {
    ResizeAxis& axis = it.axes[resized[i]];
    axis.scale = has_sizes ? static_cast<double>(axis.output) / static_cast<double>(axis.input) : scales[i];
    if (!(axis.scale > 0) && axis.output != 0) it.refusal = fmt::format("a scale is {}", axis.scale);
    if (region.size() != 2 * resized.size()) continue;
    axis.begin = region[i];
    axis.end = region[i + resized.size()];
  }
  if (has_sizes && it.refusal.empty()) keep_aspect_ratio(call, resized, it);
}

void set_axes(const ResizeCall& call, Resizing& it) {
  if (call.input.size() != call.output.size()) {
    it.refusal =
        fmt::format("an output of {} axes is no input of {} resized", call.output.size(), call.input.size());
    return;
  }
  const auto resized = resized_axes(call);
  if (!resized) {
    it.refusal = fmt::format("its axes are not those of {}", call.input.size());
    return;
  }
  for (std::size_t d = 0; d < call.input.size(); ++d) {
    it.axes.push_back({.input = call.input[d], .output = call.output[d]});
    const bool is_resized = std::find(resized->begin(), resized->end(), d) != resized->end();
    if (call.input[d] == 0 && call.output[d] != 0) {
      it.refusal = fmt::format("axis {} has nothing to make {} of", d, call.output[d]);
    } else if (!is_resized && call.input[d] != call.output[d]) {
      it.refusal = fmt::format("axis {} changes, but is not resized", d);
    }
  }
  if (it.refusal.empty()) scale_axes(call, *resized, it);
}

/// The place in the input of an element of the output.
double source_of(double x, const ResizeAxis& axis, Coordinates coordinates) {
  const auto in = static_cast<double>(axis.input);
  const auto out = static_cast<double>(axis.output);
  const bool has_one = axis.output == 1;
  switch (coordinates) {
    case Coordinates::asymmetric:
      return x / axis.scale;
    case Coordinates::half_pixel:
      return (x + 0.5) / axis.scale - 0.5;
    case Coordinates::pytorch_half_pixel:
      return has_one ? 0 : (x + 0.5) / axis.scale - 0.5;
    case Coordinates::tf_half_pixel_for_nn:
      return (x + 0.5) / axis.scale;
    case Coordinates::align_corners: {
      // The size that the scale gives, possibly a fraction, not the size of the output.
      const double resized = axis.scale * in;
      return resized == 1 ? 0 : x * (in - 1) / (resized - 1);
    }
    case Coordinates::half_pixel_symmetric: {
      const double adjustment = out / (axis.scale * in);
      return in / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
    }
    case Coordinates::tf_crop_and_resize:
      break;
  }
  if (has_one) return (axis.begin + axis.end) / 2 * (in - 1);
  return axis.begin * (in - 1) + x * (axis.end - axis.begin) * (in - 1) / (out - 1);
}

double rounded(double x, Rounding rounding) {
  switch (rounding) {
    case Rounding::prefer_floor:
      return std::ceil(x - 0.5);
    case Rounding::prefer_ceil:
      return std::floor(x + 0.5);
    case Rounding::floor:
      return std::floor(x);
    case Rounding::ceil:
      break;
  }
  return std::ceil(x);
}

/// The cubic convolution of R. Keys, 1981, with its parameter a, at a distance.
double cubic_weight(double distance, double a) {
  const double d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/// Taps at whole places; the nearest place inside replaces those outside.
Taps taps_at(double x, const ResizeAxis& axis, const Resizing& it) {
  const auto inside = [&](double at) {
    return static_cast<std::int64_t>(std::clamp(at, 0.0, static_cast<double>(axis.input - 1)));
  };
  if (it.mode == ResizeMode::nearest) return {{.at = inside(rounded(x, it.rounding)), .weight = 1}};
  const double low = std::floor(x);
  const double rest = x - low;
  if (it.mode == ResizeMode::linear)
    return {{.at = inside(low), .weight = 1 - rest}, {.at = inside(low + 1), .weight = rest}};
  Taps taps;
  double total = 0;
  for (const double step : {-1.0, 0.0, 1.0, 2.0}) {
    const double at = low + step;
    const bool is_outside = at < 0 || at > static_cast<double>(axis.input - 1);
    const double weight = is_outside && it.excludes_outside ? 0 : cubic_weight(rest - step, it.cubic);
    taps.push_back({.at = inside(at), .weight = weight});
    total += weight;
  }
  if (it.excludes_outside) {
    for (Tap& tap : taps) tap.weight /= total;
  }
  return taps;
}

}  // namespace

Resizing resizing_of(const ResizeCall& call) {
  const bool is_first = ResizeCall::is_first(call.type, call.version);  // places are multiples of the scale
  Resizing it;
  it.mode = value_of(call, "mode", "nearest", mode_names, it.refusal);
  it.coordinates = value_of(call, "coordinate_transformation_mode", is_first ? "asymmetric" : "half_pixel",
                            coordinate_names, it.refusal);
  it.rounding =
      value_of(call, "nearest_mode", is_first ? "floor" : "round_prefer_floor", rounding_names, it.refusal);
  it.cubic = static_cast<double>(call.attributes.real("cubic_coeff_a", -0.75F));
  it.excludes_outside = call.attributes.integer("exclude_outside", 0) != 0;
  if (call.attributes.integer("antialias", 0) != 0) it.refusal = "antialias";
  if (it.refusal.empty()) set_axes(call, it);
  return it;
}

std::vector<Taps> taps_of(const Resizing& resizing, const ResizeAxis& axis) {
  std::vector<Taps> table;
  const bool is_same = axis.input == axis.output && axis.scale == 1 && !resizing.is_cropped();
  for (std::int64_t i = 0; i < axis.output; ++i) {
    if (is_same) {
      table.push_back({{.at = i, .weight = 1}});
      continue;
    }
    const double x = source_of(static_cast<double>(i), axis, resizing.coordinates);
    const bool is_outside = resizing.is_cropped() && !(x >= 0 && x <= static_cast<double>(axis.input - 1));
    Taps taps = is_outside || !std::isfinite(x) ? Taps{} : taps_at(x, axis, resizing);
    std::erase_if(taps, [](const Tap& tap) { return tap.weight == 0; });
    table.push_back(std::move(taps));
  }
  return table;
}

// TFLite

float TfliteResizeAxis::scale() const {
  return aligns_corners && output > 1 ? static_cast<float>(input - 1) / static_cast<float>(output - 1)
                                      : static_cast<float>(input) / static_cast<float>(output);
}

std::vector<std::int64_t> nearest_places(const TfliteResizeAxis& axis) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < axis.output; ++i) {
    const float place = (static_cast<float>(i) + (axis.centers ? 0.5F : 0.0F)) * axis.scale();
    const auto nearest =
        static_cast<std::int64_t>(axis.aligns_corners ? std::round(place) : std::floor(place));
    places.push_back(std::clamp<std::int64_t>(nearest, 0, axis.input - 1));
  }
  return places;
}

std::vector<Between<float>> real_places(const TfliteResizeAxis& axis) {
  std::vector<Between<float>> places;
  for (std::int64_t i = 0; i < axis.output; ++i) {
    const auto number = static_cast<float>(i);
    const float place = axis.centers ? (number + 0.5F) * axis.scale() - 0.5F : number * axis.scale();
    const auto first = std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(place)), 0);
    const auto second = std::min<std::int64_t>(static_cast<std::int64_t>(std::ceil(place)), axis.input - 1);
    places.push_back({std::min(first, axis.input - 1), std::max<std::int64_t>(second, 0),
                      place - static_cast<float>(first)});
  }
  return places;
}

std::vector<Between<std::int64_t>> integer_places(const TfliteResizeAxis& axis) {
  constexpr std::int64_t unit = units_of_distance;
  const bool is_aligned = axis.aligns_corners && axis.output > 1;
  const std::int64_t in = axis.input - (is_aligned ? 1 : 0);
  const std::int64_t out = axis.output - (is_aligned ? 1 : 0);
  const std::int64_t scale = out == 0 ? 0 : (unit * in + out / 2) / out;
  std::vector<Between<std::int64_t>> places;
  for (std::int64_t i = 0; i < axis.output; ++i) {
    const std::int64_t place = i * scale + (axis.centers ? scale / 2 - unit / 2 : 0);
    const std::int64_t first = std::max<std::int64_t>(place / unit, 0);
    const std::int64_t second = std::min((place + unit - 1) / unit, axis.input - 1);
    places.push_back(
        {std::min(first, axis.input - 1), std::max<std::int64_t>(second, 0), place - unit * first});
  }
  return places;
}

}  // namespace stowage::operators
