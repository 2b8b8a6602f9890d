#pragma once

#include <span>

#include "stowage/graph.h"
#include "stowage/import.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::check {

/// A network that a plan is for.
struct Given {
  const Graph* graph = nullptr;
  const Constants* constants = nullptr;  ///< Null: nothing is known of its weights.
};

/// The plan against the networks it is for: steps, lifetimes, sizes, and that nothing is missing. The plan's
/// form is sound.
[[nodiscard]] Faults check_against(const Plan& plan, std::span<const Given> given);

/// Every buffer of the list is in the plan as it was given, and no other is.
[[nodiscard]] Faults check_list(const Plan& plan, const Problem& list);

}  // namespace stowage::check
