// QUANTIZE, DEQUANTIZE and CAST: numbers in another type.
//
// Cost: a division or multiplication per number. Source: the TensorFlow Lite 8-bit quantization
// specification. Reals out of range become the nearest integer of the type, NaN becomes 0.

#include <cmath>

#include "kernels/tflite/families.h"
#include "kernels/tflite/fixed_point.h"
#include "kernels/tflite/stretch.h"

namespace stowage::kernels {
namespace {

/// Truncates a real to an integer of the type, within its limits.
template <typename Integer>
Integer truncated(double real) {
  using Type = std::numeric_limits<Integer>;
  if (std::isnan(real)) return 0;
  if (real <= static_cast<double>(Type::lowest())) return Type::lowest();
  if (real >= static_cast<double>(Type::max())) return Type::max();
  return static_cast<Integer>(real);
}

template <typename Output>
Kernel quantize_real(const Operands& operands, const Affine& output) {
  return unary_kernel<float, Output>(operands, [output](float x) {
    const auto rounded = truncated<std::int32_t>(static_cast<double>(std::round(x / output.scale)));
    const std::int64_t result = std::int64_t{rounded} + output.zero_point;
    return static_cast<Output>(std::clamp<std::int64_t>(result, std::numeric_limits<Output>::lowest(),
                                                        std::numeric_limits<Output>::max()));
  });
}

template <typename Input, typename Output>
Kernel requantize(const Operands& operands, const Affine& output) {
  const Affine input = affine_of(operands.input(0));
  const Multiplier factor =
      multiplier_of(static_cast<double>(input.scale) / static_cast<double>(output.scale));
  return unary_kernel<Input, Output>(operands, [=](Input x) {
    const std::int32_t difference = wrapping_add(static_cast<std::int32_t>(x), -input.zero_point);
    return static_cast<Output>(
        limits_of<Output>().clamp(wrapping_add(scale(difference, factor), output.zero_point)));
  });
}

/// Calls `use` with the tag of an integer type for quantized numbers.
template <typename Use>
Kernel for_quantized(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::int8:
      return use(TypeTag<std::int8_t>{});
    case DType::uint8:
      return use(TypeTag<std::uint8_t>{});
    case DType::int16:
      return use(TypeTag<std::int16_t>{});
    case DType::int32:
      return use(TypeTag<std::int32_t>{});
    default:
      refuse("element type {} is not supported", name_of(dtype));
  }
}

Kernel prepare_quantize(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(1, 1);
  const Affine output = affine_of(operands.output());
  return for_quantized(operands.output().dtype, [&]<typename Output>(TypeTag<Output>) {
    if (operands.input(0).dtype == DType::float32) return quantize_real<Output>(operands, output);
    return for_quantized(operands.input(0).dtype, [&]<typename Input>(TypeTag<Input>) {
      return requantize<Input, Output>(operands, output);
    });
  });
}

Kernel prepare_dequantize(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(1, 1);
  if (operands.output().dtype != DType::float32)
    refuse("its output is {}, expected float32", name_of(operands.output().dtype));
  const Affine input = affine_of(operands.input(0));
  return for_quantized(operands.input(0).dtype, [&]<typename Input>(TypeTag<Input>) {
    return unary_kernel<Input, float>(operands, [input](Input x) {
      const std::int64_t difference = std::int64_t{x} - input.zero_point;
      return static_cast<float>(static_cast<double>(input.scale) * static_cast<double>(difference));
    });
  });
}

template <typename Output, typename Input>
Output cast(Input x) {
  if constexpr (std::is_floating_point_v<Input> && !std::is_floating_point_v<Output>) {
    return truncated<Output>(static_cast<double>(x));
  } else {
    return static_cast<Output>(x);
  }
}

template <typename Input>
Kernel cast_from(const Operands& operands) {
  if (operands.output().dtype == DType::boolean) {
    return unary_kernel<Input, std::uint8_t>(operands,
                                             [](Input x) { return static_cast<std::uint8_t>(x != 0); });
  }
  return for_number(operands.output().dtype, [&]<typename Output>(TypeTag<Output>) {
    return unary_kernel<Input, Output>(operands, [](Input x) { return cast<Output>(x); });
  });
}

Kernel prepare_cast(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(1, 1);
  if (operands.input(0).dtype == DType::boolean) return cast_from<std::uint8_t>(operands);
  return for_number(operands.input(0).dtype,
                    [&]<typename Input>(TypeTag<Input>) { return cast_from<Input>(operands); });
}

}  // namespace

TablePart quantize_kernels() {
  return {{"CAST", prepare_cast}, {"DEQUANTIZE", prepare_dequantize}, {"QUANTIZE", prepare_quantize}};
}

}  // namespace stowage::kernels
