#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/onnx/operands.h"

/// Elements in memory, and their values in computations: float16 and bfloat16 are computed as float32.
namespace stowage::kernels::onnx_ops {

/// A byte that is true unless it is 0: a file may contain any byte, a bool may not.
struct Truth {
  std::uint8_t bits;
};
struct Half {
  std::uint16_t bits;
};
struct BFloat {
  std::uint16_t bits;
};
/// Elements of 16 bytes that are only moved.
struct Wide {
  std::uint64_t low;
  std::uint64_t high;
};

[[nodiscard]] inline bool value_of(Truth element) { return element.bits != 0; }

[[nodiscard]] inline float value_of(BFloat element) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(element.bits) << 16U);
}

[[nodiscard]] inline float value_of(Half element) {
  const std::uint32_t sign = (element.bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (element.bits >> 10U) & 0x1FU;
  const std::uint32_t fraction = element.bits & 0x3FFU;
  if (exponent == 0) {
    constexpr float unit = 1.0F / 16777216;  // 2^-24, of the smallest positive number
    const float size = static_cast<float>(fraction) * unit;
    return sign == 0 ? size : -size;
  }
  const std::uint32_t widened = exponent == 0x1FU ? 0xFFU : exponent + 112U;
  return std::bit_cast<float>(sign | (widened << 23U) | (fraction << 13U));
}

template <typename Element>
  requires std::is_arithmetic_v<Element>
[[nodiscard]] Element value_of(Element element) {
  return element;
}

/// The type in which elements are computed.
template <typename Element>
using Value = decltype(value_of(Element{}));

/// Rounds to nearest, ties to even.
[[nodiscard]] inline BFloat bfloat_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return {static_cast<std::uint16_t>((bits >> 16U) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U)};
}

/// Rounds to nearest, ties to even.
[[nodiscard]] inline Half half_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t size = bits & 0x7FFFFFFFU;
  constexpr std::uint32_t infinite = 0x7C00U;
  if (size > 0x7F800000U) return {static_cast<std::uint16_t>(sign | infinite | 0x200U)};
  if (size >= 0x477FF000U) return {static_cast<std::uint16_t>(sign | infinite)};
  if (size < 0x38800000U) {
    // Subnormal numbers: a multiple of 2^-24, to which adding 1/2 rounds.
    const float shifted = std::bit_cast<float>(size) + 0.5F;
    return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U))};
  }
  const std::uint32_t rounded = size - 0x38000000U + 0xFFFU + ((size >> 13U) & 1U);
  return {static_cast<std::uint16_t>(sign | (rounded >> 13U))};
}

/// Truncates to the integer type; out of range gives the nearest limit, NaN gives 0.
template <typename Integer, typename Real>
[[nodiscard]] Integer whole(Real value) {
  using Limits = std::numeric_limits<Integer>;
  // One past the largest is a power of two, which is exact.
  constexpr Real end = static_cast<Real>(Limits::max() / 2 + 1) * 2;
  constexpr Real begin = static_cast<Real>(Limits::min());
  if (!(value > begin)) return std::isnan(value) ? Integer{0} : Limits::min();
  if (value >= end) return Limits::max();
  return static_cast<Integer>(value);
}

/// Converts a value to an element type, as Cast does. Integers wrap around.
template <typename Element, typename From>
[[nodiscard]] Element element_of(From value) {
  if constexpr (std::is_same_v<Element, Truth>) {
    return Truth{static_cast<std::uint8_t>(value != From{0} ? 1 : 0)};
  } else if constexpr (std::is_same_v<Element, Half>) {
    return half_of(static_cast<float>(value));
  } else if constexpr (std::is_same_v<Element, BFloat>) {
    return bfloat_of(static_cast<float>(value));
  } else if constexpr (std::is_integral_v<Element> && std::is_floating_point_v<From>) {
    return whole<Element>(value);
  } else {
    return static_cast<Element>(value);
  }
}

template <typename... Elements>
struct Types {};

