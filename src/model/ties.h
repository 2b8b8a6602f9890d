#pragma once

#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::model {

// What ties say of a state: operators/states.cc decides which are in place, and which are copied.

/// Whether the new state has bytes of its own, which the caller copies to the place of the old one when the model has
/// run. The old state is then of kind state: no step changes it.
[[nodiscard]] inline bool is_copied(const Graph& graph, const StateTie& tie) {
  return graph.tensors[tie.input].kind == TensorKind::state;
}

/// The same for a state of a plan.
[[nodiscard]] bool is_copied(const Plan& plan, const Feed& state);

/// The ties whose new state is written over the old one, in one buffer.
[[nodiscard]] std::vector<StateTie> ties_in_place(const Graph& graph);

/// The others.
[[nodiscard]] std::vector<StateTie> copied_ties(const Graph& graph);

/// The bytes that the place of a state needs: those of its larger tensor.
[[nodiscard]] Bytes bytes_of_state(const Graph& graph, const StateTie& tie);

/// The bytes that the place of this tensor needs if a copied tie has it as the old state, else its own.
[[nodiscard]] Bytes bytes_of_variable(const Graph& graph, TensorId tensor);

/// Whether two tensors may be one state: they have equally many bytes, or one type and shapes that differ along one axis.
/// The state grows along that.
[[nodiscard]] bool may_be_one_state(const Tensor& a, const Tensor& b);

}  // namespace stowage::model
