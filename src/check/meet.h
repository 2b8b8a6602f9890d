#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "check/clocks.h"
#include "check/replay.h"
#include "stowage/plan.h"

namespace stowage::check {

/// Views of one tensor: by the clock of their buffer, and in order of time.
using Views = std::map<std::size_t, std::vector<const View*>>;

[[nodiscard]] Views views_in_time(const Plan& plan, const PlannedTensor& tensor);

/// Decides which inputs are written over where they lie, and finds the view in which each need is met.
/// `views` has those of every tensor.
void meet(const ClockTree& tree, Played& played, const std::vector<Views>& views);

}  // namespace stowage::check
