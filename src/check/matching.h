#pragma once

#include <cstddef>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::check {

/// For each tensor of a graph the entry of the plan that is it: by name, and tensors of one name in
/// their order. None where it is missing.
[[nodiscard]] std::vector<const PlannedTensor*> match_tensors(const Plan& plan, const Graph& graph,
                                                              std::size_t model, Faults& faults);

/// Bytes, kind, element type and shape are those of the graph.
void check_tensor(const Graph& graph, TensorId t, const Tensor& planned, Faults& faults);

/// The caller may own inputs and outputs, the runtime may keep state; weights and instructions are
/// not in working memory.
[[nodiscard]] std::vector<bool> may_be_elsewhere(const Graph& graph);

/// What a feed may join: an output of one network, and an input of the other that is not its old state.
void check_feed(const Graph& from, TensorId output, const Graph& to, TensorId input, Faults& faults);

}  // namespace stowage::check
