#pragma once

#include <optional>
#include <vector>

#include "import/onnx_graph.h"
#include "import/onnx_values.h"

namespace stowage::import {

/// Fills in `copies` and `must_copy` of every operator that is not folded. Needs the sizes from infer_shapes;
/// `values` are the known values of each tensor.
void find_copies(OnnxGraph& model, const Versions& versions, const std::vector<std::optional<Value>>& values);

}  // namespace stowage::import
