// Resize and Upsample. Idea: on each axis a table says of which elements of the input, with which weights, an
// element of the output consists; modes differ in the table only. An element of the output is the sum over
// all axes. Cost: the product of the numbers of weights, 4 for linear and 16 for cubic in a plane.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "run/onnx/elements.h"
#include "run/onnx/tables.h"
#include "run/rows.h"

namespace stowage::run::onnx_ops {
namespace {

struct Tap {
  std::int64_t at;  ///< Index on its axis of the input.
  double weight;
};

/// What an element of the output consists of on one axis: nothing where it is outside.
using Taps = std::vector<Tap>;
using Tables = std::vector<std::vector<Taps>>;

struct Axis {
  std::int64_t input = 1;
  std::int64_t output = 1;
  double scale = 1;
  double begin = 0;  ///< Of the region of interest, of 1.
  double end = 1;
};

struct Modes {
  std::string mode{};
  std::string coordinates{};
  std::string nearest{};
  double cubic = -0.75;
  bool excludes_outside = false;
  bool is_cropped = false;
};

/// Where an element of the output is in the input.
double source_of(double x, const Axis& axis, const std::string& coordinates) {
  const auto in = static_cast<double>(axis.input);
  const auto out = static_cast<double>(axis.output);
  const bool has_one = axis.output == 1;
  if (coordinates == "asymmetric") return x / axis.scale;
  if (coordinates == "half_pixel") return (x + 0.5) / axis.scale - 0.5;
  if (coordinates == "pytorch_half_pixel") return has_one ? 0 : (x + 0.5) / axis.scale - 0.5;
  if (coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / axis.scale;
  if (coordinates == "align_corners") {
    // Not the size that the output has, but what the scale makes of the input's: a fraction, maybe.
    const double resized = axis.scale * in;
    return resized == 1 ? 0 : x * (in - 1) / (resized - 1);
  }
  if (coordinates == "half_pixel_symmetric") {
    const double adjustment = out / (axis.scale * in);
    return in / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  if (coordinates == "tf_crop_and_resize") {
    if (has_one) return (axis.begin + axis.end) / 2 * (in - 1);
    return axis.begin * (in - 1) + x * (axis.end - axis.begin) * (in - 1) / (out - 1);
  }
  refuse("there is no coordinate_transformation_mode {}", coordinates);
}

double rounded(double x, const std::string& nearest) {
  if (nearest == "round_prefer_floor") return std::ceil(x - 0.5);
  if (nearest == "round_prefer_ceil") return std::floor(x + 0.5);
  if (nearest == "floor") return std::floor(x);
  if (nearest == "ceil") return std::ceil(x);
  refuse("there is no nearest_mode {}", nearest);
}

/// The cubic convolution of R. Keys, 1981, with its parameter a, at a distance.
double cubic_weight(double distance, double a) {
  const double d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/// Taps at whole places that may be outside, which the nearest inside then stands for.
Taps taps_at(double x, const Axis& axis, const Modes& modes) {
  const auto inside = [&](double at) {
    return static_cast<std::int64_t>(std::clamp(at, 0.0, static_cast<double>(axis.input - 1)));
  };
  if (modes.mode == "nearest") return {{.at = inside(rounded(x, modes.nearest)), .weight = 1}};
  const double low = std::floor(x);
  const double rest = x - low;
  if (modes.mode == "linear")
    return {{.at = inside(low), .weight = 1 - rest}, {.at = inside(low + 1), .weight = rest}};
  if (modes.mode != "cubic") refuse("there is no mode {}", modes.mode);
  Taps taps;
  double total = 0;
  for (const double step : {-1.0, 0.0, 1.0, 2.0}) {
    const double at = low + step;
    const bool is_outside = at < 0 || at > static_cast<double>(axis.input - 1);
    const double weight = is_outside && modes.excludes_outside ? 0 : cubic_weight(rest - step, modes.cubic);
    taps.push_back({.at = inside(at), .weight = weight});
    total += weight;
  }
  if (modes.excludes_outside) {
    for (Tap& tap : taps) tap.weight /= total;
  }
  return taps;
}

std::vector<Taps> table_of(const Axis& axis, const Modes& modes) {
  expect_table_size(axis.output);
  std::vector<Taps> table;
  const bool is_same = axis.input == axis.output && axis.scale == 1 && !modes.is_cropped;
  for (std::int64_t i = 0; i < axis.output; ++i) {
    if (is_same) {
      table.push_back({{.at = i, .weight = 1}});
      continue;
    }
    const double x = source_of(static_cast<double>(i), axis, modes.coordinates);
    const bool is_outside = modes.is_cropped && !(x >= 0 && x <= static_cast<double>(axis.input - 1));
    Taps taps = is_outside || !std::isfinite(x) ? Taps{} : taps_at(x, axis, modes);
    std::erase_if(taps, [](const Tap& tap) { return tap.weight == 0; });
    table.push_back(std::move(taps));
  }
  return table;
}

/// The axes that are resized: all, or those that are named.
std::vector<std::size_t> resized_axes(const Signature& signature, std::size_t rank) {
  std::vector<std::size_t> axes;
  if (!signature.attributes.has("axes")) {
    for (std::size_t d = 0; d < rank; ++d) axes.push_back(d);
    return axes;
  }
  for (const std::int64_t axis : signature.attributes.integers("axes", {}))
    axes.push_back(axis_of(axis, rank));
  return axes;
}

/// One scale for all axes, so that none becomes larger (smaller) than its size.
void keep_aspect_ratio(std::vector<Axis>& axes, const std::vector<std::size_t>& resized,
                       const std::vector<std::int64_t>& sizes, const std::string& policy) {
  if (policy == "stretch") return;
  if (policy != "not_larger" && policy != "not_smaller")
    refuse("there is no keep_aspect_ratio_policy {}", policy);
  const bool is_least = policy == "not_larger";
  double common = is_least ? std::numeric_limits<double>::infinity() : 0;
  for (std::size_t i = 0; i < resized.size(); ++i) {
    const double own = static_cast<double>(sizes[i]) / static_cast<double>(axes[resized[i]].input);
    common = is_least ? std::min(common, own) : std::max(common, own);
  }
  for (const std::size_t d : resized) axes[d].scale = common;
}

/// Scales are those told, or follow from the sizes.
std::vector<Axis> axes_of_resize(const Signature& signature) {
  const Shape& input = input_of(signature, 0).shape;
  const Shape& output = output_of(signature).shape;
  if (input.size() != output.size()) refuse("{} is not {} resized", show(output), show(input));
  const bool is_short = signature.type == "Upsample" || signature.version < 11;
  const std::size_t scales_at = is_short ? 1 : 2;
  std::vector<double> scales = reals_at(signature, scales_at).value_or(std::vector<double>{});
  for (const float scale : signature.attributes.reals("scales", {}))
    scales.push_back(static_cast<double>(scale));
  const auto sizes = is_short ? std::nullopt : integers_at(signature, 3);
  const bool has_sizes = sizes && !sizes->empty();
  const std::vector<std::size_t> resized = resized_axes(signature, input.size());
  if (has_sizes ? sizes->size() != resized.size() : scales.size() != resized.size())
    refuse("scales or sizes are not those of {} axes", resized.size());
  std::vector<Axis> axes;
  for (std::size_t d = 0; d < input.size(); ++d) {
    axes.push_back({.input = input[d], .output = output[d]});
    if (input[d] == 0 && output[d] != 0) refuse("{} has nothing to make {} of", show(input), show(output));
  }
  const auto region = reals_at(signature, is_short ? 99 : 1).value_or(std::vector<double>{});
  for (std::size_t i = 0; i < resized.size(); ++i) {
    Axis& axis = axes[resized[i]];
    axis.scale = has_sizes ? static_cast<double>(axis.output) / static_cast<double>(axis.input) : scales[i];
    if (!(axis.scale > 0) && axis.output != 0) refuse("a scale is {}", axis.scale);
    if (region.size() != 2 * resized.size()) continue;
    axis.begin = region[i];
    axis.end = region[i + resized.size()];
  }
  if (has_sizes)
    keep_aspect_ratio(axes, resized, *sizes,
                      signature.attributes.text("keep_aspect_ratio_policy", "stretch"));
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const bool is_named = std::find(resized.begin(), resized.end(), d) != resized.end();
    if (!is_named && input[d] != output[d]) refuse("axis {} changes, but is not resized", d);
  }
  return axes;
}

/// The first operator sets knew no coordinates: places are multiples of the scale.
Modes modes_of(const Signature& signature) {
  const auto& attributes = signature.attributes;
  const bool is_first = signature.type == "Upsample" || signature.version < 11;
  Modes modes{.mode = attributes.text("mode", "nearest"),
              .coordinates =
                  attributes.text("coordinate_transformation_mode", is_first ? "asymmetric" : "half_pixel"),
              .nearest = attributes.text("nearest_mode", is_first ? "floor" : "round_prefer_floor"),
              .cubic = static_cast<double>(attributes.real("cubic_coeff_a", -0.75F)),
              .excludes_outside = attributes.integer("exclude_outside", 0) != 0};
  if (modes.mode == "bilinear") modes.mode = "linear";
  modes.is_cropped = modes.coordinates == "tf_crop_and_resize";
  if (attributes.integer("antialias", 0) != 0) refuse("antialias");
  return modes;
}

/// The tables of a resize, of at least three axes, and rows along the third.
struct Resize {
  Tables tables{};
  Shape strides{};  ///< Within a row; those of batch and channel are where the rows are.

  [[nodiscard]] std::int64_t offset(const Rows<const std::byte>& input, std::size_t axis,
                                    std::int64_t at) const {
    return at * (axis == 0 ? input.batch : axis == 1 ? input.channel : strides[axis]);
  }
};

constexpr std::size_t row_axis = 2;

/// The sum over what an element consists of from an axis on; what is before it leads to `offset` in the row.
template <typename Element>
double value_at(const Resize& it, const Rows<const std::byte>& input, const Shape& place, std::size_t axis,
                std::int64_t row, std::int64_t offset) {
  if (axis == it.tables.size()) return static_cast<double>(value_of(input.at<Element>(row, 0)[offset]));
  double total = 0;
  for (const Tap& tap : it.tables[axis][index(place[axis])]) {
    total += tap.weight * (axis == row_axis ? value_at<Element>(it, input, place, axis + 1, tap.at, offset)
                                            : value_at<Element>(it, input, place, axis + 1, row,
                                                                offset + it.offset(input, axis, tap.at)));
  }
  return total;
}

/// The same where it consists of one element.
template <typename Element>
Element nearest_at(const Resize& it, const Rows<const std::byte>& input, const Shape& place) {
  const auto at = [&](std::size_t axis) { return it.tables[axis][index(place[axis])].front().at; };
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < place.size(); ++d) offset += d == row_axis ? 0 : it.offset(input, d, at(d));
  return input.at<Element>(at(row_axis), 0)[offset];
}

bool is_outside(const Tables& tables, const Shape& place) {
  for (std::size_t d = 0; d < place.size(); ++d) {
    if (tables[d][index(place[d])].empty()) return true;
  }
  return false;
}

/// Calls value(place in every axis) for each element of these rows of the output, and writes what it returns.
template <typename Element, typename ValueAt>
void write_rows(const Resize& it, const RowPointers& at, const ValueAt& value) {
  Shape place(it.tables.size(), 0);
  const auto extent_of = [&](std::size_t d) { return extent(it.tables[d].size()); };
  for (place[0] = 0; place[0] < extent_of(0); ++place[0]) {
    for (place[1] = 0; place[1] < extent_of(1); ++place[1]) {
      for (place[row_axis] = at.begin; place[row_axis] < at.end; ++place[row_axis]) {
        auto* to = at.output.at<Element>(place[row_axis], place[0], place[1]);
        std::fill(place.begin() + row_axis + 1, place.end(), 0);
        for (bool is_done = false; !is_done;) {
          *to++ = value(place);
          std::size_t d = place.size();
          while (d > row_axis + 1 && ++place[d - 1] == extent_of(d - 1)) place[--d] = 0;
          is_done = d == row_axis + 1;
        }
      }
    }
  }
}

Image image_of(const Shape& shape, std::size_t element) {
  return {.batches = shape[0],
          .channels = shape[1],
          .rows = shape[row_axis],
          .row = count_of(shape, row_axis + 1, shape.size()),
          .element = extent(element)};
}

/// With as many axes of one element in front that there are three.
Shape padded(const Shape& shape) {
  Shape longer(std::max(shape.size(), row_axis + 1), 1);
  std::copy(shape.begin(), shape.end(), longer.end() - static_cast<std::ptrdiff_t>(shape.size()));
  return longer;
}

Kernel resize(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_dtype(output, input.dtype, "the output");
  const Modes modes = modes_of(signature);
  std::vector<Axis> axes = axes_of_resize(signature);
  if (count_of(output.shape) == 0) return {.run = [](const Pointers&) {}};
  const Shape from = padded(input.shape);
  const Shape to = padded(output.shape);
  const auto it = std::make_shared<Resize>();
  it->strides = strides_of(from);
  Modes same = modes;
  same.is_cropped = false;
  for (std::size_t d = axes.size(); d < from.size(); ++d) it->tables.push_back(table_of(Axis{}, same));
  for (const Axis& axis : axes) it->tables.push_back(table_of(axis, modes));
  const float otherwise = signature.attributes.real("extrapolation_value", 0);
  const auto kernel_of = [&]<typename Element>(const auto& value) {
    return kernel_by_rows(
        image_of(from, sizeof(Element)), image_of(to, sizeof(Element)),
        [it, value](const RowPointers& at) {
          write_rows<Element>(*it, at, [&](const Shape& place) { return value(*it, at.input, place); });
        },
        0);
  };
  if (modes.mode == "nearest" && !modes.is_cropped) {
    return for_size(input.dtype, [&]<typename Element>() -> Kernel {
      return kernel_of.template operator()<Element>(nearest_at<Element>);
    });
  }
  return for_type(input.dtype, numbers, [&]<typename Element>() -> Kernel {
    return kernel_of.template operator()<Element>(
        [otherwise](const Resize& own, const Rows<const std::byte>& rows, const Shape& place) {
          return is_outside(own.tables, place)
                     ? element_of<Element>(otherwise)
                     : element_of<Element>(value_at<Element>(own, rows, place, 0, 0, 0));
        });
  });
}

Kernel resize_with_values(const Signature& signature) {
  const bool is_short = signature.type == "Upsample" || signature.version < 11;
  return is_short ? with_values(signature, {1}, resize) : with_values(signature, {1, 2, 3}, resize);
}

}  // namespace

TablePart resize_kernels() { return {{"Resize", resize_with_values}, {"Upsample", resize_with_values}}; }

}  // namespace stowage::run::onnx_ops
