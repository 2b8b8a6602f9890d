#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pack/placing.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::levels {

/// A buffer that may be copied from memory to memory. It is if it is unpinned, has one piece, which is all of
/// it, its traffic is `bytes` for every access that costs something, and nobody needs it between accesses.
struct Movable {
  std::size_t buffer = 0;
  Bytes bytes = 0;  ///< What an access or a copy moves.
  /// Rising. The first is the write, or for a given buffer the handing over, at the beginning of its life,
  /// which costs nothing; all others are reads. Several at one position are not parted by a copy.
  std::vector<Position> accesses{};
  bool is_given = false;
};

/// Consecutive accesses that are served from a faster memory than the home.
struct Visit {
  std::size_t memory = 0;
  std::size_t first_access = 0;
  std::size_t last_access = 0;

  bool operator==(const Visit&) const = default;
};

/// Where a buffer is in the course of time. At home it is served as long as it is on no visit. Without
/// visits it lives at home for its whole life. See moves.cc for what is copied when.
struct Course {
  std::size_t home = 0;
  std::vector<Visit> visits{};  ///< In the order of time.

  bool operator==(const Course&) const = default;
};

struct Copied {
  std::size_t movable = 0;
  std::size_t from = 0;  ///< Buffers of the new problem.
  std::size_t to = 0;
  Position at = 0;  ///< On the new clock; a position of its own.
};

/// A problem with its moves made: more buffers, on a longer clock.
struct Moved {
  Problem problem{};  ///< Every buffer has one memory.
  Solution solution{};
  std::vector<std::size_t> origins{};  ///< Per new buffer: which old one it is, or is a copy of.
  std::vector<Copied> copies{};        ///< In the order of time.
  /// Where each old position has gone, that of the clock's end too.
  std::vector<Position> positions{};
};

/// What one access or copy costs in a memory.
[[nodiscard]] std::int64_t price(const Problem& problem, const Movable& movable, std::size_t memory);

/// Accesses and copies of a course.
[[nodiscard]] std::int64_t cost_of(const Problem& problem, const Movable& movable, const Course& course);

/// From the first old position to beyond the last at which anything is alive.
[[nodiscard]] Position end_of(const Problem& problem);

/// Makes the moves of each movable's course, and packs everything anew; buffers that are no movable stay in
/// the memories they have in `places`. None: it does not fit, as far as the packers can tell.
[[nodiscard]] std::optional<Moved> realised(const Problem& problem, std::span<const Place> places,
                                            std::span<const Movable> movables,
                                            std::span<const Course> courses, const pack::Control& control);

}  // namespace stowage::levels
