#pragma once

#include <span>

#include "check/sharing.h"
#include "stowage/plan.h"

namespace stowage::check {

/// The claims about removed copies are true, and every tensor that a kernel touches is aligned.
void check_removed_copies(const Plan& plan, std::span<const Network> networks, Faults& faults);

}  // namespace stowage::check
