#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/kernel.h"
#include "run/home.h"
#include "stowage/network.h"
#include "stowage/plan.h"
#include "stowage/run.h"

namespace stowage::run {

using kernels::Argument;
using kernels::Kernel;
using kernels::Signature;

/// An operator that runs at a position, and what its bodies run.
struct Call {
  std::size_t subgraph = 0;
  std::size_t op = 0;
  Position at = 0;
  std::vector<std::vector<Call>> bodies{};
};

/// A network made ready to run: kernels prepared, and everything that is constant computed.
struct Program {
  const Graph* graph = nullptr;
  std::vector<std::vector<Kernel>> kernels{};           ///< Per subgraph, per operator.
  std::vector<std::span<const std::byte>> constants{};  ///< Per tensor; data is null where there is none.
  std::vector<AlignedBytes> computed{};             ///< Constants that are not used where the file has them.
  std::vector<std::vector<TensorId>> tensors_of{};  ///< Per subgraph: those it writes or is given.
  Bytes scratch = 0;                                ///< The most that a kernel wants while it runs.
  Bytes held = 0;                                   ///< What kernels hold.

  [[nodiscard]] const Operator& op(const Call& call) const {
    return graph->subgraphs[call.subgraph].operators[call.op];
  }
  [[nodiscard]] const Kernel& kernel(const Call& call) const { return kernels[call.subgraph][call.op]; }
};

/// Throws Error that lists all operators that cannot be run.
[[nodiscard]] Program make_program(const Network& network, const RunOptions& options);

/// What kernels are told of a tensor, which must have a shape, and of an operator all of whose tensors have
/// one. Both refer to the network and the program.
[[nodiscard]] Argument argument_of(const Network& network, const Program& program, TensorId tensor);
[[nodiscard]] Signature signature_of(const Network& network, const Program& program, std::size_t subgraph,
                                     std::size_t op);

/// The operators of a subgraph that are not folded, in the graph's own order, all at position 0.
[[nodiscard]] std::vector<Call> calls_of(const Graph& graph,
                                         const std::vector<std::vector<std::size_t>>& orders,
                                         std::size_t subgraph);

/// Operators that the interpreter runs itself, for they run others.
[[nodiscard]] bool is_control_flow(const Operator& op);

/// Copies that are all that the operator does.
[[nodiscard]] bool only_copies(const Graph& graph, const Operator& op);

}  // namespace stowage::run
