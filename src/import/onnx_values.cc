#include "import/onnx_values.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "base/text.h"
#include "import/onnx_types.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

using wire::TensorProto;

bool is_real_type(int type) { return type == element::float32 || type == element::float64; }

bool is_integer_type(int type) {
  switch (type) {
    case element::int8:
    case element::uint8:
    case element::int16:
    case element::uint16:
    case element::int32:
    case element::uint32:
    case element::int64:
    case element::boolean:
      return true;
    default:
      return false;
  }
}

template <typename Stored, typename Element>
bool read_raw(std::string_view raw, std::size_t count, std::vector<Element>& elements) {
  if (raw.size() != count * sizeof(Stored)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, raw.data() + i * sizeof(Stored), sizeof(Stored));
    elements.push_back(static_cast<Element>(stored));
  }
  return true;
}

template <typename Number, typename Element>
bool read_numbers(const std::vector<Number>& numbers, std::size_t count, std::vector<Element>& elements) {
  if (numbers.size() != count) return false;
  elements.assign(numbers.begin(), numbers.end());
  return true;
}

bool read_elements(const TensorProto& tensor, std::size_t count, Value& value) {
  const std::string_view raw = tensor.raw_data.value_or("");
  const bool is_raw = tensor.raw_data.has_value();
  switch (tensor.data_type) {
    case element::float32:
      return is_raw ? read_raw<float>(raw, count, value.reals)
                    : read_numbers(wire::fixed_numbers<float>(tensor.float_data), count, value.reals);
    case element::float64:
      return is_raw ? read_raw<double>(raw, count, value.reals)
                    : read_numbers(wire::fixed_numbers<double>(tensor.double_data), count, value.reals);
    case element::int64:
      return is_raw ? read_raw<std::int64_t>(raw, count, value.integers)
                    : read_numbers(wire::integers_of(tensor.int64_data), count, value.integers);
    case element::uint32:
      return is_raw ? read_raw<std::uint32_t>(raw, count, value.integers)
                    : read_numbers(wire::integers_of(tensor.uint64_data), count, value.integers);
    case element::int32:
      return is_raw ? read_raw<std::int32_t>(raw, count, value.integers)
                    : read_numbers(wire::integers_of(tensor.int32_data), count, value.integers);
    case element::int16:
      return is_raw ? read_raw<std::int16_t>(raw, count, value.integers)
                    : read_numbers(wire::integers_of(tensor.int32_data), count, value.integers);
    case element::uint16:
      return is_raw ? read_raw<std::uint16_t>(raw, count, value.integers)
                    : read_numbers(wire::integers_of(tensor.int32_data), count, value.integers);
    case element::int8:
      return is_raw ? read_raw<std::int8_t>(raw, count, value.integers)
                    : read_numbers(wire::integers_of(tensor.int32_data), count, value.integers);
    case element::uint8:
    case element::boolean:
      return is_raw ? read_raw<std::uint8_t>(raw, count, value.integers)
                    : read_numbers(wire::integers_of(tensor.int32_data), count, value.integers);
    default:
      return false;
  }
}

}  // namespace

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
  if (tensor.is_external) return std::nullopt;
  Value value{.elem_type = tensor.data_type, .shape = tensor.dims, .integers = {}, .reals = {}};
  const auto count = small_count(value.elem_type, value.shape);
  if (!count || !read_elements(tensor, *count, value)) return std::nullopt;
  return value;
}

// The format stores elements as raw bytes, as numbers in one of five fields, or in a file next to the model.
// A type has a field of its own or shares that of a wider type.

