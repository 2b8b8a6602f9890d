#pragma once

#include <span>

#include "stowage/import.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage::plan {

/// Plans a network row by row; see streaming.cc. Sets everything of the plan but its models and the seconds.
/// Throws UsageError for options and networks that cannot be streamed.
[[nodiscard]] Outcome plan_streamed(std::span<const Input> inputs, const PlanOptions& options, Plan& plan);

}  // namespace stowage::plan
