#pragma once

#include "import/onnx_wire.h"

namespace stowage::import {

/// Replaces groups DequantizeLinear -> operator -> QuantizeLinear by the operator on integers that they stand for; see
/// onnx_quantized.cc. A model whose operators have bodies stays as it is.
void join_quantized(wire::ModelProto& model);

}  // namespace stowage::import
