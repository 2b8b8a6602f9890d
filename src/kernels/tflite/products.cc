// BATCH_MATMUL and L2_NORMALIZATION of int8, uint8 and float32, and LOCAL_RESPONSE_NORMALIZATION of float32.
//
// Outer dimensions of matrices are broadcast to an output. Newton's iteration for 1 / sqrt inverts the
// norm of numbers of 8 bits, five times from 1, in 32 bits.
//
// Cost: outputs * length of a row; a few multiplications per number. Source: the steps of TensorFlow Lite's
// reference kernels.

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/tflite/families.h"
#include "kernels/tflite/fixed_point.h"
#include "kernels/tflite/stretch.h"

namespace stowage::kernels {
namespace {

/// Numbers and strides of a matrix's rows and columns.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
};

Matrix matrix_of(const Shape& shape, bool is_transposed) {
  const std::int64_t rows = shape[shape.size() - 2];
  const std::int64_t columns = shape.back();
  if (is_transposed) return {columns, rows, 1, columns};
  return {rows, columns, columns, 1};
}

struct MatrixProduct {
  Matrix a{};
  Matrix b{};
  Stretch<3> batches;  ///< Matrices of output, a and b.

  /// Calls `make` with the starts of a row of a and a column of b, and the place of their product.
  template <typename Make>
  void for_outputs(const Make& make) const {
    const auto& steps = batches.steps();
    batches.for_rows([&](const auto& begin) {
      for (std::int64_t i = 0; i < batches.length(); ++i) {
        const std::int64_t out = (begin[0] + i * steps[0]) * a.rows * b.columns;
        const std::int64_t left = (begin[1] + i * steps[1]) * a.rows * a.columns;
        const std::int64_t right = (begin[2] + i * steps[2]) * b.rows * b.columns;
        for (std::int64_t r = 0; r < a.rows; ++r)
          for (std::int64_t c = 0; c < b.columns; ++c)
            make(left + r * a.row_stride, right + c * b.column_stride, out + r * b.columns + c);
      }
    });
  }
};

Shape without_matrix(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

MatrixProduct matrix_product_of(const Operands& operands) {
  operands.expect_counts(2, 1);
  operands.expect_alike(0);
  operands.expect_alike(1);
  const Shape& a = operands.input(0).shape;
  const Shape& b = operands.input(1).shape;
  const Shape& output = operands.output().shape;
  if (a.size() < 2 || b.size() < 2 || output.size() < 2) refuse("an operand has less than 2 dimensions");
  const Shape outer = without_matrix(output);
  const MatrixProduct it{matrix_of(a, operands.flag("adj_x")), matrix_of(b, operands.flag("adj_y")),
                         Stretch<3>::to(outer, {outer, without_matrix(a), without_matrix(b)})};
  const Matrix out = matrix_of(output, false);
  if (it.a.columns != it.b.rows || out.rows != it.a.rows || out.columns != it.b.columns)
    refuse("matrices of {} by {} and {} by {} do not make one of {} by {}", it.a.rows, it.a.columns,
           it.b.rows, it.b.columns, out.rows, out.columns);
  return it;
}

template <typename Number>
Kernel quantized_matmul(const Operands& operands, const MatrixProduct& it) {
  const Affine a = affine_of(operands.input(0));
  const Affine b = affine_of(operands.input(1));
  const Affine output = affine_of(operands.output());
  const float unit = a.scale * b.scale;
  const Multiplier factor = multiplier_of(static_cast<double>(unit) / static_cast<double>(output.scale));
  return {.run = [=](const Pointers& at) {
    it.for_outputs([&](std::int64_t row, std::int64_t column, std::int64_t out) {
      std::uint32_t sum = 0;
      for (std::int64_t k = 0; k < it.a.columns; ++k) {
        const std::int32_t x = at.input<Number>(0)[row + k * it.a.column_stride] - a.zero_point;
        const std::int32_t y = at.input<Number>(1)[column + k * it.b.row_stride] - b.zero_point;
        sum += static_cast<std::uint32_t>(wrapping_multiply(x, y));
      }
      const std::int32_t scaled = scale(static_cast<std::int32_t>(sum), factor);
      at.output<Number>(0)[out] = nearest_of<Number>(wrapping_add(scaled, output.zero_point));
    });
  }};
}

Kernel prepare_batch_matmul(const Signature& signature) {
  const Operands operands(signature);
  const MatrixProduct it = matrix_product_of(operands);
  if (operands.output().dtype != DType::float32) {
    return for_byte(operands.output().dtype,
                    [&]<typename Number>(TypeTag<Number>) { return quantized_matmul<Number>(operands, it); });
  }
  return {.run = [it](const Pointers& at) {
    it.for_outputs([&](std::int64_t row, std::int64_t column, std::int64_t out) {
      float sum = 0;
      for (std::int64_t k = 0; k < it.a.columns; ++k)
        sum += at.input<float>(0)[row + k * it.a.column_stride] *
               at.input<float>(1)[column + k * it.b.row_stride];
      at.output<float>(0)[out] = sum;
    });
  }};
}

/// 1 / sqrt(x) of an integer.
Multiplier inverse_root(std::int32_t x) {
  if (x <= 1) return {std::numeric_limits<std::int32_t>::max(), 0};
  using Number = gemmlowp::FixedPoint<std::int32_t, 3>;
  int shift = 11;
  for (; x >= 1 << 29; ++shift) x /= 4;
  const int pairs = (std::countl_zero(static_cast<std::uint32_t>(x)) - 1) / 2 - 1;
  shift -= pairs;
  x <<= 2 * pairs;
  const Number half_x = gemmlowp::SaturatingRoundingMultiplyByPOT<-1>(Number::FromRaw(x >> 1));
  const Number three_halves = Number::FromRaw((1 << 28) + (1 << 27));
  Number root = Number::One();
  constexpr int iterations = 5;
  for (int i = 0; i < iterations; ++i) {
    const Number cube = gemmlowp::Rescale<3>(root * root * root);
    root = gemmlowp::Rescale<3>(three_halves * root - half_x * cube);
  }
  constexpr std::int32_t half_root_of_2 = 1518500250;
  root = root * gemmlowp::FixedPoint<std::int32_t, 0>::FromRaw(half_root_of_2);
  if (shift < 0) return {shift_left(root.raw(), -shift), 0};
  return {root.raw(), -shift};
}

/// Normalizes a row to scale 1/128. Of uint8, that factor comes first.
template <typename Number>
void normalize(std::int32_t zero_point, const Number* input, Number* output, std::int64_t length) {
  constexpr int fraction_bits = 7;
  std::uint32_t squares = 0;
  for (std::int64_t i = 0; i < length; ++i)
    squares += static_cast<std::uint32_t>((input[i] - zero_point) * (input[i] - zero_point));
  Multiplier factor = inverse_root(static_cast<std::int32_t>(squares));
  constexpr bool is_signed = std::numeric_limits<Number>::is_signed;
  if (is_signed) factor.shift += fraction_bits;
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int32_t distance = (input[i] - zero_point) * (is_signed ? 1 : 1 << fraction_bits);
    output[i] = nearest_of<Number>(scale(distance, factor) + middle_of<Number>);
  }
}

void normalize(const float* input, float* output, std::int64_t length) {
  constexpr float least = 1e-6F;
  float squares = 0;
  for (std::int64_t i = 0; i < length; ++i) squares += input[i] * input[i];
  const float norm = std::max(std::sqrt(squares), least);
  for (std::int64_t i = 0; i < length; ++i) output[i] = input[i] / norm;
}

template <typename Number>
Kernel quantized_l2_normalization(const Operands& operands, std::int64_t rows, std::int64_t length) {
  const Affine output = affine_of(operands.output());
  if (output.scale != 1.0F / 128 || output.zero_point != middle_of<Number>)
    refuse("its output has scale {} and zero point {}, expected 1/128 and {}", output.scale,
           output.zero_point, middle_of<Number>);
  constexpr std::int64_t longest = 32768;  // squares of at most 255, in 31 bits
  const std::int32_t zero_point = affine_of(operands.input(0)).zero_point;
  if (length > longest || limits_of<Number>().clamp(zero_point) != zero_point)
    refuse("its rows have {} numbers, expected at most {}", length, longest);
  return {.run = [=](const Pointers& at) {
    for (std::int64_t row = 0; row < rows; ++row)
      normalize(zero_point, at.input<Number>(0) + row * length, at.output<Number>(0) + row * length, length);
  }};
}

Kernel prepare_l2_normalization(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(1, 1);
  operands.expect_alike(0);
  const Shape& shape = operands.input(0).shape;
  operands.expect_shape(operands.output(), shape, "output");
  if (shape.empty()) refuse("its input has no dimension");
  if (operands.integer("fused_activation_function") != 0) refuse("it has a fused activation");
  const std::int64_t rows = count_of(shape, 0, shape.size() - 1);
  const std::int64_t length = shape.back();
  if (operands.output().dtype == DType::float32) {
    return {.run = [=](const Pointers& at) {
      for (std::int64_t row = 0; row < rows; ++row)
        normalize(at.input<float>(0) + row * length, at.output<float>(0) + row * length, length);
    }};
  }
  return for_byte(operands.output().dtype, [&]<typename Number>(TypeTag<Number>) {
    return quantized_l2_normalization<Number>(operands, rows, length);
  });
}

/// x * (bias + alpha * the sum of squares of the channels next to it) ^ -beta.
Kernel prepare_local_response(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(1, 1);
  operands.expect_alike(0);
  const Shape& shape = operands.input(0).shape;
  operands.expect_shape(operands.output(), shape, "output");
  if (shape.empty()) refuse("its input has no dimension");
  if (operands.output().dtype != DType::float32) refuse_type(operands);
  const std::int64_t channels = shape.back();
  const std::int64_t rows = count_of(shape, 0, shape.size() - 1);
  const std::int64_t radius = operands.integer("radius");
  if (radius < 0) refuse("its radius is {}", radius);
  const float bias = operands.real("bias");
  const float alpha = operands.real("alpha");
  const float beta = operands.real("beta");
  return {.run = [=, radius = std::min(radius, channels)](const Pointers& at) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* const input = at.input<float>(0) + row * channels;
      float* const output = at.output<float>(0) + row * channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t end = std::min(c + radius + 1, channels);
        float squares = 0;
        for (std::int64_t i = std::max<std::int64_t>(c - radius, 0); i < end; ++i)
          squares += input[i] * input[i];
        output[c] = input[c] * std::pow(bias + alpha * squares, -beta);
      }
    }
  }};
}

}  // namespace

TablePart product_kernels() {
  return {{"BATCH_MATMUL", prepare_batch_matmul},
          {"L2_NORMALIZATION", prepare_l2_normalization},
          {"LOCAL_RESPONSE_NORMALIZATION", prepare_local_response}};
}

}  // namespace stowage::kernels
