#pragma once

#include <memory>

#include "import/onnx_graph.h"
#include "import/onnx_known.h"
#include "stowage/network.h"

namespace stowage::import {

/// The shape rule of an operator, asked with the values that its inputs have in a run; empty if the file decides
/// the shapes of its outputs. `types` and `values` are those of all tensors. `holder` owns the node.
[[nodiscard]] ShapesOfData shapes_of_data(const Operator& op, const wire::NodeProto& node, int version,
                                          const Types& types, const Values& values,
                                          std::shared_ptr<const void> holder);

}  // namespace stowage::import
