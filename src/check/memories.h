#pragma once

#include "stowage/plan.h"

namespace stowage::check {

/// The most bytes that buffers of all memories, except those for weights, hold at one position: no choice of
/// memories for them has a lower sum of peaks. Cost: n log n in pieces.
[[nodiscard]] Bytes most_live_bytes(const Plan& plan);

}  // namespace stowage::check
