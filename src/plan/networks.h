#pragma once

#include "plan/context.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// Plans networks that share a device, but for the plan's seconds; see networks.cc. Throws Error
/// when they are impossible.
[[nodiscard]] Plan plan_networks(const Context& context);

}  // namespace stowage::plan
