#pragma once

#include "stowage/problem.h"

namespace stowage::plan {

/// As `solve`. What is said to be proven can be looked at by the checker in the time it takes for that: else
/// the bound is that of loads.
[[nodiscard]] Solution solve_provably(const Problem& problem, const SolveOptions& options);

}  // namespace stowage::plan
