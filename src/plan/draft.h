#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/placement.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// A plan whose buffers have offsets, and what is proven of these. All else follows from that: see `finish`.
struct Draft {
  /// Models, clocks, tensors, buffers, and what networks pass on. Places and slots are in `placement`.
  Plan plan{};
  Placement placement{};            ///< In memories for tensors that change, in their order.
  std::vector<Bytes> alignments{};  ///< Per model, of its tensors.
  std::string order = "keep";
  /// Lower bounds on the peak of more than this choice of buffers.
  std::vector<std::pair<ClaimScope, Bytes>> bounds{};
};

/// Makes a plan of a draft: places, memories, peak, bound, claims, cost and summary, but for the seconds.
/// `memories` are all of the plan; those for weights stay empty. Throws Error if the cost overflows.
[[nodiscard]] Plan finish(Draft draft, const std::vector<Memory>& memories);

/// Whether each memory holds what the plan puts there.
[[nodiscard]] Outcome outcome_of(const Plan& plan);

}  // namespace stowage::plan
