#include "import/onnx_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/text.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

/// By their numbers in the format.
constexpr std::array<DType, 27> dtypes_of_onnx{
    DType::unknown,        DType::float32,  DType::uint8,        DType::int8,           DType::uint16,
    DType::int16,          DType::int32,    DType::int64,        DType::string,         DType::boolean,
    DType::float16,        DType::float64,  DType::uint32,       DType::uint64,         DType::complex64,
    DType::complex128,     DType::bfloat16, DType::float8e4m3fn, DType::float8e4m3fnuz, DType::float8e5m2,
    DType::float8e5m2fnuz, DType::uint4,    DType::int4,         DType::float4e2m1,     DType::float8e8m0,
    DType::uint2,          DType::int2};

void expect_possible(const Type& type, const std::function<std::string()>& place) {
  if (!type.dims) return;
  for (const Dim& dimension : *type.dims) {
    if (dimension && (*dimension < 0 || *dimension > largest_value))
      throw Error(place(), fmt::format("has dimension {}, expected 0 to {}", *dimension, largest_value));
  }
}

/// The place of an axis that may be counted from the end; none if there is none.
std::optional<std::size_t> place_of(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < 0) axis += signed_rank;
  if (axis < 0 || axis >= signed_rank) return std::nullopt;
  return static_cast<std::size_t>(axis);
}

}  // namespace

std::optional<DType> known_dtype(int elem_type) {
  if (elem_type <= 0 || static_cast<std::size_t>(elem_type) >= dtypes_of_onnx.size()) return std::nullopt;
  return dtypes_of_onnx.at(static_cast<std::size_t>(elem_type));
}

DType dtype_of(int elem_type, const std::string& place) {
  if (const auto dtype = known_dtype(elem_type)) return *dtype;
  throw Error(place, fmt::format("is of element type {}, expected a type from 1 to {}", elem_type,
                                 dtypes_of_onnx.size() - 1));
}

Type declared_type(const wire::TypeProto& proto, const std::map<std::string, GivenSize>& dims) {
  Type type{.kind = proto.kind, .elem_type = proto.elem_type};
  if (proto.element != nullptr)
    type.element = std::make_shared<const Type>(declared_type(*proto.element, dims));
  if (!proto.shape) return type;
  type.dims.emplace();
  for (const wire::Dimension& dimension : *proto.shape) {
    const auto value = dimension.name.empty() ? dims.end() : dims.find(std::string(dimension.name));
    const bool is_open = dimension.size == -1;  // as PaddlePaddle writes it
    type.dims->push_back(value != dims.end() ? Dim(value->second.most) : is_open ? Dim() : dimension.size);
  }
  return type;
}

bool has_element_type(const Type& type) { return type.kind == Type::Kind::tensor && type.elem_type != 0; }

Dim dimension_at(const Type& type, std::int64_t axis) {
  const auto at = type.dims ? place_of(axis, type.dims->size()) : std::nullopt;
  return at ? (*type.dims)[*at] : std::nullopt;
}

void merge_types(const Type& found, Type& into, const std::function<std::string()>& place,
                 std::string_view source) {
  if (found.kind == Type::Kind::none) return;
  const auto disagree = [&] {
    return Error(place(),
                 fmt::format("is {} by {} but {} in the file", show_type(found), source, show_type(into)));
  };
  if (found.kind != Type::Kind::tensor) {
    if (into.kind == Type::Kind::none) into = found;
    if (into.element == nullptr) into.element = found.element;
    return;
  }
  if (into.kind == Type::Kind::none) {
    expect_possible(found, place);
    into = found;
    return;
  }
  if (into.kind != Type::Kind::tensor) throw disagree();
  expect_possible(found, place);
  expect_possible(into, place);
  if (!is_compatible(found, into)) throw disagree();
  if (into.elem_type == 0) into.elem_type = found.elem_type;
  if (!found.dims) return;
  if (!into.dims) into.dims = found.dims;
  for (std::size_t d = 0; d < into.dims->size(); ++d) {
    if ((*found.dims)[d]) (*into.dims)[d] = (*found.dims)[d];
  }
}

