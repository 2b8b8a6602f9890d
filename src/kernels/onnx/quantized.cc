// Operators of onnxruntime on bytes with scales, and ours: sums, products, means, joins and functions.
//
// Each computes in integers what the real operator would give, and rounds once. A product or a mean is an exact
// sum of int32, which one real factor brings to the scale of the output, as in QLinearConv. A sum of two numbers has a
// factor of 22 bits for each, so that it needs no real number at all. onnxruntime computes the sum in float32: results
// differ by at most one step. A function is computed in float32, of the real number that a byte stands for.

#include "kernels/onnx/quantized.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/product.h"
#include "kernels/onnx/tables.h"
#include "kernels/onnx/walk.h"

namespace stowage::kernels::onnx_ops {

ScaledSum scaled_sum_of(float a, float b, float output) {
  constexpr int bits = 22;
  constexpr double most = 1 << (bits - 2);
  const auto ratio = [&](float scale) {
    const double exact = static_cast<double>(scale) / static_cast<double>(output);
    return std::isnan(exact) ? 0.0 : std::clamp(exact, -most, most);
  };
  int exponent = 0;
  static_cast<void>(std::frexp(std::max(std::abs(ratio(a)), std::abs(ratio(b))), &exponent));
  const int shift = std::clamp(bits - exponent, 1, 30);
  const auto factor = [&](float scale) {
    return static_cast<std::int32_t>(std::nearbyint(std::ldexp(ratio(scale), shift)));
  };
  return {.a = factor(a), .b = factor(b), .shift = shift};
}

ByteRange byte_range_of(const float* x, std::int64_t count) {
  float low = 0;
  float high = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
  }
  if (low == high) return {};
  ByteRange range{.scale = (high - low) / 255};
  range.zero = range.byte_of(-low);
  return range;
}

void expect_scale_and_zero(const Signature& signature, std::size_t scale, DType dtype) {
  expect_dtype(input_of(signature, scale), DType::float32, "a scale");
  if (count_of(input_of(signature, scale).shape) != 1) refuse("input {} is not one scale", scale);
  if (!signature.has_input(scale + 1)) return;
  expect_dtype(*signature.inputs[scale + 1], dtype, "a zero point");
  if (count_of(signature.inputs[scale + 1]->shape) != 1) refuse("input {} is not one zero point", scale + 1);
}

void expect_bytes_like_first(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  expect_shape(output_of(signature), input.shape, "the output");
  expect_dtype(output_of(signature), input.dtype, "the output");
  for (const std::size_t i : {1U, 3U}) expect_scale_and_zero(signature, i, input.dtype);
}

std::optional<ByteScale> constant_byte_scale(const Signature& signature, std::size_t scale) {
  const Argument& given = input_of(signature, scale);
  if (given.constant.empty()) return std::nullopt;
  ByteScale it{.scale = *reinterpret_cast<const float*>(given.constant.data())};
  if (!signature.has_input(scale + 1)) return it;
  const Argument& zero = *signature.inputs[scale + 1];
  if (zero.constant.empty()) return std::nullopt;
  const int plain = std::to_integer<int>(zero.constant[0]);
  it.zero = zero.dtype == DType::int8 && plain > 127 ? plain - 256 : plain;
  return it;
}

