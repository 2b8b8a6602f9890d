// Six single passes: put the buffers in some order, and place each among those placed before, at the
// lowest offset or in the tightest gap. Ties stay in the given order.
//
//   size       Large buffers are hard to place: largest first, while everything is free; small ones fill
//              the gaps.
//   breadth    The breadth of a position is its live bytes. The position of greatest breadth decides the
//              peak, so its buffers go first. Positions by falling breadth (the earlier of equal ones first),
//              at each the buffers alive there that have no place yet, by falling size.
//   area       The area that a buffer takes in time and address: bytes times positions, over its pieces.
//   duration   A buffer that lives long meets many others: longest life first, at the bottom, where it is in
//              no other's way; of equal ones the larger.
//   start      The order of an allocator at run time: earliest start first, of equal ones the larger. First
//              fit takes the lowest free addresses, best fit the tightest gap.
//
//     breadth  3   7   9   4        position 2 first: b, c, d; then position 1: a; then 3: e
//     alive    a   ab  bcd  de
//
// A range-maximum query on the load profile (live bytes over time) finds the broadest position of a buffer's
// life. Sorting by the result replaces listing the buffers alive at every position, which would be quadratic.
//
// In the order of starts, an earlier buffer meets a new one exactly if it is still alive when the new one
// starts. So the free gaps of one moment are enough if buffers have one piece and none is pinned.
//
// Cost: a sort and one query per buffer (occupancy.cc); in the order of starts, a scan of all gaps instead.
// Source: size and breadth: Pisarchyk & Lee, Efficient Memory Management for Deep Neural Net Inference, 2020
// (offset calculation), operators generalised to positions. First and best fit: Knuth, The Art of Computer
// Programming, vol. 1, section 2.5. Area and duration: folklore.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "base/checked.h"
#include "pack/bounds.h"
#include "pack/occupancy.h"
#include "pack/strategies.h"

namespace stowage::pack {
namespace {

/// Indices in rising order of keys; equal ones stay in the given order. Keys are made once: for a million
/// buffers, computing both in each comparison would take longer than placing them.
template <typename KeyOf>
std::vector<std::size_t> by_rising(const Problem& problem, KeyOf key_of) {
  std::vector<std::pair<decltype(key_of(problem.buffers[0])), std::size_t>> keys;
  keys.reserve(problem.buffers.size());
  for (const Buffer& buffer : problem.buffers) keys.emplace_back(key_of(buffer), keys.size());
  std::sort(keys.begin(), keys.end());
  std::vector<std::size_t> order;
  order.reserve(keys.size());
  for (const auto& [key, b] : keys) order.push_back(b);
  return order;
}

std::vector<std::size_t> by_size(const Problem& problem, const Control&) {
  return by_rising(problem, [](const Buffer& buffer) { return -buffer.size; });
}

std::vector<std::size_t> by_area(const Problem& problem, const Control&) {
  __extension__ using Area = __int128;  // a size times a duration does not fit 64 bits
  return by_rising(problem, [](const Buffer& buffer) {
    Area area = 0;
    for (const Piece& piece : buffer.pieces)
      area += static_cast<Area>(piece.size) * static_cast<Area>(piece.life.upper - piece.life.lower);
    return -area;
  });
}

std::vector<std::size_t> by_duration(const Problem& problem, const Control&) {
  return by_rising(problem, [](const Buffer& buffer) {
    const Lifetime life = life_of(buffer);
    return std::pair(life.lower - life.upper, -buffer.size);
  });
}

std::vector<std::size_t> by_start_of_life(const Problem& problem, const Control&) {
  return by_start(problem);
}

/// Finds the entry with most bytes in a range of a load profile, the earliest of equal ones, with a
/// tournament tree over the entries.
class BroadestEntry {
 public:
  explicit BroadestEntry(const std::vector<Load>& profile)
      : profile_(profile),
        leaves_(std::bit_ceil(std::max<std::size_t>(profile.size(), 1))),
        winners_(2 * leaves_, 0) {
    for (std::uint32_t i = 0; i < leaves_; ++i) winners_[leaves_ + i] = i;
    for (std::size_t i = leaves_; i-- > 1;) winners_[i] = better(winners_[2 * i], winners_[2 * i + 1]);
  }

