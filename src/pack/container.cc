// Takes buffers one by one and says where each can lie among those it holds: as low as it goes, or in the tightest
// place. Single passes and the searches of `rectangle`, `ejection` and `from-peak` place with it.
//
// Searches depend on many passes per second. If few enough pairs are alive together, they are listed
// once, and placing a buffer examines its neighbours only:
//
//     address ^  +----+  +--+      neighbours of x that are held forbid offsets: sorted by address, the
//             |  | 1  |  | 3|      first stretch between them that takes x is its place
//             |  +----+--+--+
//             |     |  2 |   x?
//             +-----+----+------> time
//
// Collisions of buffers of many pieces are found once, too, and joined (collisions.cc). With tens of millions of
// pairs, or without a list, the occupancy tree (occupancy.cc) does the placing.
// Of so many pairs neighbours are looked up in a tree over starts, whose nodes know the latest end below them.
// Cost of a placing: neighbours * log(neighbours), or that of the occupancy.
// Source: the document of docs/rectangle.md, paragraphs 87, 103 and 128 (what is placed accumulates).

#include "pack/container.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "pack/collisions.h"
#include "pack/placing.h"

namespace stowage::pack {
namespace {

/// Pieces of two neighbours are compared pair by pair, if collisions are not joined.
constexpr std::size_t most_pieces_to_compare = 32;
constexpr std::size_t most_joined = std::size_t{1} << 22U;
constexpr std::size_t most_steps_of_joining = std::size_t{1} << 27U;  ///< About a second.
/// Work, about, in the units of deadlines.
constexpr std::int64_t work_to_look_around = 120;  ///< To find its neighbours,
constexpr std::int64_t work_to_list_pair = 8;      ///< to list a pair of them,
constexpr std::int64_t work_to_join = 7;           ///< and a step of joining collisions.
constexpr std::int64_t work_beside_neighbours = 200;
constexpr std::int64_t work_to_sort_forbidden = 4;  ///< What is forbidden, times the logarithm.

}  // namespace

Neighbours::Neighbours(std::span<const Buffer> buffers, std::size_t listed) : buffers_(buffers) {
  std::vector<std::pair<Position, std::uint32_t>> starts;
  std::vector<Position> ends;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const auto& pieces = buffers[b].pieces;
    is_whole_.push_back(pieces.size() == 1 && pieces.front().size == buffers[b].size ? 1 : 0);
    lives_.push_back(life_of(buffers[b]));
    if (lives_.back().lower == lives_.back().upper) continue;
    starts.emplace_back(lives_.back().lower, static_cast<std::uint32_t>(b));
    ends.push_back(lives_.back().upper);
  }
  std::sort(starts.begin(), starts.end());
  std::sort(ends.begin(), ends.end());
  leaves_ = std::bit_ceil(std::max<std::size_t>(starts.size(), 1));
  latest_.assign(2 * leaves_, std::numeric_limits<Position>::min());
  std::size_t ended = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto& [start, b] = starts[i];
    starts_.push_back(start);
    by_start_.push_back(b);
    latest_[leaves_ + i] = lives_[b].upper;
    while (ends[ended] <= start) ++ended;
    pairs_ += i - ended;  // one that starts i-th meets the i before it, except those that have ended
  }
  for (std::size_t node = leaves_ - 1; node > 0; --node) {
    latest_[node] = std::max(latest_[2 * node], latest_[2 * node + 1]);
  }
  work_ = work_to_look_around * std::ssize(buffers);
  if (pairs_ > listed) return;
  work_ += work_to_list_pair * static_cast<std::int64_t>(pairs_);
  list_pairs();
  join_collisions();
}

/// Each pair is looked at once, from the side of the buffer that comes first.
void Neighbours::join_collisions() {
  if (std::ranges::find(is_whole_, 0) == is_whole_.end()) return;
  const Collisions collisions(buffers_);
  std::vector<std::vector<Joined>> joined(buffers_.size());
  std::vector<Interval> found;
  std::size_t count = 0;
  std::size_t steps = 0;
  bool fits = true;
  for (std::uint32_t b = 0; b < buffers_.size() && fits; ++b) {
    for_each(b, [&](std::size_t other) {
      if (other < b || (is_whole_[b] != 0 && is_whole_[other] != 0) || !fits) return;
      steps += collisions.sections(b) + collisions.sections(other);
      fits = steps <= most_steps_of_joining;
      if (!fits) return;
      collisions.find(b, other, found);
      count += 2 * found.size();
      fits = count <= most_joined;
      for (const Interval& it : found) {
        joined[b].push_back({static_cast<std::uint32_t>(other), it});
        joined[other].push_back({b, {-it.end, -it.begin}});
      }
    });
  }
  work_ += work_to_join * static_cast<std::int64_t>(steps);
  if (!fits) return;
  joined_of_.push_back(0);
  for (auto& list : joined) {
    std::ranges::sort(list, {}, [](const Joined& it) { return std::pair(it.other, it.at.begin); });
    joined_.insert(joined_.end(), list.begin(), list.end());
    joined_of_.push_back(joined_.size());
  }
}

