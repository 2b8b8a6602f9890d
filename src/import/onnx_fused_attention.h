#pragma once

#include "import/onnx_known_values.h"
#include "import/onnx_made_nodes.h"

namespace stowage::import {

/// Appends what a node of type Attention, QAttention or MultiHeadAttention (com.microsoft) stands for. False for a form
/// that is not known, or not surely: then there is nothing new.
[[nodiscard]] bool split_attention(MadeNodes& made, const KnownValues& known, const wire::NodeProto& node);

}  // namespace stowage::import
