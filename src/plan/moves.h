#pragma once

#include <span>
#include <vector>

#include "pack/placing.h"
#include "stowage/import.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// Moves tensors of a placed plan between memories where that costs less; see moves.cc. Changes clocks,
/// buffers, places and views. The cost never rises, and no memory exceeds its capacity. The plan has no
/// weights yet; its places are in `memories`.
void move_tensors(std::span<const Input> networks, const std::vector<Memory>& memories,
                  const pack::Control& control, Plan& plan);

}  // namespace stowage::plan
