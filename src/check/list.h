#pragma once

#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::check {

/// Every buffer of the list is in the plan as it was given, and no other is.
[[nodiscard]] Faults check_list(const Plan& plan, const Problem& list);

}  // namespace stowage::check
