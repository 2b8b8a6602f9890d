#pragma once

#include <optional>
#include <string>

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// See slots.cc.
[[nodiscard]] Placing slots(const Problem& problem, const Control& control);

/// Several memories; alignments without a reasonable common multiple; a pool larger than any address.
[[nodiscard]] std::optional<std::string> obstacle_to_slots(const Problem& problem);

}  // namespace stowage::pack
