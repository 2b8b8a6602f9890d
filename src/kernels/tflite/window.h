#pragma once

#include <cstdint>

#include "kernels/tflite/operands.h"

namespace stowage::kernels {

/// One dimension of a window that slides over an input.
struct Window {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t taps = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;  ///< Places before the input that the first window covers.

  /// Where a tap of a window is; outside of [0, in) for one in the padding.
  [[nodiscard]] std::int64_t place(std::int64_t window, std::int64_t tap) const {
    return window * stride - before + tap * dilation;
  }
  [[nodiscard]] bool has(std::int64_t place) const { return place >= 0 && place < in; }
  /// Taps of a window that are not in the padding.
  [[nodiscard]] std::int64_t taps_inside(std::int64_t window) const;
};

/// What options say of a window over dimension 1 (height) or 2 (width) of the input.
struct WindowOptions {
  std::int64_t taps = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  bool is_same = true;  ///< Padded so that the output has a place for each stride of the input.
};

/// Refuses outputs of another extent than what follows.
[[nodiscard]] Window window_of(std::int64_t in, std::int64_t out, const WindowOptions& options);

[[nodiscard]] bool is_padding_same(const Operands& operands);

}  // namespace stowage::kernels
