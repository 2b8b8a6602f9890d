#pragma once

#include <span>

#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage::plan {

/// Plans networks that share a device. Sets everything of the plan but its models and the seconds; see
/// networks.cc. Throws Error when they are impossible, UsageError when options do not fit them.
[[nodiscard]] Outcome plan_networks(std::span<const Input> inputs, const PlanOptions& options, Plan& plan);

/// The alignment that a plan gives where nobody says.
[[nodiscard]] Bytes default_alignment_of(ModelFormat format);

}  // namespace stowage::plan
