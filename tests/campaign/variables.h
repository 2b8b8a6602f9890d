#pragma once

#include "case.h"
#include "judge.h"

namespace stowage::campaign {

/// Plans a network with resource variables, and gives it to all that takes a network.
[[nodiscard]] Findings judge_variables(const Case& drawn, Tally& tally);

}  // namespace stowage::campaign
