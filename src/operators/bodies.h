#pragma once

#include <cstddef>
#include <vector>

#include "stowage/graph.h"

namespace stowage::operators {

/// The value of an output: that of a tensor of a body, when that body, or all rounds of it, are done.
struct Result {
  std::size_t body = 0;  ///< Index in Operator::bodies.
  TensorId from = 0;     ///< A result of the branch, or an input that a loop carries.
  TensorId to = 0;       ///< The output.
};

/// Where the outputs of an operator with bodies come from, by body and output. Nothing if that is not known, or if
/// types or sizes differ.
[[nodiscard]] std::vector<Result> results_of_bodies(const Graph& graph, const Operator& op);

}  // namespace stowage::operators
