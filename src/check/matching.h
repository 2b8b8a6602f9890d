#pragma once

#include <cstddef>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::check {

/// For each tensor of a graph, its entry in the plan: matched by name, and for equal names by order. Null if
/// it is missing.
[[nodiscard]] std::vector<const PlannedTensor*> match_tensors(const Plan& plan, const Graph& graph,
                                                              std::size_t model, Faults& faults);

/// Bytes, kind, element type and shape match the graph.
void check_tensor(const Graph& graph, TensorId t, const Tensor& planned, Faults& faults);

/// True for tensors that may be outside of working memory: inputs and outputs of the caller, state of the
/// runtime, weights and instructions.
[[nodiscard]] std::vector<bool> may_be_elsewhere(const Graph& graph);

/// A feed joins an output of one network with an input of the other that is not old state.
void check_feed(const Graph& from, TensorId output, const Graph& to, TensorId input, Faults& faults);

}  // namespace stowage::check
