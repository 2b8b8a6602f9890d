#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/known.h"
#include "import/onnx_wire.h"
#include "stowage/graph.h"
#include "stowage/import.h"

namespace stowage::import {

/// The element type of a TensorProto.DataType; none for an unknown number.
[[nodiscard]] std::optional<DType> known_dtype(int elem_type);
/// The same. Throws Error at `place` for an unknown number.
[[nodiscard]] DType dtype_of(int elem_type, const std::string& place);

/// What the file declares, with symbolic dimensions replaced by their values, if they have any.
[[nodiscard]] Type declared_type(const wire::TypeProto& proto, const std::map<std::string, GivenSize>& dims);

[[nodiscard]] bool has_element_type(const Type& type);

/// One dimension, counted from the end if negative; none if it is unknown.
[[nodiscard]] Dim dimension_at(const Type& type, std::int64_t axis);

/// Fills what `into` leaves open from `found`. Throws Error at `place` if they disagree, naming `source` as
/// the origin of `found`.
void merge_types(const Type& found, Type& into, const std::function<std::string()>& place,
                 std::string_view source);

/// True if the known parts of both types agree.
[[nodiscard]] bool is_compatible(const Type& a, const Type& b);

/// The type with a dimension inserted before `axis`, or with that axis removed.
[[nodiscard]] Type with_dimension(const Type& type, std::int64_t axis, Dim dimension);
[[nodiscard]] Type without_dimension(const Type& type, std::int64_t axis);

/// "float32[1,?,224]".
[[nodiscard]] std::string show_type(const Type& type);

/// "sequence", "map", ...
[[nodiscard]] std::string_view kind_of_type(const Type& type);

/// Throws Error unless data in the file has the length of the shape.
void check_data(const wire::TensorProto& tensor, const std::string& place);

/// Throws Error for attributes that no operator can have: they would divide by zero or overflow.
void expect_sane_attributes(const wire::NodeProto& node);

}  // namespace stowage::import
