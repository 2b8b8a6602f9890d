#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "stowage/graph.h"
#include "tflite_generated.h"

namespace stowage::import {

/// Where an operator stands in its file, which is verified.
struct TfliteScope {
  const tflite::Model& model;
  const tflite::SubGraph& subgraph;
  TensorId first_tensor = 0;  ///< Of the subgraph, in the graph.
  std::string_view file{};
  std::function<void(std::size_t bytes)> spend{};  ///< Called before that much of the file is read.
};

/// Fills in `copies` and `must_copy` of an operator whose tensors are read. `source` is what the file
/// says of it.
void find_copies(const TfliteScope& scope, const tflite::Operator& source, tflite::BuiltinOperator builtin,
                 const Graph& graph, Operator& op);

}  // namespace stowage::import
