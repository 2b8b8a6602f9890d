#pragma once

#include <onnx/onnx_pb.h>

#include <vector>

#include "stowage/graph.h"

namespace stowage::import {

/// A Graph with names but no sizes yet, and the file's entry for each of its parts.
struct OnnxGraph {
  Graph graph;
  std::vector<const onnx::GraphProto*> protos;             ///< Per subgraph.
  std::vector<std::vector<const onnx::NodeProto*>> nodes;  ///< Per subgraph, per operator.
  std::vector<const onnx::TypeProto*> declared;            ///< Per tensor; null if the file declares no type.
  std::vector<const onnx::TensorProto*> initializers;      ///< Per tensor; null if it has none.
};

/// Resolves names to tensors; bodies also see the scopes around them. Throws Error for a name that is
/// produced twice, or read and never produced. The protos must outlive the result.
[[nodiscard]] OnnxGraph resolve_names(const onnx::GraphProto& main);

/// "Conv", or "com.microsoft.Gelu" for other domains than the standard's.
[[nodiscard]] std::string type_of(const onnx::NodeProto& node);

/// Replaces every call of one of the model's own functions by the function's nodes, with unique names and
/// resolved attribute references. Throws Error for functions that call themselves or grow beyond the limit.
void inline_functions(onnx::ModelProto& model);

}  // namespace stowage::import
