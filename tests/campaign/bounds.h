#pragma once

#include <span>

#include "case.h"
#include "judge.h"
#include "stowage/plan.h"

namespace stowage::campaign {

/// Holds bounds and claims of small plans against brute force.
[[nodiscard]] Findings check_bounds(const Case& drawn, std::span<const Graph> graphs,
                                    const PlanResult& result, Tally& tally);

}  // namespace stowage::campaign
