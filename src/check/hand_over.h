#pragma once

#include <span>
#include <vector>

#include "check/replay.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::check {

/// New state is where the old state was, since the next run reads it there. No result of a loop is in the place of an
/// input of its body, since the next round reads that. `matched` has the plan's tensors of the graph.
void check_hand_overs(const Graph& graph, const std::vector<const PlannedTensor*>& matched, Faults& faults);

/// Where a body has a result at the place of the operator's output, nothing is copied: the output needs no bytes of its
/// own until the bodies have run. All bodies must hand it over to the place where it is read.
void end_handed_over(const NetworkSteps& part, std::span<const HandedOver> handed, Needs& needs,
                     Faults& faults);

}  // namespace stowage::check
