#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "model/row_rules.h"

/// Words that the rules of all operators use.
namespace stowage::model {

/// TFLite's types have no small letters.
[[nodiscard]] bool is_tflite(const Site& site);

[[nodiscard]] Reading rows_along(std::size_t axis, const RowMap& rows);
/// The row of the same number.
[[nodiscard]] Reading same_row(std::size_t axis);
[[nodiscard]] Reading shared();
[[nodiscard]] Reading all();

/// Elements of dimensions [begin, end).
[[nodiscard]] std::int64_t count(const Shape& shape, std::size_t begin, std::size_t end);

/// An axis that may count from the end; none: there is no such axis.
[[nodiscard]] std::optional<std::size_t> from_end(std::int64_t axis, std::size_t rank);

/// The attribute "axis" of an operator, counted from the front.
[[nodiscard]] std::optional<std::size_t> axis_attribute(const Site& site, std::int64_t otherwise,
                                                        std::size_t rank);

}  // namespace stowage::model