namespace {

template <typename Stored>
std::int32_t zero_point(const Pointers& pointers, std::size_t input) {
  const auto* const zero = pointers.input<Stored>(input);
  return zero == nullptr ? 0 : *zero;
}

float scale_at(const Pointers& pointers, std::size_t input) { return *pointers.input<float>(input); }

template <typename Stored>
Stored in_range(std::int64_t value) {
  using Limits = std::numeric_limits<Stored>;
  return static_cast<Stored>(std::clamp<std::int64_t>(value, Limits::min(), Limits::max()));
}

enum class Pair { sum, difference, product };

/// a, its scale, its zero point; the same of b; those of the output.
template <Pair what>
Kernel pair(const Signature& signature) {
  const Argument& a = input_of(signature, 0);
  const Argument& b = input_of(signature, 3);
  expect_dtype(b, a.dtype, "the second input");
  expect_dtype(output_of(signature), a.dtype, "the output");
  for (const std::size_t i : {1U, 4U, 6U}) expect_scale_and_zero(signature, i, a.dtype);
  const Walk<2> walk = broadcast<2>({a.shape, b.shape}, output_of(signature).shape);
  return for_type(a.dtype, bytes_with_scales, [&]<typename Stored>() -> Kernel {
    return {.run = [walk](const Pointers& pointers) {
      const std::int32_t a_zero = zero_point<Stored>(pointers, 2);
      const std::int32_t b_zero = zero_point<Stored>(pointers, 5);
      const std::int32_t zero = zero_point<Stored>(pointers, 7);
      const float a_scale = scale_at(pointers, 1), b_scale = scale_at(pointers, 4),
                  scale = scale_at(pointers, 6);
      ScaledSum sum = scaled_sum_of(a_scale, b_scale, scale);
      if (what == Pair::difference) sum.b = -sum.b;
      const float factor = a_scale * b_scale / scale;
      for_each_row(walk, [&](std::int64_t at, const std::array<std::int64_t, 2>& from) {
        for (std::int64_t i = 0; i < walk.row(); ++i) {
          const std::int32_t x = pointers.input<Stored>(0)[from[0] + i * walk.step(0)] - a_zero;
          const std::int32_t y = pointers.input<Stored>(3)[from[1] + i * walk.step(1)] - b_zero;
          pointers.output<Stored>(0)[at + i] =
              what == Pair::product
                  ? in_steps<Stored>(x * y, factor, zero)
                  : in_range<Stored>(rounded_to_even(x * sum.a + y * sum.b, sum.shift) + zero);
        }
      });
    }};
  });
}

/// a, its scale, its zero point; the same of b, maybe for each column; c in units of the products; those of the output.
Kernel scaled_product(const Signature& signature) {
  const Argument& a = input_of(signature, 0);
  const Argument& b = input_of(signature, 3);
  const Argument& output = output_of(signature);
  expect_rank(a, 2, "the first input");
  expect_rank(b, 2, "the second input");
  expect_rank(output, 2, "the output");
  const Attributes& attributes = signature.attributes;
  if (attributes.real("alpha", 1) != 1) refuse("alpha is not 1");
  const MatrixProduct p = matrix_products_of(a.shape, b.shape, output.shape, matrix_order_of(attributes, 'A'),
                                             matrix_order_of(attributes, 'B'))
                              .one;
  expect_scale_and_zero(signature, 1, a.dtype);
  expect_scale_and_zero(signature, 7, output.dtype);
  expect_dtype(input_of(signature, 4), DType::float32, "a scale");
  const auto step_of_columns = [&](std::size_t i) -> std::int64_t {
    const std::int64_t count = signature.has_input(i) ? count_of(signature.inputs[i]->shape) : 1;
    if (count != 1 && count != p.columns)
      refuse("input {} has {} elements, expected 1 or {}", i, count, p.columns);
    return count == 1 ? 0 : 1;
  };
  const std::int64_t scale_step = step_of_columns(4);
  const std::int64_t zero_step = step_of_columns(5);
  if (signature.has_input(5)) expect_dtype(*signature.inputs[5], b.dtype, "a zero point");
  Shape c_strides{0, 0};
  if (signature.has_input(6)) {
    expect_dtype(*signature.inputs[6], DType::int32, "the third input");
    c_strides = broadcast_strides(signature.inputs[6]->shape, output.shape);
  }
  const auto make = [&]<typename A, typename B, typename Stored>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* const c = pointers.input<std::int32_t>(6);
      const std::int32_t a_zero = zero_point<A>(pointers, 2);
      const auto* const b_zeros = pointers.input<B>(5);
      const auto a_at = [&](A x, std::int64_t) { return static_cast<std::int32_t>(x) - a_zero; };
      const auto b_at = [&](B x, std::int64_t j) {
        return static_cast<std::int32_t>(x) -
               (b_zeros == nullptr ? 0 : static_cast<std::int32_t>(b_zeros[j * zero_step]));
      };
      auto* const sums = reinterpret_cast<std::int32_t*>(pointers.scratch);
      auto* to = pointers.output<Stored>(0);
      for (std::int64_t i = 0; i < p.rows; ++i) {
        for (std::int64_t j = 0; j < p.columns; ++j)
          sums[j] = c == nullptr ? 0 : c[i * c_strides[0] + j * c_strides[1]];
        add_product_row(p, i, pointers.input<A>(0), pointers.input<B>(3), sums, a_at, b_at);
        for (std::int64_t j = 0; j < p.columns; ++j) {
          const float factor =
              scale_at(pointers, 1) * pointers.input<float>(4)[j * scale_step] / scale_at(pointers, 7);
          *to++ = in_steps<Stored>(sums[j], factor, zero_point<Stored>(pointers, 8));
        }
      }
    }};
  };
  Kernel kernel = for_type(a.dtype, bytes_with_scales, [&]<typename A>() {
    return for_type(b.dtype, bytes_with_scales, [&]<typename B>() {
      return for_type(output.dtype, bytes_with_scales,
                      [&]<typename Stored>() { return make.template operator()<A, B, Stored>(); });
    });
  });
  kernel.scratch = p.columns * extent(sizeof(std::int32_t));
  return kernel;
}

