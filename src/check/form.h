#pragma once

#include "stowage/plan.h"

namespace stowage::check {

/// Indices are in range and values in their domains, as all other checks require.
[[nodiscard]] Faults check_form(const Plan& plan);

}  // namespace stowage::check
