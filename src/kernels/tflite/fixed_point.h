#pragma once

// Arithmetic on quantized numbers. A real factor is a mantissa of 31 bits and a power of two: factor =
// mantissa / 2^31 * 2^shift. Scaling rounds twice, as TensorFlow Lite does by default: first the product to
// 32 bits, then the shift to the right, both with halves away from zero. Source: the TensorFlow Lite 8-bit
// quantization specification; gemmlowp's fixed-point arithmetic. Comparisons showed that TFLite Micro's
// Python package also rounds twice.

#include <fixedpoint/fixedpoint.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/tflite/operands.h"

namespace stowage::kernels {

/// A real factor of 0 or more.
struct Multiplier {
  std::int32_t mantissa = 0;
  int shift = 0;  ///< From -31 to 31.
};

/// Refuses factors that are too large or NaN.
[[nodiscard]] Multiplier multiplier_of(double factor);

/// The ratio of two scales. TensorFlow Lite Micro divides in double precision where LiteRT does it in single precision.
[[nodiscard]] Multiplier ratio_of(float scale, float other, bool is_double);

/// Converts the factor of a sum of `count` numbers to that of their mean.
[[nodiscard]] Multiplier shared_out(Multiplier factor, std::int64_t count);

/// x * 2^bits in 32 bits, without the bits that do not fit.
[[nodiscard]] inline std::int32_t shift_left(std::int32_t x, int bits) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(x) << static_cast<unsigned>(bits));
}

[[nodiscard]] inline std::int32_t wrapping_add(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

[[nodiscard]] inline std::int32_t wrapping_multiply(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
}

/// x / 2^bits, rounded to the nearest, halves away from zero.
[[nodiscard]] inline std::int32_t divide_by_power(std::int32_t x, int bits) {
  const auto mask = static_cast<std::int32_t>((std::int64_t{1} << bits) - 1);
  const std::int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> bits) + ((x & mask) > threshold ? 1 : 0);
}

[[nodiscard]] inline std::int32_t scale(std::int32_t x, const Multiplier& factor) {
  const std::int32_t shifted = factor.shift > 0 ? shift_left(x, factor.shift) : x;
  return divide_by_power(gemmlowp::SaturatingRoundingDoublingHighMul(shifted, factor.mantissa),
                         factor.shift > 0 ? 0 : -factor.shift);
}

/// The same for a sum of 64 bits, rounded once: of the mantissa 15 bits count.
[[nodiscard]] inline std::int32_t scale_wide(std::int64_t x, const Multiplier& factor) {
  constexpr std::int32_t largest = 0x7FFF0000;
  const std::int64_t mantissa = factor.mantissa < largest ? (factor.mantissa + (1 << 15)) >> 16 : 0x7FFF;
  const int bits = 15 - factor.shift;
  const auto product = static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(mantissa);
  return static_cast<std::int32_t>(static_cast<std::int64_t>(product + (std::uint64_t{1} << (bits - 1))) >>
                                   bits);
}

/// Scale and zero point of a tensor that has one of each.
struct Affine {
  float scale = 1;
  std::int32_t zero_point = 0;
};

[[nodiscard]] Affine affine_of(const Argument& argument);

/// The smallest and largest numbers of an integer type.
struct Limits {
  std::int32_t least = 0;
  std::int32_t most = 0;

  [[nodiscard]] std::int32_t clamp(std::int32_t value) const { return std::clamp(value, least, most); }
};

template <typename Element>
[[nodiscard]] Limits limits_of() {
  return {std::numeric_limits<Element>::lowest(), std::numeric_limits<Element>::max()};
}

/// The number of the type that is nearest to an integer.
template <typename Number>
[[nodiscard]] Number nearest_of(std::int32_t value) {
  return static_cast<Number>(limits_of<Number>().clamp(value));
}

/// The number in the middle of a type, which stands for 0 where both signs are alike.
template <typename Number>
inline constexpr std::int32_t middle_of =
    std::numeric_limits<Number>::is_signed ? 0 : std::numeric_limits<Number>::max() / 2 + 1;

/// Of int8, uint8 and int16.
[[nodiscard]] Limits limits_of(DType dtype);

/// The range of an integer output after a fused activation.
[[nodiscard]] Limits activation_limits(const Operands& operands, const Limits& type);

/// The range of reals after a fused activation.
struct RealLimits {
  float least = std::numeric_limits<float>::lowest();
  float most = std::numeric_limits<float>::max();

  [[nodiscard]] float clamp(float value) const { return std::min(std::max(value, least), most); }
};

[[nodiscard]] RealLimits real_activation_limits(const Operands& operands);

}  // namespace stowage::kernels
