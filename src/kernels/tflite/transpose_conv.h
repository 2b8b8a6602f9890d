#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/tflite/channels.h"
#include "kernels/tflite/operands.h"
#include "kernels/tflite/window.h"

namespace stowage::kernels {

/// TRANSPOSE_CONV has the shape of its output in front.
[[nodiscard]] LayerPlaces spread_places(std::string_view type);

struct Spread {
  Window height{};  ///< Of a convolution from output to input.
  Window width{};
  std::int64_t batches = 1;
  std::int64_t in_channels = 1;
  std::int64_t out_channels = 1;

  [[nodiscard]] std::int64_t outputs() const { return batches * height.in * width.in * out_channels; }
};

/// Refuses operands that do not go together.
[[nodiscard]] Spread spread_of(const Operands& operands, const LayerPlaces& places);

}  // namespace stowage::kernels
