#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stowage/import.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// The least cost of the steps' reads and writes for any places and moves; see least_cost.cc. `plan` is a
/// plan of `networks` in any memories. It tells the steps, and which tensors are the caller's.
[[nodiscard]] std::int64_t least_cost(std::span<const Input> networks, const Plan& plan,
                                      const std::vector<Memory>& memories);

}  // namespace stowage::plan
