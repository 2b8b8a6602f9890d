// Activations of one input: float32 by formula, int8 by a table of 256 results, computed in advance in the
// steps of the reference kernels.
//
// Cost: one look-up per int8 number. Source: gemmlowp's fixed-point functions; the steps of TensorFlow Lite
// Micro's kernels.

#include <array>
#include <cmath>

#include "kernels/tflite/families.h"
#include "kernels/tflite/fixed_point.h"
#include "kernels/tflite/stretch.h"

namespace stowage::kernels {
namespace {

constexpr int input_bits = 4;  // integer bits of the input of logistic and tanh

void expect_unary(const Operands& operands) {
  operands.expect_counts(1, 1);
  operands.expect_alike(0);
}

/// Calls `make` once for each int8 number.
template <typename Make>
Kernel table_kernel(const Operands& operands, const Make& make) {
  if (operands.output().dtype != DType::int8) refuse_type(operands);
  constexpr int least = -128;
  std::array<std::int8_t, 256> table{};
  for (int x = least; x < -least; ++x) {
    const std::int32_t result = make(static_cast<std::int32_t>(x));
    table[static_cast<std::size_t>(x - least)] =
        static_cast<std::int8_t>(limits_of<std::int8_t>().clamp(result));
  }
  return unary_kernel<std::int8_t, std::int8_t>(
      operands, [table](std::int8_t x) { return table[static_cast<std::size_t>(x - least)]; });
}

/// The input of logistic and tanh after rescaling.
struct FixedInput {
  Multiplier factor{};
  std::int32_t zero_point = 0;
  std::int32_t radius = 0;  ///< Numbers this far from the zero point saturate.

  [[nodiscard]] gemmlowp::FixedPoint<std::int32_t, input_bits> of(std::int32_t difference) const {
    return gemmlowp::FixedPoint<std::int32_t, input_bits>::FromRaw(scale(difference, factor));
  }
};

FixedInput fixed_input(const Affine& input) {
  constexpr int fraction_bits = 31 - input_bits;
  FixedInput result{.zero_point = input.zero_point};
  result.factor = multiplier_of(static_cast<double>(input.scale) * (1 << fraction_bits));
  const double radius =
      std::floor(std::ldexp((1 << input_bits) - 1, fraction_bits) / std::ldexp(1.0, result.factor.shift));
  constexpr double beyond = 1 << 20;
  result.radius = static_cast<std::int32_t>(std::min(radius, beyond));
  return result;
}

/// The result of `function` has `bits` more fraction bits than the output.
template <typename Function>
Kernel squashing_kernel(const Operands& operands, std::int32_t zero_point, int bits,
                        const Function& function) {
  if (operands.output().dtype != DType::int8) refuse_type(operands);
  if (affine_of(operands.output()).zero_point != zero_point)
    refuse("its output has zero point {}, expected {}", affine_of(operands.output()).zero_point, zero_point);
  const FixedInput input = fixed_input(affine_of(operands.input(0)));
  return table_kernel(operands, [&](std::int32_t x) {
    const std::int32_t difference = x - input.zero_point;
    if (difference <= -input.radius) return limits_of<std::int8_t>().least;
    if (difference >= input.radius) return limits_of<std::int8_t>().most;
    return divide_by_power(function(input.of(difference)).raw(), bits) + zero_point;
  });
}

Kernel prepare_logistic(const Signature& signature) {
  const Operands operands(signature);
  expect_unary(operands);
  if (operands.output().dtype == DType::float32) {
    return unary_kernel<float, float>(operands, [](float x) { return 1.0F / (1.0F + std::exp(-x)); });
  }
  return squashing_kernel(operands, -128, 31 - 8, [](auto x) { return gemmlowp::logistic(x); });
}

Kernel prepare_tanh(const Signature& signature) {
  const Operands operands(signature);
  expect_unary(operands);
  if (operands.output().dtype == DType::float32)
    return unary_kernel<float, float>(operands, [](float x) { return std::tanh(x); });
  return squashing_kernel(operands, 0, 31 - 7, [](auto x) { return gemmlowp::tanh(x); });
}

/// The output number nearest to a real, within its limits.
std::int32_t nearest(float real, const Affine& affine) {
  const float rounded = std::round(real / affine.scale);
  constexpr float largest = 1 << 20;
  return affine.zero_point + static_cast<std::int32_t>(std::clamp(rounded, -largest, largest));
}

/// Rescales to the output and clamps to the limits.
Kernel clamping_kernel(const Operands& operands, const RealLimits& limits) {
  expect_unary(operands);
  if (operands.output().dtype == DType::float32) {
    return unary_kernel<float, float>(operands, [limits](float x) {
      return x > limits.most ? limits.most : x < limits.least ? limits.least : x;
    });
  }
  if (operands.output().dtype != DType::int8) refuse_type(operands);
  const Affine input = affine_of(operands.input(0));
  const Affine output = affine_of(operands.output());
  const Multiplier factor =
      multiplier_of(static_cast<double>(input.scale) / static_cast<double>(output.scale));
  Limits type = limits_of<std::int8_t>();
  type.least = std::max(type.least, nearest(limits.least, output));
  type.most = std::min(type.most, nearest(limits.most, output));
  if (type.least > type.most) refuse("its output has no number between its limits");
  return table_kernel(operands, [&](std::int32_t x) {
    return type.clamp(wrapping_add(scale(x - input.zero_point, factor), output.zero_point));
  });
}

Kernel prepare_relu(const Signature& signature) { return clamping_kernel(Operands(signature), {.least = 0}); }

Kernel prepare_relu_n1_to_1(const Signature& signature) {
  return clamping_kernel(Operands(signature), {-1, 1});
}

Kernel prepare_relu_0_to_1(const Signature& signature) {
  return clamping_kernel(Operands(signature), {0, 1});
}

/// RELU6 of int8 keeps its numbers unchanged.
Kernel prepare_relu6(const Signature& signature) {
  const Operands operands(signature);
  if (operands.output().dtype == DType::int8) expect_same_quantization(operands.input(0), operands.output());
  return clamping_kernel(operands, {0, 6});
}

/// A factor that may be negative.
Multiplier signed_multiplier_of(float factor) {
  Multiplier result = multiplier_of(std::abs(static_cast<double>(factor)));
  if (factor < 0) result.mantissa = -result.mantissa;
  return result;
}

Kernel prepare_leaky_relu(const Signature& signature) {
  const Operands operands(signature);
  expect_unary(operands);
  const float slope = operands.real("alpha");
  if (operands.output().dtype == DType::float32)
    return unary_kernel<float, float>(operands, [slope](float x) { return x > 0 ? x : x * slope; });
  if (operands.output().dtype != DType::int8) refuse_type(operands);
  const Affine input = affine_of(operands.input(0));
  const Affine output = affine_of(operands.output());
  const Multiplier straight = signed_multiplier_of(input.scale / output.scale);
  const Multiplier sloped = signed_multiplier_of(input.scale * slope / output.scale);
  return table_kernel(operands, [&](std::int32_t number) {
    const std::int32_t x = number - input.zero_point;
    return wrapping_add(scale(x, x >= 0 ? straight : sloped), output.zero_point);
  });
}

/// The mantissa in 16 bits, rounded.
std::int16_t short_mantissa(const Multiplier& factor) {
  constexpr std::int64_t half = 1 << 15;
  return static_cast<std::int16_t>(std::min<std::int64_t>((factor.mantissa + half) >> 16, 32767));
}

std::int16_t saturated(std::int64_t x) {
  return static_cast<std::int16_t>(std::clamp<std::int64_t>(x, -32768, 32767));
}

/// x * min(max(x + 3, 0), 6) / 6 of int8 numbers: x with 7 spare bits, times a fraction in 16 bits.
struct HardSwish {
  Affine input{};
  Affine output{};
  Multiplier to_output{};
  Multiplier to_fraction{};  ///< 3 becomes 1.

