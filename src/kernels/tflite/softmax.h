#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/tflite/fixed_point.h"

namespace stowage::kernels {

/// e^(beta * scale * -d) for the distances d = 0, 1, 2, ... from the largest number of a row, as fractions of
/// 2^31. Distances beyond the end count as 0. Refuses a beta or scale that is too small.
[[nodiscard]] std::vector<std::int32_t> softmax_exponentials(double beta, const Affine& input);

/// Of int16.
struct WideSoftmax {
  Multiplier factor{};  ///< From differences to units of 10 / 65535.
  std::array<std::int16_t, 513> exponential{};
  std::array<std::int16_t, 513> reciprocal{};  ///< Of 1 + x, for x from 0 to 1.
};

/// Refuses another output than from 0 to 1.
[[nodiscard]] WideSoftmax wide_softmax_of(const Operands& operands);

}  // namespace stowage::kernels
