#pragma once

#include <chrono>
#include <stop_token>

#include "alias/buffers.h"
#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage::plan {

struct OrderingOptions {
  Io io = Io::arena;
  Alias alias = Alias::automatic;
  alias::BufferOptions buffers{};
  std::chrono::duration<double> time_limit{};
  std::stop_token stop{};
};

/// The steps of a network in an order that was searched for.
struct Ordering {
  Clock clock{};
  OrderSearch search{};
  bool is_own = true;         ///< It is the network's own order.
  bool is_cut_short = false;  ///< There was no time to look any further.
};

/// An order of the least load that could be found, with everything shared that may be; the network's own where none
/// has less. See ordering.cc.
[[nodiscard]] Ordering ordering_of(const Graph& graph, const OrderingOptions& options);

}  // namespace stowage::plan
