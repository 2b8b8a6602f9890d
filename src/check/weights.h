#pragma once

#include "stowage/plan.h"

namespace stowage::check {

/// Where a memory is for weights and instructions, all of them are there, as long as the plan runs, and
/// nothing else is.
[[nodiscard]] Faults check_weights(const Plan& plan);

}  // namespace stowage::check
