#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pack/placing.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::memories {

/// A buffer that may be copied between memories. Conditions: it is unpinned and has one piece, which is all
/// of it; its traffic is `bytes` for every access that costs something; and it is not used between accesses.
struct Movable {
  std::size_t buffer = 0;
  Bytes bytes = 0;  ///< Bytes that an access or a copy moves.
  /// Rising. The first is the write, or for a given buffer the handing over, at the beginning of its life,
  /// which costs nothing; all others are reads. No copy comes between accesses at one position.
  std::vector<Position> accesses{};
  bool is_given = false;
};

/// Consecutive accesses served from a faster memory than the home.
struct Visit {
  std::size_t memory = 0;
  std::size_t first_access = 0;
  std::size_t last_access = 0;

  bool operator==(const Visit&) const = default;
};

/// The memory of a buffer over time. The home serves all accesses that are on no visit. Without visits the
/// buffer lives at home for its whole life. moves.cc explains the copies.
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
  std::vector<std::size_t> origins{};  ///< Per new buffer the old one that it is, or is a copy of.
  std::vector<Copied> copies{};        ///< In the order of time.
  /// The new position of each old one, including the end of the clock.
  std::vector<Position> positions{};
};

/// The cost of one access or copy in a memory.
[[nodiscard]] std::int64_t price(const Problem& problem, const Movable& movable, std::size_t memory);

/// The cost of all accesses and copies of a course.
[[nodiscard]] std::int64_t cost_of(const Problem& problem, const Movable& movable, const Course& course);

/// The end of the last life on the old clock.
[[nodiscard]] Position end_of(const Problem& problem);

/// Makes the moves of each movable's course and packs everything anew. Buffers that are not movable stay in
/// their memories in `places`. None: the packers found no fit.
[[nodiscard]] std::optional<Moved> realised(const Problem& problem, std::span<const Place> places,
                                            std::span<const Movable> movables,
                                            std::span<const Course> courses, const pack::Control& control);

}  // namespace stowage::memories
