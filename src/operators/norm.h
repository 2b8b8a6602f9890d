#pragma once

#include <cstdint>
#include <vector>

#include "operators/rows.h"
#include "stowage/graph.h"

namespace stowage::operators {

/// How a norm over the last dimensions, from `first` on, sums up: over rows along one axis, for each index of
/// the dimensions in front of it.
struct NormLanes {
  std::size_t axis = 0;    ///< Of the rows.
  std::int64_t lanes = 1;  ///< Sums: the number of indices in front of the axis.
  std::int64_t rows = 1;
  std::int64_t inner = 1;  ///< Elements of a row in a lane.
};

/// The rows are along the first of these dimensions that has more than one index; of an image, channels do
/// not count.
[[nodiscard]] NormLanes lanes_of_norm(const Shape& shape, std::size_t first);

/// Bytes of the sums of a lane: mean and squares.
constexpr Bytes bytes_of_moments = 16;

}  // namespace stowage::operators
