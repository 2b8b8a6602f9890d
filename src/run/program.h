#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
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

/// An operator that runs at a position, and the calls of its bodies.
struct Call {
  std::size_t subgraph = 0;
  std::size_t op = 0;
  Position at = 0;
  std::vector<std::vector<Call>> bodies{};
};

/// A network ready to run: kernels are prepared and constants are computed.
struct Program {
  const Graph* graph = nullptr;
  const std::vector<std::vector<OperatorDetails>>* details = nullptr;  ///< Per subgraph, per operator.
  std::vector<std::vector<Kernel>> kernels{};                          ///< Per subgraph, per operator.
  std::vector<std::span<const std::byte>> constants{};  ///< Per tensor; data is null if it has none.
  std::vector<AlignedBytes> computed{};                 ///< Constants that are not used from the file.
  std::vector<std::vector<TensorId>> tensors_of{};      ///< Per subgraph: tensors that it writes or is given.
  Bytes scratch = 0;                                    ///< Most bytes that a kernel needs while it runs.
  Bytes held = 0;                                       ///< Bytes that kernels keep.

  [[nodiscard]] const Operator& op(const Call& call) const {
    return graph->subgraphs[call.subgraph].operators[call.op];
  }
  [[nodiscard]] const Attributes& attributes(const Call& call) const {
    return (*details)[call.subgraph][call.op].attributes;
  }
  [[nodiscard]] const Kernel& kernel(const Call& call) const { return kernels[call.subgraph][call.op]; }
};

/// Throws Error that lists all operators that cannot run; operators of types in `unknown` need not. Random are only
/// weights that are so in `like`, too, which has the same operators, if it is given.
[[nodiscard]] Program make_program(const Network& network, const RunOptions& options,
                                   std::span<const std::string> unknown = {}, const Graph* like = nullptr);

/// The kernel's description of a tensor, which must have a shape, and of an operator, whose tensors all must.
/// Both refer to the network and the program.
[[nodiscard]] Argument argument_of(const Network& network, const Program& program, TensorId tensor);
[[nodiscard]] Signature signature_of(const Network& network, const Program& program, std::size_t subgraph,
                                     std::size_t op);

/// The unfolded operators of a subgraph, in the graph's own order, all at position 0.
[[nodiscard]] std::vector<Call> calls_of(const Graph& graph,
                                         const std::vector<std::vector<std::size_t>>& orders,
                                         std::size_t subgraph);

/// True for operators that the interpreter runs itself, because they have bodies.
[[nodiscard]] bool is_control_flow(const Operator& op);

/// True if the operator only copies bytes.
[[nodiscard]] bool only_copies(const Graph& graph, const Operator& op);

}  // namespace stowage::run
