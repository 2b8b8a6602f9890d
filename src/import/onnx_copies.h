#pragma once

#include <vector>

#include "import/onnx_graph.h"
#include "import/onnx_known.h"

namespace stowage::import {

/// Fills in `copies` and `must_copy` of every operator that is not folded. Needs the sizes from infer_shapes;
/// `values` are the known values of each tensor.
void find_copies(OnnxGraph& model, const Versions& versions, const Values& values);

/// The same of one operator with these known values of its inputs (null: unknown).
void find_copies(const Graph& graph, Operator& op, const wire::NodeProto& node, const Versions& versions,
                 std::vector<const Value*> values);

}  // namespace stowage::import
