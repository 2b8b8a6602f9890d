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

/// Live bytes over time: one entry per position where they may change, in rising order; the last has 0 bytes.
/// Cost: pieces * log(pieces).
[[nodiscard]] std::vector<Load> load_profile(std::span<const Buffer> buffers);

/// The first entry with the most live bytes; of no buffers, 0 bytes at position 0.
[[nodiscard]] Load fullest(std::span<const Buffer> buffers);

/// The maximum of: live bytes, live bytes with padding for power-of-two alignments, the largest buffer, and
/// the end of the highest pin. No placing in one memory has a smaller peak.
[[nodiscard]] Bytes lower_bound_of(std::span<const Buffer> buffers);

/// Per memory the bound of the buffers that the solution puts there. With one memory, the solution's own
/// bound.
[[nodiscard]] std::vector<Bytes> lower_bounds_of(const Problem& problem, const Solution& solution);

/// Per buffer the most live bytes at any position of its life; 0 if it is never alive. Nothing if the time is
/// up. Cost: n log n, memory linear.
[[nodiscard]] std::optional<std::vector<Bytes>> loads_during(std::span<const Buffer> buffers,
                                                             const Control& control);

/// The buffers alive at these positions do not fit below the bound.
struct Certificate {
  Bytes bound = 0;
  std::vector<Position> positions{};
};

/// Searches for a bound above `bound`, up to `peak`: see bounds.cc. Without positions if none is found.
[[nodiscard]] Certificate certify(const Problem& problem, Bytes bound, Bytes peak, const Control& control);

}  // namespace stowage::pack
