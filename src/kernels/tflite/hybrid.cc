#include "kernels/tflite/hybrid.h"

#include <algorithm>
#include <cmath>

namespace stowage::kernels {
namespace {

/// The nearest integer from `least` to 127; of what is no number, `least`.
template <typename Real>
std::int32_t byte_of(Real x, std::int32_t least) {
  const Real rounded = std::round(x);
  if (!(rounded > static_cast<Real>(least))) return least;
  return rounded < 127 ? static_cast<std::int32_t>(rounded) : 127;
}

}  // namespace

std::int16_t ByteScale::without_zero(float x) const {
  return static_cast<std::int16_t>(byte_of(static_cast<float>(zero) + x * inverse, least) - zero);
}

ByteScale byte_scale_of(std::span<const float> numbers, bool has_zero_point) {
  float low = 0;
  float high = 0;
  for (const float x : numbers) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  if (low == high) return {};
  if (!has_zero_point) {
    const float range = std::max(-low, high);
    return {.scale = range / 127, .inverse = 127 / range};
  }
  const double scale = (static_cast<double>(high) - static_cast<double>(low)) / 255;
  const double from_low = -128 - static_cast<double>(low) / scale;
  const double from_high = 127 - static_cast<double>(high) / scale;
  // The one of them that is rounded less.
  const double low_error = 128 + std::abs(static_cast<double>(low) / scale);
  const double high_error = 127 + std::abs(static_cast<double>(high) / scale);
  return {.scale = static_cast<float>(scale),
          .inverse = 1 / static_cast<float>(scale),
          .zero = byte_of(low_error < high_error ? from_low : from_high, -128),
          .least = -128};
}

}  // namespace stowage::kernels
