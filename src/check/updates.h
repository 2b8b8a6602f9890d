#pragma once

#include "check/replay.h"
#include "model/clock_tree.h"

namespace stowage::check {

/// Shortens needs that operators write over, by one position, in the task that last reads them. They are cut where
/// only some rows are written over. `needs` has those of tensors alone.
void end_written_over(const NetworkSteps& part, const model::ClockTree& tree, const Played& played,
                      Needs& needs);

}  // namespace stowage::check
