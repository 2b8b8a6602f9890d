#pragma once

#include <cstdint>

#include "kernels/tflite/fixed_point.h"
#include "kernels/tflite/sigmoid_table.h"

namespace stowage::kernels {

/// RELU and its like, LEAKY_RELU, and PRELU without its slopes, of quantized numbers.
struct Slopes {
  std::int32_t input_zero = 0;
  std::int32_t output_zero = 0;
  Multiplier above{};  ///< For inputs from their zero point on.
  Multiplier below{};
  Limits limits{};

  [[nodiscard]] std::int32_t of(std::int32_t number) const {
    const std::int32_t x = number - input_zero;
    return limits.clamp(wrapping_add(scale(x, x >= 0 ? above : below), output_zero));
  }
};

[[nodiscard]] Slopes slopes_of(const Operands& operands);

/// What becomes of numbers of int16 before LOGISTIC and TANH look them up. Refuses other quantizations than theirs.
[[nodiscard]] TableInput table_input_of(const Operands& operands);

}  // namespace stowage::kernels
