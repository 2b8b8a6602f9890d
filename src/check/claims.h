#pragma once

#include "stowage/plan.h"

namespace stowage::check {

/// What a plan says of itself in numbers: summary, claims, traffic and costs, savings. Peaks and bounds of
/// single memories are looked at with the places.
[[nodiscard]] Faults check_claims(const Plan& plan);

}  // namespace stowage::check
