#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack::relations {

/// Places buffers that have relations, in memories with reserved bytes; see relations.cc. The problem must be valid.
[[nodiscard]] Solution solve(const Problem& problem, const Control& control);

/// Buffers where they were, as far as that is legal, and each of the others at the lowest place that is left; none if they
/// do not all fit. The problem must be valid, and each buffer one piece of bytes.
[[nodiscard]] std::optional<std::vector<Place>> keep_places(const Problem& problem,
                                                            std::span<const std::optional<Place>> start);

}  // namespace stowage::pack::relations
