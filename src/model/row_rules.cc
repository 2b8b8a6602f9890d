// What each type of operator reads for a row of its output. The rule of a type is a function from (operator,
// input, axis of the output) to rows of the input; a type without a rule runs as a whole. Rules need not be
// exact, but must name every row that is read: one too many costs bytes, one too few is a wrong plan. A rule
// that is unsure of its operator says that it reads everything.

#include "model/row_rules.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>

#include "model/row_windows.h"

namespace stowage::model {
namespace {

using namespace std::string_view_literals;
using Rule = std::optional<AxisRows> (*)(const Site&, std::size_t input, std::size_t axis);

std::int64_t count(const Shape& shape, std::size_t begin, std::size_t end) {
  std::int64_t product = 1;
  for (std::size_t d = begin; d < end; ++d) product *= shape[d];
  return product;
}

std::optional<std::size_t> from_end(std::int64_t axis, std::size_t rank) {
  const std::int64_t positive = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  if (positive < 0 || positive >= static_cast<std::int64_t>(rank)) return std::nullopt;
  return static_cast<std::size_t>(positive);
}

/// The attribute "axis" of an operator, counted from the front.
std::optional<std::size_t> axis_attribute(const Site& site, std::int64_t otherwise, std::size_t rank) {
  return from_end(site.attributes().integer("axis", otherwise), rank);
}

/// Element by element, a shorter shape or an extent of one repeated.
std::optional<AxisRows> elementwise(const Site& site, std::size_t input, std::size_t axis) {
  constexpr std::array with_parameters{"BatchNormalization"sv, "DequantizeLinear"sv, "QuantizeLinear"sv};
  const bool is_parameter = input > 0 && std::find(with_parameters.begin(), with_parameters.end(),
                                                   site.type()) != with_parameters.end();
  if (is_parameter) return std::nullopt;  // of an axis that is not the last one
  const Shape in = site.input_shape(input);
  const Shape out = site.output_shape();
  if (in.size() + axis < out.size()) return std::nullopt;
  const std::size_t own = in.size() + axis - out.size();
  if (own >= in.size() || in[own] != out[axis]) return std::nullopt;
  return same_row(own);
}

// Products

/// The matrices are in the last two dimensions, those before are a batch.
std::optional<AxisRows> matrix_product(const Site& site, std::size_t input, std::size_t axis) {
  const Shape in = site.input_shape(input);
  const std::size_t rank = site.output_shape().size();
  if (in.size() < 2 || rank < 2 || input > 1) return std::nullopt;
  if (axis + 2 < rank) return elementwise(site, input, axis);
  const bool is_row = axis + 2 == rank;
  if (is_row != (input == 0)) return std::nullopt;
  const char* const flag =
      is_tflite(site) ? (input == 0 ? "adj_x" : "adj_y") : (input == 0 ? "transA" : "transB");
  const bool is_transposed = site.attributes().integer(flag, 0) != 0;
  return same_row(in.size() - (is_row != is_transposed ? 2 : 1));
}

std::optional<AxisRows> gemm(const Site& site, std::size_t input, std::size_t axis) {
  return input == 2 ? elementwise(site, input, axis) : matrix_product(site, input, axis);
}

/// The input is a matrix whose rows are as long as those of the weights.
std::optional<AxisRows> fully_connected(const Site& site, std::size_t input, std::size_t axis) {
  const Shape in = site.input_shape(0);
  const Shape out = site.output_shape();
  const bool is_alike =
      in.size() == out.size() && axis + 1 < out.size() && std::equal(in.begin(), in.end() - 1, out.begin());
  return input == 0 && is_alike ? same_row(axis) : std::nullopt;
}

// Shapes

/// Rows are runs of elements if all dimensions in front are one; or nothing changed up to the axis.
std::optional<AxisRows> reshape(const Site& site, std::size_t input, std::size_t axis) {
  const Shape in = site.input_shape(0);
  const Shape out = site.output_shape();
  if (input != 0) return std::nullopt;
  const std::int64_t outer = count(out, 0, axis);
  const std::int64_t inner = count(out, axis + 1, out.size());
  std::optional<AxisRows> found;
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (count(in, 0, d) != outer) continue;
    const std::int64_t own = count(in, d + 1, in.size());
    if (own == inner && in[d] == out[axis]) return same_row(d);
    if (outer != 1 || own == 0 || inner == 0 || in[d] == 1) continue;
    if (inner % own == 0) found = AxisRows{d, {.scale = inner / own, .taps = inner / own}};
    if (own % inner == 0) found = AxisRows{d, {.divisor = own / inner}};
  }
  return found;
}

std::optional<AxisRows> transpose(const Site& site, std::size_t input, std::size_t axis) {
  const std::size_t rank = site.input_shape(0).size();
  if (input != 0 || axis >= rank) return std::nullopt;
  std::vector<std::int64_t> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  if (is_tflite(site)) {
    const auto told = site.integers(1);
    if (!told || told->size() != rank) return std::nullopt;
    order = *told;
  } else {
    order = site.attributes().integers("perm", order);
  }
  if (order.size() != rank) return std::nullopt;
  const auto from = from_end(order[axis], rank);
  return from ? same_row(*from) : std::nullopt;
}

std::optional<AxisRows> concat(const Site& site, std::size_t input, std::size_t axis) {
  const auto joined = axis_attribute(site, 0, site.output_shape().size());
  if (!joined) return std::nullopt;
  if (axis != *joined) return same_row(axis);
  std::int64_t before = 0;
  for (std::size_t i = 0; i < input; ++i) before += site.input_shape(i).at(axis);
  return AxisRows{axis, {.offset = -before}};
}

/// Along another axis only: there every output has all the rows.
std::optional<AxisRows> split(const Site& site, std::size_t input, std::size_t axis) {
  const std::size_t data = site.type() == "SPLIT" ? 1 : 0;
  if (input != data || site.input_shape(data).at(axis) != site.output_shape().at(axis)) return std::nullopt;
  return same_row(axis);
}

std::optional<AxisRows> slice(const Site& site, std::size_t input, std::size_t axis) {
  const Shape in = site.input_shape(0);
  if (input != 0 || in.size() != site.output_shape().size()) return std::nullopt;
  if (in[axis] == site.output_shape()[axis]) {
    // A reversal has as many rows.
    const auto steps = site.type() == "Slice" ? site.integers("steps", 4) : std::nullopt;
    const bool may_reverse =
        site.type() == "STRIDED_SLICE" || (site.has_input(4) && !steps) ||
        (steps && std::any_of(steps->begin(), steps->end(), [](auto s) { return s < 0; }));
    return may_reverse ? std::nullopt : same_row(axis);
  }
  const auto starts = site.integers("starts", 1);
  if (!starts || site.has_input(4)) return std::nullopt;
  std::size_t at = axis;
  if (site.type() == "Slice") {
    std::vector<std::int64_t> axes(starts->size());
    std::iota(axes.begin(), axes.end(), 0);
    if (site.attributes().has("axes") || site.has_input(3)) {
      const auto told = site.integers("axes", 3);
      if (!told) return std::nullopt;
      axes = *told;
    }
    const auto own =
        std::find_if(axes.begin(), axes.end(), [&](auto a) { return from_end(a, in.size()) == axis; });
    at = static_cast<std::size_t>(own - axes.begin());
  } else if (site.type() != "SLICE") {
    return std::nullopt;
  }
  if (at >= starts->size()) return std::nullopt;
  std::int64_t start = (*starts)[at];
  start = std::clamp<std::int64_t>(start < 0 ? start + in[axis] : start, 0, in[axis]);
  return AxisRows{axis, {.offset = start}};
}

std::optional<AxisRows> pad(const Site& site, std::size_t input, std::size_t axis) {
  const std::size_t rank = site.output_shape().size();
  if (input != 0 || site.input_shape(0).size() != rank) return std::nullopt;
  if (site.input_shape(0)[axis] == site.output_shape()[axis]) return same_row(axis);
  if (is_tflite(site)) {
    const auto pads = site.integers(1);
    if (site.type() == "MIRROR_PAD" || !pads || pads->size() != 2 * rank) return std::nullopt;
    return AxisRows{axis, {.offset = -(*pads)[2 * axis]}};
  }
  const auto pads = site.integers("pads", 1);
  const bool is_constant = site.attributes().text("mode", "constant") == "constant";
  if (!is_constant || site.has_input(3) || !pads || pads->size() != 2 * rank) return std::nullopt;
  return AxisRows{axis, {.offset = -(*pads)[axis]}};
}

// Along an axis

/// All of the axes from one on belong together; rows along those in front are independent.
std::optional<AxisRows> independent_before(const Site& site, std::size_t input, std::size_t axis,
                                           std::int64_t otherwise) {
  const auto own = axis_attribute(site, otherwise, site.output_shape().size());
  return input == 0 && own && axis < *own ? same_row(axis) : std::nullopt;
}

std::optional<AxisRows> softmax(const Site& site, std::size_t input, std::size_t axis) {
  if (is_tflite(site)) return axis + 1 < site.output_shape().size() ? same_row(axis) : std::nullopt;
  if (site.version() < 13) return independent_before(site, input, axis, 1);
  const auto own = axis_attribute(site, -1, site.output_shape().size());
  return own && axis != *own ? same_row(axis) : std::nullopt;
}

std::optional<AxisRows> layer_norm(const Site& site, std::size_t input, std::size_t axis) {
  return independent_before(site, input, axis, -1);
}

std::optional<AxisRows> across_channels(const Site&, std::size_t input, std::size_t axis) {
  return input == 0 && axis != 1 ? same_row(axis) : std::nullopt;
}

/// Embeddings: a constant table, and a row for every index.
std::optional<AxisRows> gather(const Site& site, std::size_t input, std::size_t axis) {
  const bool is_first = site.attributes().integer("axis", 0) == 0;
  return input == 1 && is_first && axis < site.input_shape(1).size() ? same_row(axis) : std::nullopt;
}

// Reductions

/// The axes that a reduction goes over; none where that is not known.
std::optional<std::vector<std::size_t>> reduced_axes(const Site& site) {
  const std::size_t rank = site.input_shape(0).size();
  std::vector<std::size_t> axes;
  if (site.type().starts_with("Global")) {
    for (std::size_t d = 2; d < rank; ++d) axes.push_back(d);
    return axes;
  }
  const bool is_told = site.attributes().has("axes") || site.has_input(1);
  const auto told = site.integers("axes", 1);
  if (is_told && !told) return std::nullopt;
  if (!told || told->empty()) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    return axes;
  }
  for (const std::int64_t axis : *told) {
    const auto positive = from_end(axis, rank);
    if (!positive) return std::nullopt;
    axes.push_back(*positive);
  }
  return axes;
}

