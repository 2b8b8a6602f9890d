#pragma once

#include "share/equal_data.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// Gives constants offsets in the plan's memories for weights: one place for all of a class, one after the
/// other in the first of these memories that has room, or beyond the last one's capacity. Nothing else may be
/// there.
void place_constants(const share::EqualData& classes, Bytes alignment, Plan& plan);

}  // namespace stowage::plan
