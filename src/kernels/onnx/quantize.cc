// Quantized operators: conversions between reals and integers, and products and convolutions of integers.
// real = scale * (stored - zero point); rounding is to nearest, ties to even; values out of range become the
// nearest limit. Sums are int32, as in the specification.

#include <algorithm>
#include <cmath>
#include <memory>

#include "kernels/onnx/convolution.h"
#include "kernels/onnx/elements.h"
#include "kernels/onnx/product.h"
#include "kernels/onnx/quantized.h"
#include "kernels/onnx/tables.h"
#include "kernels/onnx/walk.h"

namespace stowage::kernels::onnx_ops {
namespace {

constexpr Types<std::int8_t, std::uint8_t> byte_types;
constexpr Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t> stored_types;
constexpr Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t> readable_types;

/// The scale and zero point of an element: one pair for all, one for each place on an axis, or one for each
/// block of places.
struct Pairs {
  Split split{};
  std::int64_t block = 1;
  std::int64_t outer_step = 0;
  std::int64_t step = 0;
  std::int64_t inner_step = 0;

  [[nodiscard]] std::int64_t of(std::int64_t i) const {
    const std::int64_t inner = i % split.inner;
    const std::int64_t place = i / split.inner % split.size;
    return i / split.inner / split.size * outer_step + place / block * step + inner * inner_step;
  }
};

Pairs pairs_of(const Signature& signature, const Shape& shape, const Argument& scale) {
  if (count_of(scale.shape) == 1)
    return {.split = {1, std::max<std::int64_t>(count_of(shape), 1), 1}, .block = 1};
  const std::size_t axis = axis_of(signature.attributes.integer("axis", 1), shape.size());
  Pairs pairs{.split = split_at(shape, axis)};
  if (scale.shape.size() == 1) {
    expect_shape(scale, {shape[axis]}, "the scale");
    pairs.step = 1;
    return pairs;
  }
  const std::int64_t block = signature.attributes.integer("block_size", 0);
  if (block <= 0) refuse("the scale {} is neither a scalar nor a vector", show(scale.shape));
  Shape expected = shape;
  expected[axis] = (shape[axis] + block - 1) / block;
  expect_shape(scale, expected, "the scale");
  pairs.block = block;
  pairs.step = pairs.split.inner;
  pairs.inner_step = 1;
  pairs.outer_step = expected[axis] * pairs.split.inner;
  return pairs;
}

/// Rounds a real, adds the zero point, and clamps.
template <typename Stored>
Stored stored_of(double value, std::int64_t zero) {
  return whole<Stored>(std::nearbyint(value) + static_cast<double>(zero));
}

template <typename Stored>
std::int64_t zero_at(const Pointers& pointers, std::size_t input, std::int64_t i) {
  const auto* const zeros = pointers.input<Stored>(input);
  return zeros == nullptr ? 0 : static_cast<std::int64_t>(zeros[i]);
}

void expect_zero_point(const Signature& signature, std::size_t i, const Argument& scale, DType dtype) {
  if (!signature.has_input(i)) return;
  expect_dtype(*signature.inputs[i], dtype, "the zero point");
  if (count_of(signature.inputs[i]->shape) != count_of(scale.shape))
    refuse("zero points are not as many as scales");
}

Kernel quantize(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& scale = input_of(signature, 1);
  const Argument& output = output_of(signature);
  expect_shape(output, input.shape, "the output");
  expect_zero_point(signature, 2, scale, output.dtype);
  const Pairs pairs = pairs_of(signature, input.shape, scale);
  const std::int64_t count = count_of(input.shape);
  return for_type(input.dtype, floats + Types<std::int32_t>{}, [&]<typename Element>() {
    return for_type(scale.dtype, floats, [&]<typename Scale>() {
      return for_type(output.dtype, stored_types, [&]<typename Stored>() -> Kernel {
        return {.run = [=](const Pointers& pointers) {
          const auto* const from = pointers.input<Element>(0);
          const auto* const scales = pointers.input<Scale>(1);
          auto* const to = pointers.output<Stored>(0);
          for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t pair = pairs.of(i);
            const auto ratio =
                static_cast<float>(value_of(from[i])) / static_cast<float>(value_of(scales[pair]));
            to[i] = stored_of<Stored>(static_cast<double>(ratio), zero_at<Stored>(pointers, 2, pair));
          }
        }};
      });
    });
  });
}

Kernel dequantize(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& scale = input_of(signature, 1);
  const Argument& output = output_of(signature);
  expect_shape(output, input.shape, "the output");
  expect_zero_point(signature, 2, scale, input.dtype);
  const Pairs pairs = pairs_of(signature, input.shape, scale);
  const std::int64_t count = count_of(input.shape);
  return for_type(input.dtype, readable_types, [&]<typename Stored>() {
    return for_type(scale.dtype, floats, [&]<typename Scale>() {
      return for_type(output.dtype, floats, [&]<typename Element>() -> Kernel {
        return {.run = [=](const Pointers& pointers) {
          const auto* const from = pointers.input<Stored>(0);
          const auto* const scales = pointers.input<Scale>(1);
          auto* const to = pointers.output<Element>(0);
          for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t pair = pairs.of(i);
            const std::int64_t steps = std::int64_t{from[i]} - zero_at<Stored>(pointers, 2, pair);
            to[i] =
                element_of<Element>(static_cast<float>(steps) * static_cast<float>(value_of(scales[pair])));
          }
        }};
      });
    });
  });
}

