#pragma once

#include "import/onnx_wire.h"

namespace stowage::import {

/// Replaces operators in which onnxruntime has joined several of the standard by these; see onnx_fused.cc.
/// Others stay as they are.
void split_fused(wire::ModelProto& model);

}  // namespace stowage::import