  /// `begin` < `end`, both in the profile.
  [[nodiscard]] std::size_t in(std::size_t begin, std::size_t end) const {
    auto best = static_cast<std::uint32_t>(begin);
    for (begin += leaves_, end += leaves_; begin < end; begin /= 2, end /= 2) {
      if (begin % 2 == 1) best = better(best, winners_[begin++]);
      if (end % 2 == 1) best = better(best, winners_[--end]);
    }
    return best;
  }

 private:
  [[nodiscard]] std::uint32_t better(std::uint32_t a, std::uint32_t b) const {
    if (a >= profile_.size() || b >= profile_.size()) return std::min(a, b);
    if (profile_[a].bytes != profile_[b].bytes) return profile_[a].bytes > profile_[b].bytes ? a : b;
    return std::min(a, b);
  }

  const std::vector<Load>& profile_;
  std::size_t leaves_;
  std::vector<std::uint32_t> winners_;
};

std::vector<std::size_t> by_breadth(const Problem& problem, const Control& control) {
  const std::vector<Load> profile = load_profile(problem.buffers);
  const BroadestEntry broadest(profile);
  const auto entry_at = [&](Position at) {
    const auto it = std::lower_bound(profile.begin(), profile.end(), at,
                                     [](const Load& load, Position position) { return load.at < position; });
    return static_cast<std::size_t>(it - profile.begin());
  };
  std::size_t done = 0;
  bool is_too_late = false;
  const auto order = by_rising(problem, [&](const Buffer& buffer) {
    if (done++ % buffers_between_looks == 0) is_too_late = is_too_late || control.is_too_late();
    std::optional<std::size_t> entry;
    for (const Piece& piece : buffer.pieces) {
      if (!piece.is_ever_alive() || is_too_late) continue;
      const std::size_t candidate = broadest.in(entry_at(piece.life.lower), entry_at(piece.life.upper));
      if (!entry || profile[candidate].bytes > profile[*entry].bytes ||
          (profile[candidate].bytes == profile[*entry].bytes && candidate < *entry)) {
        entry = candidate;
      }
    }
    return std::tuple(entry ? -profile[*entry].bytes : 0, entry.value_or(0), -buffer.size);
  });
  return is_too_late ? std::vector<std::size_t>() : order;
}

/// Whether every buffer that is ever alive takes all its bytes for all its life, and none is pinned.
bool are_whole_and_free(const Problem& problem) {
  return std::all_of(problem.buffers.begin(), problem.buffers.end(), [](const Buffer& buffer) {
    if (buffer.pinned) return false;
    const auto& pieces = buffer.pieces;
    return life_of(buffer) == Lifetime{} || (pieces.size() == 1 && pieces[0].size == buffer.size);
  });
}

/// The free addresses at one moment, in rising order; the last gap has no end.
class Gaps {
 public:
  Bytes take(const Buffer& buffer, Fit fit) {
    const std::size_t g = fit == Fit::lowest ? lowest(buffer) : tightest(buffer);
    looks_ += static_cast<std::int64_t>(fit == Fit::lowest ? g + 1 : gaps_.size());
    Interval& gap = gaps_[g];
    const Bytes offset = base::align_up(gap.begin, buffer.alignment);
    const Interval padding{gap.begin, offset};
    gap.begin = offset + buffer.size;
    const auto at = gaps_.begin() + static_cast<std::ptrdiff_t>(g);
    if (gap.begin == gap.end) {
      gaps_.erase(at);
      if (padding.begin < padding.end) release(padding);
    } else if (padding.begin < padding.end) {
      gaps_.insert(at, padding);
    }
    return offset;
  }

  void release(Interval block) {
    const auto above = std::lower_bound(gaps_.begin(), gaps_.end(), block.end,
                                        [](const Interval& gap, Bytes end) { return gap.begin < end; });
    const bool touches_above = above->begin == block.end;
    if (touches_above) above->begin = block.begin;
    const bool touches_below = above != gaps_.begin() && std::prev(above)->end == block.begin;
    if (touches_above && touches_below) {
      above->begin = std::prev(above)->begin;
      gaps_.erase(std::prev(above));
    } else if (touches_below) {
      std::prev(above)->end = block.end;
    } else if (!touches_above) {
      gaps_.insert(above, block);
    }
  }

  /// How many were looked at so far.
  [[nodiscard]] std::int64_t looks() const { return looks_; }

