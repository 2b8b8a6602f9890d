#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "levels/courses.h"
#include "stowage/problem.h"

namespace stowage::levels {

struct MovePlan {
  std::vector<Course> courses{};  ///< One per movable.
  std::int64_t cost = 0;          ///< Of the whole problem with these moves.
  bool is_exhaustive = false;  ///< All courses were looked at: there is none that costs less, see moves.cc.
  Moved moved{};               ///< Without a move as it was, but that every buffer is told its memory.
};

/// Which buffers are copied between memories and when, so that the whole costs less than the solution, which
/// must fit: never more than it, and without a move its very places. See moves.cc.
[[nodiscard]] MovePlan choose_moves(const Problem& problem, const Solution& solution,
                                    std::span<const Movable> movables, const SolveOptions& options = {});

}  // namespace stowage::levels
