#pragma once

#include <optional>
#include <string>

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// From the last outputs backwards to the inputs, on a line that grows to both sides of an origin.
[[nodiscard]] Placing two_stack(const Problem& problem, const Control& control);

/// Several memories, pins, or alignments without a common multiple of reasonable size.
[[nodiscard]] std::optional<std::string> obstacle_to_two_stack(const Problem& problem);

}  // namespace stowage::pack
