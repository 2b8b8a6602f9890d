#pragma once

#include "case.h"
#include "judge.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::campaign {

/// Breaks the plan in ways that only a run at smaller sizes may notice, and counts which it does. What it
/// notices the product's own checker must refuse.
void try_open_mutations(const Case& drawn, const Graph& graph, const Plan& plan, Tally& tally);

}  // namespace stowage::campaign
