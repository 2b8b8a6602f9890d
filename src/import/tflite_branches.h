#pragma once

#include "stowage/graph.h"

namespace stowage::import {

/// Branches of IF read constants where they are: no longer are these operands of IF, and inputs of the branch.
void give_constants_to_branches(Graph& graph);

}  // namespace stowage::import
