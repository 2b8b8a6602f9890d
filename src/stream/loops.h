#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace stowage::stream {

/// A statement of a loop nest: iteration i of [0, count) runs at scale * i + shift. Positions order the
/// iterations of one time.
struct LoopStatement {
  std::string name{};  ///< A C identifier.
  std::int64_t count = 1;
  std::int64_t scale = 1;
  std::int64_t shift = 0;
  std::int64_t position = 0;
};

/// C code that calls `name(i);` for every iteration of every statement in the order of their times. None if
/// this takes more than `effort` operations of the polyhedral library.
[[nodiscard]] std::optional<std::string> loop_nest(std::span<const LoopStatement> statements,
                                                   unsigned long effort);

}  // namespace stowage::stream
