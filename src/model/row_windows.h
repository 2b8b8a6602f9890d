#pragma once

#include <cstddef>
#include <optional>

#include "model/row_rules.h"

/// What operators read that move along the rows of an image.
namespace stowage::model {

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
