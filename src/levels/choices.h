#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::levels {

/// What there is to choose from, made ready once: where each buffer may live and what that costs.
struct Choices {
  /// Per buffer, the cheapest memory first, of equally cheap ones the one given first.
  std::vector<std::vector<std::size_t>> allowed;
  std::vector<std::vector<std::int64_t>> costs;  ///< [buffer][memory]
  std::vector<Bytes> capacities;                 ///< Per memory; `largest_value`: no limit.
  std::vector<bool> is_ever_alive;  ///< Per buffer. What never is needs no room, but has a place.

  explicit Choices(const Problem& problem);

  /// What living in the cheapest memory instead of the dearest saves.
  [[nodiscard]] std::int64_t saving(std::size_t buffer) const;
};

/// Whether the memory holds the buffer when it holds nothing else.
[[nodiscard]] bool holds(const Choices& choices, std::size_t memory, const Buffer& buffer);

}  // namespace stowage::levels
