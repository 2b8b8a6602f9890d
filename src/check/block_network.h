#pragma once

#include "model/blocks.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::check {

/// The faults of a network of blocks, as memory sees it: `stored`, whose operators and tensors are blocks of those of
/// `graph` as `network` says. Empty if whoever obeys `stored` obeys `graph`.
[[nodiscard]] Faults check_block_network(const Graph& graph, const model::SplitNetwork& network,
                                         const Graph& stored);

}  // namespace stowage::check
