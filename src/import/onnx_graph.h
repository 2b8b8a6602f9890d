#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "import/onnx_wire.h"
#include "stowage/graph.h"
#include "stowage/open_sizes.h"

namespace stowage::import {

/// The operator sets that a model imports, by domain; "" is the standard's own.
using Versions = std::map<std::string, int, std::less<>>;

/// A type with the names of its open axes.
struct NamedType {
  wire::TypeProto type{};
  std::list<std::string> names{};  ///< What `type` points into.
};

/// A Graph with names but no sizes yet, and the file's entry for each of its parts.
struct OnnxGraph {
  Graph graph;
  std::vector<const wire::GraphProto*> protos;             ///< Per subgraph.
  std::vector<std::vector<const wire::NodeProto*>> nodes;  ///< Per subgraph, per operator.
  std::vector<const wire::TypeProto*> declared;            ///< Per tensor; null if the file declares no type.
  std::vector<const wire::TensorProto*> initializers;      ///< Per tensor; null if it has none.
  std::vector<std::shared_ptr<const wire::NodeProto>> made{};  ///< Nodes that are not in the file.
  /// Types of inputs of which the file does not name an open axis: these have names, TENSOR[AXIS].
  std::vector<std::shared_ptr<const NamedType>> named{};
};

/// Resolves names to tensors; bodies also see the scopes around them. Throws Error for a name that is
/// produced twice, or read and never produced. The protos must outlive the result.
[[nodiscard]] OnnxGraph resolve_names(const wire::GraphProto& main);

/// Notes that an axis of an input has an open size of this name.
void note_open_size(const std::string& name, const OpenSize::Place& place, std::vector<OpenSize>& sizes);

/// "Conv", or "com.microsoft.Gelu" for other domains than the standard's.
[[nodiscard]] std::string type_of(const wire::NodeProto& node);

}  // namespace stowage::import
