#pragma once

#include "import/onnx_context.h"

namespace stowage::import {

/// Rules of operators whose kernel moves over the input. They throw libonnx's InferenceError if kernel and
/// input do not fit together.
void pool(NodeContext& node);
void max_pool(NodeContext& node);
void max_unpool(NodeContext& node);
void region_pool(NodeContext& node);
void convolution(NodeContext& node);
void integer_convolution(NodeContext& node);
void quantized_convolution(NodeContext& node);
void transposed_convolution(NodeContext& node);

}  // namespace stowage::import
