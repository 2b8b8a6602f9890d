#pragma once

#include <cstddef>
#include <vector>

#include "import/onnx_graph.h"

namespace stowage::import {

/// An If that takes the same branch in every run, since its condition is known.
struct DecidedIf {
  std::size_t subgraph = 0;
  std::size_t op = 0;      ///< In the subgraph.
  std::size_t branch = 0;  ///< Index in Operator::bodies.
};

/// Puts the operators of that branch in the place of each If, with an Identity for each result. The other branches, with
/// all that only they read, are no parts of the model any more. Throws Error for a branch with too few results.
void take_branches(OnnxGraph& model, std::vector<DecidedIf> decided);

}  // namespace stowage::import