/// The mean of all elements behind the first `planes` numbers: x, its scale, its zero point; those of the output.
Kernel mean_of_last_axes(const Signature& signature, std::int64_t planes) {
  const Argument& x = input_of(signature, 0);
  const std::int64_t count = count_of(x.shape) / std::max<std::int64_t>(planes, 1);
  return for_type(x.dtype, bytes_with_scales, [&]<typename Stored>() -> Kernel {
    const auto add = [=](const Stored* from, std::int64_t length, std::int32_t zero, std::int32_t* sums) {
      for (std::int64_t i = 0; i < planes; ++i)
        for (std::int64_t k = 0; k < length; ++k)
          sums[i] = sum(sums[i], static_cast<std::int32_t>(*from++) - zero);
    };
    const auto finish = [=](const std::int32_t* sums, float factor, std::int32_t zero, Stored* to) {
      for (std::int64_t i = 0; i < planes; ++i) to[i] = in_steps<Stored>(sums[i], factor, zero);
    };
    const auto factor_of = [count](float scale, float output) {
      return scale / (output * static_cast<float>(count));
    };
    Kernel kernel{.run = [=](const Pointers& pointers) {
      auto* const sums = reinterpret_cast<std::int32_t*>(pointers.scratch);
      std::fill_n(sums, planes, 0);
      add(pointers.input<Stored>(0), count, zero_point<Stored>(pointers, 2), sums);
      finish(sums, factor_of(scale_at(pointers, 1), scale_at(pointers, 3)), zero_point<Stored>(pointers, 4),
             pointers.output<Stored>(0));
    }};
    kernel.scratch = planes * extent(sizeof(std::int32_t));
    const auto given = constant_byte_scale(signature, 1);
    const auto made = constant_byte_scale(signature, 3);
    if (!given || !made) return kernel;
    kernel.row_sums = [=, zero = given->zero, output_zero = made->zero,
                       factor = factor_of(given->scale, made->scale),
                       shape = x.shape](std::size_t axis) -> RowSums {
      return {
          .begin = [=](std::byte* sums) { std::fill_n(reinterpret_cast<std::int32_t*>(sums), planes, 0); },
          .add =
              [=](const std::byte* row, std::byte* sums) {
                add(reinterpret_cast<const Stored*>(row), count / shape[axis], zero,
                    reinterpret_cast<std::int32_t*>(sums));
              },
          .finish =
              [=](const std::byte* sums, std::byte* output) {
                finish(reinterpret_cast<const std::int32_t*>(sums), factor, output_zero,
                       reinterpret_cast<Stored*>(output));
              }};
    };
    return kernel;
  });
}

