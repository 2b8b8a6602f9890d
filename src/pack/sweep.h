#pragma once

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// See sweep.cc.
[[nodiscard]] Placing sweep(const Problem& problem, const Control& control);

}  // namespace stowage::pack
