#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::memories {

/// Steps that use a buffer. Meanwhile it stays where it is.
struct Touch {
  Position first = 0;
  Position last = 0;
  Bytes bytes = 0;      ///< That the steps read and write.
  bool writes = false;  ///< The buffer gets another value: copies made before are stale.
};

/// A buffer that is in a fast memory or in a slow one, and may move between touches.
struct Need {
  std::vector<Touch> touches{};  ///< At least one, rising, apart. They begin and end with the buffer's life.
  std::vector<Bytes> carried{};  ///< Of each gap between touches: the bytes that a copy moves there.
  /// Slow memory has its value before the first touch, as that of a weight: a copy of so many bytes brings it in.
  std::optional<Bytes> stored{};
  Bytes size = 0;
  Bytes alignment = 1;
  std::vector<Piece>
      pieces{};  ///< Of a buffer with one touch: what it takes in the fast memory. Empty: all of it.
  std::int64_t slow_cost = 0;  ///< Of a byte in the slow memory of this buffer.
  bool may_be_fast = true;
  bool may_be_slow = true;
};

/// Some needs, and the fast memory that they compete for.
struct Needs {
  std::vector<Need> all{};
  std::int64_t fast_cost = 1;  ///< Of a byte, less than in slow memory.
  Bytes capacity = 0;
  std::vector<ByteRange> reserved{};  ///< Of the fast memory.
  Position end = 0;                   ///< Of the clock.
};

/// Consecutive touches for which a buffer is in the fast memory, without leaving it between them. All other touches use
/// it in slow memory.
struct FastStay {
  std::size_t first = 0;
  std::size_t last = 0;
  Bytes offset = 0;
};

/// The stays of a need, in the order of time.
using FastStays = std::vector<FastStay>;

/// What leaves and enters the fast memory: a stay that does not begin with the first touch begins with a copy from slow
/// memory, and so does that of a value that is stored there. One that wrote the buffer ends with a copy to there, if
/// touches follow.
[[nodiscard]] bool is_fetched(const Need& need, const FastStay& stay);
[[nodiscard]] bool is_spilled(const Need& need, const FastStay& stay);

/// The bytes that the copy in front of a stay moves.
[[nodiscard]] Bytes bytes_fetched(const Need& need, const FastStay& stay);

/// The cost of all touches and copies.
[[nodiscard]] std::int64_t cost_of(const Needs& needs, const Need& need, const FastStays& stays);

/// Prices of a byte of the fast memory at each position, in parts of a cost of 1.
struct Prices {
  static constexpr std::int64_t parts = 1024;

  std::vector<std::int64_t> sums{};  ///< Of the positions before each, and of all.

  explicit Prices(Position end) : sums(static_cast<std::size_t>(end) + 1, 0) {}

  /// Of positions [lower, upper).
  [[nodiscard]] std::int64_t between(Position lower, Position upper) const {
    return sums[static_cast<std::size_t>(upper)] - sums[static_cast<std::size_t>(lower)];
  }
};

/// What a stay may have.
struct Allowed {
  std::vector<bool> touches{};  ///< A touch in the fast memory.
  std::vector<bool> gaps{};     ///< A gap through which the buffer stays there.
};

/// The stays of least cost, prices included, and without offsets.
struct Least {
  std::int64_t cost = 0;  ///< In parts of a cost of 1; the largest value if nothing is allowed.
  FastStays stays{};
};
[[nodiscard]] Least least(const Needs& needs, const Need& need, const Prices& prices,
                          const Allowed* allowed = nullptr);

/// Whether no sum of costs and prices can overflow.
[[nodiscard]] bool are_small(const Needs& needs);

}  // namespace stowage::memories
