#pragma once

#include <cstddef>
#include <span>

#include "model/blocks.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::model {

/// Whether steps run blocks, or views hold blocks.
[[nodiscard]] bool has_blocks(const Plan& plan);

/// How the steps of a streamed plan split the operators of its network. Throws Error unless the steps of an
/// operator have no blocks or blocks that are all of its output.
[[nodiscard]] Splits splits_of(const Plan& plan, const Graph& graph);

/// The same plan for the network of blocks: its steps name operators of `network`, and each block is a tensor
/// behind those of the plan. `places` has the index in Plan::tensors of each tensor of the unsplit network.
/// Throws Error for a view of a block that is none of the tensor's.
[[nodiscard]] Plan plan_of_blocks(const Plan& plan, const SplitNetwork& network,
                                  std::span<const std::size_t> places);

}  // namespace stowage::model
