#pragma once

#include <optional>
#include <span>
#include <string>

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

struct Strategy {
  StrategyInfo info;
  Placing (*run)(const Problem& problem, const Control& control);
  /// Why it cannot serve a problem; none if it can.
  std::optional<std::string> (*obstacle)(const Problem& problem);
};

/// Every strategy of this folder, in the order in which `auto` tries them.
[[nodiscard]] std::span<const Strategy> packers();

/// Runs the strategies until one of them meets the lower bound or the time is up, and keeps the best result;
/// of equally good ones the first. Of several it leaves out those with an obstacle, which not all may have.
/// Of many buffers `free-list` precedes what was chosen; its result stands where that was cut short.
[[nodiscard]] Solution best_of(const Problem& problem, std::span<const Strategy* const> strategies,
                               Control control);

}  // namespace stowage::pack
