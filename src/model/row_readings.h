#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "model/row_rules.h"

/// The rows of an input that operators read for a row of their output, type by type, and words for that.
namespace stowage::model {

// Words

/// TFLite's types have no lower-case letters.
[[nodiscard]] bool is_tflite(const Site& site);

[[nodiscard]] Reading rows_along(std::size_t axis, const RowMap& rows);
/// The row of the same number.
[[nodiscard]] Reading same_row(std::size_t axis);
[[nodiscard]] Reading shared();
[[nodiscard]] Reading all();

/// The number of elements in dimensions [begin, end).
[[nodiscard]] std::int64_t count(const Shape& shape, std::size_t begin, std::size_t end);

/// Resolves an axis that may count from the end; none: no such axis exists.
[[nodiscard]] std::optional<std::size_t> from_end(std::int64_t axis, std::size_t rank);

/// The attribute "axis" of an operator, counted from the front.
[[nodiscard]] std::optional<std::size_t> axis_attribute(const Site& site, std::int64_t otherwise,
                                                        std::size_t rank);

// Operators that only move elements (row_shapes.cc)

/// Rows are consecutive elements if all dimensions before the axis are one, or nothing changed up to it.
[[nodiscard]] Reading reshape(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] Reading transpose(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] Reading concat(const Site& site, std::size_t input, std::size_t axis);

/// Along another axis only: there every output has all the rows.
[[nodiscard]] Reading split(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] Reading slice(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] Reading pad(const Site& site, std::size_t input, std::size_t axis);

// Operators that move along the rows of an image (row_windows.cc, row_resize.cc)

/// Convolutions and pools: the data is the first input, all others are weights.
[[nodiscard]] Reading windowed(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] Reading transposed_window(const Site& site, std::size_t input, std::size_t axis);

/// Exactly the rows that kernels read.
[[nodiscard]] Reading resize(const Site& site, std::size_t input, std::size_t axis);

/// Blocks of pixels become channels, or vice versa.
[[nodiscard]] Reading blocks(const Site& site, std::size_t input, std::size_t axis);

/// Whether a pool has a single window over all rows along the axis, so that it is also a sum.
[[nodiscard]] bool is_pool_of_all(const Site& site, std::size_t axis);

}  // namespace stowage::model
