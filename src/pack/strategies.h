#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// A single pass: buffers in some order, each where it fits among those placed before. See greedy.cc.
struct Greedy {
  StrategyInfo info;
  /// All buffers; fewer when told to stop, see Control::is_too_late.
  std::vector<std::size_t> (*order)(const Problem& problem, const Control& control);
  Fit fit;
  int of_many;  ///< See Turn.
};

/// Each in a row of a table.
[[nodiscard]] std::span<const Greedy> greedies();

[[nodiscard]] Placing place_greedily(const Greedy& greedy, const Problem& problem, const Control& control);

// The others, each in the file that it is called after, and what keeps them from serving a problem.

/// Allocates and releases as a run would, operator by operator, from free lists in every memory.
[[nodiscard]] Placing free_list(const Problem& problem, const Control& control);

/// From the last outputs backwards to the inputs, on a line that grows to both sides of an origin.
[[nodiscard]] Placing two_stack(const Problem& problem, const Control& control);
/// Several memories, pins, or alignments without a common multiple of reasonable size.
[[nodiscard]] std::optional<std::string> obstacle_to_two_stack(const Problem& problem);

[[nodiscard]] Placing slots(const Problem& problem, const Control& control);
/// Several memories; alignments without a reasonable common multiple; a pool larger than any address.
[[nodiscard]] std::optional<std::string> obstacle_to_slots(const Problem& problem);

[[nodiscard]] Placing from_peak(const Problem& problem, const Control& control);
/// Its first pass alone, which is all of it where that comes to the bound; nothing where it does not.
[[nodiscard]] Placing from_peak_once(const Problem& problem, const Control& control);

/// Throws UsageError for a `sort` that says no order.
[[nodiscard]] Placing rectangle(const Problem& problem, const Control& control);

[[nodiscard]] Placing exact(const Problem& problem, const Control& control);
/// Several memories; more buffers alive at once than the searches have room for.
[[nodiscard]] std::optional<std::string> obstacle_to_exact(const Problem& problem);

}  // namespace stowage::pack
