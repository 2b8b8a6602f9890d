#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "kernels/operands.h"

namespace stowage::kernels {

/// 1 / (1 + e^-x) in 16 bits, at multiples of 1/24. A line between two values is below the curve: the values
/// are raised by half of the difference in the middle.
class SigmoidTable {
 public:
  SigmoidTable() {
    const auto sigmoid_of = [](double place) { return 65536 / (1 + std::exp(-place / 24)); };
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto place = static_cast<double>(i);
      const double line = (sigmoid_of(place) + sigmoid_of(place + 1)) / 2;
      const double lift = (sigmoid_of(place + 0.5) - line) / 2;
      values_[i] = static_cast<std::uint32_t>(std::round(sigmoid_of(place) + lift));
    }
    values_.back() = 65535;
  }

  /// For a number in units of 1 / 12288.
  [[nodiscard]] std::int16_t sigmoid_at(std::int32_t thrice) const {
    const auto distance = static_cast<std::uint32_t>(std::abs(thrice));
    const std::uint32_t index = distance >> 9;
    std::uint32_t result = 0x7FFFU << 10;
    if (index < values_.size() - 1)
      result = (values_[index] << 9) + (distance & 0x1FFU) * (values_[index + 1] - values_[index]);
    result = thrice >= 0 ? result + (1U << 9) : (1U << 25) - result + (1U << 9) - 1;
    return static_cast<std::int16_t>(result >> 10);
  }

  /// For a number in units of 1 / 12288.
  [[nodiscard]] std::int16_t tanh_at(std::int32_t thrice) const {
    const auto distance = static_cast<std::uint32_t>(std::abs(thrice));
    const std::uint32_t index = distance >> 8;
    std::int32_t result = 0xFFFF << 8;
    if (index < values_.size() - 1)
      result = static_cast<std::int32_t>((values_[index] << 8) +
                                         (distance & 0xFFU) * (values_[index + 1] - values_[index]));
    constexpr std::int32_t half = 1 << 23;
    result = thrice >= 0 ? result - half + (1 << 7) : -result + half + (1 << 7) - 1;
    return static_cast<std::int16_t>(result >> 8);
  }

  /// For a number with 12 fraction bits, and for one times 2^shift.
  [[nodiscard]] std::int16_t sigmoid(std::int16_t x) const { return sigmoid_at(3 * x); }
  [[nodiscard]] std::int16_t tanh(std::int16_t x, int shift) const { return tanh_at(x * (3 << shift)); }

  [[nodiscard]] const std::array<std::uint32_t, 256>& values() const { return values_; }

 private:
  std::array<std::uint32_t, 256> values_{};
};

/// From numbers of int16 to units of 1 / 12288.
struct TableInput {
  std::int32_t factor = 0;
  int shift = 0;

  [[nodiscard]] std::int32_t of(std::int16_t x) const {
    return (x * factor + (shift > 0 ? 1 << (shift - 1) : 0)) >> shift;
  }
};

/// A scale of 2^-12, or larger by 2^most_shift at most, needs no rounding. Refuses large scales.
[[nodiscard]] inline TableInput table_input(float scale, int most_shift) {
  constexpr int fraction_bits = 12;
  for (int shift = 0; shift <= most_shift; ++shift)
    if (scale == std::ldexp(1.0F, shift - fraction_bits)) return {3 << shift, 0};
  double factor = static_cast<double>(scale) * (3 << fraction_bits);
  constexpr double most = 32767;
  if (factor > most) refuse("its input has scale {}", scale);
  TableInput result;
  for (; factor <= most / 2 && result.shift < 30; ++result.shift) factor *= 2;
  result.factor = static_cast<std::int32_t>(factor);
  return result;
}

}  // namespace stowage::kernels
