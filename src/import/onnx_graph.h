#pragma once

#include <onnx/onnx_pb.h>

#include <vector>

#include "stowage/graph.h"

namespace stowage::import {

/// A Graph whose tensors have names but no sizes yet, and what the file says of each of its parts.
struct OnnxGraph {
  Graph graph;
  std::vector<const onnx::GraphProto*> protos;             ///< Per subgraph.
  std::vector<std::vector<const onnx::NodeProto*>> nodes;  ///< Per subgraph, per operator.
  std::vector<const onnx::TypeProto*> declared;            ///< Per tensor; null where the file says nothing.
  std::vector<const onnx::TensorProto*> initializers;      ///< Per tensor; null where it has none.
};

/// Resolves names to tensors, those of bodies in the scopes around them. Throws Error for a name
/// that is produced twice, or read and never produced. The protos must outlive the result.
[[nodiscard]] OnnxGraph resolve_names(const onnx::GraphProto& main);

/// "Conv", or "com.microsoft.Gelu" outside the standard's own domain.
[[nodiscard]] std::string type_of(const onnx::NodeProto& node);

/// Replaces every call of one of the model's own functions by the function's nodes, with names made
/// unique and attribute references filled in. Throws Error for functions that call themselves or
/// unfold beyond any reasonable size.
void inline_functions(onnx::ModelProto& model);

}  // namespace stowage::import
