#pragma once

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack::relations {

/// Places buffers that have relations, in memories with reserved bytes; see relations.cc. The problem must be valid.
[[nodiscard]] Solution solve(const Problem& problem, const Control& control);

}  // namespace stowage::pack::relations
