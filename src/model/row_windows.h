#pragma once

#include <cstddef>
#include <optional>

#include "model/row_rules.h"

/// What operators read that move along the rows of an image, and words that all rules use.
namespace stowage::model {

/// TFLite's types have no small letters.
[[nodiscard]] bool is_tflite(const Site& site);

/// The row of the same number.
[[nodiscard]] std::optional<AxisRows> same_row(std::size_t axis);

/// Convolutions and pools: the data is the first input, all others are weights.
[[nodiscard]] std::optional<AxisRows> windowed(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] std::optional<AxisRows> transposed_window(const Site& site, std::size_t input,
                                                        std::size_t axis);

[[nodiscard]] std::optional<AxisRows> resize(const Site& site, std::size_t input, std::size_t axis);

/// Blocks of pixels become channels, or the other way round.
[[nodiscard]] std::optional<AxisRows> blocks(const Site& site, std::size_t input, std::size_t axis);

/// Whether a pool has a single window over all rows along the axis: then it is a sum, too.
[[nodiscard]] bool is_pool_of_all(const Site& site, std::size_t axis);

}  // namespace stowage::model
