#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::base {

/// Addresses [begin, end) that are taken during a lifetime.
struct Box {
  Lifetime life;
  Bytes begin = 0;
  Bytes end = 0;
  std::size_t holder = 0;
};

/// Two boxes, as indices, and a position at which they hold a common byte.
struct Overlap {
  std::size_t first = 0;
  std::size_t second = 0;
  Position at = 0;
};

/// The earliest pair of boxes that overlap in time and space. Boxes without bytes or without life overlap
/// nothing. See overlap.cc. Cost: n log n.
[[nodiscard]] std::optional<Overlap> find_overlap(std::span<const Box> boxes);

}  // namespace stowage::base
