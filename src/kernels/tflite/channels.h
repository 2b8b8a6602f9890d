#pragma once

// Shared by convolutions and fully connected layers: products of an input and weights, summed in 32 bits and
// scaled to the output, with scales of each output channel or of the whole layer.

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/tflite/fixed_point.h"

namespace stowage::kernels {

/// Conversion of sums of products to numbers of an int8 output.
struct Requantization {
  std::vector<Multiplier> factors{};  ///< One for each output channel.
  std::int32_t input_zero = 0;
  std::int32_t weights_zero = 0;
  std::int32_t output_zero = 0;
  Limits limits{};

  [[nodiscard]] std::int8_t apply(std::int32_t sum, std::size_t channel) const {
    return static_cast<std::int8_t>(limits.clamp(wrapping_add(scale(sum, factors[channel]), output_zero)));
  }
};

/// Requires an int8 input, and int8 weights that have `channels` indices on `axis`.
[[nodiscard]] Requantization requantization_of(const Operands& operands, const Argument& input,
                                               const Argument& weights, std::int64_t channels,
                                               std::size_t axis);

/// TFLite multiplies the scales of a whole fully connected layer in single precision.
void use_single_product(const Operands& operands, Requantization& it);

/// The real values of weights, which are float32 or quantized to int8, the latter also with a real input.
struct RealWeights {
  bool is_quantized = false;
  std::vector<float> scales{};  ///< One for each output channel.
  std::int32_t zero = 0;

  [[nodiscard]] float of(const Pointers& at, std::int64_t i, std::int64_t channel) const {
    if (!is_quantized) return at.input<float>(1)[i];
    return scales[static_cast<std::size_t>(channel)] * static_cast<float>(at.input<std::int8_t>(1)[i] - zero);
  }
};

[[nodiscard]] RealWeights real_weights_of(const Argument& weights, std::int64_t channels, std::size_t axis);

/// Refuses a bias of another type or size; it may be left out.
void expect_bias(const Operands& operands, std::size_t input, DType dtype, std::int64_t channels);

/// The sum of `count` products, modulo 2^32.
[[nodiscard]] inline std::int32_t dot(const std::int16_t* a, const std::int8_t* b, std::int64_t count) {
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<std::uint32_t>(a[i] * b[i]);
  return static_cast<std::int32_t>(sum);
}

}  // namespace stowage::kernels