bool is_compatible(const Type& a, const Type& b) {
  if (a.kind != Type::Kind::tensor || b.kind != Type::Kind::tensor) return true;
  if (a.elem_type != 0 && b.elem_type != 0 && a.elem_type != b.elem_type) return false;
  if (!a.dims || !b.dims) return true;
  return std::ranges::equal(*a.dims, *b.dims,
                            [](const Dim& x, const Dim& y) { return !x || !y || *x == *y; });
}

Type with_dimension(const Type& type, std::int64_t axis, Dim dimension) {
  Type result = type;
  if (!type.dims) return result;
  const auto rank = static_cast<std::int64_t>(type.dims->size());
  if (axis < 0) axis += rank + 1;
  const auto place = static_cast<std::ptrdiff_t>(std::clamp<std::int64_t>(axis, 0, rank));
  result.dims->insert(result.dims->begin() + place, dimension);
  return result;
}

Type without_dimension(const Type& type, std::int64_t axis) {
  if (!type.dims) return type;
  const auto at = place_of(axis, type.dims->size());
  if (!at) return tensor_type(type.elem_type, std::nullopt);
  Type result = type;
  result.dims->erase(result.dims->begin() + static_cast<std::ptrdiff_t>(*at));
  return result;
}

std::string show_type(const Type& type) {
  if (type.kind != Type::Kind::tensor) return std::string(kind_of_type(type));
  const auto dtype = known_dtype(type.elem_type);
  std::string text = dtype                 ? std::string(name_of(*dtype))
                     : type.elem_type == 0 ? ""
                                           : fmt::format("type {}", type.elem_type);
  if (!type.dims) return text.empty() ? "of unknown type" : text;
  text += "[";
  for (std::size_t d = 0; d < type.dims->size(); ++d) {
    const Dim& dimension = (*type.dims)[d];
    text += fmt::format("{}{}", d == 0 ? "" : ",", dimension ? fmt::format("{}", *dimension) : "?");
  }
  text += "]";
  return text;
}

std::string_view kind_of_type(const Type& type) {
  switch (type.kind) {
    case Type::Kind::tensor:
      return "tensor";
    case Type::Kind::sequence:
      return "sequence";
    case Type::Kind::map:
      return "map";
    case Type::Kind::optional:
      return "optional";
    case Type::Kind::sparse_tensor:
      return "sparse tensor";
    default:
      return "value of unknown type";
  }
}

void check_data(const wire::TensorProto& tensor, const std::string& place) {
  const DType dtype = dtype_of(tensor.data_type, place);
  if (!bits_of(dtype)) return;
  Bytes bytes = 0;
  try {
    bytes = bytes_of(dtype, tensor.dims);
  } catch (const Error& error) {
    throw Error(place, error.what());
  }
  if (tensor.is_external) {
    for (const auto& entry : tensor.external_data) {
      if (entry.key == "length" && base::parse_integer(entry.value) != bytes) {
        throw Error(place, fmt::format("has external data of length {}, expected {} bytes by its shape",
                                       base::quoted(entry.value), bytes));
      }
    }
  } else if (tensor.raw_data && static_cast<Bytes>(tensor.raw_data->size()) != bytes) {
    throw Error(
        place, fmt::format("has {} bytes of data, expected {} by its shape", tensor.raw_data->size(), bytes));
  }
}

void expect_sane_attributes(const wire::NodeProto& node) {
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  static constexpr std::array<std::string_view, 5> positive{"strides", "dilations", "kernel_shape", "group",
                                                            "blocksize"};
  for (const wire::AttributeProto& attribute : node.attribute) {
    const bool is_positive = std::find(positive.begin(), positive.end(), attribute.name) != positive.end();
    const auto check = [&](std::int64_t value) {
      if (value >= (is_positive ? 1 : -largest) && value <= largest) return;
      if (!is_positive &&
          (attribute.name == "starts" || attribute.name == "ends" || attribute.name.starts_with("value")))
        return;
      throw Error(fmt::format("operator {} ({})", base::quoted(node.name), node.op_type),
                  fmt::format("attribute {} is {}, expected {} to {}", base::quoted(attribute.name), value,
                              is_positive ? 1 : -largest, largest));
    };
    if (const auto* const integer = attribute.get<std::int64_t>()) check(*integer);
    if (const auto* const integers = attribute.get<Shape>()) std::ranges::for_each(*integers, check);
  }
}

}  // namespace stowage::import
