#pragma once

#include <cstddef>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::lifetime {

/// The steps of a network in the order of its file, or the nearest one to it that respects all
/// dependences. An operator with bodies is followed by the steps of its bodies; folded operators
/// take no step. `model` is the network's index in the plan. Throws Error for a cycle, or when
/// bodies in bodies unfold to more steps than anyone can plan.
[[nodiscard]] Clock keep_order(const Graph& graph, std::size_t model);

/// The same for other orders of the operators, one per subgraph, which must respect all dependences.
[[nodiscard]] Clock clock_of(const Graph& graph, std::size_t model,
                             const std::vector<std::vector<std::size_t>>& orders);

}  // namespace stowage::lifetime
