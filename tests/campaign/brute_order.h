#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stowage/graph.h"
#include "stowage/planner.h"

namespace stowage::campaign {

/// What the best of all orders of whole operators needs, with every choice of tensors that may share.
struct BruteOrder {
  Bytes load = 0;               ///< The fewest bytes that are alive at the worst step.
  std::string load_witness{};   ///< That order and what shares.
  std::optional<Bytes> peak{};  ///< The least peak that was reached, in all those orders.
  std::string peak_witness{};
};

/// None if the graph has too many orders, or what brute force does not know: bodies, state.
[[nodiscard]] std::optional<BruteOrder> best_order(const Graph& graph, Bytes alignment, Io io, Alias alias);

}  // namespace stowage::campaign
