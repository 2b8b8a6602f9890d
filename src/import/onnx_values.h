#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stowage/graph.h"

namespace stowage::import {

/// The known value of a small constant tensor, of the kind that shapes are computed from.
struct Value {
  int elem_type = 0;  ///< A TensorProto::DataType.
  Shape shape;
  std::vector<std::int64_t> integers;  ///< Elements of integer and boolean tensors.
  std::vector<double> reals;           ///< Elements of floating-point tensors.

  [[nodiscard]] bool is_real() const;
  [[nodiscard]] std::size_t size() const { return is_real() ? reals.size() : integers.size(); }
};

/// The value of a constant, if its data is in the file, well-formed and small.
[[nodiscard]] std::optional<Value> value_of(const onnx::TensorProto& tensor);

[[nodiscard]] onnx::TensorProto to_proto(const Value& value);

/// Computes a node whose inputs are known (null: not known or left out), when it is one of those
/// that shape computations are made of. `output_shape` and `output_type` are what shape inference
/// found for its first output. Nothing when it cannot.
[[nodiscard]] std::optional<Value> evaluate(const onnx::NodeProto& node, std::span<const Value* const> inputs,
                                            const Shape& output_shape, int output_type);

}  // namespace stowage::import
