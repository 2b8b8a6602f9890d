#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "model/row_rules.h"

/// What operators read of an input for a row of their output, type by type, and words for that.
namespace stowage::model {

// Words

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

// Operators that only move elements about (row_shapes.cc)

/// Rows are runs of elements if all dimensions in front are one; or nothing changed up to the axis.
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

/// Just the rows that kernels read.
[[nodiscard]] Reading resize(const Site& site, std::size_t input, std::size_t axis);

/// Blocks of pixels become channels, or the other way round.
[[nodiscard]] Reading blocks(const Site& site, std::size_t input, std::size_t axis);

/// Whether a pool has a single window over all rows along the axis: then it is a sum, too.
[[nodiscard]] bool is_pool_of_all(const Site& site, std::size_t axis);

}  // namespace stowage::model
