#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pack/placing.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// Live bytes from `at` up to the next entry's `at`.
struct Load {
  Position at = 0;
  Bytes bytes = 0;
};

/// The load over time: one entry per position where it may change, in rising order; the last has
/// 0 bytes. Cost: pieces * log(pieces).
[[nodiscard]] std::vector<Load> load_profile(std::span<const Buffer> buffers);

/// The most live bytes, also where alignments (powers of two) lose some between buffers, the largest buffer,
/// and the end of the highest pin: no placing in one memory has a smaller peak than any of them.
[[nodiscard]] Bytes lower_bound_of(std::span<const Buffer> buffers);

/// For each memory the bound of the buffers that the solution has there. Takes the solution's own where
/// there is one memory.
[[nodiscard]] std::vector<Bytes> lower_bounds_of(const Problem& problem, const Solution& solution);

/// Per buffer the most live bytes there are at any position of its life; 0 if it is never alive. Nothing if
/// the time is up. Cost: n log n, memory linear.
[[nodiscard]] std::optional<std::vector<Bytes>> loads_during(std::span<const Buffer> buffers,
                                                             const Control& control);

/// What is alive at these positions alone does not fit below the bound.
struct Certificate {
  Bytes bound = 0;
  std::vector<Position> positions{};
};

/// Looks for a bound above `bound`, up to `peak`: see bounds.cc. Without positions if it finds none.
[[nodiscard]] Certificate certify(const Problem& problem, Bytes bound, Bytes peak, const Control& control);

}  // namespace stowage::pack
