#include "model/ties.h"

#include <algorithm>
#include <cstddef>

namespace stowage::model {
namespace {

std::vector<StateTie> ties_that(const Graph& graph, bool are_copied) {
  std::vector<StateTie> ties;
  for (const StateTie& tie : graph.ties) {
    if (is_copied(graph, tie) == are_copied) ties.push_back(tie);
  }
  return ties;
}

}  // namespace

bool is_copied(const Plan& plan, const Feed& state) {
  const PlannedTensor& input = plan.tensors[state.input];
  return input.tensor.kind == TensorKind::state && plan.tensors[state.output].model == input.model;
}

std::vector<StateTie> ties_in_place(const Graph& graph) { return ties_that(graph, false); }

std::vector<StateTie> copied_ties(const Graph& graph) { return ties_that(graph, true); }

Bytes bytes_of_state(const Graph& graph, const StateTie& tie) {
  return std::max(graph.tensors[tie.output].bytes, graph.tensors[tie.input].bytes);
}

Bytes bytes_of_variable(const Graph& graph, TensorId tensor) {
  const auto tie = std::ranges::find(graph.ties, tensor, &StateTie::input);
  return tie != graph.ties.end() ? bytes_of_state(graph, *tie) : graph.tensors[tensor].bytes;
}

bool may_be_one_state(const Tensor& a, const Tensor& b) {
  if (a.bytes == b.bytes) return true;
  if (a.dtype != b.dtype || !a.shape || !b.shape || a.shape->size() != b.shape->size()) return false;
  std::size_t count = 0;
  for (std::size_t d = 0; d < a.shape->size(); ++d) count += (*a.shape)[d] != (*b.shape)[d] ? 1 : 0;
  return count == 1;
}

}  // namespace stowage::model
