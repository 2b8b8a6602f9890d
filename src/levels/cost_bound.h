#pragma once

#include <cstdint>

#include "stowage/problem.h"

namespace stowage::levels {

/// No choice of memories that keeps all capacities has a smaller cost (sum of pack::cost_in); see
/// cost_bound.cc.
[[nodiscard]] std::int64_t cost_bound(const Problem& problem);

}  // namespace stowage::levels
