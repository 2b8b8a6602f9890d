#pragma once

#include <cstdint>
#include <span>

#include "kernels/tflite/operands.h"

namespace stowage::kernels {

/// How real numbers are rounded to 8 bits when they are there (dynamic-range quantization): x is about
/// scale * (byte - zero).
struct ByteScale {
  float scale = 1;
  float inverse = 0;  ///< 0 if all numbers are zeros.
  std::int32_t zero = 0;
  std::int32_t least = -127;

  /// The byte of a number, less the zero point.
  [[nodiscard]] std::int16_t without_zero(float x) const;
};

/// The scale of these numbers. Without a zero point, bytes of both signs are alike.
[[nodiscard]] ByteScale byte_scale_of(std::span<const float> numbers, bool has_zero_point);

/// Whether LiteRT rounds what a convolution reads with a zero point: DEPTHWISE_CONV_2D always, CONV_2D if each channel of
/// its weights has a scale.
[[nodiscard]] inline bool rounds_with_zero_point(const Operands& operands) {
  const Quantization* const weights = operands.input(1).quantization;
  return operands.type() == "DEPTHWISE_CONV_2D" || (weights != nullptr && weights->scales.size() > 1);
}

}  // namespace stowage::kernels
