#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

struct Strategy;

/// How a strategy takes its turn among others; see portfolio.cc.
struct Turn {
  int of_many = 0;          ///< Of many buffers those with the lesser number come first.
  double share = 1;         ///< Of the time that is left when it begins.
  bool is_alone = false;    ///< It uses all threads itself, so nothing else runs beside it.
  bool is_stopgap = false;  ///< Always comes to a plan, soon, whenever it is told to stop.
  /// Of many buffers: a first part of it that is done soon, with a turn of its own.
  const Strategy* opening = nullptr;
};

struct Strategy {
  StrategyInfo info;
  std::function<Placing(const Problem& problem, const Control& control)> run;
  /// Why it cannot serve a problem; none if it can.
  std::optional<std::string> (*obstacle)(const Problem& problem);
  Turn turn{};
};

/// Every strategy of this folder, in the order in which `auto` tries them on few buffers.
[[nodiscard]] std::span<const Strategy> packers();

/// Runs the strategies until one of them meets the lower bound or the time is up, and keeps the best result;
/// of equally good ones the first. Of several it leaves out those with an obstacle, which not all may have.
/// Of many buffers in one memory `free-list` runs beside what was chosen; its result stands where that was
/// cut short.
[[nodiscard]] Solution best_of(const Problem& problem, std::span<const Strategy* const> strategies,
                               const Control& control);

}  // namespace stowage::pack
