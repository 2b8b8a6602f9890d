#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "import/onnx_types.h"
#include "import/onnx_values.h"
#include "import/onnx_wire.h"

namespace stowage::import {

/// Computes a node with known inputs (null: unknown or omitted), if shape computations use its type.
/// `output_shape` and `output_type` are the inferred ones of that output; tensors in its attributes may
/// have their data in `files`. None if it cannot.
[[nodiscard]] std::optional<Value> evaluate(const wire::NodeProto& node, std::span<const Value* const> inputs,
                                            const Shape& output_shape, int output_type, NearbyFiles& files,
                                            std::size_t output = 0);

/// A part of a Split: of this shape, from this row along the axis on. None if it does not fit.
[[nodiscard]] std::optional<Value> part_of(const Value& whole, std::size_t axis, std::int64_t begin,
                                           const Shape& shape);

/// The values of a Shape and a Size, which need only the type of their input.
[[nodiscard]] std::optional<Value> shape_value(const Type& type, const wire::NodeProto& node);
[[nodiscard]] std::optional<Value> size_value(const Type& type);

}  // namespace stowage::import
