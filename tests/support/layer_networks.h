/// TFLite networks of small images, drawn at random: operators, strides, paddings, dilations, odd channels, scales of
/// tensors and of channels. Example:
///
///     const Network network = random_layer_network(7, DType::int8);
#pragma once

#include <cstdint>

#include "stowage/network.h"

namespace stowage::testing {

/// Of float32; or of int8, uint8 or int16, with parts of int16 or float32. Weights of uint8 have zero points, those
/// of int16 are of int8, with biases of 64 or 32 bits.
[[nodiscard]] Network random_layer_network(std::uint64_t seed, DType dtype);

}  // namespace stowage::testing