  [[nodiscard]] std::int16_t fraction(std::int16_t fine) const {
    std::int16_t x = fine;
    const int shift = to_fraction.shift;
    if (shift > 0) x = saturated(std::int64_t{x} * (std::int64_t{1} << (shift - 1)));
    x = gemmlowp::SaturatingRoundingDoublingHighMul(x, short_mantissa(to_fraction));
    if (shift > 0) x = saturated(std::int64_t{x} * 2);
    if (shift < 0) x = static_cast<std::int16_t>(divide_by_power(x, -shift));
    return static_cast<std::int16_t>((x + (1 << 15)) >> 1);
  }

  [[nodiscard]] std::int32_t of(std::int32_t number) const {
    const auto fine = saturated(std::int64_t{number - input.zero_point} * (1 << 7));
    const std::int16_t unshifted =
        gemmlowp::SaturatingRoundingDoublingHighMul(fine, short_mantissa(to_output));
    const std::int32_t product = fraction(fine) * unshifted / (1 << 15);
    return divide_by_power(product, -to_output.shift) + output.zero_point;
  }
};

Kernel prepare_hard_swish(const Signature& signature) {
  const Operands operands(signature);
  expect_unary(operands);
  if (operands.output().dtype == DType::float32) {
    return unary_kernel<float, float>(operands,
                                      [](float x) { return x * std::min(6.0F, std::max(0.0F, x + 3)) / 6; });
  }
  if (operands.output().dtype != DType::int8) refuse_type(operands);
  HardSwish it{.input = affine_of(operands.input(0)), .output = affine_of(operands.output())};
  const float fine_scale = (1.0F / 128.0F) * it.input.scale;
  it.to_output = multiplier_of(static_cast<double>(fine_scale / it.output.scale));
  it.to_fraction = multiplier_of(static_cast<double>(fine_scale / (3.0F / 32768.0F)));
  if (it.to_output.shift > 0)
    refuse("its input's scale {} is too large for its output's {}", it.input.scale, it.output.scale);
  return table_kernel(operands, [&](std::int32_t x) { return it.of(x); });
}

Kernel prepare_elu(const Signature& signature) {
  const Operands operands(signature);
  expect_unary(operands);
  const auto elu = [](float x) { return x < 0 ? std::exp(x) - 1.0F : x; };
  if (operands.output().dtype == DType::float32)
    return unary_kernel<float, float>(operands, [](float x) { return x < 0 ? std::expm1(x) : x; });
  if (operands.output().dtype != DType::int8) refuse_type(operands);
  const Affine input = affine_of(operands.input(0));
  const Affine output = affine_of(operands.output());
  const float inverse = 1 / output.scale;
  return table_kernel(operands, [&](std::int32_t number) {
    const float x = input.scale * static_cast<float>(number - input.zero_point);
    constexpr float largest = 1 << 20;
    return static_cast<std::int32_t>(std::clamp(std::round(elu(x) * inverse), -largest, largest)) +
           output.zero_point;
  });
}

}  // namespace

TablePart activation_kernels() {
  return {{"ELU", prepare_elu},
          {"HARD_SWISH", prepare_hard_swish},
          {"LEAKY_RELU", prepare_leaky_relu},
          {"LOGISTIC", prepare_logistic},
          {"RELU", prepare_relu},
          {"RELU6", prepare_relu6},
          {"RELU_0_TO_1", prepare_relu_0_to_1},
          {"RELU_N1_TO_1", prepare_relu_n1_to_1},
          {"TANH", prepare_tanh}};
}

}  // namespace stowage::kernels
