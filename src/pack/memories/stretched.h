#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::memories {

/// Old positions and the copies before each of them.
class Stretched {
 public:
  explicit Stretched(Position end) : spills_(static_cast<std::size_t>(end) + 1), fetches_(spills_.size()) {}

  /// Counts a copy before the operator at that position; returns its index among copies of its kind there.
  std::size_t add_spill(Position before) { return spills_[static_cast<std::size_t>(before)]++; }
  std::size_t add_fetch(Position before) { return fetches_[static_cast<std::size_t>(before)]++; }

  void finish() {
    Position copies = 0;
    for (std::size_t p = 0; p < spills_.size(); ++p) {
      first_copies_.push_back(static_cast<Position>(p) + copies);
      copies += static_cast<Position>(spills_[p] + fetches_[p]);
      positions_.push_back(static_cast<Position>(p) + copies);
    }
  }

  [[nodiscard]] Position of(Position old) const { return positions_[static_cast<std::size_t>(old)]; }
  [[nodiscard]] Position first_copy_before(Position old) const {
    return first_copies_[static_cast<std::size_t>(old)];
  }
  [[nodiscard]] Position spill(Position before, std::size_t which) const {
    return first_copy_before(before) + static_cast<Position>(which);
  }
  [[nodiscard]] Position fetch(Position before, std::size_t which) const {
    return spill(before, spills_[static_cast<std::size_t>(before)] + which);
  }
  /// The end of a life that ended at `old`; no copies before `old` are included.
  [[nodiscard]] Position upper(Position old) const { return old == 0 ? 0 : of(old - 1) + 1; }

  std::vector<Position> positions() { return std::move(positions_); }

 private:
  std::vector<std::size_t> spills_;  ///< Per old position, the copies between it and the one before.
  std::vector<std::size_t> fetches_;
  std::vector<Position> first_copies_;
  std::vector<Position> positions_;
};

/// A life on the clock with copies: from the step that it begins with to that which it ends with.
[[nodiscard]] Lifetime life_on(const Stretched& clock, const Lifetime& life);

/// Brings the pieces of a buffer that does not move to the clock with copies. A piece may go on with bytes of one that
/// ends where it begins, so these are held across the copies in between.
void stretch(const Stretched& clock, std::vector<Piece>& pieces);

}  // namespace stowage::memories
