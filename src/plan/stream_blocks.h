#pragma once

#include <cstddef>
#include <vector>

#include "model/blocks.h"
#include "plan/stream_placing.h"

namespace stowage::plan {

/// Lets a plan for the network of blocks name the operators and tensors of the network itself, and their blocks.
[[nodiscard]] PlacedStream in_network(PlacedStream placed, const model::SplitNetwork& network);

}  // namespace stowage::plan
