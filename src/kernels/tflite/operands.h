#pragma once

// Checks of operands during preparation. All throw Unsupported with a reason in words.

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/operands.h"

namespace stowage::kernels {

/// Access to a signature in the terms of kernels.
class Operands {
 public:
  explicit Operands(const Signature& signature) : signature_(signature) {}

  [[nodiscard]] const Argument& input(std::size_t i) const;
  [[nodiscard]] const Argument& output(std::size_t i = 0) const;
  [[nodiscard]] bool has_input(std::size_t i) const { return signature_.has_input(i); }
  [[nodiscard]] std::size_t inputs() const { return signature_.inputs.size(); }
  [[nodiscard]] std::size_t outputs() const { return signature_.outputs.size(); }
  [[nodiscard]] std::string_view type() const { return signature_.type; }

  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise = 0) const {
    return signature_.attributes.integer(name, otherwise);
  }
  [[nodiscard]] bool flag(std::string_view name) const { return integer(name) != 0; }
  [[nodiscard]] float real(std::string_view name) const { return signature_.attributes.real(name, 0); }

  /// The integers of an input that never changes.
  [[nodiscard]] std::vector<std::int64_t> constants(std::size_t i, std::string_view what) const;

  void expect_counts(std::size_t inputs, std::size_t outputs) const;
  /// The output has the element type of the input.
  void expect_alike(std::size_t input) const;
  void expect_shape(const Argument& operand, const Shape& shape, std::string_view what) const;

 private:
  const Signature& signature_;
};

[[nodiscard]] bool is_same_quantization(const Argument& a, const Argument& b);
void expect_same_quantization(const Argument& a, const Argument& b);

/// The output has the element type and the quantization of the input.
void expect_moved(const Operands& operands, std::size_t input = 0);

/// Throws Unsupported for the element type of the output.
[[noreturn]] void refuse_type(const Operands& operands);

/// Bytes of an element. Types smaller than a byte, or without a size, are not supported.
[[nodiscard]] std::size_t element_size(DType dtype);

template <typename Element>
struct TypeTag {
  using type = Element;
};

/// Calls `use` with the tag of an integer type of that size, for kernels that only move elements.
template <typename Use>
auto for_size(std::size_t bytes, const Use& use) {
  switch (bytes) {
    case 1:
      return use(TypeTag<std::uint8_t>{});
    case 2:
      return use(TypeTag<std::uint16_t>{});
    case 4:
      return use(TypeTag<std::uint32_t>{});
    case 8:
      return use(TypeTag<std::uint64_t>{});
    default:
      refuse("elements of {} bytes are not supported", bytes);
  }
}

/// Calls `use` with the tag of a type of quantized numbers of 8 bits.
template <typename Use>
auto for_byte(DType dtype, const Use& use) {
  if (dtype == DType::int8) return use(TypeTag<std::int8_t>{});
  if (dtype == DType::uint8) return use(TypeTag<std::uint8_t>{});
  refuse("element type {} is not supported", name_of(dtype));
}

/// The same of 8 or 16 bits.
template <typename Use>
auto for_quantized(DType dtype, const Use& use) {
  return dtype == DType::int16 ? use(TypeTag<std::int16_t>{}) : for_byte(dtype, use);
}

/// Calls `use` with the tag of the number type.
template <typename Use>
auto for_number(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::float32:
      return use(TypeTag<float>{});
    case DType::int8:
      return use(TypeTag<std::int8_t>{});
    case DType::uint8:
      return use(TypeTag<std::uint8_t>{});
    case DType::int16:
      return use(TypeTag<std::int16_t>{});
    case DType::int32:
      return use(TypeTag<std::int32_t>{});
    case DType::int64:
      return use(TypeTag<std::int64_t>{});
    default:
      refuse("element type {} is not supported", name_of(dtype));
  }
}

}  // namespace stowage::kernels
