#include "run/program.h"

namespace stowage::run {

std::vector<Call> calls_of(const Graph& graph, const std::vector<std::vector<std::size_t>>& orders,
                           std::size_t subgraph) {
  std::vector<Call> calls;
  for (const std::size_t o : orders[subgraph]) {
    const Operator& op = graph.subgraphs[subgraph].operators[o];
    if (op.folded) continue;
    Call& call = calls.emplace_back(Call{.subgraph = subgraph, .op = o});
    for (const std::size_t body : op.bodies) call.bodies.push_back(calls_of(graph, orders, body));
  }
  return calls;
}

bool is_control_flow(const Operator& op) { return !op.bodies.empty(); }

bool only_copies(const Graph& graph, const Operator& op) {
  if (op.copies.empty() || is_control_flow(op)) return false;
  Bytes copied = 0;
  Bytes written = 0;
  for (const ByteCopy& copy : op.copies) copied += copy.size;
  for (const auto& output : op.outputs) written += output ? graph.tensors[*output].bytes : 0;
  return copied == written;
}

}  // namespace stowage::run
