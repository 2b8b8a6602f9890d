#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// The turn of a strategy among others; see portfolio.cc.
struct Turn {
  int of_many = 0;         ///< With many buffers, lower numbers come first.
  std::int64_t least = 0;  ///< With less time for each buffer, in nanoseconds, it comes
  int of_many_later = 0;   ///< here instead.
  double share = 1;        ///< Share of the remaining time that it may use.
  bool is_alone = false;   ///< It uses all threads itself, so no other strategy runs in parallel.
  bool is_rival = false;   ///< It competes with the one beside it for the time; see portfolio.cc.
  /// Of a pass, for each buffer, in the units of deadlines. Searches count their own.
  std::int64_t work = 0;
  /// `auto` runs it only on problems that it suits; none: on all.
  bool (*suits)(const Problem& problem) = nullptr;
  /// The fallback: always returns a plan, soon, whatever the deadline. `auto` runs it where a fallback is needed.
  bool is_stopgap = false;
};

struct Strategy {
  StrategyInfo info;
  std::function<Placing(const Problem& problem, const Control& control)> run;
  /// Why it cannot serve a problem; none if it can.
  std::optional<std::string> (*obstacle)(const Problem& problem);
  Turn turn{};
};

/// Runs a strategy and counts its work.
[[nodiscard]] Placing run(const Strategy& strategy, const Problem& problem, const Control& control);

/// All strategies of one memory: first those of `auto`, in the order in which it tries them on few buffers.
[[nodiscard]] std::span<const Strategy> packers();

/// Those of them that `auto` does not run.
[[nodiscard]] std::vector<Strategy> packers_by_name();

/// Runs the strategies until one reaches the lower bound or the time is up, and keeps the best result, of
/// equal ones the first. Several strategies may include some with an obstacle, but not all; those are
/// skipped. With many buffers in one memory `free-list` also runs to its end, whatever the deadline; its
/// result is the fallback if the chosen ones are cut short.
[[nodiscard]] Solution best_of(const Problem& problem, std::span<const Strategy* const> strategies,
                               const Control& control);

}  // namespace stowage::pack
