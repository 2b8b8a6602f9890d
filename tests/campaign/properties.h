#pragma once

#include <span>

#include "case.h"
#include "judge.h"

namespace stowage::campaign {

/// Plans the case again with more or less freedom: more of it must not cost memory.
[[nodiscard]] Findings check_properties(const Case& drawn, std::span<const Input> inputs,
                                        const PlanResult& result, Tally& tally);

}  // namespace stowage::campaign
