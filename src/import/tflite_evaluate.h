#pragma once

#include <cstddef>
#include <optional>

#include "import/onnx_values.h"
#include "operators/context.h"
#include "tflite_generated.h"

namespace stowage::import {

/// Computes an output of an operator if the inputs that it needs are known, and if shape computations use its type.
/// `shape` and `elem_type` are those of the output. None if it cannot.
[[nodiscard]] std::optional<Value> evaluate(tflite::BuiltinOperator builtin,
                                            const operators::NodeContext& node, std::size_t output,
                                            const Shape& shape, int elem_type);

}  // namespace stowage::import
