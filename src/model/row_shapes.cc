#include <algorithm>
#include <numeric>
#include <vector>

#include "model/row_readings.h"

namespace stowage::model {

// Words

bool is_tflite(const Site& site) {
  return std::none_of(site.type().begin(), site.type().end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

Reading rows_along(std::size_t axis, const RowMap& rows) { return {Reach::rows, axis, rows}; }
Reading same_row(std::size_t axis) { return rows_along(axis, {}); }
Reading shared() { return {Reach::shared}; }
Reading all() { return {Reach::all}; }

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

std::optional<std::size_t> axis_attribute(const Site& site, std::int64_t otherwise, std::size_t rank) {
  return from_end(site.attributes().integer("axis", otherwise), rank);
}

// Operators that only move elements

namespace {

/// The index of an axis in the list of axes that an attribute or an input gives; without a list, the axis.
std::optional<std::size_t> place_among(const Site& site, std::size_t axes_input, std::size_t axis,
                                       std::size_t rank) {
  if (!site.attributes().has("axes") && !site.has_input(axes_input)) return axis;
  const auto axes = site.integers("axes", axes_input);
  if (!axes) return std::nullopt;
  const auto own =
      std::find_if(axes->begin(), axes->end(), [&](auto a) { return from_end(a, rank) == axis; });
  return static_cast<std::size_t>(own - axes->begin());
}

/// Rows before the first one of the input; none if that is unknown.
std::optional<std::int64_t> padding_before(const Site& site, std::size_t axis, std::size_t rank) {
  if (is_tflite(site)) {
    const auto pads = site.integers(1);
    return pads && pads->size() == 2 * rank ? std::optional((*pads)[2 * axis]) : std::nullopt;
  }
  const auto pads = site.integers("pads", 1);
  const auto at = place_among(site, 3, axis, rank);
  if (!pads || !at || pads->size() % 2 != 0) return std::nullopt;
  return *at < pads->size() / 2 ? (*pads)[*at] : 0;
}

}  // namespace

Reading reshape(const Site& site, std::size_t input, std::size_t axis) {
  const Shape in = site.input_shape(0);
  const Shape out = site.output_shape();
  if (input != 0) return shared();
  const std::int64_t outer = count(out, 0, axis);
  const std::int64_t inner = count(out, axis + 1, out.size());
  Reading found = all();
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (count(in, 0, d) != outer) continue;
    const std::int64_t own = count(in, d + 1, in.size());
    if (own == inner && in[d] == out[axis]) return same_row(d);
    if (outer != 1 || own == 0 || inner == 0 || in[d] == 1) continue;
    if (inner % own == 0) found = rows_along(d, {.scale = inner / own, .taps = inner / own});
    if (own % inner == 0) found = rows_along(d, {.divisor = own / inner});
  }
  return found;
}

Reading transpose(const Site& site, std::size_t input, std::size_t axis) {
  const std::size_t rank = site.input_shape(0).size();
  if (input != 0) return shared();
  if (axis >= rank) return all();
  std::vector<std::int64_t> order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  if (is_tflite(site)) {
    const auto told = site.integers(1);
    if (!told || told->size() != rank) return all();
    order = *told;
  } else {
    order = site.attributes().integers("perm", order);
  }
  if (order.size() != rank) return all();
  const auto from = from_end(order[axis], rank);
  return from ? same_row(*from) : all();
}

Reading concat(const Site& site, std::size_t input, std::size_t axis) {
  const auto joined = axis_attribute(site, 0, site.output_shape().size());
  if (!joined) return all();
  if (axis != *joined) return same_row(axis);
  std::int64_t before = 0;
  for (std::size_t i = 0; i < input; ++i) before += site.input_shape(i).at(axis);
  return rows_along(axis, {.offset = -before});
}

Reading split(const Site& site, std::size_t input, std::size_t axis) {
  const std::size_t data = site.type() == "SPLIT" ? 1 : 0;
  if (input != data) return shared();
  return site.input_shape(data).at(axis) == site.output_shape().at(axis) ? same_row(axis) : all();
}

Reading slice(const Site& site, std::size_t input, std::size_t axis) {
  const Shape in = site.input_shape(0);
  if (input != 0) return shared();
  if (in.size() != site.output_shape().size()) return all();
  if (in[axis] == site.output_shape()[axis]) {
    // A reversal has the same number of rows.
    const auto steps = site.type() == "Slice" ? site.integers("steps", 4) : std::nullopt;
    const bool may_reverse =
        site.type() == "STRIDED_SLICE" || (site.has_input(4) && !steps) ||
        (steps && std::any_of(steps->begin(), steps->end(), [](auto s) { return s < 0; }));
    return may_reverse ? all() : same_row(axis);
  }
  const auto starts = site.integers("starts", 1);
  if (!starts || site.has_input(4)) return all();
  std::optional<std::size_t> at = axis;
  if (site.type() == "Slice") at = place_among(site, 3, axis, in.size());
  if (site.type() == "STRIDED_SLICE" || !at || *at >= starts->size()) return all();
  std::int64_t start = (*starts)[*at];
  start = std::clamp<std::int64_t>(start < 0 ? start + in[axis] : start, 0, in[axis]);
  return rows_along(axis, {.offset = start});
}

Reading pad(const Site& site, std::size_t input, std::size_t axis) {
  const std::size_t rank = site.output_shape().size();
  if (input != 0) return shared();
  if (site.input_shape(0).size() != rank) return all();
  const auto before = padding_before(site, axis, rank);
  if (!before) return all();
  if (*before == 0 && site.input_shape(0)[axis] == site.output_shape()[axis]) return same_row(axis);
  const bool is_constant = is_tflite(site) ? site.type() != "MIRROR_PAD"
                                           : site.attributes().text("mode", "constant") == "constant";
  return is_constant ? rows_along(axis, {.offset = -*before}) : all();
}

}  // namespace stowage::model
