#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// A single pass: buffers in some order, each placed among those placed before. See greedy.cc.
struct Greedy {
  StrategyInfo info;
  /// All buffers; fewer if cancelled, see Control::is_too_late.
  std::vector<std::size_t> (*order)(const Problem& problem, const Control& control);
  Fit fit;
  int of_many;        ///< See Turn,
  std::int64_t work;  ///< as this.
};

/// All of them, each in a row of a table.
[[nodiscard]] std::span<const Greedy> greedies();

[[nodiscard]] Placing place_greedily(const Greedy& greedy, const Problem& problem, const Control& control);

// The other strategies, each in the file of its name, with the obstacles to them.

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

/// Equal buffers that come and go in turn as one ring; see rings.cc.
[[nodiscard]] Placing rings(const Problem& problem, const Control& control);
/// Whether there are enough of them.
[[nodiscard]] bool has_runs(const Problem& problem);

/// From a greedy placing down, cap by cap; see ejection.cc.
[[nodiscard]] Placing ejection(const Problem& problem, const Control& control);

/// Throws UsageError if `sort` is not a valid order.
[[nodiscard]] Placing rectangle(const Problem& problem, const Control& control);

[[nodiscard]] Placing exact(const Problem& problem, const Control& control);
/// Several memories; more buffers alive at once than the tables of the searches can hold.
[[nodiscard]] std::optional<std::string> obstacle_to_exact(const Problem& problem);

}  // namespace stowage::pack
