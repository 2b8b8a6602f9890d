#include "import/onnx_values.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "base/text.h"
#include "import/onnx_types.h"
#include "stowage/error.h"

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

// The format stores elements as raw bytes, as numbers in one of five fields, or in a file next to the model.
// A type has a field of its own or shares that of a wider type.

namespace {

using Bytes8 = std::vector<std::byte>;

Bytes8 bytes_from(std::string_view raw) {
  Bytes8 bytes(raw.size());
  if (!raw.empty()) std::memcpy(bytes.data(), raw.data(), raw.size());
  return bytes;
}

/// Elements in their memory format, each narrowed to `Element`.
template <typename Element, typename Field>
Bytes8 bytes_of_field(const Field& field) {
  Bytes8 bytes(static_cast<std::size_t>(field.size()) * sizeof(Element));
  std::size_t at = 0;
  for (const auto& stored : field) {
    const auto element = static_cast<Element>(stored);
    std::memcpy(bytes.data() + at, &element, sizeof(Element));
    at += sizeof(Element);
  }
  return bytes;
}

Bytes8 numbers_of(const onnx::TensorProto& tensor, DType dtype, const std::string& place) {
  switch (dtype) {
    case DType::float32:
    case DType::complex64:
      return bytes_of_field<float>(tensor.float_data());
    case DType::float64:
    case DType::complex128:
      return bytes_of_field<double>(tensor.double_data());
    case DType::int64:
      return bytes_of_field<std::int64_t>(tensor.int64_data());
    case DType::uint64:
      return bytes_of_field<std::uint64_t>(tensor.uint64_data());
    case DType::uint32:
      return bytes_of_field<std::uint32_t>(tensor.uint64_data());
    case DType::int32:
      return bytes_of_field<std::int32_t>(tensor.int32_data());
    case DType::int16:
    case DType::uint16:
    case DType::float16:
    case DType::bfloat16:
      return bytes_of_field<std::uint16_t>(tensor.int32_data());
    default:
      break;
  }
  constexpr int bits_of_a_byte = 8;
  if (bits_of(dtype).value_or(bits_of_a_byte + 1) > bits_of_a_byte)
    throw Error(place, fmt::format("is of type {}, expected a type of numbers", name_of(dtype)));
  return bytes_of_field<std::uint8_t>(tensor.int32_data());
}

std::int64_t number_of(const onnx::StringStringEntryProto& entry, const std::string& place) {
  const auto number = base::parse_integer(entry.value());
  if (!number || *number < 0)
    throw Error(place, fmt::format("has external data with {} {}, expected a number of at least 0",
                                   entry.key(), base::quoted(entry.value())));
  return *number;
}

std::size_t size_of(const onnx::TensorProto& tensor, const std::string& place) {
  try {
    return static_cast<std::size_t>(
        bytes_of(dtype_of(tensor.data_type(), place), {tensor.dims().begin(), tensor.dims().end()}));
  } catch (const Error& error) {
    throw Error(place, error.what());
  }
}

}  // namespace

bool is_external(const onnx::TensorProto& tensor) {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL;
}

std::span<const std::byte> external_data(const onnx::TensorProto& tensor, NearbyFiles& files,
                                         const std::string& place) {
  std::string location;
  std::size_t offset = 0;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = static_cast<std::size_t>(number_of(entry, place));
  }
  return files.part(location, offset, size_of(tensor, place), place);
}

Array array_of(const onnx::TensorProto& tensor, const std::filesystem::path& folder,
               const std::string& place) {
  Array array{.dtype = dtype_of(tensor.data_type(), place),
              .shape = {tensor.dims().begin(), tensor.dims().end()}};
  const std::size_t size = size_of(tensor, place);
  if (is_external(tensor)) {
    NearbyFiles files(folder);
    const std::span<const std::byte> data = external_data(tensor, files, place);
    array.data.assign(data.begin(), data.end());
  } else if (tensor.has_raw_data()) {
    array.data = bytes_from(tensor.raw_data());
  } else {
    array.data = numbers_of(tensor, array.dtype, place);
  }
  if (array.data.size() != size)
    throw Error(place,
                fmt::format("has {} bytes of data, expected {} by its shape", array.data.size(), size));
  return array;
}

}  // namespace stowage::import
