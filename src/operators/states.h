#pragma once

#include <string>

#include "stowage/graph.h"

namespace stowage::operators {

/// Whether the operator may write a new state over the old one that this input is, in one place: it computes each
/// element from the same one, or the old state is, unchanged, what the new one begins with.
[[nodiscard]] bool may_write_over_state(const Graph& graph, const Operator& op, std::size_t input,
                                        TensorId output);

/// Finds the ties whose new state cannot be written over the old one, and makes their old states variables
/// (model::is_copied). Returns what that means, in words; empty: there are none.
[[nodiscard]] std::string settle_states(Graph& graph);

}  // namespace stowage::operators
