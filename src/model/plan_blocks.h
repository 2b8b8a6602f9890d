#pragma once

#include <cstddef>
#include <span>

#include "model/blocks.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::model {

/// Whether steps run or hand over blocks, or views hold blocks, of any model.
[[nodiscard]] bool has_blocks(const Plan& plan);
/// The same of one model.
[[nodiscard]] bool has_blocks(const Plan& plan, std::size_t model);

/// How the steps of a plan split the operators of a model, whose network is `graph`. Throws Error unless the steps of an
/// operator have no blocks or blocks that are all of its output.
[[nodiscard]] Splits splits_of(const Plan& plan, std::size_t model, const Graph& graph);

/// How steps have inputs of a model arrive in blocks. `places` has the index in Plan::tensors of each tensor of the model's
/// network. Throws Error unless these blocks follow each other along one axis.
[[nodiscard]] InputBlocks input_blocks_of(const Plan& plan, std::span<const std::size_t> places);

/// The same plan for the network of a model's blocks: its steps name operators of `network`, and each block is a tensor
/// behind those of the model. `places` is as for `input_blocks_of`.
/// Throws Error for a view of a block that is none of the tensor's.
[[nodiscard]] Plan plan_of_blocks(const Plan& plan, std::size_t model, const SplitNetwork& network,
                                  std::span<const std::size_t> places);

}  // namespace stowage::model
