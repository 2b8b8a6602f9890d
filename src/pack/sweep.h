#pragma once

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// See sweep.cc.
[[nodiscard]] Placing sweep(const Problem& problem, const Control& control);

/// Its first pass alone, which is all of it where that comes to the bound; nothing where it does not.
[[nodiscard]] Placing sweep_once(const Problem& problem, const Control& control);

}  // namespace stowage::pack
