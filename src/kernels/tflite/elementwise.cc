// Functions of one number, mostly of float32. Source: the definitions of the TFLite operators.

#include <cmath>
#include <cstdlib>

#include "kernels/tflite/families.h"
#include "kernels/tflite/fixed_point.h"
#include "kernels/tflite/stretch.h"

namespace stowage::kernels {
namespace {

struct Absolute {
  float operator()(float x) const { return std::abs(x); }
};
struct Ceiling {
  float operator()(float x) const { return std::ceil(x); }
};
struct Cosine {
  float operator()(float x) const { return std::cos(x); }
};
struct Floor {
  float operator()(float x) const { return std::floor(x); }
};
struct Negative {
  float operator()(float x) const { return -x; }
};
struct ReciprocalRoot {
  float operator()(float x) const { return 1.0F / std::sqrt(x); }
};
/// Halves go to the even neighbour; a result of 0 has no sign.
struct Round {
  float operator()(float x) const { return std::nearbyint(x) + 0.0F; }
};
struct Sine {
  float operator()(float x) const { return std::sin(x); }
};
struct Square {
  float operator()(float x) const { return x * x; }
};
struct SquareRoot {
  float operator()(float x) const { return std::sqrt(x); }
};

template <typename Function>
Kernel prepare_function(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(1, 1);
  operands.expect_alike(0);
  if (operands.output().dtype != DType::float32)
    refuse("element type {} is not supported", name_of(operands.output().dtype));
  return unary_kernel<float, float>(operands, Function{});
}

/// The distance from the zero point, rescaled if the output has another scale.
template <typename Number>
Kernel quantized_absolute(const Operands& operands) {
  const Affine input = affine_of(operands.input(0));
  const Affine output = affine_of(operands.output());
  const bool is_scaled = input.scale != output.scale;
  const Multiplier factor = ratio_of(input.scale, output.scale, std::is_same_v<Number, std::int8_t>);
  return unary_kernel<Number, Number>(operands, [=](Number x) {
    const std::int32_t distance = std::abs(x - input.zero_point);
    const std::int32_t scaled = is_scaled ? scale(distance, factor) : distance;
    return nearest_of<Number>(wrapping_add(scaled, output.zero_point));
  });
}

Kernel prepare_abs(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(1, 1);
  operands.expect_alike(0);
  if (operands.output().dtype == DType::float32) return prepare_function<Absolute>(signature);
  return for_quantized(operands.output().dtype, [&]<typename Number>(TypeTag<Number>) {
    return quantized_absolute<Number>(operands);
  });
}

Kernel prepare_not(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(1, 1);
  operands.expect_alike(0);
  if (operands.output().dtype != DType::boolean)
    refuse("element type {} is not supported", name_of(operands.output().dtype));
  return unary_kernel<std::uint8_t, std::uint8_t>(
      operands, [](std::uint8_t x) { return static_cast<std::uint8_t>(x == 0); });
}

}  // namespace

TablePart elementwise_kernels() {
  return {{"ABS", prepare_abs},
          {"CEIL", prepare_function<Ceiling>},
          {"COS", prepare_function<Cosine>},
          {"FLOOR", prepare_function<Floor>},
          {"LOGICAL_NOT", prepare_not},
          {"NEG", prepare_function<Negative>},
          {"ROUND", prepare_function<Round>},
          {"RSQRT", prepare_function<ReciprocalRoot>},
          {"SIN", prepare_function<Sine>},
          {"SQRT", prepare_function<SquareRoot>},
          {"SQUARE", prepare_function<Square>}};
}

}  // namespace stowage::kernels
