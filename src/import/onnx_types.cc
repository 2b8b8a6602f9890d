#include "import/onnx_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

/// By their numbers in the format; numbers above 16 are newer than the installed libonnx.
constexpr std::array<DType, 27> dtypes_of_onnx{
    DType::unknown,        DType::float32,  DType::uint8,        DType::int8,           DType::uint16,
    DType::int16,          DType::int32,    DType::int64,        DType::string,         DType::boolean,
    DType::float16,        DType::float64,  DType::uint32,       DType::uint64,         DType::complex64,
    DType::complex128,     DType::bfloat16, DType::float8e4m3fn, DType::float8e4m3fnuz, DType::float8e5m2,
    DType::float8e5m2fnuz, DType::uint4,    DType::int4,         DType::float4e2m1,     DType::float8e8m0,
    DType::uint2,          DType::int2};

using Dimension = onnx::TensorShapeProto_Dimension;

bool has_shape(const onnx::TypeProto& type) {
  return type.has_tensor_type() && type.tensor_type().has_shape();
}

void expect_possible(const onnx::TypeProto& type, const std::string& place) {
  if (!has_shape(type)) return;
  for (const Dimension& dimension : type.tensor_type().shape().dim()) {
    if (dimension.has_dim_value() && (dimension.dim_value() < 0 || dimension.dim_value() > largest_value)) {
      throw Error(place,
                  fmt::format("has dimension {}, expected 0 to {}", dimension.dim_value(), largest_value));
    }
  }
}

}  // namespace

DType dtype_of(int elem_type, const std::string& place) {
  if (elem_type <= 0 || static_cast<std::size_t>(elem_type) >= dtypes_of_onnx.size()) {
    throw Error(place, fmt::format("is of element type {}, expected a type from 1 to {}", elem_type,
                                   dtypes_of_onnx.size() - 1));
  }
  return dtypes_of_onnx.at(static_cast<std::size_t>(elem_type));
}

onnx::TypeProto tensor_type(int elem_type, const std::optional<Shape>& shape) {
  onnx::TypeProto type;
  onnx::TypeProto_Tensor& tensor = *type.mutable_tensor_type();
  if (elem_type != 0) tensor.set_elem_type(elem_type);
  if (shape) {
    tensor.mutable_shape();
    for (const std::int64_t dimension : *shape) tensor.mutable_shape()->add_dim()->set_dim_value(dimension);
  }
  return type;
}

onnx::TypeProto bind_dimensions(onnx::TypeProto type, const std::map<std::string, std::int64_t>& dims) {
  if (!has_shape(type)) return type;
  for (Dimension& dimension : *type.mutable_tensor_type()->mutable_shape()->mutable_dim()) {
    const auto value = dims.find(dimension.dim_param());
    if (value != dims.end()) dimension.set_dim_value(value->second);
  }
  return type;
}

bool has_element_type(const onnx::TypeProto& type) {
  return type.has_tensor_type() && type.tensor_type().elem_type() != 0;
}

std::optional<Shape> concrete_shape(const onnx::TypeProto& type) {
  if (!has_shape(type)) return std::nullopt;
  Shape shape;
  for (const Dimension& dimension : type.tensor_type().shape().dim()) {
    if (!dimension.has_dim_value()) return std::nullopt;
    shape.push_back(dimension.dim_value());
  }
  return shape;
}

std::optional<std::int64_t> dimension_at(const onnx::TypeProto& type, std::int64_t axis) {
  if (!has_shape(type)) return std::nullopt;
  const std::int64_t rank = type.tensor_type().shape().dim_size();
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  const Dimension& dimension = type.tensor_type().shape().dim(static_cast<int>(axis));
  return dimension.has_dim_value() ? std::optional(dimension.dim_value()) : std::nullopt;
}

