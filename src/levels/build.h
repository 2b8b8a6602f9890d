#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "levels/choices.h"
#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::levels {

/// What a greedy construction is told: who chooses first, and who is not to have the best.
struct Wish {
  std::vector<std::size_t> order;  ///< All buffers.
  std::vector<std::size_t> ranks;  ///< Per buffer: so many of the memories it may live in are passed over.
};

/// Gives every buffer, pinned ones first and then in the wish's order, the lowest place in the first memory
/// in which it stays within capacity; where there is none, in the one that grows least beyond its own.
/// Nothing when told to stop.
[[nodiscard]] std::optional<std::vector<Place>> build(const Problem& problem, const Choices& choices,
                                                      const Wish& wish, const pack::Control& control);

}  // namespace stowage::levels
