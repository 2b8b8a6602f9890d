#pragma once

#include <string_view>

#include "import/onnx_wire.h"
#include "import/readers.h"

namespace stowage::import {

/// The domain of operators that only groups become: QLinearSub and Requantize.
inline constexpr std::string_view own_domain = "stowage";

/// Replaces groups DequantizeLinear -> operator -> QuantizeLinear by the operator on integers that they stand for; see
/// onnx_quantized.cc. Scales and zero points may have their data in `files`. A model whose operators have bodies stays as
/// it is.
void join_quantized(wire::ModelProto& model, NearbyFiles& files);

}  // namespace stowage::import
