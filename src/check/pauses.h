#pragma once

#include "stowage/plan.h"

namespace stowage::check {

/// Pauses are as near to each other as the plan says, carry what it says, and no others that are as near carry less than it
/// says. `check_places` checks what runs there. Requires a correct form.
[[nodiscard]] Faults check_pauses(const Plan& plan);

}  // namespace stowage::check
