#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stowage/import.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// What the steps' reads and writes cost at least, whatever is where and whatever moves: see least_cost.cc.
/// `plan` is one of `networks` in these memories, or in others; it says what is run, and what is the
/// caller's.
[[nodiscard]] std::int64_t least_cost(std::span<const Input> networks, const Plan& plan,
                                      const std::vector<Memory>& memories);

}  // namespace stowage::plan
