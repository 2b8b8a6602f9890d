#pragma once

#include <cstddef>
#include <vector>

#include "model/blocks.h"
#include "plan/row_placing.h"

namespace stowage::plan {

/// Lets a plan for the network of blocks name the operators and tensors of the network itself, and their blocks.
[[nodiscard]] PlacedRows in_network(PlacedRows placed, const model::SplitNetwork& network);

}  // namespace stowage::plan
