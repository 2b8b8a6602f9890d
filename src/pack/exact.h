#pragma once

#include <optional>
#include <string>

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// See exact.cc.
[[nodiscard]] Placing exact(const Problem& problem, const Control& control);

/// Several memories; more buffers alive at once than the searches have room for.
[[nodiscard]] std::optional<std::string> obstacle_to_exact(const Problem& problem);

}  // namespace stowage::pack
