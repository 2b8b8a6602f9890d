#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <span>

#include "import/onnx_values.h"

namespace stowage::import {

/// Computes a node with known inputs (null: unknown or omitted), if shape computations use its type.
/// `output_shape` and `output_type` are the inferred ones of its first output. None if it cannot.
[[nodiscard]] std::optional<Value> evaluate(const onnx::NodeProto& node, std::span<const Value* const> inputs,
                                            const Shape& output_shape, int output_type);

}  // namespace stowage::import
