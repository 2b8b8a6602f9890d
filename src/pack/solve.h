#pragma once

#include "base/deadline.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// As `stowage::solve`, with a deadline instead of the limits that the options give.
[[nodiscard]] Solution solve(const Problem& problem, const SolveOptions& options,
                             const base::Deadline& deadline);

}  // namespace stowage::pack