/// Scale and zero point such that a byte covers the range of the input, widened to include 0.
Kernel quantize_by_range(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  expect_dtype(input, DType::float32, "the input");
  expect_dtype(output_of(signature), DType::uint8, "the output");
  expect_shape(output_of(signature), input.shape, "the output");
  if (signature.has_output(1)) expect_dtype(*signature.outputs[1], DType::float32, "the scale");
  if (signature.has_output(2)) expect_dtype(*signature.outputs[2], DType::uint8, "the zero point");
  for (const std::size_t i : {1U, 2U}) {
    if (signature.has_output(i)) expect_shape(*signature.outputs[i], {}, "scale or zero point");
  }
  const std::int64_t count = count_of(input.shape);
  return {.run = [count](const Pointers& pointers) {
    const auto* const from = pointers.input<float>(0);
    const ByteRange range = byte_range_of(from, count);
    std::transform(from, from + count, pointers.output<std::uint8_t>(0),
                   [range](float x) { return range.byte_of(x); });
    if (auto* const scale_to = pointers.output<float>(1)) *scale_to = range.scale;
    if (auto* const zero_to = pointers.output<std::uint8_t>(2)) *zero_to = range.zero;
  }};
}

/// Refuses a parameter unless it is one number or `count` numbers; returns the distance between two.
std::int64_t step_of(const Signature& signature, std::size_t i, std::int64_t count) {
  if (!signature.has_input(i)) return 0;
  const std::int64_t own = count_of(signature.inputs[i]->shape);
  if (own == 1) return 0;
  if (own != count) refuse("input {} has {} elements, expected 1 or {}", i, own, count);
  return 1;
}

void expect_scale(const Signature& signature, std::size_t i) {
  expect_dtype(input_of(signature, i), DType::float32, "a scale");
}

void expect_input_dtype(const Signature& signature, std::size_t i, DType dtype) {
  if (signature.has_input(i)) expect_dtype(*signature.inputs[i], dtype, fmt::format("input {}", i));
}

/// Indices of a quantized product's operands in the list of inputs.
struct Places {
  std::size_t a_zero;
  std::size_t b;
  std::size_t b_zero;
  bool has_scales;
};

