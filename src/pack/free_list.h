#pragma once

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// Allocates and releases as a run would, operator by operator, from free lists in every memory.
[[nodiscard]] Placing free_list(const Problem& problem, const Control& control);

}  // namespace stowage::pack
