#pragma once

#include <cstdint>
#include <vector>

#include "kernels/tflite/operands.h"

namespace stowage::kernels {

/// What becomes of each number of a part of uint8; empty if parts and whole are quantized alike.
using JoinTable = std::vector<std::uint8_t>;

/// Of CONCATENATION. Only uint8 may be quantized in two ways.
[[nodiscard]] JoinTable join_table_of(const Argument& part, const Argument& whole);

}  // namespace stowage::kernels
