#pragma once

#include <functional>
#include <optional>

#include "stowage/planner.h"

namespace stowage::plan {

using MakePlan = std::function<PlanResult(const PlanOptions& options)>;

/// For a plan that misses the capacity of a memory, of several the slowest: a size of it with which `make`
/// does fit, all else as given. Looks for the smallest by halving, for as long as the options' time limit;
/// none if it finds none.
[[nodiscard]] std::optional<Memory> enough_memory(const PlanResult& missed, const PlanOptions& options,
                                                  const MakePlan& make);

}  // namespace stowage::plan