void merge_types(const onnx::TypeProto& found, onnx::TypeProto& into, const std::string& place,
                 std::string_view source) {
  if (found.value_case() == onnx::TypeProto::VALUE_NOT_SET) return;
  if (into.value_case() == onnx::TypeProto::VALUE_NOT_SET) into = onnx::TypeProto();
  const auto disagree = [&] {
    return Error(place,
                 fmt::format("is {} by {} but {} in the file", show_type(found), source, show_type(into)));
  };
  if (!found.has_tensor_type()) {
    if (into.value_case() == onnx::TypeProto::VALUE_NOT_SET) into = found;
    return;
  }
  if (into.value_case() != onnx::TypeProto::VALUE_NOT_SET && !into.has_tensor_type()) throw disagree();
  expect_possible(found, place);
  expect_possible(into, place);
  if (!is_compatible(found, into)) throw disagree();
  onnx::TypeProto_Tensor& tensor = *into.mutable_tensor_type();
  if (tensor.elem_type() == 0) tensor.set_elem_type(found.tensor_type().elem_type());
  if (!found.tensor_type().has_shape()) return;
  if (!tensor.has_shape()) {
    *tensor.mutable_shape() = found.tensor_type().shape();
    return;
  }
  for (int d = 0; d < tensor.shape().dim_size(); ++d) {
    const Dimension& dimension = found.tensor_type().shape().dim(d);
    if (dimension.has_dim_value())
      tensor.mutable_shape()->mutable_dim(d)->set_dim_value(dimension.dim_value());
  }
}

bool is_compatible(const onnx::TypeProto& a, const onnx::TypeProto& b) {
  if (!a.has_tensor_type() || !b.has_tensor_type()) return true;
  const int type_a = a.tensor_type().elem_type();
  const int type_b = b.tensor_type().elem_type();
  if (type_a != 0 && type_b != 0 && type_a != type_b) return false;
  if (!has_shape(a) || !has_shape(b)) return true;
  const auto& dims_a = a.tensor_type().shape().dim();
  const auto& dims_b = b.tensor_type().shape().dim();
  return std::equal(dims_a.begin(), dims_a.end(), dims_b.begin(), dims_b.end(),
                    [](const Dimension& x, const Dimension& y) {
                      return !x.has_dim_value() || !y.has_dim_value() || x.dim_value() == y.dim_value();
                    });
}

onnx::TypeProto common_type(const onnx::TypeProto& a, const onnx::TypeProto& b) {
  onnx::TypeProto common = a;
  if (!has_shape(a) || !has_shape(b) ||
      a.tensor_type().shape().dim_size() != b.tensor_type().shape().dim_size()) {
    if (common.has_tensor_type()) common.mutable_tensor_type()->clear_shape();
    return common;
  }
  for (int d = 0; d < a.tensor_type().shape().dim_size(); ++d) {
    if (dimension_at(a, d) != dimension_at(b, d))
      common.mutable_tensor_type()->mutable_shape()->mutable_dim(d)->Clear();
  }
  return common;
}

onnx::TypeProto with_dimension(const onnx::TypeProto& type, std::int64_t axis,
                               std::optional<std::int64_t> dimension) {
  onnx::TypeProto result = type;
  if (!has_shape(type)) return result;
  const std::int64_t rank = type.tensor_type().shape().dim_size();
  if (axis < 0) axis += rank + 1;
  auto& dims = *result.mutable_tensor_type()->mutable_shape()->mutable_dim();
  Dimension* const added = dims.Add();
  if (dimension) added->set_dim_value(*dimension);
  for (std::int64_t d = rank; d > std::clamp<std::int64_t>(axis, 0, rank); --d)
    dims.SwapElements(static_cast<int>(d), static_cast<int>(d - 1));
  return result;
}

onnx::TypeProto without_dimension(const onnx::TypeProto& type, std::int64_t axis) {
  onnx::TypeProto result = type;
  if (!has_shape(type)) return result;
  const std::int64_t rank = type.tensor_type().shape().dim_size();
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return tensor_type(type.tensor_type().elem_type(), std::nullopt);
  auto& dims = *result.mutable_tensor_type()->mutable_shape()->mutable_dim();
  dims.DeleteSubrange(static_cast<int>(axis), 1);
  return result;
}

