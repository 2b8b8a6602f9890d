#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "import/onnx_graph.h"
#include "import/onnx_values.h"
#include "stowage/import.h"

namespace stowage::import {

/// Gives every tensor of the graph its element type, shape and bytes, marks operators whose inputs
/// are all constant as folded, and their outputs as weights. `versions` are the operator sets the
/// model imports, by domain ("" for the standard's own). Throws Error where the file contradicts
/// itself, or where a size stays open, naming the option that would settle it. Returns, per tensor, the
/// value where it is known.
std::vector<std::optional<Value>> infer_shapes(OnnxGraph& model, const std::map<std::string, int>& versions,
                                               const ImportOptions& options);

}  // namespace stowage::import
