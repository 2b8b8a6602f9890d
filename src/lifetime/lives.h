#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stowage/graph.h"
#include "stowage/options.h"
#include "stowage/plan.h"

namespace stowage::lifetime {

/// The steps of a network in the order of its file, or in the nearest one that respects all dependences. The
/// steps of an operator's bodies follow the operator; folded operators take no step. `model` is the network's
/// index in the plan. Throws Error for a cycle, or if nested bodies unfold to too many steps.
[[nodiscard]] Clock keep_order(const Graph& graph, std::size_t model);

/// The same for other orders of the operators, one per subgraph, which must respect all dependences.
[[nodiscard]] Clock clock_of(const Graph& graph, std::size_t model,
                             const std::vector<std::vector<std::size_t>>& orders);

/// An operator of a graph.
struct OperatorId {
  std::size_t subgraph = 0;
  std::size_t op = 0;

  bool operator==(const OperatorId&) const = default;
};

/// The operators that run, each once, in the order of their first steps.
[[nodiscard]] std::vector<OperatorId> operators_of(const Clock& clock);

/// The clock that has these operators.
[[nodiscard]] Clock clock_of(const Graph& graph, std::size_t model, std::span<const OperatorId> operators);

/// A run of an operator with bodies: its own position, the steps of each body, and where the last one ends.
struct RunOfBodies {
  OperatorId op{};
  Position at = 0;
  std::vector<Lifetime> bodies{};
  Position end = 0;
};

/// When each tensor is alive: one lifetime for each run of its subgraph; none for tensors that no step
/// writes.
struct Uses {
  std::vector<std::vector<Lifetime>> lives;
  std::vector<std::int64_t> accesses;  ///< How often steps read or write it.
  Position end = 1;                    ///< Of the clock; at least 1.
  std::vector<RunOfBodies> runs{};     ///< In order of time; those of bodies behind the run around them.
};

/// Cost: linear in operands, times the depth of bodies.
[[nodiscard]] Uses uses_of(const Graph& graph, const Clock& clock);

/// The storage of a tensor's bytes.
enum class Residence : std::uint8_t {
  arena,    ///< In the planned memory, and free for others after its life.
  state,    ///< Kept from run to run, in the planned memory or the runtime's, and never shared.
  weights,  ///< In a memory of weights and instructions.
  caller,   ///< The caller's memory.
  feed,     ///< In a buffer that other networks also use, or that outlives the branch of its network.
  nowhere,  ///< No step ever writes it.
};

/// For each tensor of a graph.
[[nodiscard]] std::vector<Residence> residences_of(const Graph& graph, const Uses& uses, Io io);

}  // namespace stowage::lifetime
