#pragma once

#include <functional>
#include <optional>

#include "stowage/planner.h"

namespace stowage::plan {

using MakePlan = std::function<PlanResult(const PlanOptions& options)>;

/// For a plan that exceeds a memory's capacity (of several, the slowest): a size of it with which `make`
/// fits, all else as given. Bisects for the smallest size within the options' time limit. None if no size is
/// found.
[[nodiscard]] std::optional<Memory> enough_memory(const PlanResult& missed, const PlanOptions& options,
                                                  const MakePlan& make);

}  // namespace stowage::plan
