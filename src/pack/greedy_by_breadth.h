#pragma once

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// See greedy_by_breadth.cc.
[[nodiscard]] Placing greedy_by_breadth(const Problem& problem, const Control& control);

}  // namespace stowage::pack