std::string show_type(const onnx::TypeProto& type) {
  if (!type.has_tensor_type()) return std::string(kind_of_type(type));
  const int elem_type = type.tensor_type().elem_type();
  std::string text = elem_type > 0 && static_cast<std::size_t>(elem_type) < dtypes_of_onnx.size()
                         ? std::string(name_of(dtypes_of_onnx.at(static_cast<std::size_t>(elem_type))))
                     : elem_type == 0 ? ""
                                      : fmt::format("type {}", elem_type);
  if (!type.tensor_type().has_shape()) return text.empty() ? "of unknown type" : text;
  text += "[";
  for (int d = 0; d < type.tensor_type().shape().dim_size(); ++d) {
    const auto dimension = dimension_at(type, d);
    text += fmt::format("{}{}", d == 0 ? "" : ",", dimension ? fmt::format("{}", *dimension) : "?");
  }
  text += "]";
  return text;
}

std::string_view kind_of_type(const onnx::TypeProto& type) {
  switch (type.value_case()) {
    case onnx::TypeProto::kTensorType:
      return "tensor";
    case onnx::TypeProto::kSequenceType:
      return "sequence";
    case onnx::TypeProto::kMapType:
      return "map";
    case onnx::TypeProto::kOptionalType:
      return "optional";
    case onnx::TypeProto::kSparseTensorType:
      return "sparse tensor";
    default:
      return "value of unknown type";
  }
}

std::string open_dimension(const onnx::TypeProto& type, const std::string& tensor) {
  const std::string remedy =
      fmt::format("give the largest with --shape {0}=..., or its bytes with --bound {0}=SIZE", tensor);
  if (!has_element_type(type))
    return fmt::format("has no known element type; give its bytes with --bound {}=SIZE", tensor);
  if (!has_shape(type)) return fmt::format("has no known shape; {}", remedy);
  for (int d = 0; d < type.tensor_type().shape().dim_size(); ++d) {
    const Dimension& dimension = type.tensor_type().shape().dim(d);
    if (dimension.has_dim_value()) continue;
    const std::string& name = dimension.dim_param();
    if (name.empty()) return fmt::format("has no known dimension {} in {}; {}", d, show_type(type), remedy);
    return fmt::format("has the symbolic dimension {} at {}; give it with --dim {}=N, or {}",
                       base::quoted(name), d, name, remedy);
  }
  return "has no known size";
}

void check_data(const onnx::TensorProto& tensor, const Shape& shape, const std::string& place) {
  const DType dtype = dtype_of(tensor.data_type(), place);
  if (!bits_of(dtype)) return;
  Bytes bytes = 0;
  try {
    bytes = bytes_of(dtype, shape);
  } catch (const Error& error) {
    throw Error(place, error.what());
  }
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "length" && base::parse_integer(entry.value()) != bytes) {
        throw Error(place, fmt::format("has external data of length {}, expected {} bytes by its shape",
                                       base::quoted(entry.value()), bytes));
      }
    }
  } else if (tensor.has_raw_data() && static_cast<Bytes>(tensor.raw_data().size()) != bytes) {
    throw Error(place, fmt::format("has {} bytes of data, expected {} by its shape", tensor.raw_data().size(),
                                   bytes));
  }
}

void expect_sane_attributes(const onnx::NodeProto& node) {
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  static constexpr std::array<std::string_view, 7> positive{
      "strides", "dilations", "kernel_shape", "group", "blocksize", "hop_length", "num_heads"};
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    const bool is_positive = std::find(positive.begin(), positive.end(), attribute.name()) != positive.end();
    const auto check = [&](std::int64_t value) {
      if (value >= (is_positive ? 1 : -largest) && value <= largest) return;
      if (!is_positive && (attribute.name() == "starts" || attribute.name() == "ends" ||
                           attribute.name().starts_with("value")))
        return;
      throw Error("operator " + base::quoted(node.name()) + " (" + node.op_type() + ")",
                  fmt::format("attribute {} is {}, expected {} to {}", base::quoted(attribute.name()), value,
                              is_positive ? 1 : -largest, largest));
    };
    if (attribute.has_i()) check(attribute.i());
    std::for_each(attribute.ints().begin(), attribute.ints().end(), check);
  }
}

}  // namespace stowage::import
