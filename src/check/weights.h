#pragma once

#include "stowage/plan.h"

namespace stowage::check {

/// Where a memory is for weights and instructions, those that are stored are there, as long as the plan runs,
/// and nothing else is. Which must be stored the networks tell (constants.h).
[[nodiscard]] Faults check_weights(const Plan& plan);

}  // namespace stowage::check
