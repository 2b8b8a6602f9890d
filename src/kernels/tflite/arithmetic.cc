// Operators of two inputs, which are broadcast to the output where they have extent 1: sums, products,
// extremes, comparisons, and selection between two by a third.
//
// Numbers of two scales are converted to a common one, twice the larger, with spare bits, before they
// are added or compared; the result is scaled to the output. A product is scaled once.
//
// Cost: a few multiplications per number. Source: the TensorFlow Lite 8-bit quantization specification, and
// the steps of TensorFlow Lite Micro's kernels.

#include <cmath>
#include <string>

#include "kernels/tflite/activations.h"
#include "kernels/tflite/families.h"
#include "kernels/tflite/fixed_point.h"
#include "kernels/tflite/stretch.h"
#include "stowage/error.h"

namespace stowage::kernels {
namespace {

/// Two quantized numbers on a common scale.
struct Common {
  Affine a{};
  Affine b{};
  int spare_bits = 0;
  Multiplier factor_a{};
  Multiplier factor_b{};

  [[nodiscard]] std::int32_t first(std::int32_t x) const {
    return scale(shift_left(x - a.zero_point, spare_bits), factor_a);
  }
  [[nodiscard]] std::int32_t second(std::int32_t x) const {
    return scale(shift_left(x - b.zero_point, spare_bits), factor_b);
  }
};

/// `unit` is the common scale, without the spare bits.
Common common_of(const Operands& operands, int spare_bits, double unit) {
  Common result{
      .a = affine_of(operands.input(0)), .b = affine_of(operands.input(1)), .spare_bits = spare_bits};
  result.factor_a = multiplier_of(static_cast<double>(result.a.scale) / unit);
  result.factor_b = multiplier_of(static_cast<double>(result.b.scale) / unit);
  return result;
}

double twice_larger_scale(const Operands& operands) {
  return 2 * static_cast<double>(
                 std::max(affine_of(operands.input(0)).scale, affine_of(operands.input(1)).scale));
}

void expect_binary(const Operands& operands) {
  operands.expect_counts(2, 1);
  if (operands.input(0).dtype != operands.input(1).dtype)
    refuse("its inputs are {} and {}", name_of(operands.input(0).dtype), name_of(operands.input(1).dtype));
}

void expect_no_activation(const Operands& operands) {
  if (operands.integer("fused_activation_function") != 0)
    refuse("fused activation {} of {} is not supported", operands.integer("fused_activation_function"),
           name_of(operands.output().dtype));
}

template <typename Element, bool is_difference>
Kernel quantized_sum(const Operands& operands) {
  constexpr int spare_bits = sizeof(Element) == 1 ? 20 : 15;
  const double unit = twice_larger_scale(operands);
  const Common common = common_of(operands, spare_bits, unit);
  const Affine output = affine_of(operands.output());
  const Multiplier factor = multiplier_of(unit / ((1 << spare_bits) * static_cast<double>(output.scale)));
  const Limits limits = activation_limits(operands, limits_of<Element>());
  return binary_kernel<Element, Element>(operands, [=](Element a, Element b) {
    const std::int32_t first = common.first(a);
    const std::int32_t second = common.second(b);
    const std::int32_t sum = wrapping_add(first, is_difference ? wrapping_multiply(second, -1) : second);
    return static_cast<Element>(limits.clamp(wrapping_add(scale(sum, factor), output.zero_point)));
  });
}

template <bool is_difference>
Kernel prepare_sum(const Signature& signature) {
  const Operands operands(signature);
  expect_binary(operands);
  operands.expect_alike(0);
  switch (operands.output().dtype) {
    case DType::float32:
      return binary_kernel<float, float>(operands,
                                         [limits = real_activation_limits(operands)](float a, float b) {
                                           return limits.clamp(is_difference ? a - b : a + b);
                                         });
    case DType::int32:
      expect_no_activation(operands);
      return binary_kernel<std::int32_t, std::int32_t>(operands, [](std::int32_t a, std::int32_t b) {
        return wrapping_add(a, is_difference ? wrapping_multiply(b, -1) : b);
      });
    default:
      return for_quantized(operands.output().dtype, [&]<typename Number>(TypeTag<Number>) {
        return quantized_sum<Number, is_difference>(operands);
      });
  }
}

template <typename Element>
Kernel quantized_product(const Operands& operands) {
  const Affine a = affine_of(operands.input(0));
  const Affine b = affine_of(operands.input(1));
  const Affine output = affine_of(operands.output());
  const Multiplier factor = multiplier_of(static_cast<double>(a.scale) * static_cast<double>(b.scale) /
                                          static_cast<double>(output.scale));
  const Limits limits = activation_limits(operands, limits_of<Element>());
  return binary_kernel<Element, Element>(operands, [=](Element x, Element y) {
    const std::int32_t result = wrapping_multiply(x - a.zero_point, y - b.zero_point);
    return static_cast<Element>(limits.clamp(wrapping_add(scale(result, factor), output.zero_point)));
  });
}

Kernel prepare_mul(const Signature& signature) {
  const Operands operands(signature);
  expect_binary(operands);
  operands.expect_alike(0);
  switch (operands.output().dtype) {
    case DType::float32:
      return binary_kernel<float, float>(operands, [limits = real_activation_limits(operands)](
                                                       float a, float b) { return limits.clamp(a * b); });
    case DType::int32:
      expect_no_activation(operands);
      return binary_kernel<std::int32_t, std::int32_t>(operands, wrapping_multiply);
    default:
      return for_quantized(operands.output().dtype, [&]<typename Number>(TypeTag<Number>) {
        return quantized_product<Number>(operands);
      });
  }
}

float floor_mod(float a, float b) {
  const float rest = std::fmod(a, b);
  return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

struct Divide {
  float operator()(float a, float b) const { return a / b; }
};
struct FloorDivide {
  float operator()(float a, float b) const { return std::floor(a / b); }
  std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  }
};
struct FloorModulo {
  float operator()(float a, float b) const { return floor_mod(a, b); }
  std::int64_t operator()(std::int64_t a, std::int64_t b) const {
    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
  }
};
struct Power {
  float operator()(float a, float b) const { return std::pow(a, b); }
};

/// For float32 only.
template <typename Make>
Kernel prepare_real(const Signature& signature) {
  const Operands operands(signature);
  expect_binary(operands);
  operands.expect_alike(0);
  if (operands.output().dtype != DType::float32)
    refuse("element type {} is not supported", name_of(operands.output().dtype));
  return binary_kernel<float, float>(operands, [limits = real_activation_limits(operands)](float a, float b) {
    const float result = Make{}(a, b);
    return limits.most == RealLimits{}.most && limits.least == RealLimits{}.least ? result
                                                                                  : limits.clamp(result);
  });
}

/// Division of float32 or int32.
template <typename Make>
Kernel prepare_division(const Signature& signature) {
  const Operands operands(signature);
  if (operands.output().dtype != DType::int32) return prepare_real<Make>(signature);
  expect_binary(operands);
  operands.expect_alike(0);
  return binary_kernel<std::int32_t, std::int32_t>(
      operands, [type = std::string(operands.type())](std::int32_t a, std::int32_t b) {
        if (b == 0) throw Error(type, "divides by 0");
        return static_cast<std::int32_t>(Make{}(std::int64_t{a}, std::int64_t{b}));
      });
}

/// The square of the difference on the common scale, which has 7 bits to spare so that it fits.
template <typename Number>
Kernel quantized_squared_difference(const Operands& operands) {
  constexpr int spare_bits = 7;
  const double unit = twice_larger_scale(operands);
  const Common common = common_of(operands, spare_bits, unit);
  const Affine output = affine_of(operands.output());
  const double shifted = static_cast<double>(static_cast<float>(1 << (2 * spare_bits)) * output.scale);
  const Multiplier factor = multiplier_of(unit * unit / shifted);
  return binary_kernel<Number, Number>(operands, [=](Number a, Number b) {
    const std::int32_t difference = common.first(a) - common.second(b);
    const std::int32_t square = wrapping_multiply(difference, difference);
    return nearest_of<Number>(wrapping_add(scale(square, factor), output.zero_point));
  });
}

Kernel prepare_squared_difference(const Signature& signature) {
  const Operands operands(signature);
  expect_binary(operands);
  operands.expect_alike(0);
  switch (operands.output().dtype) {
    case DType::float32:
      return binary_kernel<float, float>(operands, [](float a, float b) { return (a - b) * (a - b); });
    case DType::int32:
      return binary_kernel<std::int32_t, std::int32_t>(operands, [](std::int32_t a, std::int32_t b) {
        const std::int32_t difference = wrapping_add(a, wrapping_multiply(b, -1));
        return wrapping_multiply(difference, difference);
      });
    default:
      return for_byte(operands.output().dtype, [&]<typename Number>(TypeTag<Number>) {
        return quantized_squared_difference<Number>(operands);
      });
  }
}

template <bool is_maximum>
Kernel prepare_extreme(const Signature& signature) {
  const Operands operands(signature);
  expect_binary(operands);
  operands.expect_alike(0);
  expect_same_quantization(operands.input(0), operands.output());
  expect_same_quantization(operands.input(1), operands.output());
  return for_number(operands.output().dtype, [&]<typename Element>(TypeTag<Element>) {
    return binary_kernel<Element, Element>(
        operands, [](Element a, Element b) { return is_maximum ? (a > b ? a : b) : (a < b ? a : b); });
  });
}

enum class Relation : std::uint8_t { equal, not_equal, greater, greater_equal, less, less_equal };

template <Relation relation, typename Element>
bool holds(Element a, Element b) {
  switch (relation) {
    case Relation::equal:
      return a == b;
    case Relation::not_equal:
      return a != b;
    case Relation::greater:
      return a > b;
    case Relation::greater_equal:
      return a >= b;
    case Relation::less:
      return a < b;
    case Relation::less_equal:
      return a <= b;
  }
  return false;
}

/// Compares numbers of different scales on scale 1, with spare bits.
template <Relation relation, typename Element>
Kernel quantized_comparison(const Operands& operands) {
  constexpr int spare_bits = 8;
  const Common common = common_of(operands, spare_bits, 1.0);
  return binary_kernel<Element, std::uint8_t>(operands, [common](Element a, Element b) {
    return static_cast<std::uint8_t>(holds<relation>(common.first(a), common.second(b)));
  });
}

template <Relation relation>
Kernel prepare_comparison(const Signature& signature) {
  const Operands operands(signature);
  expect_binary(operands);
  const DType dtype = operands.input(0).dtype;
  if (operands.output().dtype != DType::boolean)
    refuse("its output is {}, expected bool", name_of(operands.output().dtype));
  if (dtype == DType::boolean) {
    return binary_kernel<std::uint8_t, std::uint8_t>(operands, [](std::uint8_t a, std::uint8_t b) {
      return static_cast<std::uint8_t>(holds<relation>(a != 0, b != 0));
    });
  }
  const bool is_quantized = operands.input(0).quantization != nullptr;
  if (is_quantized && (dtype == DType::int8 || dtype == DType::uint8)) {
    return for_byte(dtype, [&]<typename Number>(TypeTag<Number>) {
      return quantized_comparison<relation, Number>(operands);
    });
  }
  return for_number(dtype, [&]<typename Element>(TypeTag<Element>) {
    return binary_kernel<Element, std::uint8_t>(
        operands, [](Element a, Element b) { return static_cast<std::uint8_t>(holds<relation>(a, b)); });
  });
}

template <bool is_and>
Kernel prepare_logical(const Signature& signature) {
  const Operands operands(signature);
  expect_binary(operands);
  operands.expect_alike(0);
  if (operands.output().dtype != DType::boolean)
    refuse("its output is {}, expected bool", name_of(operands.output().dtype));
  return binary_kernel<std::uint8_t, std::uint8_t>(operands, [](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(is_and ? a != 0 && b != 0 : a != 0 || b != 0);
  });
}

template <typename Number>
Kernel quantized_prelu(const Operands& operands) {
  const std::int32_t slope_zero = affine_of(operands.input(1)).zero_point;
  return binary_kernel<Number, Number>(operands, [=, it = slopes_of(operands)](Number number, Number slope) {
    const std::int32_t x = number - it.input_zero;
    const std::int32_t result =
        x >= 0 ? scale(x, it.above) : scale(wrapping_multiply(x, slope - slope_zero), it.below);
    return nearest_of<Number>(wrapping_add(result, it.output_zero));
  });
}

/// PRELU: the second input is the slope of negative numbers.
Kernel prepare_prelu(const Signature& signature) {
  const Operands operands(signature);
  expect_binary(operands);
  operands.expect_alike(0);
  if (operands.output().dtype == DType::float32)
    return binary_kernel<float, float>(operands, [](float x, float slope) { return x >= 0 ? x : x * slope; });
  return for_byte(operands.output().dtype,
                  [&]<typename Number>(TypeTag<Number>) { return quantized_prelu<Number>(operands); });
}

/// The sum of any number of tensors, added in their order.
template <typename Number, typename Add>
Kernel sum_of_all(std::int64_t count, std::size_t inputs, const Add& add) {
  return {.run = [=](const Pointers& at) {
    for (std::int64_t i = 0; i < count; ++i) {
      Number sum = at.input<Number>(0)[i];
      for (std::size_t n = 1; n < inputs; ++n) sum = add(sum, at.input<Number>(n)[i]);
      at.output<Number>(0)[i] = sum;
    }
  }};
}

Kernel prepare_sum_of_all(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(std::max<std::size_t>(operands.inputs(), 1), 1);
  for (std::size_t n = 0; n < operands.inputs(); ++n) {
    operands.expect_alike(n);
    operands.expect_shape(operands.input(n), operands.output().shape, "input");
  }
  const std::int64_t count = count_of(operands.output().shape);
  if (operands.output().dtype == DType::float32)
    return sum_of_all<float>(count, operands.inputs(), [](float a, float b) { return a + b; });
  if (operands.output().dtype == DType::int32)
    return sum_of_all<std::int32_t>(count, operands.inputs(), wrapping_add);
  refuse_type(operands);
}

/// A condition of one dimension chooses whole rows.
Shape shape_of_condition(const Operands& operands) {
  Shape shape = operands.input(0).shape;
  if (operands.type() == "SELECT" && shape.size() == 1) shape.resize(operands.output().shape.size(), 1);
  return shape;
}

Kernel prepare_select(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(3, 1);
  operands.expect_alike(1);
  operands.expect_alike(2);
  if (operands.input(0).dtype != DType::boolean)
    refuse("its condition is {}, expected bool", name_of(operands.input(0).dtype));
  const Shape& shape = operands.output().shape;
  const auto stretch = Stretch<4>::to(
      shape, {shape, shape_of_condition(operands), operands.input(1).shape, operands.input(2).shape});
  return for_size(element_size(operands.output().dtype), [&]<typename Element>(TypeTag<Element>) {
    return Kernel{.run = [stretch](const Pointers& at) {
      const auto& steps = stretch.steps();
      stretch.for_rows([&](const auto& begin) {
        for (std::int64_t i = 0; i < stretch.length(); ++i) {
          const bool is_first = at.input<std::uint8_t>(0)[begin[1] + i * steps[1]] != 0;
          const Element a = at.input<Element>(1)[begin[2] + i * steps[2]];
          const Element b = at.input<Element>(2)[begin[3] + i * steps[3]];
          at.output<Element>(0)[begin[0] + i] = is_first ? a : b;
        }
      });
    }};
  });
}

}  // namespace

TablePart arithmetic_kernels() {
  return {{"ADD", prepare_sum<false>},
          {"ADD_N", prepare_sum_of_all},
          {"DIV", prepare_real<Divide>},
          {"EQUAL", prepare_comparison<Relation::equal>},
          {"FLOOR_DIV", prepare_division<FloorDivide>},
          {"FLOOR_MOD", prepare_division<FloorModulo>},
          {"GREATER", prepare_comparison<Relation::greater>},
          {"GREATER_EQUAL", prepare_comparison<Relation::greater_equal>},
          {"LESS", prepare_comparison<Relation::less>},
          {"LESS_EQUAL", prepare_comparison<Relation::less_equal>},
          {"LOGICAL_AND", prepare_logical<true>},
          {"LOGICAL_OR", prepare_logical<false>},
          {"MAXIMUM", prepare_extreme<true>},
          {"MINIMUM", prepare_extreme<false>},
          {"MUL", prepare_mul},
          {"NOT_EQUAL", prepare_comparison<Relation::not_equal>},
          {"POW", prepare_real<Power>},
          {"PRELU", prepare_prelu},
          {"SELECT", prepare_select},
          {"SELECT_V2", prepare_select},
          {"SQUARED_DIFFERENCE", prepare_squared_difference},
          {"SUB", prepare_sum<true>}};
}

}  // namespace stowage::kernels