namespace {

using ElementBytes = std::vector<std::byte>;

/// Elements in their memory format, each narrowed to `Element`.
template <typename Element, typename Number>
ElementBytes narrowed(const std::vector<Number>& numbers) {
  ElementBytes bytes(numbers.size() * sizeof(Element));
  std::size_t at = 0;
  for (const Number number : numbers) {
    const auto element = static_cast<Element>(number);
    std::memcpy(bytes.data() + at, &element, sizeof(Element));
    at += sizeof(Element);
  }
  return bytes;
}

/// Integers in the memory format of their type; none if it is not one of integers of 16 bits or more.
std::optional<ElementBytes> wide_integers(DType dtype, const std::vector<std::int64_t>& numbers) {
  switch (dtype) {
    case DType::int64:
    case DType::uint64:
      return narrowed<std::int64_t>(numbers);
    case DType::int32:
    case DType::uint32:
      return narrowed<std::uint32_t>(numbers);
    case DType::int16:
    case DType::uint16:
    case DType::float16:
    case DType::bfloat16:
      return narrowed<std::uint16_t>(numbers);
    default:
      return std::nullopt;
  }
}

/// The field that has the elements of a type of integers.
const wire::Numbers& field_of(const TensorProto& tensor, DType dtype) {
  if (dtype == DType::int64) return tensor.int64_data;
  const bool is_unsigned = dtype == DType::uint64 || dtype == DType::uint32;
  return is_unsigned ? tensor.uint64_data : tensor.int32_data;
}

ElementBytes numbers_of(const TensorProto& tensor, DType dtype, const std::string& place) {
  if (dtype == DType::float32 || dtype == DType::complex64)
    return narrowed<float>(wire::fixed_numbers<float>(tensor.float_data));
  if (dtype == DType::float64 || dtype == DType::complex128)
    return narrowed<double>(wire::fixed_numbers<double>(tensor.double_data));
  const std::vector<std::int64_t> numbers = wire::integers_of(field_of(tensor, dtype));
  if (auto bytes = wide_integers(dtype, numbers)) return *std::move(bytes);
  constexpr int bits_of_a_byte = 8;
  if (bits_of(dtype).value_or(bits_of_a_byte + 1) > bits_of_a_byte)
    throw Error(place, fmt::format("is of type {}, expected a type of numbers", name_of(dtype)));
  return narrowed<std::uint8_t>(numbers);
}

std::int64_t number_of(const wire::StringStringEntryProto& entry, const std::string& place) {
  const auto number = base::parse_integer(entry.value);
  if (!number || *number < 0)
    throw Error(place, fmt::format("has external data with {} {}, expected a number of at least 0", entry.key,
                                   base::quoted(entry.value)));
  return *number;
}

std::size_t size_of(const TensorProto& tensor, const std::string& place) {
  try {
    return static_cast<std::size_t>(bytes_of(dtype_of(tensor.data_type, place), tensor.dims));
  } catch (const Error& error) {
    throw Error(place, error.what());
  }
}

void expect_size(std::size_t size, std::size_t expected, const std::string& place) {
  if (size != expected)
    throw Error(place, fmt::format("has {} bytes of data, expected {} by its shape", size, expected));
}

}  // namespace

std::vector<std::byte> bytes_of(const Value& value) {
  if (value.elem_type == element::float32) return narrowed<float>(value.reals);
  if (value.elem_type == element::float64) return narrowed<double>(value.reals);
  auto bytes = wide_integers(dtype_of(value.elem_type, "value"), value.integers);
  return bytes ? *std::move(bytes) : narrowed<std::uint8_t>(value.integers);
}

std::span<const std::byte> external_data(const TensorProto& tensor, NearbyFiles& files,
                                         const std::string& place) {
  std::string location;
  std::size_t offset = 0;
  for (const wire::StringStringEntryProto& entry : tensor.external_data) {
    if (entry.key == "location") location = entry.value;
    if (entry.key == "offset") offset = static_cast<std::size_t>(number_of(entry, place));
  }
  return files.part(location, offset, size_of(tensor, place), place);
}

std::optional<Value> value_of(const TensorProto& tensor, NearbyFiles& files) {
  constexpr std::size_t most_external_elements = 1024;
  if (!tensor.is_external) return value_of(tensor);
  if (small_count(tensor.data_type, tensor.dims).value_or(most_external_elements + 1) >
      most_external_elements)
    return std::nullopt;
  try {
    const std::span<const std::byte> data = external_data(tensor, files, "");
    TensorProto embedded{.data_type = tensor.data_type, .dims = tensor.dims};
    embedded.raw_data.emplace(reinterpret_cast<const char*>(data.data()), data.size());
    return value_of(embedded);
  } catch (const Error&) {
    return std::nullopt;  // who needs the data says so
  }
}

std::optional<std::span<const std::byte>> raw_data(const TensorProto& tensor, const std::string& place) {
  if (tensor.is_external || !tensor.raw_data) return std::nullopt;
  expect_size(tensor.raw_data->size(), size_of(tensor, place), place);
  return std::as_bytes(std::span(*tensor.raw_data));
}

Array array_of(const TensorProto& tensor, NearbyFiles& files, const std::string& place) {
  Array array{.dtype = dtype_of(tensor.data_type, place), .shape = tensor.dims};
  if (tensor.is_external) {
    const std::span<const std::byte> data = external_data(tensor, files, place);
    array.data.assign(data.begin(), data.end());
  } else if (const auto raw = raw_data(tensor, place)) {
    array.data.assign(raw->begin(), raw->end());
  } else {
    const std::size_t size = size_of(tensor, place);
    array.data = numbers_of(tensor, array.dtype, place);
    expect_size(array.data.size(), size, place);
  }
  return array;
}

const TensorProto* value_in(const wire::NodeProto& node) {
  for (const wire::AttributeProto& attribute : node.attribute) {
    const auto* const tensor = attribute.get<wire::AttributeProto::Tensor>();
    if (attribute.name == "value" && tensor != nullptr) return tensor->get();
  }
  return nullptr;
}

}  // namespace stowage::import
