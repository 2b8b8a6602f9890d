#pragma once

#include <cstdint>

#include "base/deadline.h"
#include "stowage/problem.h"

namespace stowage::memories {

/// No choice of memories within all capacities has a smaller cost (sum of pack::cost_in); see cost_bound.cc.
/// If the time is up, the bound is weaker.
[[nodiscard]] std::int64_t cost_bound(const Problem& problem, const base::Deadline& deadline);

}  // namespace stowage::memories
