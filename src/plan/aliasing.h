#pragma once

#include "alias/buffers.h"
#include "alias/sharing.h"
#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/planner.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// Which tensors share, the buffers that follow, and where they go.
struct Arrangement {
  alias::Sharing sharing;
  alias::Buffers buffers;
  Solution solution;
  Bytes peak = 0;  ///< Sum over memories.
};

struct ArrangeOptions {
  PlanOptions plan{};
  alias::BufferOptions buffers{};
};

/// Decides aliases and offsets of a network whose steps are known; see aliasing.cc.
[[nodiscard]] Arrangement arrange(const Graph& graph, const Clock& clock, const ArrangeOptions& options);

/// The buffers and the memories of a plan as a problem.
[[nodiscard]] Problem problem_of(std::vector<Buffer> buffers, const PlanOptions& options);

/// Sum of the peaks of all memories.
[[nodiscard]] Bytes total_peak(const Problem& problem, const Solution& solution);

}  // namespace stowage::plan
