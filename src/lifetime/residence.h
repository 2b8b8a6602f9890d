#pragma once

#include <cstdint>
#include <vector>

#include "lifetime/uses.h"
#include "stowage/graph.h"
#include "stowage/options.h"

namespace stowage::lifetime {

/// Where a tensor's bytes are.
enum class Residence : std::uint8_t {
  arena,    ///< In the planned memory, and free for others when it is dead.
  state,    ///< Kept from run to run, in the planned memory or the runtime's, and never shared.
  weights,  ///< In a memory of weights and instructions.
  caller,   ///< The caller's memory.
  feed,     ///< In a buffer that other networks use, too, or that outlives the branch that the network is in.
  nowhere,  ///< No step ever writes it.
};

/// For each tensor of a graph.
[[nodiscard]] std::vector<Residence> residences_of(const Graph& graph, const Uses& uses, Io io);

}  // namespace stowage::lifetime
