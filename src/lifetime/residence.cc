#include "lifetime/residence.h"

namespace stowage::lifetime {

std::vector<Residence> residences_of(const Graph& graph, const Uses& uses, Io io) {
  std::vector<Residence> residences(graph.tensors.size(), Residence::arena);
  if (io == Io::external) {
    for (const auto* tensors : {&graph.subgraphs[0].inputs, &graph.subgraphs[0].outputs}) {
      for (const TensorId tensor : *tensors) residences[tensor] = Residence::caller;
    }
  }
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    const TensorKind kind = graph.tensors[t].kind;
    if (is_constant(kind)) {
      residences[t] = Residence::weights;
    } else if (kind == TensorKind::state) {
      residences[t] = Residence::state;
    } else if (uses.lives[t].empty()) {
      residences[t] = Residence::nowhere;
    }
  }
  for (const StateTie& tie : graph.ties) residences[tie.input] = residences[tie.output] = Residence::state;
  return residences;
}

}  // namespace stowage::lifetime
