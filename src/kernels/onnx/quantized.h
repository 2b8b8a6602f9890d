#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/onnx/elements.h"

/// Arithmetic of sums and products of bytes with scales, as kernels and generated C do it.
namespace stowage::kernels::onnx_ops {

/// a * (x - zero of x) + b * (y - zero of y), divided by 2^shift and rounded, halves to even, is the sum of two numbers
/// in steps of the output. It stays within 32 bits for bytes.
struct ScaledSum {
  std::int32_t a = 0;
  std::int32_t b = 0;
  int shift = 1;
};

/// For scales of both inputs and the output. The larger factor has 22 bits.
[[nodiscard]] ScaledSum scaled_sum_of(float a, float b, float output);

/// x / 2^bits, rounded, halves to even; for 1 to 30 bits.
[[nodiscard]] inline std::int32_t rounded_to_even(std::int32_t x, int bits) {
  const std::int32_t whole = x >> bits;
  const std::int32_t rest = x - whole * (1 << bits);
  const std::int32_t half = 1 << (bits - 1);
  return whole + (rest > half || (rest == half && whole % 2 != 0) ? 1 : 0);
}

inline constexpr Types<std::int8_t, std::uint8_t> bytes_with_scales;

/// Refuses inputs that are not one scale of float32 and, behind it, one zero point of the given type, which may be left
/// out.
void expect_scale_and_zero(const Signature& signature, std::size_t scale, DType dtype);

/// Refuses an output that is not as large as the first input and of its type, each with a scale and a zero point: inputs
/// 1 and 3.
void expect_bytes_like_first(const Signature& signature);

/// A scale and a zero point that the model gives.
struct ByteScale {
  float scale = 1;
  std::int32_t zero = 0;
};

/// Those of input `scale` and the one behind it; none if they are computed.
[[nodiscard]] std::optional<ByteScale> constant_byte_scale(const Signature& signature, std::size_t scale);

/// An exact sum in steps of the output, as in QLinearConv.
template <typename Stored>
[[nodiscard]] Stored in_steps(std::int32_t sum, float factor, std::int32_t zero) {
  const double steps = std::nearbyint(static_cast<double>(static_cast<float>(sum) * factor));
  return whole<Stored>(steps + static_cast<double>(zero));
}

/// With which bytes stand for real numbers of a range that is known only when they are there.
struct ByteRange {
  float scale = 1;
  std::uint8_t zero = 0;

  /// The nearest byte, ties to even.
  [[nodiscard]] std::uint8_t byte_of(float x) const {
    return whole<std::uint8_t>(std::nearbyint(static_cast<double>(x / scale)) + static_cast<double>(zero));
  }
};

/// The range of these numbers and 0, as DynamicQuantizeLinear takes it.
[[nodiscard]] ByteRange byte_range_of(const float* x, std::int64_t count);

/// QLinearSoftmax
[[nodiscard]] Kernel softmax_of_bytes(const Signature& signature);

/// The numbers whose shares it computes together.
[[nodiscard]] Split runs_of_softmax(const Signature& signature);

/// Powers of e for numbers that are 255 to 0 steps below the largest one; `size` of them have a finite sum.
[[nodiscard]] std::array<float, 256> powers_of_steps(float scale, std::int64_t size);

/// What a share of all is multiplied with, so that it counts steps of the output: onnxruntime takes no fractions.
[[nodiscard]] inline float steps_of_all(float scale) { return std::floor(1 / scale); }

}  // namespace stowage::kernels::onnx_ops
