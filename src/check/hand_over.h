#pragma once

#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::check {

/// New state is where the old state was, since the next run reads it there. No result of a loop is in the place of an
/// input of its body, since the next round reads that. `matched` has the plan's tensors of the graph.
void check_hand_overs(const Graph& graph, const std::vector<const PlannedTensor*>& matched, Faults& faults);

}  // namespace stowage::check
