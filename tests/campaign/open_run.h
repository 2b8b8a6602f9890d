#pragma once

#include <cstdint>

#include "case.h"
#include "open_draft.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::campaign {

/// How much runs at several sizes have looked at.
struct OpenTally {
  std::int64_t runs = 0;
  std::int64_t steps = 0;
  std::int64_t bytes = 0;     ///< That were read and were right.
  std::int64_t removed = 0;   ///< Bytes of copies that need no work.
  std::int64_t in_place = 0;  ///< Bytes written over what the same operator reads.
  std::int64_t smaller = 0;   ///< Tensors that were smaller than planned.
};

/// Runs the network at the sizes of `world` in the plan's memory: every tensor begins at its planned offset and is
/// packed as if it had been made with these sizes; copies whose tensors are at the same place in the plan are not
/// made. Empty: whatever is read is what a run with memory of its own for every tensor has.
[[nodiscard]] Findings run_open(const OpenNet& net, const Graph& graph, const Plan& plan, const World& world,
                                OpenTally& tally);

}  // namespace stowage::campaign
