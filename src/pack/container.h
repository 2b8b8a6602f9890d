#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pack/occupancy.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// The buffers that are alive at the same time as a given one, from first to last need. Up to `most_listed`
/// pairs are listed; more are looked up in a tree over time, so that memory stays linear. Buffers that are
/// never alive have no neighbours. Threads may share it.
class Neighbours {
 public:
  static constexpr std::size_t most_listed = std::size_t{1} << 21U;

  /// Keeps a reference to the buffers.
  explicit Neighbours(std::span<const Buffer> buffers, std::size_t listed = most_listed);

  /// Pairs of buffers that are alive at the same time.
  [[nodiscard]] std::size_t pairs() const { return pairs_; }
  [[nodiscard]] bool are_listed() const { return !first_.empty(); }

  /// Calls `visit(other)` for each neighbour of the buffer, always in the same order.
  template <typename Visit>
  void for_each(std::size_t buffer, Visit visit) const {
    if (are_listed()) {
      for (std::size_t i = first_[buffer]; i < first_[buffer + 1]; ++i) visit(std::size_t{listed_[i]});
    } else {
      look_up(buffer, visit);
    }
  }

  /// Calls `visit` with each open interval of offsets at which `buffer` would collide with its
  /// neighbour `other` lying at `offset`. None overlap if `are_joined`.
  template <typename Visit>
  void for_each_collision(std::size_t buffer, std::size_t other, Bytes offset, Visit visit) const {
    if (is_whole_[buffer] != 0 && is_whole_[other] != 0) {
      visit(Interval{offset - buffers_[buffer].size, offset + buffers_[other].size});
      return;
    }
    if (are_joined()) {
      const auto begin = joined_.begin() + static_cast<std::ptrdiff_t>(joined_of_[buffer]);
      const auto end = joined_.begin() + static_cast<std::ptrdiff_t>(joined_of_[buffer + 1]);
      for (auto it = std::lower_bound(begin, end, other,
                                      [](const Joined& a, std::size_t b) { return a.other < b; });
           it != end && it->other == other; ++it)
        visit(Interval{offset + it->at.begin, offset + it->at.end});
      return;
    }
    for (const Piece& mine : buffers_[buffer].pieces) {
      if (!mine.is_ever_alive()) continue;
      for (const Piece& its : buffers_[other].pieces) {
        if (!its.is_ever_alive()) continue;
        if (mine.life.lower >= its.life.upper || its.life.lower >= mine.life.upper) continue;
        const Bytes begin = offset + its.offset - mine.offset;
        visit(Interval{begin - mine.size, begin + its.size});
      }
    }
  }

  /// Whether collisions of buffers of several pieces were found beforehand.
  [[nodiscard]] bool are_joined() const { return !joined_of_.empty(); }
  /// Of finding them all, in the units of deadlines.
  [[nodiscard]] std::int64_t work() const { return work_; }

 private:
  /// A collision with a neighbour at offset 0.
  struct Joined {
    std::uint32_t other = 0;
    Interval at{};
  };

  void list_pairs();
  void join_collisions();

  /// Visits buffers below a node over [begin, end) that begin before `life` and are alive at its start.
  template <typename Visit>
  void look_up_before(std::size_t node, std::size_t begin, std::size_t end, std::size_t limit, Position lower,
                      Visit& visit) const {
    if (begin >= limit || latest_[node] <= lower) return;
    if (end - begin == 1) {
      visit(std::size_t{by_start_[begin]});
      return;
    }
    const std::size_t middle = begin + (end - begin) / 2;
    look_up_before(2 * node, begin, middle, limit, lower, visit);
    look_up_before(2 * node + 1, middle, end, limit, lower, visit);
  }

  template <typename Visit>
  void look_up(std::size_t buffer, Visit& visit) const {
    const Lifetime& life = lives_[buffer];
    if (life.lower == life.upper) return;
    const auto before = [](Position at, std::span<const Position> starts) {
      return static_cast<std::size_t>(std::lower_bound(starts.begin(), starts.end(), at) - starts.begin());
    };
    const std::size_t begin = before(life.lower, starts_);
    const std::size_t end = before(life.upper, starts_);
    look_up_before(1, 0, leaves_, begin, life.lower, visit);
    for (std::size_t i = begin; i < end; ++i) {
      if (by_start_[i] != buffer) visit(std::size_t{by_start_[i]});
    }
  }

  std::span<const Buffer> buffers_;
  std::vector<char> is_whole_;  ///< One piece that is all of the buffer; nearly all buffers are.
  std::vector<Lifetime> lives_;
  std::vector<std::uint32_t> by_start_;  ///< Buffers that are ever alive, by rising start.
  std::vector<Position> starts_;         ///< Starts of the buffers in `by_start_`.
  std::size_t leaves_ = 1;               ///< A power of two.
  std::vector<Position> latest_;         ///< Per tree node: the latest end below it; 1 is the root.
  std::size_t pairs_ = 0;
  std::vector<std::size_t> first_;     ///< The begin of each buffer's list, and the end of the last.
  std::vector<std::uint32_t> listed_;  ///< All lists, one after the other.
  /// Of each buffer, by neighbour, unless both are whole; `joined_of_` is empty if there are too many.
  std::vector<Joined> joined_;
  std::vector<std::size_t> joined_of_;
  std::int64_t work_ = 0;
};

/// The buffers of a memory that have a place; see container.cc.
class Container {
 public:
  /// Holds the pinned buffers at first. Keeps references to both arguments. Without neighbours, which are worth
  /// listing for several passes only, it looks at what is taken at each time.
  Container(std::span<const Buffer> buffers, const Neighbours* neighbours);

  /// The lowest offset that is free throughout the buffer's life.
  [[nodiscard]] Bytes lowest_fit(std::size_t buffer);
  /// The tightest place, see Occupancy::tightest_fit.
  [[nodiscard]] Bytes tightest_fit(std::size_t buffer);
  void put(std::size_t buffer, Bytes offset);
  /// Puts the buffer there, and returns its top.
  Bytes put_lowest(std::size_t buffer);
  Bytes put_tightest(std::size_t buffer);

  /// Of all since the last call, in the units of deadlines.
  [[nodiscard]] std::int64_t take_work();
  /// Of copying it.
  [[nodiscard]] std::int64_t work_of_copy() const;

  [[nodiscard]] bool holds(std::size_t buffer) const { return is_held_[buffer] != 0; }
  /// By buffer; 0 for those not held.
  [[nodiscard]] const std::vector<Bytes>& offsets() const { return offsets_; }

 private:
  void find_forbidden(std::size_t buffer);
  [[nodiscard]] Bytes lowest_beside_neighbours(std::size_t buffer);
  [[nodiscard]] Bytes tightest_beside_neighbours(std::size_t buffer);

  std::span<const Buffer> buffers_;
  const Neighbours* neighbours_;
  std::vector<Bytes> offsets_;
  std::vector<char> is_held_;
  std::vector<Interval> forbidden_;     ///< A member to save allocations.
  std::optional<Occupancy> occupancy_;  ///< Used when neighbours, or their pieces, are too many to examine.
  std::int64_t work_ = 0;               ///< Beside neighbours.
  std::int64_t taken_ = 0;              ///< Work that the caller knows of.
};

}  // namespace stowage::pack
