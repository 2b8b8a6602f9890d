#pragma once

#include <span>

#include "case.h"
#include "judge.h"

namespace stowage::campaign {

/// Breaks a plan that is right in every way that matters to somebody, one at a time, and counts whether the
/// replay notices: a campaign that cannot fail says nothing.
void try_mutations(const Case& drawn, const Networks& networks, const Plan& plan, Tally& tally);

/// What is wrong with the campaign itself: kinds of broken plans that it does not notice often enough.
[[nodiscard]] Findings judge_mutations(const Tally& tally);

}  // namespace stowage::campaign
