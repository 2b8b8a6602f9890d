#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "kernels/kernel.h"

namespace stowage::kernels {

/// What RFFT2D transforms.
struct Spectrum {
  std::int64_t images = 1;
  std::int64_t rows = 1;     ///< Of the input.
  std::int64_t columns = 1;  ///< Of the input.
  /// Of the transform, powers of two: what the input lacks is 0, what it has more does not count.
  std::int64_t height = 1;
  std::int64_t width = 1;
};

/// Throws Unsupported.
[[nodiscard]] Spectrum spectrum_of(const Signature& signature);

/// e^(-2 pi i k / n), for k below n / 2.
[[nodiscard]] std::vector<std::complex<double>> roots_of(std::size_t n);

}  // namespace stowage::kernels
