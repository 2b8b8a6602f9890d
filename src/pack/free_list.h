#pragma once

#include <optional>
#include <string>

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// Allocates and releases as a run would, operator by operator, from free lists in every memory.
[[nodiscard]] Placing free_list(const Problem& problem, const Control& control);

/// None: it serves every problem.
[[nodiscard]] std::optional<std::string> obstacle_to_free_list(const Problem& problem);

}  // namespace stowage::pack
