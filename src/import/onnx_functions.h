#pragma once

#include <onnx/onnx_pb.h>

namespace stowage::import {

/// Replaces every call of one of the model's own functions by the function's nodes, with names made
/// unique and attribute references filled in. Throws Error for functions that call themselves or
/// unfold beyond any reasonable size.
void inline_functions(onnx::ModelProto& model);

}  // namespace stowage::import
