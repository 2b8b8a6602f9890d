#pragma once

#include <optional>

#include "plan/context.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// How a searched order compares with the network's own; none if they are the same. See order_profile.cc.
[[nodiscard]] std::optional<OrderProfile> order_profile_of(const Graph& graph, const Schedule& own,
                                                           const Schedule& planned);

}  // namespace stowage::plan
