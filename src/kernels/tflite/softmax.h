#pragma once

#include <cstdint>
#include <vector>

#include "kernels/tflite/fixed_point.h"

namespace stowage::kernels {

/// e^(beta * scale * -d) for the distances d = 0, 1, 2, ... from the largest number of a row, as fractions of
/// 2^31. Distances beyond the end count as 0. Refuses a beta or scale that is too small.
[[nodiscard]] std::vector<std::int32_t> softmax_exponentials(double beta, const Affine& input);

}  // namespace stowage::kernels
