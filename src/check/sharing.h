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

/// A network, and what its steps need where.
struct Network {
  NetworkSteps part{};
  const Constants* constants = nullptr;  ///< Null: its weights are unknown.
  Played played{};
  Needs needs{};

  [[nodiscard]] const Graph& graph() const { return *part.graph; }
};

struct TensorRef {
  std::size_t network = 0;
  TensorId tensor = 0;
};

/// An output, and the input of another network that it feeds.
struct Joined {
  TensorRef output{};
  TensorRef input{};
};

/// Tensors share bytes only if these are the same byte of the same source. In plans by rows, pieces of the buffers hold
/// all bytes that are needed. Feeds are ordered from their sources.
void check_sharing(const Plan& plan, const model::ClockTree& tree, std::span<const Network> networks,
                   std::span<const Joined> joined, Faults& faults);

}  // namespace stowage::check
