#pragma once

#include <span>

#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage::plan {

/// Plans networks in the order that the options ask for: their own, or one that was searched for and is no
/// worse; see orders.cc. `plan` has the models so far.
[[nodiscard]] Outcome plan_in_order(std::span<const Input> inputs, const PlanOptions& options, Plan& plan);

}  // namespace stowage::plan
