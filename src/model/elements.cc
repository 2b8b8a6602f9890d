#include "model/elements.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <variant>

namespace stowage::model {
namespace {

template <typename Element>
void append(Element element, std::vector<std::byte>& bytes) {
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof(Element));
  std::memcpy(bytes.data() + at, &element, sizeof(Element));
}

/// False if the element is none of this type.
template <typename Element>
bool append_whole(const Number& element, std::vector<std::byte>& bytes) {
  const auto* const whole = std::get_if<std::int64_t>(&element);
  if (whole == nullptr || *whole < -largest_value || *whole > largest_value) return false;
  if (*whole < static_cast<std::int64_t>(std::numeric_limits<Element>::min())) return false;
  if constexpr (sizeof(Element) < sizeof(std::int64_t)) {
    if (*whole > static_cast<std::int64_t>(std::numeric_limits<Element>::max())) return false;
  }
  append(static_cast<Element>(*whole), bytes);
  return true;
}

double real_of(const Number& element) {
  return std::visit([](const auto it) { return static_cast<double>(it); }, element);
}

bool append_element(DType dtype, const Number& element, std::vector<std::byte>& bytes) {
  switch (dtype) {
    case DType::boolean:
      return (element == Number(std::int64_t{0}) || element == Number(std::int64_t{1})) &&
             append_whole<std::uint8_t>(element, bytes);
    case DType::int8:
      return append_whole<std::int8_t>(element, bytes);
    case DType::uint8:
      return append_whole<std::uint8_t>(element, bytes);
    case DType::int16:
      return append_whole<std::int16_t>(element, bytes);
    case DType::uint16:
      return append_whole<std::uint16_t>(element, bytes);
    case DType::int32:
      return append_whole<std::int32_t>(element, bytes);
    case DType::uint32:
      return append_whole<std::uint32_t>(element, bytes);
    case DType::int64:
      return append_whole<std::int64_t>(element, bytes);
    case DType::uint64:
      return append_whole<std::uint64_t>(element, bytes);
    case DType::float32:
      append(static_cast<float>(real_of(element)), bytes);
      return std::isfinite(static_cast<float>(real_of(element)));
    case DType::float64:
      append(real_of(element), bytes);
      return std::isfinite(real_of(element));
    default:
      return false;
  }
}

}  // namespace

std::optional<std::vector<std::byte>> bytes_of_elements(DType dtype, const std::vector<Number>& elements) {
  std::vector<std::byte> bytes;
  for (const Number& element : elements)
    if (!append_element(dtype, element, bytes)) return std::nullopt;
  return bytes;
}

std::optional<std::vector<Number>> elements_of(DType dtype, const std::vector<Number>& elements) {
  if (!bytes_of_elements(dtype, elements)) return std::nullopt;
  std::vector<Number> own = elements;
  for (Number& element : own) {
    if (dtype == DType::float32) element = static_cast<double>(static_cast<float>(real_of(element)));
    if (dtype == DType::float64) element = real_of(element);
  }
  return own;
}

std::optional<std::string_view> find_c_type(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::uint8:
      return "uint8_t";
    case DType::int8:
      return "int8_t";
    case DType::int16:
      return "int16_t";
    case DType::uint16:
      return "uint16_t";
    case DType::int32:
      return "int32_t";
    case DType::uint32:
      return "uint32_t";
    case DType::int64:
      return "int64_t";
    case DType::uint64:
      return "uint64_t";
    case DType::float32:
      return "float";
    case DType::float64:
      return "double";
    default:
      return std::nullopt;
  }
}

std::string show_elements(const std::vector<Number>& elements) {
  std::string text;
  for (const Number& element : elements)
    text +=
        (text.empty() ? "" : ",") + std::visit([](const auto it) { return fmt::format("{}", it); }, element);
  return text;
}

}  // namespace stowage::model
