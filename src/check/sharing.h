#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "check/clocks.h"
#include "check/meet.h"
#include "check/replay.h"
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

/// No step writes weights; where they have views nobody else may be there.
void hold_weights(const Plan& plan, Network& network, const std::vector<Views>& views);

/// Tensors share bytes only if these are the same byte of the same source, what is said of removed copies
/// is true, and every tensor that a kernel touches is aligned. Feeds are in an order from their sources.
void check_sharing(const Plan& plan, const ClockTree& tree, std::span<const Network> networks,
                   std::span<const Joined> joined, Faults& faults);

}  // namespace stowage::check
