#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "stowage/graph.h"

namespace stowage::import {

/// The element type of a TensorProto::DataType. Throws Error at `place` for an unknown number.
[[nodiscard]] DType dtype_of(int elem_type, const std::string& place);

[[nodiscard]] onnx::TypeProto tensor_type(int elem_type, const std::optional<Shape>& shape);

/// The declared type, with symbolic dimensions replaced by their values, if they have any.
[[nodiscard]] onnx::TypeProto bind_dimensions(onnx::TypeProto type,
                                              const std::map<std::string, std::int64_t>& dims);

[[nodiscard]] bool has_element_type(const onnx::TypeProto& type);

/// The shape if every dimension is known.
[[nodiscard]] std::optional<Shape> concrete_shape(const onnx::TypeProto& type);

/// One dimension, counted from the end if negative; none if it is unknown.
[[nodiscard]] std::optional<std::int64_t> dimension_at(const onnx::TypeProto& type, std::int64_t axis);

/// Fills what `into` leaves open from `found`. Throws Error at `place` if they disagree, naming `source` as
/// the origin of `found`.
void merge_types(const onnx::TypeProto& found, onnx::TypeProto& into, const std::string& place,
                 std::string_view source);

/// True if the known parts of both types agree.
[[nodiscard]] bool is_compatible(const onnx::TypeProto& a, const onnx::TypeProto& b);

/// The common part of two types: dimensions in which they differ are open.
[[nodiscard]] onnx::TypeProto common_type(const onnx::TypeProto& a, const onnx::TypeProto& b);

/// The type with a dimension inserted before `axis`, or with that axis removed.
[[nodiscard]] onnx::TypeProto with_dimension(const onnx::TypeProto& type, std::int64_t axis,
                                             std::optional<std::int64_t> dimension);
[[nodiscard]] onnx::TypeProto without_dimension(const onnx::TypeProto& type, std::int64_t axis);

/// "float32[1,?,224]".
[[nodiscard]] std::string show_type(const onnx::TypeProto& type);

/// "sequence", "map", ...
[[nodiscard]] std::string_view kind_of_type(const onnx::TypeProto& type);

/// The open part of a type, and the option that would set it.
[[nodiscard]] std::string open_dimension(const onnx::TypeProto& type, const std::string& tensor);

/// Throws Error unless data in the file has the length of the shape.
void check_data(const onnx::TensorProto& tensor, const Shape& shape, const std::string& place);

/// Throws Error for attributes that their schema allows but that make libonnx's rules divide by zero or
/// overflow.
void expect_sane_attributes(const onnx::NodeProto& node);

}  // namespace stowage::import
