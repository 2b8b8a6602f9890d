#pragma once

#include <cstdint>

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::levels {

/// No choice of memories that keeps all capacities has a smaller cost (sum of pack::cost_in); see
/// cost_bound.cc. Told to stop, it says less.
[[nodiscard]] std::int64_t cost_bound(const Problem& problem, const pack::Stop& stop);

}  // namespace stowage::levels
