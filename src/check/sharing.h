#pragma once

#include <span>

#include "check/meet.h"
#include "check/replay.h"
#include "stowage/plan.h"

namespace stowage::check {

/// A network and what its needs are met with.
struct Network {
  const Graph& graph;
  Played played{};
};

/// Weights have no needs; if they have views all the same, nobody else may be there.
void hold_weights(Network& network, const std::vector<Views>& views);

/// Tensors share bytes only if these are the same byte of the same source, what is said of removed copies
/// is true, and every tensor that a kernel touches is aligned.
void check_sharing(const Plan& plan, std::span<const Network> networks, Faults& faults);

}  // namespace stowage::check