template <typename... A, typename... B>
constexpr Types<A..., B...> operator+(Types<A...> /*unused*/, Types<B...> /*unused*/) {
  return {};
}

inline constexpr Types<float, double> exact_floats;
inline constexpr Types<float, double, Half, BFloat> floats;
inline constexpr Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t> signed_integers;
inline constexpr Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t> unsigned_integers;
inline constexpr Types<std::int32_t, std::int64_t> index_types;
inline constexpr Types<Truth> truths;
inline constexpr auto integers = signed_integers + unsigned_integers;
inline constexpr auto numbers = floats + integers;
inline constexpr auto every_type = numbers + truths;

template <typename Element>
[[nodiscard]] constexpr DType dtype_of() {
  if constexpr (std::is_same_v<Element, Truth>) return DType::boolean;
  if constexpr (std::is_same_v<Element, Half>) return DType::float16;
  if constexpr (std::is_same_v<Element, BFloat>) return DType::bfloat16;
  if constexpr (std::is_same_v<Element, float>) return DType::float32;
  if constexpr (std::is_same_v<Element, double>) return DType::float64;
  if constexpr (std::is_same_v<Element, std::int8_t>) return DType::int8;
  if constexpr (std::is_same_v<Element, std::int16_t>) return DType::int16;
  if constexpr (std::is_same_v<Element, std::int32_t>) return DType::int32;
  if constexpr (std::is_same_v<Element, std::int64_t>) return DType::int64;
  if constexpr (std::is_same_v<Element, std::uint8_t>) return DType::uint8;
  if constexpr (std::is_same_v<Element, std::uint16_t>) return DType::uint16;
  if constexpr (std::is_same_v<Element, std::uint32_t>) return DType::uint32;
  if constexpr (std::is_same_v<Element, std::uint64_t>) return DType::uint64;
  return DType::unknown;
}

/// Makes the kernel for the element type `dtype`, which must be one of `Elements`, by calling
/// make.operator()<Element>().
template <typename Make, typename... Elements>
[[nodiscard]] Kernel for_type(DType dtype, Types<Elements...> /*types*/, const Make& make) {
  Kernel kernel;
  const bool is_made =
      ((dtype == dtype_of<Elements>() ? (kernel = make.template operator()<Elements>(), true) : false) ||
       ...);
  if (!is_made) refuse("there is no kernel for elements of type {}", name_of(dtype));
  return kernel;
}

/// The same for operators that only move elements: by element size.
template <typename Make>
[[nodiscard]] Kernel for_size(DType dtype, const Make& make) {
  switch (bits_of(dtype).value_or(0)) {
    case 8:
      return make.template operator()<std::uint8_t>();
    case 16:
      return make.template operator()<std::uint16_t>();
    case 32:
      return make.template operator()<std::uint32_t>();
    case 64:
      return make.template operator()<std::uint64_t>();
    case 128:
      return make.template operator()<Wide>();
    default:
      refuse("there is no kernel that moves elements of type {}", name_of(dtype));
  }
}

/// Arithmetic that wraps around for integers, where overflow is undefined in C++.
template <typename Number>
[[nodiscard]] Number sum(Number a, Number b) {
  if constexpr (std::is_integral_v<Number>) {
    Number result = 0;
    static_cast<void>(__builtin_add_overflow(a, b, &result));
    return result;
  } else {
    return a + b;
  }
}

template <typename Number>
[[nodiscard]] Number difference(Number a, Number b) {
  if constexpr (std::is_integral_v<Number>) {
    Number result = 0;
    static_cast<void>(__builtin_sub_overflow(a, b, &result));
    return result;
  } else {
    return a - b;
  }
}

template <typename Number>
[[nodiscard]] Number product(Number a, Number b) {
  if constexpr (std::is_integral_v<Number>) {
    Number result = 0;
    static_cast<void>(__builtin_mul_overflow(a, b, &result));
    return result;
  } else {
    return a * b;
  }
}

}  // namespace stowage::kernels::onnx_ops
