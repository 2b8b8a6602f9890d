#pragma once

#include <span>
#include <vector>

#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// The extent of placed buffers in one memory.
struct Extent {
  Bytes peak = 0;
  Bytes bound = 0;  ///< No placing of these buffers in this memory is lower.
};

/// The extents of the buffers of all clocks. In the bound of its parent clock, a branch counts as a block of
/// the size of its own bound. Cost: n log n in pieces.
[[nodiscard]] std::vector<Extent> extents_of(std::span<const Buffer> buffers, std::span<const Place> places,
                                             std::span<const Clock> clocks, std::size_t memories);

/// The most live bytes at one position, branches included: no choice of memories has a lower sum of peaks.
[[nodiscard]] Bytes most_live_bytes(std::span<const Buffer> buffers, std::span<const Clock> clocks);

}  // namespace stowage::plan