 private:
  [[nodiscard]] static bool takes(const Interval& gap, const Buffer& buffer) {
    return gap.end - base::align_up(gap.begin, buffer.alignment) >= buffer.size;
  }

  [[nodiscard]] std::size_t lowest(const Buffer& buffer) const {
    std::size_t g = 0;
    while (!takes(gaps_[g], buffer)) ++g;
    return g;
  }

  [[nodiscard]] std::size_t tightest(const Buffer& buffer) const {
    std::size_t best = gaps_.size() - 1;
    for (std::size_t g = 0; g + 1 < gaps_.size(); ++g) {
      const Bytes room = gaps_[g].end - gaps_[g].begin;
      const bool is_tighter = room < gaps_[best].end - gaps_[best].begin;
      if (room >= buffer.size && is_tighter && takes(gaps_[g], buffer)) best = g;
    }
    return best;
  }

  std::vector<Interval> gaps_{{0, std::numeric_limits<Bytes>::max()}};
  std::int64_t looks_ = 0;
};

/// A block in use, and the position from which it is free.
using Release = std::pair<Position, Interval>;
struct ReleasedLater {
  bool operator()(const Release& a, const Release& b) const { return a.first > b.first; }
};

/// As `place_in_order`, for whole buffers without pins in the order of starts.
Placing place_by_start(const Problem& problem, std::span<const std::size_t> order, Fit fit,
                       const Control& control, std::string_view what) {
  Placing placing{std::vector<Place>(problem.buffers.size())};
  constexpr std::int64_t work_of_look = 2;  // in the units of deadlines, about
  Gaps gaps;
  std::int64_t told = 0;  // looks that the deadline knows of
  const auto tell = [&] { control.spend(work_of_look * (gaps.looks() - std::exchange(told, gaps.looks()))); };
  std::priority_queue<Release, std::vector<Release>, ReleasedLater> taken;
  for (std::size_t done = 0; done < order.size(); ++done) {
    if (done % buffers_between_looks == 0) {
      tell();
      if (control.is_too_late()) return no_placing();
      control.report(what, static_cast<double>(done) / static_cast<double>(order.size()));
    }
    const Buffer& buffer = problem.buffers[order[done]];
    const Lifetime life = life_of(buffer);
    if (life.lower == life.upper) continue;
    for (; !taken.empty() && taken.top().first <= life.lower; taken.pop()) gaps.release(taken.top().second);
    const Bytes offset = gaps.take(buffer, fit);
    if (control.is_beaten(offset + buffer.size)) return {};
    placing.places[order[done]].offset = offset;
    taken.push({life.upper, {offset, offset + buffer.size}});
  }
  tell();
  return placing;
}

constexpr std::array<Greedy, 6> table{{
    {{"greedy-by-size", "largest buffer first, each in the tightest gap", "Pisarchyk & Lee 2020"},
     by_size,
     Fit::tightest,
     8,
     150},
    {{"greedy-by-breadth", "buffers of the fullest position first, each in the tightest gap",
      "Pisarchyk & Lee 2020"},
     by_breadth,
     Fit::tightest,
     6,
     450},
    {{"greedy-by-area", "largest size times duration first, as low as it goes", "folklore"},
     by_area,
     Fit::lowest,
     5,
     150},
    {{"greedy-by-duration", "longest life first, as low as it goes", "folklore"},
     by_duration,
     Fit::lowest,
     4,
     150},
    {{"first-fit-by-start", "earliest start first, as low as it goes", "Knuth, TAOCP 1, 2.5"},
     by_start_of_life,
     Fit::lowest,
     1,
     200},
    {{"best-fit-by-start", "earliest start first, each in the tightest gap", "Knuth, TAOCP 1, 2.5"},
     by_start_of_life,
     Fit::tightest,
     2,
     300},
}};

}  // namespace

std::span<const Greedy> greedies() { return table; }

Placing place_greedily(const Greedy& greedy, const Problem& problem, const Control& control) {
  if (control.is_too_late()) return no_placing();
  const std::vector<std::size_t> order = greedy.order(problem, control);
  if (order.size() < problem.buffers.size() || control.is_too_late()) return no_placing();
  const bool is_in_time = greedy.order == by_start_of_life && are_whole_and_free(problem);
  const auto place = is_in_time ? place_by_start : place_in_order;
  return place(problem, order, greedy.fit, control, greedy.info.name);
}

}  // namespace stowage::pack
