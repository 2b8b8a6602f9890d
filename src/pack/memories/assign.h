#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "pack/memories/memories.h"
#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::memories {

/// A memory and an offset for every buffer; see assign.cc. Never worse than free-list. Ignores the purpose of
/// memories: to plan weights apart, call it without them and their memories.
[[nodiscard]] pack::Placing assign(const Problem& problem, const pack::Control& control);

/// One memory.
[[nodiscard]] std::optional<std::string> obstacle_to_assign(const Problem& problem);

}  // namespace stowage::memories
