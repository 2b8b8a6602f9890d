#include "import/graph_options.h"

#include <fmt/format.h>

#include "base/text.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

TensorId find_named(const Graph& graph, const std::vector<TensorId>& tensors, const std::string& name,
                    std::string_view role) {
  for (const TensorId tensor : tensors) {
    if (graph.tensors[tensor].name == name) return tensor;
  }
  throw UsageError(fmt::format("--state: the model has no {} {}", role, base::quoted(name)));
}

}  // namespace

void add_states(Graph& graph, const std::vector<StateNames>& states) {
  for (const StateNames& state : states) {
    graph.ties.push_back({find_named(graph, graph.subgraphs[0].outputs, state.output, "output"),
                          find_named(graph, graph.subgraphs[0].inputs, state.input, "input")});
  }
}

void add_scratch(Graph& graph, const std::vector<ScratchRequest>& requests) {
  for (const ScratchRequest& request : requests) {
    if (request.subgraph >= graph.subgraphs.size() ||
        request.op >= graph.subgraphs[request.subgraph].operators.size()) {
      throw UsageError(
          fmt::format("--scratch: operator {} of subgraph {} does not exist", request.op, request.subgraph));
    }
    Operator& op = graph.subgraphs[request.subgraph].operators[request.op];
    const std::string which = request.subgraph == 0 ? "" : fmt::format(" of subgraph {}", request.subgraph);
    const std::string number = op.scratch.empty() ? "" : fmt::format(" ({})", op.scratch.size() + 1);
    op.scratch.push_back(graph.tensors.size());
    graph.tensors.push_back({.name = fmt::format("scratch of operator {}{}{}", request.op, which, number),
                             .kind = TensorKind::scratch,
                             .dtype = DType::uint8,
                             .shape = Shape{request.bytes},
                             .bytes = request.bytes});
  }
}

void refuse_shape_options(const ImportOptions& options, std::string_view format) {
  const auto refuse = [&](bool is_given, std::string_view flag) {
    if (is_given) throw UsageError(fmt::format("{} has no meaning for {}", flag, format));
  };
  refuse(!options.dims.empty(), "--dim");
  refuse(!options.shapes.empty(), "--shape");
  refuse(!options.bounds.empty(), "--bound");
}

}  // namespace stowage::import
