#pragma once

#include <optional>

#include "plan/context.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// Compares a searched order with the network's own; none if they are equal. See order_profile.cc.
[[nodiscard]] std::optional<OrderProfile> order_profile_of(const NetworkFacts& network, const Schedule& own,
                                                           const Schedule& planned);

}  // namespace stowage::plan
