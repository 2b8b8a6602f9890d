#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::run {

/// Throws RunFault unless the plan is of one network without bodies, has one clock, and its steps are of
/// operators, tensors and rows that there are.
void expect_sound_steps(const Graph& graph, const Plan& plan);

/// How the operator computes rows along that axis of its outputs; null if it does not.
[[nodiscard]] const RowAxis* row_axis_of(const Operator& op, std::size_t axis);

/// "row 3", "rows 3..4"
[[nodiscard]] std::string describe(const RowRange& rows);

}  // namespace stowage::run
