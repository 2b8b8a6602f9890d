#pragma once

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// See rectangle.cc. Throws UsageError for a `sort` that says no order.
[[nodiscard]] Placing rectangle(const Problem& problem, const Control& control);

}  // namespace stowage::pack
