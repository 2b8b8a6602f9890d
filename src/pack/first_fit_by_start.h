#pragma once

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// See first_fit_by_start.cc.
[[nodiscard]] Placing first_fit_by_start(const Problem& problem, const Control& control);

}  // namespace stowage::pack
