#pragma once

#include <vector>

#include "plan/weight_reads.h"
#include "share/equal_data.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// Gives constants offsets in the plan's memories for weights, which must hold nothing else. All constants of
/// a class share one place. Each place follows the previous one in the first memory with room, or else
/// exceeds the last memory's capacity. Counts what steps read there, in traffic and cost, and what staged constants are
/// copied from there: such copies have no home before.
void place_constants(const share::EqualData& classes, const std::vector<ReadsOfConstant>& reads,
                     Bytes alignment, Plan& plan);

}  // namespace stowage::plan
