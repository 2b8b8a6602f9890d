#include "operators/bodies.h"

#include <algorithm>

#include "operators/facts.h"

namespace stowage::operators {
namespace {

bool are_alike(const Graph& graph, const Result& result) {
  const Tensor& from = graph.tensors[result.from];
  const Tensor& to = graph.tensors[result.to];
  return from.bytes == to.bytes && from.dtype == to.dtype && are_open_alike(from, to);
}

}  // namespace

std::vector<Result> results_of_bodies(const Graph& graph, const Operator& op) {
  if (op.bodies.empty()) return {};
  const Facts& facts = facts_of(op.type).facts;
  const bool is_branch = facts.results == Results::of_branch && op.body_use == BodyUse::once;
  const bool is_loop = facts.results == Results::carried && op.body_use == BodyUse::repeated;
  std::vector<Result> results;
  for (std::size_t b = 0; b < op.bodies.size() && (is_branch || (is_loop && b == 0)); ++b) {
    const Subgraph& body = graph.subgraphs[op.bodies[b]];
    const std::vector<TensorId>& from = is_branch ? body.outputs : body.inputs;
    const std::size_t first = is_branch ? 0 : facts.carried;
    if (is_branch && from.size() != op.outputs.size()) return {};
    for (std::size_t i = 0; i < op.outputs.size() && first + i < from.size(); ++i) {
      if (op.outputs[i]) results.push_back({b, from[first + i], *op.outputs[i]});
    }
  }
  const bool all_alike =
      std::ranges::all_of(results, [&](const Result& result) { return are_alike(graph, result); });
  return all_alike ? results : std::vector<Result>();
}

}  // namespace stowage::operators
