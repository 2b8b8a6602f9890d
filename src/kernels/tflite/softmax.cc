// SOFTMAX of int8 and uint8 (to the same or int16), of int16 and of float32, along the last dimension.
//
// Subtracts the largest number of each row, so that all exponents are negative. Integers are first
// scaled to a fixed point with 5 integer bits; below a limit, e^x counts as 0. The sum has 12 integer bits,
// and its reciprocal is a fraction and a power of two.
//
// Int16 looks exponentials and the reciprocal up in tables of 513 values, with lines between them.
//
// Cost: a few multiplications per number. Source: gemmlowp's fixed-point arithmetic, in the steps of
// TensorFlow Lite's reference kernels. Those abort the program if the sum is 512 or more; here such outputs
// are rounded, to the least number.

#include "kernels/tflite/softmax.h"

#include <algorithm>
#include <array>
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

template <typename Input, typename Output>
void softmax_row(const RowExponential& exponential, const Input* input, Output* output, std::int64_t length) {
  const Input largest = *std::max_element(input, input + length);
  Sum sum = Sum::Zero();
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int32_t difference = input[i] - largest;
    if (difference >= exponential.least) sum = sum + gemmlowp::Rescale<sum_bits>(exponential.of(difference));
  }
  const Reciprocal reciprocal = reciprocal_of(sum);
  const int shift = reciprocal.shift + 31 - 8 * static_cast<int>(sizeof(Output));
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

/// x is from -32768 to 32767, over all lines.
std::int16_t at_line(const std::array<std::int16_t, 513>& numbers, std::int32_t x) {
  const auto index = static_cast<std::size_t>(256 + (x >> 7));
  const std::int32_t slope = numbers[index + 1] - numbers[index];
  return static_cast<std::int16_t>(numbers[index] + ((slope * (x & 0x7F) + 64) >> 7));
}

void softmax_row(const WideSoftmax& it, const std::int16_t* input, std::int16_t* output,
                 std::int64_t length) {
  const std::int16_t largest = *std::max_element(input, input + length);
  const Limits type = limits_of<std::int16_t>();
  std::int32_t sum = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int32_t below = scale(input[i] - largest, it.factor);
    output[i] = at_line(it.exponential, type.clamp(wrapping_add(below, type.most)));
    sum += output[i];
  }
  const int free = std::countl_zero(static_cast<std::uint32_t>(sum)) - 1;
  const auto fine = static_cast<std::int32_t>(((std::int64_t{sum} << free) + (1 << 13)) >> 14);
  const std::int32_t reciprocal = at_line(it.reciprocal, type.clamp(fine - (1 << 15) - (1 << 16)));
  const int shift = 30 - free;
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int32_t product = (output[i] * reciprocal + (1 << (shift - 1))) >> shift;
    output[i] = static_cast<std::int16_t>(std::clamp(product, 0, type.most));
  }
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
template <typename Output>
void expect_output(const Argument& output) {
  const Affine it = affine_of(output);
  const float unit = 1.0F / (1U << (8 * sizeof(Output)));
  const std::int32_t zero_point = limits_of<Output>().least;
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
  if (rows.length >= 1 << sum_bits)
    refuse("its rows have {} numbers, expected fewer than {}", rows.length, 1 << sum_bits);
  if (input.dtype == DType::int16 && output.dtype == input.dtype)
    return softmax_kernel<std::int16_t, std::int16_t>(rows, wide_softmax_of(operands));
  if (input.dtype != DType::int8 && input.dtype != DType::uint8)
    refuse("{} to {} is not supported", name_of(input.dtype), name_of(output.dtype));
  const RowExponential exponential = exponential_of(static_cast<double>(beta), affine_of(input));
  return for_byte(input.dtype, [&]<typename Input>(TypeTag<Input>) {
    if (output.dtype == input.dtype) {
      expect_output<Input>(output);
      return softmax_kernel<Input, Input>(rows, exponential);
    }
    if (output.dtype != DType::int16)
      refuse("{} to {} is not supported", name_of(input.dtype), name_of(output.dtype));
    expect_output<std::int16_t>(output);
    return softmax_kernel<Input, std::int16_t>(rows, exponential);
  });
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

namespace {

/// 512 lines between values of a function of reals from `least` to `most`. Each value is raised or lowered by half of
/// the error in the middle of its line.
template <typename Function>
std::array<std::int16_t, 513> lines_of(float least, float most, const Function& function) {
  constexpr float unit = 32768;
  std::array<std::int16_t, 513> values{};
  const auto steps = static_cast<float>(values.size() - 1);
  const float step = (most - least) / steps;
  const auto stored = [](float value) {
    return static_cast<std::int16_t>(std::clamp(value, -32768.0F, 32767.0F));
  };
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const float at = least + static_cast<float>(i) * step;
    const float value = std::round(function(at) * unit);
    const float middle = std::round(function(at + step / 2) * unit);
    const float next = function(least + static_cast<float>(i + 1) * step) * unit;
    values[i] = stored(value - std::round((std::round((next + value) / 2) - middle) / 2));
  }
  values.back() = stored(std::round(function(most) * unit));
  return values;
}

}  // namespace

WideSoftmax wide_softmax_of(const Operands& operands) {
  constexpr float range = 10;  // e^-10 counts as 0
  constexpr double unit = static_cast<double>(range) / 65535;
  const Affine output = affine_of(operands.output());
  if (output.scale != 1.0F / 32768 || output.zero_point != 0)
    refuse("its output has scale {} and zero point {}, expected {} and 0", output.scale, output.zero_point,
           1.0F / 32768);
  const double beta = static_cast<double>(operands.real("beta"));
  return {.factor = multiplier_of(static_cast<double>(affine_of(operands.input(0)).scale) * beta / unit),
          .exponential = lines_of(-range, 0, [](float x) { return std::exp(x); }),
          .reciprocal = lines_of(0, 1, [](float x) { return 1 / (1 + x); })};
}

namespace {

/// Of float32: the logarithms of its results.
Kernel prepare_log_softmax(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(1, 1);
  operands.expect_alike(0);
  const Shape& shape = operands.input(0).shape;
  operands.expect_shape(operands.output(), shape, "output");
  if (shape.empty()) refuse("its input has no dimension");
  if (operands.output().dtype != DType::float32) refuse_type(operands);
  const std::int64_t length = shape.back();
  const std::int64_t rows = count_of(shape, 0, shape.size() - 1);
  return {.run = [=](const Pointers& at) {
    if (length == 0) return;
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* const input = at.input<float>(0) + row * length;
      float* const output = at.output<float>(0) + row * length;
      const float most = *std::max_element(input, input + length);
      float sum = 0;
      for (std::int64_t i = 0; i < length; ++i) sum += std::exp(input[i] - most);
      const float log_sum = std::log(sum);
      for (std::int64_t i = 0; i < length; ++i) output[i] = input[i] - most - log_sum;
    }
  }};
}

}  // namespace

TablePart softmax_kernels() { return {{"LOG_SOFTMAX", prepare_log_softmax}, {"SOFTMAX", prepare_softmax}}; }

}  // namespace stowage::kernels
