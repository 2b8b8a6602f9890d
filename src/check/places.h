#pragma once

#include "stowage/plan.h"

namespace stowage::check {

/// Each buffer where it may be, no two in the same bytes at the same time; peaks and bounds of memories true.
[[nodiscard]] Faults check_places(const Plan& plan);

}  // namespace stowage::check
