// QUANTIZE, DEQUANTIZE and CAST: numbers in another type.
//
// Cost: a division or multiplication per number. Source: the TensorFlow Lite 8-bit quantization
// specification. Reals out of range become the nearest integer of the type, NaN becomes 0.

#include <cmath>
#include <complex>

#include "kernels/onnx/elements.h"
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

/// Quantized numbers may have 32 bits here.
template <typename Use>
Kernel for_quantized_or_int32(DType dtype, const Use& use) {
  return dtype == DType::int32 ? use(TypeTag<std::int32_t>{}) : for_quantized(dtype, use);
}

Kernel prepare_quantize(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(1, 1);
  const Affine output = affine_of(operands.output());
  return for_quantized_or_int32(operands.output().dtype, [&]<typename Output>(TypeTag<Output>) {
    if (operands.input(0).dtype == DType::float32) return quantize_real<Output>(operands, output);
    return for_quantized_or_int32(operands.input(0).dtype, [&]<typename Input>(TypeTag<Input>) {
      return requantize<Input, Output>(operands, output);
    });
  });
}

template <typename Input>
Kernel dequantize_channels(const Operands& operands) {
  const Argument& input = operands.input(0);
  const Quantization& own = *input.quantization;
  if (!input.is_constant) refuse("its input has {} scales and is not constant", own.scales.size());
  if (own.axis >= input.shape.size() || own.zero_points.size() != own.scales.size() ||
      input.shape[own.axis] != static_cast<std::int64_t>(own.scales.size()))
    refuse("its input has {} scales, expected one for each index of a dimension", own.scales.size());
  const std::int64_t count = count_of(input.shape);
  if (count_of(operands.output().shape) != count)
    refuse("its input has {} numbers, its output {}", count, count_of(operands.output().shape));
  const auto inner = static_cast<std::size_t>(strides_of(input.shape)[own.axis]);
  return {.run = [own, inner, count](const Pointers& at) {
    const auto* const from = at.input<Input>(0);
    auto* const to = at.output<float>(0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const std::size_t channel = i / inner % own.scales.size();
      const std::int64_t difference = std::int64_t{from[i]} - own.zero_points[channel];
      to[i] = static_cast<float>(static_cast<double>(own.scales[channel]) * static_cast<double>(difference));
    }
  }};
}

Kernel prepare_dequantize(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(1, 1);
  if (operands.output().dtype != DType::float32)
    refuse("its output is {}, expected float32", name_of(operands.output().dtype));
  if (operands.input(0).dtype == DType::float16)
    return unary_kernel<onnx_ops::Half, float>(operands, [](onnx_ops::Half x) { return value_of(x); });
  const Quantization* const quantization = operands.input(0).quantization;
  if (quantization != nullptr && quantization->scales.size() > 1)
    return for_quantized_or_int32(operands.input(0).dtype, [&]<typename Input>(TypeTag<Input>) {
      return dequantize_channels<Input>(operands);
    });
  const Affine input = affine_of(operands.input(0));
  return for_quantized_or_int32(operands.input(0).dtype, [&]<typename Input>(TypeTag<Input>) {
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
  if (operands.input(0).dtype == DType::complex64 && operands.output().dtype == DType::float32) {
    return unary_kernel<std::complex<float>, float>(operands,
                                                    [](const std::complex<float>& x) { return x.real(); });
  }
  return for_number(operands.input(0).dtype,
                    [&]<typename Input>(TypeTag<Input>) { return cast_from<Input>(operands); });
}

}  // namespace

TablePart quantize_kernels() {
  return {{"CAST", prepare_cast}, {"DEQUANTIZE", prepare_dequantize}, {"QUANTIZE", prepare_quantize}};
}

}  // namespace stowage::kernels