/// Rows of a and columns of b may have scales and zero points of their own.
Kernel whole_product(const Signature& signature, Places at) {
  const Argument& a = input_of(signature, 0);
  const Argument& b = input_of(signature, at.b);
  const Argument& output = output_of(signature);
  const MatrixProducts products = matrix_products_of(a.shape, b.shape, output.shape);
  const MatrixProduct& p = products.one;
  expect_input_dtype(signature, at.a_zero, a.dtype);
  expect_input_dtype(signature, at.b_zero, b.dtype);
  const std::int64_t a_step = step_of(signature, at.a_zero, p.rows);
  const std::int64_t b_step = step_of(signature, at.b_zero, p.columns);
  std::int64_t a_scale_step = 0;
  std::int64_t b_scale_step = 0;
  if (at.has_scales) {
    for (const std::size_t i : {1U, 4U, 6U}) expect_scale(signature, i);
    a_scale_step = step_of(signature, 1, p.rows);
    b_scale_step = step_of(signature, 4, p.columns);
    for (const std::size_t i : {6U, 7U}) static_cast<void>(step_of(signature, i, 1));
    expect_dtype(input_of(signature, 7), output.dtype, "the zero point");
  } else {
    expect_dtype(output, DType::int32, "the output");
  }
  const Walk<2> walk = merged<2>(products.batch, {products.a_strides, products.b_strides});
  const auto make = [&]<typename A, typename B, typename Stored>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const MatrixProduct& one = products.one;
      auto* const sums = reinterpret_cast<std::int32_t*>(pointers.scratch);
      const auto a_at = [&](A x, std::int64_t i) {
        return static_cast<std::int32_t>(x) -
               static_cast<std::int32_t>(zero_at<A>(pointers, at.a_zero, i * a_step));
      };
      const auto b_at = [&](B x, std::int64_t j) {
        return static_cast<std::int32_t>(x) -
               static_cast<std::int32_t>(zero_at<B>(pointers, at.b_zero, j * b_step));
      };
      auto* to = pointers.output<Stored>(0);
      for_each_row(walk, [&](std::int64_t, const std::array<std::int64_t, 2>& from) {
        for (std::int64_t i = 0; i < walk.row() * one.rows; ++i) {
          const std::int64_t matrix = i / one.rows;
          const std::int64_t row = i % one.rows;
          std::fill_n(sums, one.columns, 0);
          add_product_row(one, row, pointers.input<A>(0) + from[0] + matrix * walk.step(0),
                          pointers.input<B>(at.b) + from[1] + matrix * walk.step(1), sums, a_at, b_at);
          for (std::int64_t j = 0; j < one.columns; ++j) {
            if constexpr (std::is_same_v<Stored, std::int32_t>) {
              *to++ = sums[j];
            } else {
              const auto* const scales = pointers.input<float>(1);
              const float factor = scales[row * a_scale_step] * pointers.input<float>(4)[j * b_scale_step] /
                                   *pointers.input<float>(6);
              *to++ = stored_of<Stored>(static_cast<double>(static_cast<float>(sums[j]) * factor),
                                        zero_at<Stored>(pointers, 7, 0));
            }
          }
        }
      });
    }};
  };
  Kernel kernel = for_type(a.dtype, byte_types, [&]<typename A>() {
    return for_type(b.dtype, byte_types, [&]<typename B>() {
      if (!at.has_scales) return make.template operator()<A, B, std::int32_t>();
      return for_type(output.dtype, byte_types,
                      [&]<typename Stored>() { return make.template operator()<A, B, Stored>(); });
    });
  });
  kernel.scratch = p.columns * extent(sizeof(std::int32_t));
  return kernel;
}

/// Inputs of an integer convolution in addition to its window.
struct WholeConvolution {
  Places at{};
  bool has_bias = false;
  std::int64_t w_step = 0;      ///< From the zero point of one output channel to the next.
  std::int64_t scale_step = 0;  ///< The same for scales.
};

