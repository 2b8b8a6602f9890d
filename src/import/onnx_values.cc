#include "import/onnx_values.h"

#include <cstring>
#include <string>

namespace stowage::import {
namespace {

using onnx::TensorProto;

bool is_real_type(int type) { return type == TensorProto::FLOAT || type == TensorProto::DOUBLE; }

bool is_integer_type(int type) {
  switch (type) {
    case TensorProto::INT8:
    case TensorProto::UINT8:
    case TensorProto::INT16:
    case TensorProto::UINT16:
    case TensorProto::INT32:
    case TensorProto::UINT32:
    case TensorProto::INT64:
    case TensorProto::BOOL:
      return true;
    default:
      return false;
  }
}

template <typename Stored, typename Element>
bool read_raw(const std::string& raw, std::size_t count, std::vector<Element>& elements) {
  if (raw.size() != count * sizeof(Stored)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, raw.data() + i * sizeof(Stored), sizeof(Stored));
    elements.push_back(static_cast<Element>(stored));
  }
  return true;
}

template <typename Field, typename Element>
bool read_field(const Field& field, std::size_t count, std::vector<Element>& elements) {
  if (static_cast<std::size_t>(field.size()) != count) return false;
  for (const auto& element : field) elements.push_back(static_cast<Element>(element));
  return true;
}

bool read_elements(const TensorProto& tensor, std::size_t count, Value& value) {
  const std::string& raw = tensor.raw_data();
  const bool is_raw = tensor.has_raw_data();
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
      return is_raw ? read_raw<float>(raw, count, value.reals)
                    : read_field(tensor.float_data(), count, value.reals);
    case TensorProto::DOUBLE:
      return is_raw ? read_raw<double>(raw, count, value.reals)
                    : read_field(tensor.double_data(), count, value.reals);
    case TensorProto::INT64:
      return is_raw ? read_raw<std::int64_t>(raw, count, value.integers)
                    : read_field(tensor.int64_data(), count, value.integers);
    case TensorProto::UINT32:
      return is_raw ? read_raw<std::uint32_t>(raw, count, value.integers)
                    : read_field(tensor.uint64_data(), count, value.integers);
    case TensorProto::INT32:
      return is_raw ? read_raw<std::int32_t>(raw, count, value.integers)
                    : read_field(tensor.int32_data(), count, value.integers);
    case TensorProto::INT16:
      return is_raw ? read_raw<std::int16_t>(raw, count, value.integers)
                    : read_field(tensor.int32_data(), count, value.integers);
    case TensorProto::UINT16:
      return is_raw ? read_raw<std::uint16_t>(raw, count, value.integers)
                    : read_field(tensor.int32_data(), count, value.integers);
    case TensorProto::INT8:
      return is_raw ? read_raw<std::int8_t>(raw, count, value.integers)
                    : read_field(tensor.int32_data(), count, value.integers);
    case TensorProto::UINT8:
    case TensorProto::BOOL:
      return is_raw ? read_raw<std::uint8_t>(raw, count, value.integers)
                    : read_field(tensor.int32_data(), count, value.integers);
    default:
      return false;
  }
}

}  // namespace

bool Value::is_real() const { return is_real_type(elem_type); }

std::optional<std::size_t> small_count(int elem_type, const Shape& shape) {
  if (!is_real_type(elem_type) && !is_integer_type(elem_type)) return std::nullopt;
  std::int64_t count = 1;
  for (const std::int64_t dimension : shape) {
    if (dimension < 0 || dimension > most_elements) return std::nullopt;
    count *= dimension;
    if (count > most_elements) return std::nullopt;
  }
  return static_cast<std::size_t>(count);
}

std::optional<Value> value_of(const TensorProto& tensor) {
  if (tensor.data_location() == TensorProto::EXTERNAL) return std::nullopt;
  Value value{.elem_type = tensor.data_type(),
              .shape = {tensor.dims().begin(), tensor.dims().end()},
              .integers = {},
              .reals = {}};
  const auto count = small_count(value.elem_type, value.shape);
  if (!count || !read_elements(tensor, *count, value)) return std::nullopt;
  return value;
}

TensorProto to_proto(const Value& value) {
  TensorProto tensor;
  for (const std::int64_t dimension : value.shape) tensor.add_dims(dimension);
  tensor.set_data_type(value.elem_type);
  switch (value.elem_type) {
    case TensorProto::FLOAT:
      for (const double real : value.reals) tensor.add_float_data(static_cast<float>(real));
      break;
    case TensorProto::DOUBLE:
      for (const double real : value.reals) tensor.add_double_data(real);
      break;
    case TensorProto::INT64:
      for (const std::int64_t integer : value.integers) tensor.add_int64_data(integer);
      break;
    case TensorProto::UINT32:
      for (const std::int64_t integer : value.integers)
        tensor.add_uint64_data(static_cast<std::uint64_t>(integer));
      break;
    default:
      for (const std::int64_t integer : value.integers)
        tensor.add_int32_data(static_cast<std::int32_t>(integer));
      break;
  }
  return tensor;
}

}  // namespace stowage::import
