#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "check/replay.h"
#include "model/clock_tree.h"
#include "stowage/graph.h"
#include "stowage/import.h"
#include "stowage/plan.h"

namespace stowage::check {

/// A network and what its needs are met with.
struct Network {
  const Graph& graph;
  const Constants* constants = nullptr;  ///< Null: nothing is known of its weights.
  Played played{};
};

struct TensorRef {
  std::size_t network = 0;
  TensorId tensor = 0;
};

/// An output, and the input of another network that is fed with it.
struct Joined {
  TensorRef output{};
  TensorRef input{};
};

/// Tensors share bytes only if these are the same byte of the same source, what is said of removed copies
/// is true, and every tensor that a kernel touches is aligned. Feeds are in an order from their sources.
void check_sharing(const Plan& plan, const model::ClockTree& tree, std::span<const Network> networks,
                   std::span<const Joined> joined, Faults& faults);

}  // namespace stowage::check