/// Sums of some rows of one plane at a time, written as they are or requantized.
template <typename X, typename W, typename Stored>
void convolve_rows(const WholeConvolution& it, const Convolution& c, const RowPointers& at) {
  const Pointers& whole = at.whole;
  const std::int64_t size = c.window.axes[2].output;
  const auto row_of = [&](std::int64_t row) {
    return reinterpret_cast<std::int32_t*>(whole.scratch) + (row - at.begin) * size;
  };
  for (std::int64_t i = 0; i < c.batches * c.channels(); ++i) {
    const std::int64_t batch = i / c.channels();
    const std::int64_t channel = i % c.channels();
    std::fill_n(row_of(at.begin), (at.end - at.begin) * size,
                it.has_bias ? whole.input<std::int32_t>(8)[channel] : 0);
    convolve<X>(c, at.input, batch * at.input.batch + c.first_input(channel) * at.input.channel,
                whole.input<W>(it.at.b) + channel * c.inputs * c.window.elements(),
                {.begin = at.begin, .end = at.end}, row_of,
                static_cast<std::int32_t>(zero_at<X>(whole, it.at.a_zero, 0)),
                static_cast<std::int32_t>(zero_at<W>(whole, it.at.b_zero, channel * it.w_step)));
    for (std::int64_t row = at.begin; row < at.end; ++row) {
      const std::int32_t* const sums = row_of(row);
      auto* const to = at.output.at<Stored>(row, batch, channel);
      if constexpr (std::is_same_v<Stored, std::int32_t>) {
        std::copy_n(sums, size, to);
      } else {
        const float factor =
            *whole.input<float>(1) * whole.input<float>(4)[channel * it.scale_step] / *whole.input<float>(6);
        for (std::int64_t j = 0; j < size; ++j)
          to[j] = stored_of<Stored>(static_cast<double>(static_cast<float>(sums[j]) * factor),
                                    zero_at<Stored>(whole, 7, 0));
      }
    }
  }
}

Kernel whole_convolution(const Signature& signature, Places at) {
  const Argument& x = input_of(signature, 0);
  const Argument& w = input_of(signature, at.b);
  const Argument& output = output_of(signature);
  const Argument* const bias = at.has_scales && signature.has_input(8) ? &*signature.inputs[8] : nullptr;
  if (bias != nullptr) expect_dtype(*bias, DType::int32, "the bias");
  const Convolution c = convolution_of(signature, x, w, bias);
  expect_input_dtype(signature, at.a_zero, x.dtype);
  expect_input_dtype(signature, at.b_zero, w.dtype);
  static_cast<void>(step_of(signature, at.a_zero, 1));
  WholeConvolution it{
      .at = at, .has_bias = bias != nullptr, .w_step = step_of(signature, at.b_zero, c.channels())};
  if (at.has_scales) {
    for (const std::size_t i : {1U, 4U, 6U}) expect_scale(signature, i);
    for (const std::size_t i : {1U, 6U, 7U}) static_cast<void>(step_of(signature, i, 1));
    it.scale_step = step_of(signature, 4, c.channels());
    expect_dtype(input_of(signature, 7), output.dtype, "the zero point");
  } else {
    expect_dtype(output, DType::int32, "the output");
  }
  const auto make = [&]<typename X, typename W, typename Stored>() -> Kernel {
    return kernel_of(
        c, sizeof(X), sizeof(Stored),
        [it](const Convolution& of, const RowPointers& rows) { convolve_rows<X, W, Stored>(it, of, rows); },
        c.window.outputs() * extent(sizeof(std::int32_t)));
  };
  return for_type(x.dtype, byte_types, [&]<typename X>() {
    return for_type(w.dtype, byte_types, [&]<typename W>() {
      if (!at.has_scales) return make.template operator()<X, W, std::int32_t>();
      return for_type(output.dtype, byte_types,
                      [&]<typename Stored>() { return make.template operator()<X, W, Stored>(); });
    });
  });
}

constexpr Places integer_places{.a_zero = 2, .b = 1, .b_zero = 3, .has_scales = false};
constexpr Places scaled_places{.a_zero = 2, .b = 3, .b_zero = 5, .has_scales = true};

}  // namespace

TablePart quantize_kernels() {
  return {{"ConvInteger", [](const Signature& it) { return whole_convolution(it, integer_places); }},
          {"DequantizeLinear", dequantize},
          {"DynamicQuantizeLinear", quantize_by_range},
          {"MatMulInteger", [](const Signature& it) { return whole_product(it, integer_places); }},
          {"QLinearConv", [](const Signature& it) { return whole_convolution(it, scaled_places); }},
          {"QLinearMatMul", [](const Signature& it) { return whole_product(it, scaled_places); }},
          {"QuantizeLinear", quantize}};
}

}  // namespace stowage::kernels::onnx_ops
