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
  std::int64_t before = 0;  ///< Padding places that the first window covers.

  /// The input place of a tap of a window; outside of [0, in) in the padding.
  [[nodiscard]] std::int64_t place(std::int64_t window, std::int64_t tap) const {
    return window * stride - before + tap * dilation;
  }
  [[nodiscard]] bool has(std::int64_t place) const { return place >= 0 && place < in; }
  /// Taps of a window that are not in the padding.
  [[nodiscard]] std::int64_t taps_inside(std::int64_t window) const;
};

/// The options of a window over dimension 1 (height) or 2 (width) of the input.
struct WindowOptions {
  std::int64_t taps = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  bool is_same = true;  ///< Padded so that the output has a place for each stride of the input.
};

/// Refuses outputs of another extent than the resulting one.
[[nodiscard]] Window window_of(std::int64_t in, std::int64_t out, const WindowOptions& options);

[[nodiscard]] bool is_padding_same(const Operands& operands);

}  // namespace stowage::kernels
