#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pack/memories/courses.h"
#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::memories {

struct MovePlan {
  std::vector<Course> courses{};  ///< One per movable.
  std::int64_t cost = 0;          ///< Of the whole problem with these moves.
  bool is_exhaustive = false;     ///< All courses were examined: none costs less, see moves.cc.
  Moved moved{};                  ///< Without a move unchanged, except that each buffer has one memory.
};

/// Decides which buffers are copied between memories, and when, to cost less than the solution, which must
/// fit. The result never costs more; without a move it keeps the solution's places. See moves.cc.
[[nodiscard]] MovePlan choose_moves(const Problem& problem, const Solution& solution,
                                    std::span<const Movable> movables, const pack::Control& control);

}  // namespace stowage::memories
