#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "check/replay.h"
#include "model/clock_tree.h"

namespace stowage::check {

/// Shortens needs that operators write over, by one position, in the task that last reads them. They are cut where
/// only some rows are written over. `needs` has those of tensors alone.
void end_written_over(const NetworkSteps& part, const model::ClockTree& tree, const Played& played,
                      Needs& needs);

/// For each operator that runs and copies bytes, the copies (ByteCopy) that need no work in any run.
using RemovedCopies = std::unordered_map<const Operator*, std::vector<bool>>;

[[nodiscard]] RemovedCopies removed_copies(const NetworkSteps& part, std::span<const Task> tasks,
                                           const Needs& needs);

}  // namespace stowage::check
