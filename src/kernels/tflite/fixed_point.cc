#include "kernels/tflite/fixed_point.h"

#include <bit>
#include <cmath>

namespace stowage::kernels {
namespace {

enum class Activation : std::uint8_t { none, relu, relu_n1_to_1, relu6 };

Activation activation_of(const Operands& operands) {
  const std::int64_t number = operands.integer("fused_activation_function");
  if (number < 0 || number > 3) refuse("fused activation {} is not supported", number);
  return static_cast<Activation>(number);
}

/// The integer for a real number, outside of all types if it is too large.
std::int32_t quantized(float real, const Affine& affine) {
  const float rounded = std::round(real / affine.scale);
  constexpr float largest = 1 << 30;
  return affine.zero_point + static_cast<std::int32_t>(std::clamp(rounded, -largest, largest));
}

}  // namespace

Multiplier multiplier_of(double factor) {
  constexpr int smallest_shift = -31;
  constexpr int largest_shift = 30;
  if (!std::isfinite(factor) || factor < 0) refuse("its scales make a factor of {}", factor);
  if (factor == 0) return {};
  Multiplier result;
  constexpr std::int64_t one = std::int64_t{1} << 31;
  auto mantissa = static_cast<std::int64_t>(std::round(std::frexp(factor, &result.shift) * one));
  if (mantissa == one) {
    mantissa /= 2;
    ++result.shift;
  }
  if (result.shift < smallest_shift) return {};
  if (result.shift > largest_shift) refuse("its scales make a factor of {}", factor);
  result.mantissa = static_cast<std::int32_t>(mantissa);
  return result;
}

Multiplier ratio_of(float scale, float other, bool is_double) {
  return multiplier_of(is_double ? static_cast<double>(scale) / static_cast<double>(other)
                                 : static_cast<double>(scale / other));
}

Multiplier shared_out(Multiplier factor, std::int64_t count) {
  constexpr int most = 32;
  int bits = 63 - std::countl_zero(static_cast<std::uint64_t>(count));
  bits = std::min({bits, most, 31 + factor.shift});
  factor.mantissa = static_cast<std::int32_t>((std::int64_t{factor.mantissa} << bits) / count);
  factor.shift -= bits;
  return factor;
}

Affine affine_of(const Argument& argument) {
  const Quantization* const it = argument.quantization;
  if (it == nullptr) refuse("a tensor of {} has no scale", name_of(argument.dtype));
  if (it->scales.size() != 1 || it->zero_points.size() != 1)
    refuse("a tensor has {} scales, expected one", it->scales.size());
  if (!(it->scales.front() > 0)) refuse("a tensor has scale {}", it->scales.front());
  constexpr std::int64_t farthest = 1 << 20;  // outside of all types in computations
  if (std::abs(it->zero_points.front()) > farthest)
    refuse("a tensor has zero point {}", it->zero_points.front());
  return {it->scales.front(), static_cast<std::int32_t>(it->zero_points.front())};
}

Limits limits_of(DType dtype) {
  if (dtype == DType::int8) return limits_of<std::int8_t>();
  if (dtype == DType::uint8) return limits_of<std::uint8_t>();
  if (dtype == DType::int16) return limits_of<std::int16_t>();
  refuse("element type {} is not supported", name_of(dtype));
}

Limits activation_limits(const Operands& operands, const Limits& type) {
  const Activation activation = activation_of(operands);
  if (activation == Activation::none) return type;
  const Affine output = affine_of(operands.output());
  const float least = activation == Activation::relu_n1_to_1 ? -1.0F : 0.0F;
  Limits result{std::max(type.least, quantized(least, output)), type.most};
  if (activation != Activation::relu) {
    const float most = activation == Activation::relu6 ? 6.0F : 1.0F;
    result.most = std::min(type.most, quantized(most, output));
  }
  if (result.least > result.most) refuse("its activation leaves no number of the output's type");
  return result;
}

RealLimits real_activation_limits(const Operands& operands) {
  switch (activation_of(operands)) {
    case Activation::relu:
      return {.least = 0};
    case Activation::relu_n1_to_1:
      return {-1, 1};
    case Activation::relu6:
      return {0, 6};
    case Activation::none:
      break;
  }
  return {};
}

}  // namespace stowage::kernels
