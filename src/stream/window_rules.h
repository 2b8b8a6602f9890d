#pragma once

#include <cstddef>
#include <optional>

#include "stream/rules.h"

/// What operators read that move along the rows of an image, and words that all rules use.
namespace stowage::stream {

/// TFLite's types have no small letters.
[[nodiscard]] bool is_tflite(const Site& site);

/// The row of the same number.
[[nodiscard]] std::optional<RowMap> same_row(std::size_t axis);

/// Convolutions and pools: the data is the first input, all others are weights.
[[nodiscard]] std::optional<RowMap> windowed(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] std::optional<RowMap> transposed_window(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] std::optional<RowMap> resize(const Site& site, std::size_t input, std::size_t axis);

/// Blocks of pixels become channels, or the other way round.
[[nodiscard]] std::optional<RowMap> blocks(const Site& site, std::size_t input, std::size_t axis);

/// Whether a pool has a single window over all rows along the axis: then it is a sum, too.
[[nodiscard]] bool is_pool_of_all(const Site& site, std::size_t axis);

}  // namespace stowage::stream
