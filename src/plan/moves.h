#pragma once

#include <span>
#include <vector>

#include "stowage/import.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// Lets tensors of a placed plan move between memories where that costs less, see moves.cc: changes clocks,
/// buffers, places and views. The cost never rises, and no memory takes more than its capacity. The plan
/// knows no weights yet; its places are in `memories`.
void move_tensors(std::span<const Input> networks, const std::vector<Memory>& memories,
                  const SolveOptions& options, Plan& plan);

}  // namespace stowage::plan
