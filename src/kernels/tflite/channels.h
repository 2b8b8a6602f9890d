#pragma once

// Shared by convolutions and fully connected layers: products of an input and weights, summed in 32 bits and
// scaled to the output, with scales of each output channel or of the whole layer.

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/tflite/fixed_point.h"

namespace stowage::kernels {

/// Where a layer has its input and its bias; its weights are input 1.
struct LayerPlaces {
  std::size_t data = 0;
  std::size_t bias = 2;
};

/// Conversion of sums of products to numbers of the output.
struct Requantization {
  std::vector<Multiplier> factors{};  ///< One for each output channel.
  std::int32_t input_zero = 0;
  std::int32_t weights_zero = 0;
  std::int32_t output_zero = 0;
  Limits limits{};

  template <typename Number = std::int8_t, typename Sum>
  [[nodiscard]] Number apply(Sum sum, std::size_t channel) const {
    std::int32_t scaled = 0;
    if constexpr (sizeof(Sum) == sizeof(std::int64_t)) {
      scaled = scale_wide(sum, factors[channel]);
    } else {
      scaled = scale(sum, factors[channel]);
    }
    return static_cast<Number>(limits.clamp(wrapping_add(scaled, output_zero)));
  }
};

/// Requires weights that have `channels` indices on `axis`.
[[nodiscard]] Requantization requantization_of(const Operands& operands, const Argument& input,
                                               const Argument& weights, std::int64_t channels,
                                               std::size_t axis);

/// TFLite multiplies the scales of a whole fully connected layer in single precision.
void use_single_product(const Operands& operands, Requantization& it, const LayerPlaces& places = {});

/// Of convolutions only uint8 has another zero point of weights than 0, and one factor, which is computed so, too.
void expect_kind_of_weights(const Operands& operands, Requantization& it, const LayerPlaces& places = {});

/// The scale of each output channel of weights of int8, whose zero point is 0.
[[nodiscard]] std::vector<float> symmetric_scales_of(const Argument& weights, std::int64_t channels,
                                                     std::size_t axis);

/// Refuses a bias of another type or size; it may be left out.
void expect_bias(const Operands& operands, std::size_t input, DType dtype, std::int64_t channels);

/// a + b modulo 2^32 or 2^64.
template <typename Sum>
[[nodiscard]] Sum sum_of(Sum a, Sum b) {
  using Bits = std::make_unsigned_t<Sum>;
  return static_cast<Sum>(static_cast<Bits>(a) + static_cast<Bits>(b));
}

/// The sum of `count` products, modulo 2^32 or 2^64.
template <typename Sum = std::int32_t, typename Weight>
[[nodiscard]] Sum dot(const std::int16_t* a, const Weight* b, std::int64_t count) {
  std::make_unsigned_t<Sum> sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<std::make_unsigned_t<Sum>>(a[i] * b[i]);
  return static_cast<Sum>(sum);
}

/// Whether input, output and weights are integers.
[[nodiscard]] bool is_integer_layer(const Operands& operands, const LayerPlaces& places = {});

/// Makes a kernel for the types of input and output, of weights, and of sums and biases: int8; uint8, as files of before
/// that specification have it; or int16 with weights of int8, whose sums have 64 bits unless biases have 32.
template <typename Make>
[[nodiscard]] Kernel for_integer_layer(const Operands& operands, const LayerPlaces& places,
                                       const Make& make) {
  const DType input = operands.input(places.data).dtype;
  const DType weights = operands.input(1).dtype;
  const bool is_narrow = operands.has_input(places.bias) && operands.input(places.bias).dtype == DType::int32;
  if (input == DType::int8 && weights == DType::int8)
    return make.template operator()<std::int8_t, std::int8_t, std::int32_t>();
  if (input == DType::uint8 && weights == DType::uint8)
    return make.template operator()<std::uint8_t, std::uint8_t, std::int32_t>();
  if (input == DType::int16 && weights == DType::int8) {
    if (affine_of(operands.input(places.data)).zero_point != 0 ||
        affine_of(operands.output()).zero_point != 0)
      refuse("its numbers of int16 have a zero point");
    return is_narrow ? make.template operator()<std::int16_t, std::int8_t, std::int32_t>()
                     : make.template operator()<std::int16_t, std::int8_t, std::int64_t>();
  }
  refuse("input {} and weights {} are not supported", name_of(input), name_of(weights));
}

/// The type of biases, whose sums have so many bytes.
template <typename Sum>
inline constexpr DType bias_type = sizeof(Sum) == sizeof(std::int64_t) ? DType::int64 : DType::int32;

}  // namespace stowage::kernels
