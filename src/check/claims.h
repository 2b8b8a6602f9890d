#pragma once

#include "stowage/plan.h"

namespace stowage::check {

/// Checks what a plan states in numbers: summary, claims, traffic and costs, savings. `check_places` checks
/// the peaks and bounds of single memories.
[[nodiscard]] Faults check_claims(const Plan& plan);

}  // namespace stowage::check
