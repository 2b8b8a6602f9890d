// Operators with bodies run as wholes, and so do their bodies. Where the tensors of the bodies are live follows from the
// network's own order: the steps of bodies come right behind their operator, in any order of the other operators.
//
// Cost: linear in operands, times the depth of bodies.

#include "stream/bodies.h"

#include <algorithm>
#include <optional>

#include "lifetime/lives.h"

namespace stowage::stream {

Bodies::Bodies(const Graph& graph) : graph_(graph) {
  if (graph.subgraphs.size() == 1) return;
  owners_ = owners_of(graph);
  const Clock clock = lifetime::keep_order(graph, 0);
  const lifetime::Uses uses = lifetime::uses_of(graph, clock);
  for (std::size_t at = 0; at < clock.steps.size();) {
    const std::size_t op = std::get<Run>(clock.steps[at]).path[1];
    std::size_t end = at + 1;
    while (end < clock.steps.size() && std::get<Run>(clock.steps[end]).path.size() > 2) ++end;
    if (!graph.subgraphs[0].operators[op].bodies.empty()) {
      BodyRun& run = runs_[op];
      const auto first = clock.steps.begin() + static_cast<std::ptrdiff_t>(at);
      run.steps.assign(first + 1, clock.steps.begin() + static_cast<std::ptrdiff_t>(end));
      const Lifetime span{static_cast<Position>(at), static_cast<Position>(end)};
      std::vector<Bytes> loads(end - at, 0);
      for (TensorId t = 0; t < graph.tensors.size(); ++t) {
        const TensorKind kind = graph.tensors[t].kind;
        const bool is_kept = is_constant(kind) || kind == TensorKind::state;
        if (owners_[t].value_or(0) == 0 || is_kept || graph.tensors[t].bytes == 0) continue;
        for (const Lifetime& life : uses.lives[t]) {
          if (life.lower < span.lower || life.lower >= span.upper) continue;
          run.lives[t].push_back({life.lower - span.lower, life.upper - span.lower});
          for (Position p = life.lower; p < std::min(life.upper, span.upper); ++p)
            loads[static_cast<std::size_t>(p - span.lower)] += graph.tensors[t].bytes;
        }
      }
      run.load = *std::ranges::max_element(loads);
    }
    at = end;
  }
}

std::vector<TensorId> Bodies::read_by(std::size_t op) const {
  std::vector<TensorId> reads;
  for (const std::size_t body : graph_.subgraphs[0].operators[op].bodies) add_reads(body, reads);
  std::ranges::sort(reads);
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  return reads;
}

void Bodies::add_reads(std::size_t subgraph, std::vector<TensorId>& reads) const {
  const auto add = [&](TensorId t) {
    if (owners_[t] == std::size_t{0}) reads.push_back(t);
  };
  for (const stowage::Operator& op : graph_.subgraphs[subgraph].operators) {
    for (const auto& input : op.inputs) {
      if (input) add(*input);
    }
    for (const std::size_t body : op.bodies) add_reads(body, reads);
  }
  for (const TensorId output : graph_.subgraphs[subgraph].outputs) add(output);
}

}  // namespace stowage::stream
