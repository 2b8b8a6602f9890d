#pragma once

#include "stowage/problem.h"

namespace stowage::plan {

/// The options with a part of their time limit or effort, of which at least a little stays.
[[nodiscard]] SolveOptions with_part(SolveOptions options, double part);

}  // namespace stowage::plan