Kernel mean_of_planes(const Signature& signature) {
  const Argument& x = input_of(signature, 0);
  if (signature.attributes.integer("channels_last", 0) != 0) refuse("channels come last");
  if (x.shape.size() < 2) refuse("the input {} has no planes", show(x.shape));
  Shape expected(x.shape.size(), 1);
  std::copy_n(x.shape.begin(), 2, expected.begin());
  expect_shape(output_of(signature), expected, "the output");
  expect_dtype(output_of(signature), x.dtype, "the output");
  for (const std::size_t i : {1U, 3U}) expect_scale_and_zero(signature, i, x.dtype);
  return mean_of_last_axes(signature, x.shape[0] * x.shape[1]);
}

/// Over any axes: x, its scale, its zero point; those of the output.
Kernel mean_over_axes(const Signature& signature) {
  const Argument& x = input_of(signature, 0);
  const Argument& output = output_of(signature);
  const std::size_t rank = x.shape.size();
  const Shape told = signature.attributes.integers("axes", {});
  std::vector<bool> is_reduced(rank, told.empty());
  for (const std::size_t axis : axes_of(told, rank)) is_reduced[axis] = true;
  Shape kept = x.shape;  // with 1 along these axes
  for (std::size_t d = 0; d < rank; ++d)
    if (is_reduced[d]) kept[d] = 1;
  if (count_of(kept) != count_of(output.shape))
    refuse("the output {} has not {}", show(output.shape), show(kept));
  expect_dtype(output, x.dtype, "the output");
  for (const std::size_t i : {1U, 3U}) expect_scale_and_zero(signature, i, x.dtype);
  if (std::ranges::is_sorted(is_reduced)) return mean_of_last_axes(signature, count_of(kept));
  const Walk<1> walk = broadcast<1>({kept}, x.shape);
  const std::int64_t means = count_of(kept);
  const std::int64_t count = count_of(x.shape) / std::max<std::int64_t>(means, 1);
  return for_type(x.dtype, bytes_with_scales, [&]<typename Stored>() -> Kernel {
    Kernel kernel{.run = [=](const Pointers& pointers) {
      auto* const sums = reinterpret_cast<std::int32_t*>(pointers.scratch);
      std::fill_n(sums, means, 0);
      const std::int32_t zero = zero_point<Stored>(pointers, 2);
      for_each_row(walk, [&](std::int64_t at, const std::array<std::int64_t, 1>& to) {
        for (std::int64_t i = 0; i < walk.row(); ++i) {
          std::int32_t& total = sums[to[0] + i * walk.step(0)];
          total = sum(total, static_cast<std::int32_t>(pointers.input<Stored>(0)[at + i]) - zero);
        }
      });
      const float factor = scale_at(pointers, 1) / (scale_at(pointers, 3) * static_cast<float>(count));
      for (std::int64_t i = 0; i < means; ++i)
        pointers.output<Stored>(0)[i] = in_steps<Stored>(sums[i], factor, zero_point<Stored>(pointers, 4));
    }};
    kernel.scratch = means * extent(sizeof(std::int32_t));
    return kernel;
  });
}

