#pragma once

#include "check/replay.h"
#include "model/clock_tree.h"

namespace stowage::check {

/// Finds the view that holds each need during its whole live range; none, or two of one clock at a time, is a fault.
/// Needs are cut where views of rows begin or end and where rings wrap around. A view may end where an operator may
/// write over its tensor. Cost: n log n in needs and views, if no two views are live together.
void place(const NetworkSteps& part, const model::ClockTree& tree, Needs& needs, Faults& faults);

/// Faults of needs that outlive their view, because nothing writes over them.
void check_ends(const NetworkSteps& part, const model::ClockTree& tree, const Needs& needs, Faults& faults);

/// Where all rows of a tensor lie in a whole view.
[[nodiscard]] Runs runs_of_whole(const View& view, const TensorRows& rows);

}  // namespace stowage::check
