#pragma once

#include <vector>

#include "check/replay.h"
#include "stowage/plan.h"

namespace stowage::check {

/// Views of one tensor, in order of time.
using Views = std::vector<const View*>;

[[nodiscard]] Views views_in_time(const PlannedTensor& tensor);

/// Decides which inputs are written over where they lie, and finds the view in which each need is met.
/// `views` has those of every tensor.
void meet(Played& played, const std::vector<Views>& views);

}  // namespace stowage::check
