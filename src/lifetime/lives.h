#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stowage/graph.h"
#include "stowage/options.h"
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

/// When each tensor is alive, one lifetime for each run of the subgraph it belongs to; none for
/// tensors that no step writes.
struct Uses {
  std::vector<std::vector<Lifetime>> lives;
  std::vector<std::int64_t> accesses;  ///< How often steps read or write it.
  Position end = 1;                    ///< Of the clock; at least 1.
};

/// Cost: linear in operands, times the depth of bodies.
[[nodiscard]] Uses uses_of(const Graph& graph, const Clock& clock);

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
