/// TFLite networks of small images, drawn at random: operators, strides, paddings, dilations, odd channels, scales of
/// tensors and of channels. Example:
///
///     const Network network = random_layer_network(7, DType::int8);
#pragma once

#include <cstdint>

#include "stowage/network.h"

namespace stowage::testing {

/// Of int8, int8 with parts of int16 or float32, or of float32.
[[nodiscard]] Network random_layer_network(std::uint64_t seed, DType dtype);

}  // namespace stowage::testing
