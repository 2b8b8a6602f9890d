#include <algorithm>
#include <numeric>
#include <vector>

#include "operators/readings.h"

namespace stowage::operators {

// Words

Reading rows_along(std::size_t axis, const RowMap& rows) { return {Reach::rows, axis, rows}; }
Reading same_row(std::size_t axis) { return rows_along(axis, {}); }
Reading shared() { return {Reach::shared}; }
Reading all() { return {Reach::all}; }
Reading together() { return {Reach::together}; }

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

std::optional<std::size_t> axis_input(const Site& site, std::size_t input, std::size_t rank) {
  const auto axes = site.integers(input);
  return axes && axes->size() == 1 ? from_end(axes->front(), rank) : std::nullopt;
}

std::optional<std::size_t> place_among(const Site& site, std::size_t axes_input, std::size_t axis,
                                       std::size_t rank) {
  if (!site.attributes().has("axes") && !site.has_input(axes_input)) return axis;
  const auto axes = site.integers("axes", axes_input);
  if (!axes) return std::nullopt;
  const auto own =
      std::find_if(axes->begin(), axes->end(), [&](auto a) { return from_end(a, rank) == axis; });
  return static_cast<std::size_t>(own - axes->begin());
}

// Operators that only move elements

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
    if (own == 0 || inner == 0 || in[d] == 1) continue;
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
  if (site.is_tflite()) {
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

Reading quantized_concat(const Site& site, std::size_t input, std::size_t axis) {
  const auto own = axis_attribute(site, 0, site.output_shape().size());
  if (input < 2 || (input - 2) % 3 != 0) return shared();
  return own && axis != *own ? same_row(axis) : all();
}

namespace {

Reading split_along(const Site& site, std::size_t data, std::size_t input, std::size_t axis) {
  if (input != data) return shared();
  return site.input_shape(data).at(axis) == site.output_shape().at(axis) ? same_row(axis) : all();
}

}  // namespace

Reading split(const Site& site, std::size_t input, std::size_t axis) {
  return split_along(site, 0, input, axis);
}
Reading split_second(const Site& site, std::size_t input, std::size_t axis) {
  return split_along(site, 1, input, axis);
}

Reading pack(const Site& site, std::size_t, std::size_t axis) {
  const auto own = axis_attribute(site, 0, site.output_shape().size());
  if (!own || axis == *own) return all();
  return same_row(axis < *own ? axis : axis - 1);
}

Reading unpack(const Site& site, std::size_t, std::size_t axis) {
  const auto own = axis_attribute(site, 0, site.input_shape(0).size());
  if (!own) return all();
  return same_row(axis < *own ? axis : axis + 1);
}

Reading expand(const Site& site, std::size_t input, std::size_t axis) {
  return input == 0 ? elementwise(site, 0, axis) : shared();
}

Reading triangle(const Site&, std::size_t input, std::size_t axis) {
  return input == 0 ? same_row(axis) : shared();
}

}  // namespace stowage::operators
