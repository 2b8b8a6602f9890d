#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// A single pass: buffers in some order, each where it fits among those placed before. See greedy.cc.
struct Greedy {
  StrategyInfo info;
  /// All buffers; fewer when told to stop, see Control::is_too_late.
  std::vector<std::size_t> (*order)(const Problem& problem, const Control& control);
  Fit fit;
};

extern const std::array<Greedy, 6> greedies;

[[nodiscard]] Placing place_greedily(const Greedy& greedy, const Problem& problem, const Control& control);

}  // namespace stowage::pack