/// Each buffer meets those that start after it and before its end. Two passes go over them: one counts, one
/// writes each into the other's list.
void Neighbours::list_pairs() {
  const auto for_each_pair = [&](auto visit) {
    for (std::size_t i = 0; i < by_start_.size(); ++i) {
      const std::uint32_t b = by_start_[i];
      for (std::size_t j = i + 1; j < by_start_.size() && starts_[j] < lives_[b].upper; ++j)
        visit(b, by_start_[j]);
    }
  };
  first_.assign(buffers_.size() + 1, 0);
  for_each_pair([&](std::uint32_t a, std::uint32_t b) {
    ++first_[a + 1];
    ++first_[b + 1];
  });
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  listed_.resize(2 * pairs_);
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for_each_pair([&](std::uint32_t a, std::uint32_t b) {
    listed_[next[a]++] = b;
    listed_[next[b]++] = a;
  });
}

Container::Container(std::span<const Buffer> buffers, const Neighbours* neighbours)
    : buffers_(buffers), neighbours_(neighbours), offsets_(buffers.size(), 0), is_held_(buffers.size(), 0) {
  const auto has_many_pieces = [](const Buffer& buffer) {
    return buffer.pieces.size() > most_pieces_to_compare;
  };
  if (neighbours == nullptr || !neighbours->are_listed() ||
      (!neighbours->are_joined() && std::ranges::any_of(buffers, has_many_pieces)))
    occupancy_.emplace(buffers);
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].pinned) put(b, *buffers[b].pinned);
  }
}

void Container::put(std::size_t buffer, Bytes offset) {
  offsets_[buffer] = offset;
  is_held_[buffer] = 1;
  if (occupancy_) occupancy_->reserve(buffers_[buffer], offset);
}

std::int64_t Container::take_work() {
  const std::int64_t all = work_ + (occupancy_ ? occupancy_->work() : 0);
  return all - std::exchange(taken_, all);
}

std::int64_t Container::work_of_copy() const {
  constexpr std::int64_t without_tree = 2;  // for each buffer
  constexpr std::int64_t with_tree = 150;
  return (occupancy_ ? with_tree : without_tree) * std::ssize(buffers_);
}

Bytes Container::lowest_fit(std::size_t buffer) {
  return occupancy_ ? occupancy_->lowest_fit(buffers_[buffer]) : lowest_beside_neighbours(buffer);
}

Bytes Container::tightest_fit(std::size_t buffer) {
  return occupancy_ ? occupancy_->tightest_fit(buffers_[buffer]) : tightest_beside_neighbours(buffer);
}

Bytes Container::put_lowest(std::size_t buffer) {
  put(buffer, lowest_fit(buffer));
  return offsets_[buffer] + buffers_[buffer].size;
}

Bytes Container::put_tightest(std::size_t buffer) {
  put(buffer, tightest_fit(buffer));
  return offsets_[buffer] + buffers_[buffer].size;
}

/// Lists the offsets that neighbours forbid, by rising begin.
void Container::find_forbidden(std::size_t buffer) {
  forbidden_.clear();
  neighbours_->for_each(buffer, [&](std::size_t other) {
    if (!holds(other)) return;
    neighbours_->for_each_collision(buffer, other, offsets_[other],
                                    [&](const Interval& interval) { forbidden_.push_back(interval); });
  });
  const std::size_t count = forbidden_.size();
  work_ += work_beside_neighbours + work_to_sort_forbidden * static_cast<std::int64_t>(count) *
                                        static_cast<std::int64_t>(std::bit_width(count));
  std::sort(forbidden_.begin(), forbidden_.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
}

Bytes Container::lowest_beside_neighbours(std::size_t buffer) {
  find_forbidden(buffer);
  Bytes offset = 0;
  for (const Interval& interval : forbidden_) {
    if (interval.begin >= offset) break;  // as do all that follow
    if (interval.end > offset) offset = base::align_up(interval.end, buffers_[buffer].alignment);
  }
  return offset;
}

Bytes Container::tightest_beside_neighbours(std::size_t buffer) {
  find_forbidden(buffer);
  const Bytes alignment = buffers_[buffer].alignment;
  Bytes least_room = std::numeric_limits<Bytes>::max();
  Bytes best = 0;
  Bytes reach = 0;  // all offsets below it are examined
  for (const Interval& interval : forbidden_) {
    const Bytes offset = base::align_up(reach, alignment);
    if (offset <= interval.begin && interval.begin - reach < least_room) {
      least_room = interval.begin - reach;
      best = offset;
    }
    reach = std::max(reach, interval.end);
  }
  return least_room == std::numeric_limits<Bytes>::max() ? base::align_up(reach, alignment) : best;
}

}  // namespace stowage::pack
