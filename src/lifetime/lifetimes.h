#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/planner.h"
#include "stowage/problem.h"

namespace stowage::lifetime {

/// Who keeps tensors of kind state between runs. State that a StateTie makes is always planned.
enum class StateKeeper : std::uint8_t { arena, runtime };

struct Options {
  Io io = Io::arena;
  StateKeeper state_keeper = StateKeeper::arena;
  Bytes alignment = 1;    ///< Of every buffer, and what sizes are rounded up to.
  std::size_t model = 0;  ///< The network's index in the plan.
};

/// Buffers to place, and for every tensor of the network where in them it is.
struct Buffers {
  std::vector<Buffer> buffers;
  std::vector<PlannedTensor> tensors;  ///< One per tensor of the graph, in its order.
};

/// Gives every tensor that lives in the arena a buffer of its own; an output that is tied to a
/// state input shares the buffer of that. Throws Error when a new state is written while the old
/// one is still to be read. Cost: linear in operands, times the depth of bodies.
[[nodiscard]] Buffers buffers_of(const Graph& graph, const Clock& clock, const Options& options);

}  // namespace stowage::lifetime
