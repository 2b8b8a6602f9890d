#pragma once

#include "case.h"
#include "judge.h"

namespace stowage::campaign {

/// Runs a network in the plan, and in a plain plan of whole operators that share nothing: both must give the
/// same.
[[nodiscard]] Findings check_values(const Case& drawn, const Plan& plan, Tally& tally);

}  // namespace stowage::campaign
