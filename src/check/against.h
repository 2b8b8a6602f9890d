#pragma once

#include <span>

#include "stowage/graph.h"
#include "stowage/import.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::check {

/// A network of a plan.
struct Given {
  const Graph* graph = nullptr;
  const Constants* constants = nullptr;  ///< Null: its weights are unknown.
};

/// Checks the plan against its networks: steps, live ranges, sizes, and missing tensors. Requires a plan of
/// correct form.
[[nodiscard]] Faults check_against(const Plan& plan, std::span<const Given> given);

/// The plan has every buffer of the list as given, and no other buffer.
[[nodiscard]] Faults check_list(const Plan& plan, const Problem& list);

}  // namespace stowage::check