bool has(const std::vector<std::size_t>& axes, std::size_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

std::optional<AxisRows> reduction(const Site& site, std::size_t input, std::size_t axis) {
  const auto axes = reduced_axes(site);
  if (input != 0 || !axes) return std::nullopt;
  const std::size_t rank = site.input_shape(0).size();
  if (site.output_shape().size() == rank) return has(*axes, axis) ? std::nullopt : same_row(axis);
  std::size_t kept = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    if (!has(*axes, d) && kept++ == axis) return same_row(d);
  }
  return std::nullopt;
}

// The table

const std::map<std::string_view, Rule>& rules() {
  static const std::map<std::string_view, Rule> table = [] {
    std::map<std::string_view, Rule> all;
    const auto add = [&](std::initializer_list<std::string_view> types, Rule rule) {
      for (const std::string_view type : types) all.emplace(type, rule);
    };
    add({"Conv", "QLinearConv", "ConvInteger", "MaxPool", "AveragePool", "LpPool", "CONV_2D",
         "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"},
        windowed);
    add({"ConvTranspose"}, transposed_window);
    add({"MatMul", "BATCH_MATMUL"}, matrix_product);
    add({"Gemm"}, gemm);
    add({"FULLY_CONNECTED"}, fully_connected);
    add({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "RESHAPE", "SQUEEZE", "EXPAND_DIMS"}, reshape);
    add({"Transpose", "TRANSPOSE"}, transpose);
    add({"Concat", "CONCATENATION"}, concat);
    add({"Split", "SPLIT", "SPLIT_V"}, split);
    add({"Slice", "SLICE", "STRIDED_SLICE"}, slice);
    add({"Pad", "PAD", "PADV2", "MIRROR_PAD"}, pad);
    add({"Resize", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"}, resize);
    add({"DepthToSpace", "SpaceToDepth", "DEPTH_TO_SPACE", "SPACE_TO_DEPTH"}, blocks);
    add({"Softmax", "LogSoftmax", "SOFTMAX", "LOG_SOFTMAX"}, softmax);
    add({"LayerNormalization"}, layer_norm);
    add({"LRN"}, across_channels);
    add({"Gather", "GATHER"}, gather);
    add({"GlobalAveragePool", "GlobalMaxPool", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "MEAN",
         "SUM", "REDUCE_MAX", "REDUCE_MIN"},
        reduction);
    return all;
  }();
  return table;
}

bool is_elementwise(const Site& site) {
  constexpr std::array scattering{"Scatter"sv, "ScatterElements"sv, "ScatterND"sv, "TensorScatter"sv,
                                  "DYNAMIC_UPDATE_SLICE"sv};
  return updates_in_place(site.op(), 0) &&
         std::find(scattering.begin(), scattering.end(), site.type()) == scattering.end();
}

Rule rule_of(const Site& site) {
  const auto found = rules().find(site.type());
  if (found != rules().end()) return found->second;
  return is_elementwise(site) ? elementwise : nullptr;
}

}  // namespace

bool is_rowwise(const Site& site, std::size_t axis) {
  const Rule rule = rule_of(site);
  if (rule == nullptr || !site.op().bodies.empty() || site.op().stateful) return false;
  if (rule == reduction && !reduced_axes(site)) return false;
  for (std::size_t o = 1; o < site.op().outputs.size(); ++o) {
    const Shape first = site.output_shape(0);
    const Shape other = site.output_shape(o);
    if (!other.empty() && (axis >= other.size() || other[axis] != first[axis])) return false;
  }
  return true;
}

std::vector<std::size_t> summed_axes(const Site& site) {
  const Rule rule = rule_of(site);
  if (rule == reduction && !site.op().stateful)
    return reduced_axes(site).value_or(std::vector<std::size_t>());
  const bool is_pool = site.type().ends_with("Pool") || site.type().ends_with("POOL_2D");
  if (rule != windowed || !is_pool) return {};
  const auto axis = window_axis(site);
  return axis && is_pool_of_all(site, *axis) ? std::vector{*axis} : std::vector<std::size_t>();
}

std::optional<AxisRows> row_map(const Site& site, std::size_t input, std::size_t axis) {
  const Rule rule = rule_of(site);
  const Shape shape = site.input_shape(input);
  if (rule == nullptr || shape.empty() || axis >= site.output_shape().size()) return std::nullopt;
  const auto map = rule(site, input, axis);
  return map && map->axis < shape.size() ? map : std::nullopt;
}

}  // namespace stowage::model
