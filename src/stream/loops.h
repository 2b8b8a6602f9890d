#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "stowage/open_rows.h"

namespace stowage::stream {

/// A statement of a loop nest: iteration i of [0, count) runs at scale * i + shift. Positions order the
/// iterations of one time.
struct LoopStatement {
  std::string name{};  ///< A C identifier.
  std::int64_t count = 1;
  std::int64_t scale = 1;
  std::int64_t shift = 0;
  std::int64_t position = 0;
  /// If set: the statement is that block of an operator, and is called with its number in front of the iteration.
  /// All blocks of an operator have one name.
  std::optional<std::int64_t> block{};
  /// If set: the count depends on a size `n`, and `count` is that at one size.
  std::optional<StepCount> open{};

  bool operator==(const LoopStatement&) const = default;
};

/// What this build lacks to write loops, as a sentence. Empty if it lacks nothing.
[[nodiscard]] std::string_view missing_for_loops();

/// C code that calls `name(i);`, or `name(b, i);` for block b, for every iteration of every statement in the order of their times. None if
/// this takes more than `effort` operations of the polyhedral library, or something is missing. With statements whose
/// counts depend on a size, the code has a variable `n`, which is in the range of `size`; statements behind all of these
/// run behind them at every size.
[[nodiscard]] std::optional<std::string> loop_nest(std::span<const LoopStatement> statements,
                                                   unsigned long effort, const SizeSymbol& size = {});

}  // namespace stowage::stream
