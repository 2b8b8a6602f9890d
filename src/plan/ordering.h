#pragma once

#include <chrono>
#include <stop_token>
#include <vector>

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

/// The steps of a network in some order, and the most live bytes of a step if all shares that may.
struct OrderedSteps {
  Clock clock{};
  Bytes load = 0;
};

struct Ordering {
  OrderedSteps own{};                   ///< The network's own order.
  std::vector<OrderedSteps> choices{};  ///< Those of less load first, the own among them; none has more load.
  OrderSearch search{};                 ///< Of the first choice.
  bool is_cut_short = false;            ///< There was no time to look any further.
};

/// Without limits of time; of a network that is the given one of the plan.
[[nodiscard]] OrderingOptions ordering_options_of(const Input& input, std::size_t model,
                                                  const PlanOptions& options);

/// Live bytes at each position, if all that may share does.
[[nodiscard]] std::vector<Bytes> loads_of(const Graph& graph, const Clock& clock,
                                          const OrderingOptions& options);

/// Orders of small load; see ordering.cc.
[[nodiscard]] Ordering ordering_of(const Graph& graph, const OrderingOptions& options);

}  // namespace stowage::plan
