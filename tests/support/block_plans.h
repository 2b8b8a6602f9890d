/// Streamed plans of networks whose operators are split into blocks. Example:
///
///     const model::SplitNetwork split = model::split(network.graph(), splits);
///     const Plan plan = plan_of_blocks(split, {.granule = 2});
#pragma once

#include "model/blocks.h"
#include "stowage/plan.h"
#include "stream_run_plans.h"

namespace stowage::testing {

/// A plan of the network's blocks, in the names of the network.
[[nodiscard]] Plan plan_of_blocks(const model::SplitNetwork& split, const StreamedOptions& options);

}  // namespace stowage::testing
