#pragma once

#include <span>

#include "stowage/graph.h"
#include "stowage/import.h"
#include "stowage/plan.h"

namespace stowage::check {

/// A network of a plan.
struct Given {
  const Graph* graph = nullptr;
  const Constants* constants = nullptr;  ///< Null: its weights are unknown.
  /// Of a network of blocks: that which is split. Memories hold its constants.
  const Graph* unsplit = nullptr;
};

/// Checks the plan against its networks: steps, live ranges, sizes, and missing tensors. It does not prove the number of
/// multiplies and the loads of Plan::streaming. Requires a plan of correct form.
[[nodiscard]] Faults check_against(const Plan& plan, std::span<const Given> given);

/// Checks what the steps of a plan by rows say of themselves: its tensors, their rows, and that each step by itself can
/// run. Requires a correct form.
[[nodiscard]] Faults check_tasks(const Plan& plan, std::span<const Graph* const> graphs);

}  // namespace stowage::check
