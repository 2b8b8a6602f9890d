#pragma once

#include <cstdint>
#include <optional>

#include "stowage/units.h"

namespace stowage::base {

/// a + b, or nothing if it overflows.
[[nodiscard]] inline std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

/// a * b, or nothing if it overflows.
[[nodiscard]] inline std::optional<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// The least multiple of `alignment` (positive) that is not below `value` (not negative). Both are at most
/// `largest_value`, so nothing overflows.
[[nodiscard]] constexpr Bytes align_up(Bytes value, Bytes alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace stowage::base
