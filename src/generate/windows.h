#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "generate/sources.h"
#include "kernels/tflite/window.h"

namespace stowage::generate {

/// A window of one image, and the rows that it reads.
struct Windows {
  kernels::Window height{};
  kernels::Window width{};
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
};

/// The fields of a stowage_window_shape.
[[nodiscard]] std::string shape_of(const Windows& it);

// All throw kernels::Unsupported.

/// Of CONV_2D and DEPTHWISE_CONV_2D.
[[nodiscard]] Windows convolution_windows(const kernels::Operands& operands);
/// Of AVERAGE_POOL_2D and MAX_POOL_2D.
[[nodiscard]] Windows pool_windows(const kernels::Operands& operands);
/// The data of an input that must be constant.
[[nodiscard]] std::span<const std::byte> constant_data(Writer& writer, std::size_t input);

}  // namespace stowage::generate
