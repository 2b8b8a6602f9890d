#pragma once

#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "alias/buffers.h"
#include "alias/sharing.h"
#include "lifetime/residence.h"
#include "lifetime/uses.h"
#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/planner.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// What sharing must not make worse, the first things first.
struct Cost {
  Outcome outcome = Outcome::fits;
  std::int64_t traffic = 0;  ///< Of several memories: bytes times the cost of the memory they are in.
  Bytes peak = 0;            ///< Sum over memories.

  auto operator<=>(const Cost&) const = default;
};

/// Which tensors share, the buffers that follow, and where they go.
struct Arrangement {
  alias::Sharing sharing;
  lifetime::Uses uses;
  alias::Buffers buffers;
  Solution solution;
  Cost cost{};
};

struct ArrangeOptions {
  PlanOptions plan{};
  alias::BufferOptions buffers{};
  /// Where tensors are that networks pass to each other: Residence::feed or arena.
  std::vector<std::pair<TensorId, lifetime::Residence>> fed{};
};

/// Decides aliases and offsets of a network whose steps are known; see aliasing.cc.
[[nodiscard]] Arrangement arrange(const Graph& graph, const Clock& clock, const ArrangeOptions& options);

/// Buffers and memories as a problem; no memory is aligned less than a buffer.
[[nodiscard]] Problem problem_of(std::vector<Buffer> buffers, const std::vector<Memory>& memories);

/// Sum of the peaks of all memories.
[[nodiscard]] Bytes total_peak(const Problem& problem, const Solution& solution);

}  // namespace stowage::plan