/// The scale and zero point of the output; then each input with its own.
Kernel joined_planes(const Signature& signature) {
  const Argument& output = output_of(signature);
  const std::size_t axis = axis_of(signature.attributes.integer("axis", 0), output.shape.size());
  expect_scale_and_zero(signature, 0, output.dtype);
  if (signature.inputs.size() < 5 || signature.inputs.size() % 3 != 2) refuse("its inputs are not in threes");
  const Split whole = split_at(output.shape, axis);
  std::vector<std::int64_t> runs;
  for (std::size_t i = 2; i < signature.inputs.size(); i += 3) {
    const Argument& input = input_of(signature, i);
    expect_dtype(input, output.dtype, "an input");
    expect_scale_and_zero(signature, i + 1, output.dtype);
    Shape expected = output.shape;
    if (axis < input.shape.size()) expected[axis] = input.shape[axis];
    expect_shape(input, expected, "an input");
    runs.push_back(input.shape[axis] * whole.inner);
  }
  const std::int64_t length = whole.size * whole.inner;
  std::int64_t all = 0;
  for (const std::int64_t run : runs) all += run;
  if (all != length) refuse("its inputs have {} elements along axis {}, the output {}", all, axis, length);
  return for_type(output.dtype, bytes_with_scales, [&]<typename Stored>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      std::int64_t begin = 0;
      for (std::size_t i = 0; i < runs.size(); begin += runs[i++]) {
        const std::size_t input = 2 + 3 * i;
        const auto* from = pointers.input<Stored>(input);
        for (std::int64_t o = 0; o < whole.outer; ++o) {
          auto* const to = pointers.output<Stored>(0) + o * length + begin;
          for (std::int64_t k = 0; k < runs[i]; ++k) {
            const std::int32_t steps =
                static_cast<std::int32_t>(*from++) - zero_point<Stored>(pointers, input + 2);
            const float real = static_cast<float>(steps) * scale_at(pointers, input + 1);
            const double place = std::nearbyint(static_cast<double>(real / scale_at(pointers, 0)));
            to[k] = onnx_ops::whole<Stored>(place + static_cast<double>(zero_point<Stored>(pointers, 1)));
          }
        }
      }
    }};
  });
}

/// What the bytes of an input stand for, and the byte of a real number of the output. Each has a scale and a zero point.
template <typename Stored>
struct Reals {
  const Pointers& pointers;
  std::size_t scale;  ///< The input that has the scale of the input.
  std::size_t scale_of_output;

  [[nodiscard]] float real(Stored byte) const {
    return static_cast<float>(byte - zero_point<Stored>(pointers, scale + 1)) * scale_at(pointers, scale);
  }
  [[nodiscard]] Stored byte(float real) const {
    const double steps = std::nearbyint(static_cast<double>(real / scale_at(pointers, scale_of_output)));
    return onnx_ops::whole<Stored>(steps +
                                   static_cast<double>(zero_point<Stored>(pointers, scale_of_output + 1)));
  }
};

/// The function of each element: x, its scale, its zero point; those of the output.
template <typename Function>
Kernel of_each(const Signature& signature, const Function& function) {
  expect_bytes_like_first(signature);
  const Argument& input = input_of(signature, 0);
  return for_type(input.dtype, bytes_with_scales, [&]<typename Stored>() -> Kernel {
    return {.run = [count = count_of(input.shape), function](const Pointers& pointers) {
      const Reals<Stored> reals{pointers, 1, 3};
      for (std::int64_t i = 0; i < count; ++i)
        pointers.output<Stored>(0)[i] = reals.byte(function(reals.real(pointers.input<Stored>(0)[i])));
    }};
  });
}

Kernel leaky_relu_of_bytes(const Signature& signature) {
  const float alpha = signature.attributes.real("alpha", 0.01F);
  return of_each(signature, [alpha](float x) { return x < 0 ? alpha * x : x; });
}

Kernel sigmoid_of_bytes(const Signature& signature) {
  return of_each(signature, [](float x) { return 1 / (1 + std::exp(-x)); });
}

Kernel requantized(const Signature& signature) {
  return of_each(signature, [](float x) { return x; });
}

}  // namespace

TablePart quantized_kernels() {
  return {{"com.microsoft.QGemm", scaled_product},
          {"com.microsoft.QLinearAdd", pair<Pair::sum>},
          {"com.microsoft.QLinearConcat", joined_planes},
          {"com.microsoft.QLinearGlobalAveragePool", mean_of_planes},
          {"com.microsoft.QLinearLeakyRelu", leaky_relu_of_bytes},
          {"com.microsoft.QLinearMul", pair<Pair::product>},
          {"com.microsoft.QLinearReduceMean", mean_over_axes},
          {"com.microsoft.QLinearSigmoid", sigmoid_of_bytes},
          {"com.microsoft.QLinearSoftmax", softmax_of_bytes},
          {"stowage.QLinearSub", pair<Pair::difference>},
          {"stowage.Requantize", requantized}};
}

}  // namespace stowage::kernels::onnx_ops
