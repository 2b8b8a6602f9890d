#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "check/replay.h"
#include "stowage/plan.h"

namespace stowage::check {

/// What a box holds: bytes of a source, moved by a shift.
struct Content {
  std::size_t source = 0;  ///< Counted through all networks; beyond those, content that nobody else has.
  Bytes shift = 0;         ///< Address minus offset in the source.

  auto operator<=>(const Content&) const = default;
};

/// A need, and the network it is of.
struct Holder {
  std::size_t network = 0;
  const Need* need = nullptr;
};

struct HeldBox {
  Lifetime life;  ///< In halves of positions.
  Bytes begin = 0;
  Bytes end = 0;
  Content content{};
  Holder holder{};
};

/// Two that hold different content in one byte at one position.
struct Conflict {
  Holder first{};
  Holder second{};
  Position at = 0;
};

[[nodiscard]] std::optional<Conflict> find_conflict(const std::vector<HeldBox>& boxes);

/// What the boxes hold at any time, as boxes of another life. Where that is not always the same content it
/// becomes one that nobody else has: the next from `unique` on.
[[nodiscard]] std::vector<HeldBox> held_together(const std::vector<HeldBox>& boxes, const Lifetime& life,
                                                 std::size_t& unique);

}  // namespace stowage::check
