#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/kernel.h"

namespace stowage::kernels::onnx_ops {

/// Begins and then ends of all axes that Pad adds; negative ones cut off. Refuses what does not fit the rank.
[[nodiscard]] std::vector<std::int64_t> pads_of(const Signature& signature, std::size_t rank);

}  // namespace stowage::kernels::onnx_ops
