#pragma once

#include "stowage/plan.h"

namespace stowage::generate {

/// The plan without memories for weights: in C, weights are arrays of the program, and nobody passes a place for them.
[[nodiscard]] Plan without_weights_memories(const Plan& plan);

}  // namespace stowage::generate
