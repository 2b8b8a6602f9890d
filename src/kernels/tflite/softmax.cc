// SOFTMAX of int8 (to int8 or int16) and of float32, along the last dimension.
//
// Subtracts the largest number of each row, so that all exponents are negative. Integers are first
// scaled to a fixed point with 5 integer bits; below a limit, e^x counts as 0. The sum has 12 integer bits,
// and its reciprocal is a fraction and a power of two.
//
// Cost: a few multiplications per number. Source: gemmlowp's fixed-point arithmetic, in the steps of
// TensorFlow Lite's reference kernels. Those abort the program if the sum is 512 or more; here such outputs
// are rounded, to the least number.

#include "kernels/tflite/softmax.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/tflite/families.h"
#include "kernels/tflite/fixed_point.h"

namespace stowage::kernels {
namespace {

constexpr int difference_bits = 5;  // integer bits of exponents
constexpr int sum_bits = 12;        // and of the sum

using Difference = gemmlowp::FixedPoint<std::int32_t, difference_bits>;
using Sum = gemmlowp::FixedPoint<std::int32_t, sum_bits>;
using Fraction = gemmlowp::FixedPoint<std::int32_t, 0>;

struct Rows {
  std::int64_t count = 0;
  std::int64_t length = 0;
};

struct RowExponential {
  Multiplier factor{};
  std::int32_t least = 0;  ///< Smaller differences give 0.

  [[nodiscard]] Fraction of(std::int32_t difference) const {
    return gemmlowp::exp_on_negative_values(Difference::FromRaw(
        gemmlowp::SaturatingRoundingDoublingHighMul(shift_left(difference, factor.shift), factor.mantissa)));
  }
};

RowExponential exponential_of(double beta, const Affine& input) {
  constexpr double largest = 2147483647;
  constexpr int fraction_bits = 31 - difference_bits;
  const double factor = std::min(beta * static_cast<double>(input.scale) * (1 << fraction_bits), largest);
  if (!(factor > 1))
    refuse("its beta times the input's scale is {}", beta * static_cast<double>(input.scale));
  // A factor just below 2^31 gives a shift of 31 when its mantissa is rounded up.
  constexpr int some_bits = 8;
  RowExponential result{multiplier_of(std::ldexp(factor, -some_bits))};
  result.factor.shift += some_bits;
  const double radius = std::floor(((1 << difference_bits) - 1) * std::ldexp(1.0, fraction_bits) /
                                   std::ldexp(1.0, result.factor.shift));
  result.least = -static_cast<std::int32_t>(radius);
  return result;
}

/// 1 / sum, as a fraction from 1/2 to 1 to be divided by 2^shift.
struct Reciprocal {
  Fraction fraction{};
  int shift = 0;
};

Reciprocal reciprocal_of(Sum sum) {
  const auto bits = static_cast<std::uint32_t>(sum.raw());
  const int free = std::countl_zero(bits);
  const auto excess = static_cast<std::int32_t>((bits << static_cast<unsigned>(free)) - (1U << 31));
  return {gemmlowp::one_over_one_plus_x_for_x_in_0_1(Fraction::FromRaw(excess)), sum_bits - free};
}

template <typename Output>
void softmax_row(const RowExponential& exponential, const std::int8_t* input, Output* output,
                 std::int64_t length) {
  const std::int8_t largest = *std::max_element(input, input + length);
  Sum sum = Sum::Zero();
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int32_t difference = input[i] - largest;
    if (difference >= exponential.least) sum = sum + gemmlowp::Rescale<sum_bits>(exponential.of(difference));
  }
  const Reciprocal reciprocal = reciprocal_of(sum);
  const int shift = reciprocal.shift + 31 - std::numeric_limits<Output>::digits - 1;
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int32_t difference = input[i] - largest;
    std::int32_t result = 0;
    if (difference >= exponential.least && shift <= 31)
      result = divide_by_power((reciprocal.fraction * exponential.of(difference)).raw(), shift);
    const Limits limits = limits_of<Output>();
    output[i] = static_cast<Output>(limits.clamp(result + limits.least));
  }
}

void softmax_row(float beta, const float* input, float* output, std::int64_t length) {
  float largest = std::numeric_limits<float>::lowest();
  for (std::int64_t i = 0; i < length; ++i) largest = std::max(largest, input[i]);
  float sum = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    output[i] = std::exp((input[i] - largest) * beta);
    sum += output[i];
  }
  for (std::int64_t i = 0; i < length; ++i) output[i] /= sum;
}

template <typename Input, typename Output, typename Parameter>
Kernel softmax_kernel(const Rows& rows, const Parameter& parameter) {
  return {.run = [rows, parameter](const Pointers& at) {
    for (std::int64_t row = 0; row < rows.count && rows.length > 0; ++row)
      softmax_row(parameter, at.input<Input>(0) + row * rows.length, at.output<Output>(0) + row * rows.length,
                  rows.length);
  }};
}

/// The output must have the quantization with which softmax fills its type.
void expect_output(const Argument& output, float unit, std::int32_t zero_point) {
  const Affine it = affine_of(output);
  constexpr float tolerance = 0.001F;
  if (std::abs(it.scale - unit) > tolerance * unit || it.zero_point != zero_point)
    refuse("its output has scale {} and zero point {}, expected {} and {}", it.scale, it.zero_point, unit,
           zero_point);
}

Kernel prepare_softmax(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(1, 1);
  const Argument& input = operands.input(0);
  const Argument& output = operands.output();
  operands.expect_shape(output, input.shape, "output");
  if (input.shape.empty()) refuse("its input has no dimension");
  const Rows rows{count_of(input.shape, 0, input.shape.size() - 1), input.shape.back()};
  const float beta = operands.real("beta");
  if (input.dtype == DType::float32 && output.dtype == DType::float32)
    return softmax_kernel<float, float>(rows, beta);
  if (input.dtype != DType::int8 || (output.dtype != DType::int8 && output.dtype != DType::int16))
    refuse("{} to {} is not supported", name_of(input.dtype), name_of(output.dtype));
  if (rows.length >= 1 << sum_bits)
    refuse("its rows have {} numbers, expected fewer than {}", rows.length, 1 << sum_bits);
  const RowExponential exponential = exponential_of(static_cast<double>(beta), affine_of(input));
  if (output.dtype == DType::int8) {
    expect_output(output, 1.0F / 256, -128);
    return softmax_kernel<std::int8_t, std::int8_t>(rows, exponential);
  }
  expect_output(output, 1.0F / 65536, -32768);
  return softmax_kernel<std::int8_t, std::int16_t>(rows, exponential);
}

}  // namespace

std::vector<std::int32_t> softmax_exponentials(double beta, const Affine& input) {
  constexpr std::int32_t numbers = 256;
  const RowExponential exponential = exponential_of(beta, input);
  std::vector<std::int32_t> table;
  for (std::int32_t below = 0; below < numbers && -below >= exponential.least; ++below)
    table.push_back(exponential.of(-below).raw());
  return table;
}

TablePart softmax_kernels() { return {{"SOFTMAX", prepare_softmax}}; }

}  // namespace stowage::kernels
