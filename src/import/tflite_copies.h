#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "stowage/graph.h"
#include "tflite_generated.h"

namespace stowage::import {

/// The place of an operator in its file, which is verified.
struct TfliteScope {
  const tflite::Model& model;
  const tflite::SubGraph& subgraph;
  TensorId first_tensor = 0;  ///< Of the subgraph, in the graph.
  std::string_view file{};
  std::function<void(std::size_t bytes)> spend{};  ///< Called before that many bytes of the file are read.
};

/// Fills in `copies` and `must_copy` of an operator whose tensors are known. `source` is its entry in the
/// file.
void find_copies(const TfliteScope& scope, const tflite::Operator& source, const Graph& graph, Operator& op);

}  // namespace stowage::import
