#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <span>

#include "import/onnx_values.h"

namespace stowage::import {

/// Computes a node whose inputs are known (null: not known or left out), when it is one of those
/// that shape computations are made of. `output_shape` and `output_type` are what shape inference
/// found for its first output. Nothing when it cannot.
[[nodiscard]] std::optional<Value> evaluate(const onnx::NodeProto& node, std::span<const Value* const> inputs,
                                            const Shape& output_shape, int output_type);

}  // namespace stowage::import
