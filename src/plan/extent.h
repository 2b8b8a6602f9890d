#pragma once

#include <span>
#include <vector>

#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// What placed buffers take of one memory.
struct Extent {
  Bytes peak = 0;
  Bytes bound = 0;  ///< No placing of these buffers in this memory is lower.
};

/// For each memory what the buffers of all clocks take. A branch takes its bound of the clock it forks from.
/// Cost: n log n in pieces.
[[nodiscard]] std::vector<Extent> extents_of(std::span<const Buffer> buffers, std::span<const Place> places,
                                             std::span<const Clock> clocks, std::size_t memories);

}  // namespace stowage::plan
