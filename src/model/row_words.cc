#include "model/row_words.h"

#include <algorithm>

namespace stowage::model {

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

}  // namespace stowage::model
