// Activations of one input: float32 and int16 by formula, int8 and uint8 by a table of 256 results, computed in
// advance in the steps of the reference kernels.
//
// Cost: one look-up per number of 8 bits. Source: gemmlowp's fixed-point functions; the steps of TensorFlow Lite
// Micro's kernels.

#include "kernels/tflite/activations.h"

#include <array>
#include <cmath>

#include "kernels/tflite/families.h"
#include "kernels/tflite/stretch.h"

namespace stowage::kernels {
namespace {

constexpr int input_bits = 4;  // integer bits of the input of logistic and tanh

void expect_unary(const Operands& operands) {
  operands.expect_counts(1, 1);
  operands.expect_alike(0);
}

/// Calls `make` once for each number of 8 bits, or for each number of the input.
template <typename Number, typename Make>
Kernel number_kernel(const Operands& operands, const Make& make) {
  constexpr Number least = std::numeric_limits<Number>::lowest();
  if constexpr (sizeof(Number) > 1) {
    return unary_kernel<Number, Number>(operands, [make](Number x) { return nearest_of<Number>(make(x)); });
  } else {
    std::array<Number, 256> table{};
    for (std::size_t i = 0; i < table.size(); ++i)
      table[i] = nearest_of<Number>(make(static_cast<std::int32_t>(i) + least));
    return unary_kernel<Number, Number>(
        operands, [table](Number x) { return table[static_cast<std::size_t>(x - least)]; });
  }
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

void expect_zero_point(const Operands& operands, std::int32_t zero_point) {
  if (affine_of(operands.output()).zero_point != zero_point)
    refuse("its output has zero point {}, expected {}", affine_of(operands.output()).zero_point, zero_point);
}

/// Of int8. The result of `function` has `bits` more fraction bits than the output.
template <typename Function>
Kernel squashing_kernel(const Operands& operands, std::int32_t zero_point, int bits,
                        const Function& function) {
  expect_zero_point(operands, zero_point);
  const FixedInput input = fixed_input(affine_of(operands.input(0)));
  return number_kernel<std::int8_t>(operands, [&](std::int32_t x) {
    const std::int32_t difference = x - input.zero_point;
    if (difference <= -input.radius) return limits_of<std::int8_t>().least;
    if (difference >= input.radius) return limits_of<std::int8_t>().most;
    return divide_by_power(function(input.of(difference)).raw(), bits) + zero_point;
  });
}

/// Of int16, by the table.
template <typename Function>
Kernel wide_squashing_kernel(const Operands& operands, const Function& function) {
  return unary_kernel<std::int16_t, std::int16_t>(
      operands, [input = table_input_of(operands), function, table = SigmoidTable()](std::int16_t x) {
        return function(table, input.of(x));
      });
}

/// The steps of LiteRT's table, which also has uint8; TensorFlow Lite Micro has none.
template <typename Number, typename Function>
Kernel real_kernel(const Operands& operands, const Function& function) {
  const Affine input = affine_of(operands.input(0));
  const Affine output = affine_of(operands.output());
  const float inverse = 1 / output.scale;
  return number_kernel<Number>(operands, [&](std::int32_t number) {
    const float x = input.scale * static_cast<float>(number - input.zero_point);
    constexpr float largest = 1 << 20;
    return static_cast<std::int32_t>(std::clamp(std::round(function(x) * inverse), -largest, largest)) +
           output.zero_point;
  });
}

float logistic(float x) { return 1.0F / (1.0F + std::exp(-x)); }

Kernel prepare_logistic(const Signature& signature) {
  const Operands operands(signature);
  expect_unary(operands);
  switch (operands.output().dtype) {
    case DType::float32:
      return unary_kernel<float, float>(operands, logistic);
    case DType::uint8:
      return real_kernel<std::uint8_t>(operands, logistic);
    case DType::int8:
      return squashing_kernel(operands, -128, 31 - 8, [](auto x) { return gemmlowp::logistic(x); });
    case DType::int16:
      return wide_squashing_kernel(
          operands, [](const SigmoidTable& table, std::int32_t thrice) { return table.sigmoid_at(thrice); });
    default:
      refuse_type(operands);
  }
}

Kernel prepare_tanh(const Signature& signature) {
  const Operands operands(signature);
  expect_unary(operands);
  switch (operands.output().dtype) {
    case DType::float32:
      return unary_kernel<float, float>(operands, [](float x) { return std::tanh(x); });
    case DType::uint8:
      return real_kernel<std::uint8_t>(operands, [](float x) { return std::tanh(x); });
    case DType::int8:
      return squashing_kernel(operands, 0, 31 - 7, [](auto x) { return gemmlowp::tanh(x); });
    case DType::int16:
      return wide_squashing_kernel(
          operands, [](const SigmoidTable& table, std::int32_t thrice) { return table.tanh_at(thrice); });
    default:
      refuse_type(operands);
  }
}

/// The output number nearest to a real, within its limits.
std::int32_t nearest(float real, const Affine& affine) {
  const float rounded = std::round(real / affine.scale);
  constexpr float largest = 1 << 20;
  return affine.zero_point + static_cast<std::int32_t>(std::clamp(rounded, -largest, largest));
}

/// The limits of RELU and its like; those of float32 otherwise.
RealLimits limits_of_type(std::string_view type) {
  if (type == "RELU") return {.least = 0};
  if (type == "RELU6") return {0, 6};
  if (type == "RELU_0_TO_1") return {0, 1};
  if (type == "RELU_N1_TO_1") return {-1, 1};
  return {};
}

/// A factor that may be negative.
Multiplier signed_multiplier_of(float factor) {
  Multiplier result = multiplier_of(std::abs(static_cast<double>(factor)));
  if (factor < 0) result.mantissa = -result.mantissa;
  return result;
}

Kernel quantized_slopes(const Operands& operands) {
  return for_quantized(operands.output().dtype, [&]<typename Number>(TypeTag<Number>) {
    return number_kernel<Number>(operands, [it = slopes_of(operands)](std::int32_t x) { return it.of(x); });
  });
}

/// TensorFlow Lite Micro leaves numbers of RELU6 as they are, even if the output has another scale; LiteRT does not.
Kernel prepare_relu(const Signature& signature) {
  const Operands operands(signature);
  expect_unary(operands);
  if (operands.output().dtype == DType::float32) {
    return unary_kernel<float, float>(operands, [limits = limits_of_type(operands.type())](float x) {
      return x > limits.most ? limits.most : x < limits.least ? limits.least : x;
    });
  }
  return quantized_slopes(operands);
}

Kernel prepare_leaky_relu(const Signature& signature) {
  const Operands operands(signature);
  expect_unary(operands);
  const float slope = operands.real("alpha");
  if (operands.output().dtype == DType::float32)
    return unary_kernel<float, float>(operands, [slope](float x) { return x > 0 ? x : x * slope; });
  return quantized_slopes(operands);
}

/// The mantissa in 16 bits, rounded.
std::int16_t short_mantissa(const Multiplier& factor) {
  constexpr std::int64_t half = 1 << 15;
  return static_cast<std::int16_t>(std::min<std::int64_t>((factor.mantissa + half) >> 16, 32767));
}

std::int16_t saturated(std::int64_t x) {
  return static_cast<std::int16_t>(std::clamp<std::int64_t>(x, -32768, 32767));
}

/// x * min(max(x + 3, 0), 6) / 6 of numbers of 8 bits: x with 7 spare bits, times a fraction in 16 bits.
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
  HardSwish it{.input = affine_of(operands.input(0)), .output = affine_of(operands.output())};
  const float fine_scale = (1.0F / 128.0F) * it.input.scale;
  it.to_output = multiplier_of(static_cast<double>(fine_scale / it.output.scale));
  it.to_fraction = multiplier_of(static_cast<double>(fine_scale / (3.0F / 32768.0F)));
  if (it.to_output.shift > 0)
    refuse("its input's scale {} is too large for its output's {}", it.input.scale, it.output.scale);
  return for_byte(operands.output().dtype, [&]<typename Number>(TypeTag<Number>) {
    return number_kernel<Number>(operands, [&](std::int32_t x) { return it.of(x); });
  });
}

/// Of float32, and of int8 by LiteRT's table.
template <typename Function>
Kernel real_or_byte_kernel(const Operands& operands, const Function& function) {
  expect_unary(operands);
  if (operands.output().dtype == DType::float32) return unary_kernel<float, float>(operands, function);
  if (operands.output().dtype != DType::int8) refuse_type(operands);
  return real_kernel<std::int8_t>(operands, function);
}

Kernel prepare_exp(const Signature& signature) {
  return real_or_byte_kernel(Operands(signature), [](float x) { return std::exp(x); });
}

/// What has no logarithm becomes the least number of int8.
Kernel prepare_log(const Signature& signature) {
  const Operands operands(signature);
  if (operands.output().dtype == DType::float32)
    return real_or_byte_kernel(operands, [](float x) { return std::log(x); });
  return real_or_byte_kernel(
      operands, [](float x) { return x > 0 ? std::log(x) : -std::numeric_limits<float>::infinity(); });
}

float gelu(float x) { return 0.5F * x * std::erfc(-0.707106769F * x); }

float gelu_by_tanh(float x) {
  return 0.5F * x * (1.0F + std::tanh(0.797884583F * (x + 0.044715F * x * x * x)));
}

Kernel prepare_gelu(const Signature& signature) {
  const Operands operands(signature);
  const auto function = operands.flag("approximate") ? gelu_by_tanh : gelu;
  if (operands.output().dtype != DType::uint8) return real_or_byte_kernel(operands, function);
  expect_unary(operands);
  return real_kernel<std::uint8_t>(operands, function);
}

Kernel prepare_elu(const Signature& signature) {
  const Operands operands(signature);
  expect_unary(operands);
  const auto elu = [](float x) { return x < 0 ? std::exp(x) - 1.0F : x; };
  if (operands.output().dtype == DType::float32)
    return unary_kernel<float, float>(operands, [](float x) { return x < 0 ? std::expm1(x) : x; });
  return for_byte(operands.output().dtype,
                  [&]<typename Number>(TypeTag<Number>) { return real_kernel<Number>(operands, elu); });
}

}  // namespace

Slopes slopes_of(const Operands& operands) {
  const Affine input = affine_of(operands.input(0));
  const Affine output = affine_of(operands.output());
  Slopes result{.input_zero = input.zero_point,
                .output_zero = output.zero_point,
                .limits = limits_of(operands.output().dtype)};
  if (operands.type() == "LEAKY_RELU") {
    result.above = signed_multiplier_of(input.scale / output.scale);
    result.below = signed_multiplier_of(input.scale * operands.real("alpha") / output.scale);
    return result;
  }
  const bool is_int8 = operands.output().dtype == DType::int8;
  if (operands.type() == "PRELU") {
    const float slopes = affine_of(operands.input(1)).scale;
    result.above = ratio_of(input.scale, output.scale, is_int8);
    result.below = is_int8 ? multiplier_of(static_cast<double>(input.scale) * static_cast<double>(slopes) /
                                           static_cast<double>(output.scale))
                           : ratio_of(input.scale * slopes, output.scale, false);
    return result;
  }
  const RealLimits limits = limits_of_type(operands.type());
  result.above = result.below = ratio_of(input.scale, output.scale, is_int8 && operands.type() == "RELU");
  result.limits.least = std::max(result.limits.least, nearest(limits.least, output));
  result.limits.most = std::min(result.limits.most, nearest(limits.most, output));
  if (result.limits.least > result.limits.most) refuse("its output has no number between its limits");
  return result;
}

TableInput table_input_of(const Operands& operands) {
  expect_zero_point(operands, 0);
  if (affine_of(operands.input(0)).zero_point != 0) refuse("its input has a zero point");
  constexpr float unit = 1.0F / 32768;
  if (affine_of(operands.output()).scale != unit)
    refuse("its output has scale {}, expected {}", affine_of(operands.output()).scale, unit);
  return table_input(affine_of(operands.input(0)).scale, operands.type() == "TANH" ? 1 : 0);
}

TablePart activation_kernels() {
  return {{"ELU", prepare_elu},
          {"EXP", prepare_exp},
          {"GELU", prepare_gelu},
          {"HARD_SWISH", prepare_hard_swish},
          {"LEAKY_RELU", prepare_leaky_relu},
          {"LOG", prepare_log},
          {"LOGISTIC", prepare_logistic},
          {"RELU", prepare_relu},
          {"RELU6", prepare_relu},
          {"RELU_0_TO_1", prepare_relu},
          {"RELU_N1_TO_1", prepare_relu},
          {"TANH", prepare_tanh}};
}

}  // namespace stowage::kernels
