#pragma once

#include <algorithm>
#include <cstdint>

namespace stowage::model {

/// A window of ONNX along one axis. All bytes of it lie in the padded input, but for `ceil_mode`.
struct WindowFit {
  std::int64_t free;  ///< Extent of the padded input without that of the window; at least 0.
  std::int64_t stride;
  std::int64_t inside;  ///< Extent of the input and of the padding before it.
  bool ceils = false;   ///< `ceil_mode`: a last window may end behind the padded input.
};

/// The number of places of the window. A last window that would begin behind the input is none, in all operator sets,
/// as ONNX Runtime and PyTorch do it; the text of ONNX says so since MaxPool-22 and AveragePool-19.
[[nodiscard]] constexpr std::int64_t window_places(const WindowFit& fit) {
  const std::int64_t places = fit.free / fit.stride + 1;
  if (!fit.ceils || fit.free % fit.stride == 0) return places;
  const std::int64_t beginning_inside = fit.inside > 0 ? (fit.inside - 1) / fit.stride + 1 : 0;
  return std::clamp(beginning_inside, places, places + 1);
}

}  // namespace stowage::model
