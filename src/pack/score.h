#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// How good a solution is: the lesser is to be preferred.
struct Score {
  Bytes excess = 0;            ///< By how much memories are beyond their capacities, in all; 0: it fits.
  std::int64_t cost = 0;       ///< Sum of `cost_in` over buffers; the same for all where there is one memory.
  std::vector<Bytes> peaks{};  ///< The last memory, which is the slowest, first.

  auto operator<=>(const Score&) const = default;
};

/// The pool of slots counts with all of its bytes, if there is one.
[[nodiscard]] Score score_of(const Problem& problem, std::span<const Place> places,
                             const std::optional<SlotPool>& slots = {});

/// What the buffer's traffic costs in a memory. A cost so large that the sum over all buffers could
/// overflow counts as the largest that cannot.
[[nodiscard]] std::int64_t cost_in(const Problem& problem, std::size_t buffer, std::size_t memory);

/// What a memory holds at most; without a limit `largest_value`.
[[nodiscard]] Bytes capacity_of(const Memory& memory);

/// Sum over memories of highest offset + size.
[[nodiscard]] Bytes total_peak(const Score& score);

}  // namespace stowage::pack
