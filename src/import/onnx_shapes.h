#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "import/onnx_graph.h"
#include "import/onnx_values.h"
#include "stowage/import.h"

namespace stowage::import {

/// Gives every tensor of the graph its element type, shape and bytes. Marks operators with only constant
/// inputs as folded, and their outputs as weights. `versions` are the operator sets that the model imports,
/// by domain ("" for the standard's own). Values of
/// external data are searched for in `folder`. Throws Error if the file contradicts itself, or for an unknown
/// size; that Error names the option that would set it. Returns the known value per tensor.
std::vector<std::optional<Value>> infer_shapes(OnnxGraph& model, const Versions& versions,
                                               const std::filesystem::path& folder,
                                               const ImportOptions& options);

}  // namespace stowage::import
