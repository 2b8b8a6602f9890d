#pragma once

#include "stowage/plan.h"

namespace stowage::check {

/// Indices in range and values in their domains, so that everything else may rely on them.
[[nodiscard]] Faults check_form(const Plan& plan);

}  // namespace stowage::check
