#pragma once

#include "plan/context.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// Plans networks that share a device, except the plan's seconds; see networks.cc. Throws Error if no plan is
/// possible.
[[nodiscard]] Plan plan_networks(const Context& context);

}  // namespace stowage::plan
