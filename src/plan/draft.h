#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/placement.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// Lower bounds on the peak that also hold for other choices of buffers.
using ProvenBounds = std::vector<std::pair<ClaimScope, Bytes>>;

/// A plan whose buffers have offsets, and the bounds proven for them. `finish` derives all else.
struct Draft {
  /// Models, clocks, tensors, buffers and feeds. Places and slots are in `placement`.
  Plan plan{};
  Placement placement{};            ///< Numbers only memories for tensors that change.
  std::vector<Bytes> alignments{};  ///< Per model, of its tensors.
  std::string order = "keep";
  ProvenBounds bounds{};
};

/// Completes a draft: places, memories, peak, bound, claims, cost and summary, except the seconds. `memories`
/// has all memories of the plan; those for weights stay empty. Throws Error if the cost overflows.
[[nodiscard]] Plan finish(Draft draft, const std::vector<Memory>& memories);

/// Derives peaks again after buffers have got other offsets. For plans without pools of slots.
void renew_peaks(Plan& plan);

/// Whether each memory holds what the plan puts there.
[[nodiscard]] Outcome outcome_of(const Plan& plan);

}  // namespace stowage::plan
