// Idea. The breadth of a position is the sum of what is alive at it; the position of greatest
// breadth decides the peak, so its buffers go first. Positions by falling breadth (the earlier of
// equal ones first); at each, the buffers alive there that have no place yet, by falling size, each
// in the tightest gap that takes it.
//
//     breadth  3   7   9   4        position 2 first: b, c, d; then position 1: a; then 3: e
//     alive    a   ab  bcd  de
//
// A buffer is thus placed at the broadest position of its life. That is a range-maximum query on
// the load profile, and sorting by its answer replaces listing who is alive at every position,
// which would be quadratic where thousands are.
//
// Cost: a sort, log(positions) and one placing query per buffer (occupancy.cc).
// Source: Pisarchyk & Lee, Efficient Memory Management for Deep Neural Net Inference, 2020,
// "greedy by breadth for offset calculation", operators generalised to positions.

#include "pack/greedy_by_breadth.h"

#include <bit>
#include <tuple>

#include "pack/load.h"

namespace stowage::pack {
namespace {

/// Finds the entry with most bytes in a range of a load profile, the earliest of equal ones: a
/// tournament tree over the entries.
class BroadestEntry {
 public:
  explicit BroadestEntry(const std::vector<Load>& profile)
      : profile_(profile),
        leaves_(std::bit_ceil(std::max<std::size_t>(profile.size(), 1))),
        winners_(2 * leaves_, 0) {
    for (std::size_t i = 0; i < leaves_; ++i) winners_[leaves_ + i] = i;
    for (std::size_t i = leaves_; i-- > 1;) winners_[i] = better(winners_[2 * i], winners_[2 * i + 1]);
  }

  /// `begin` < `end`, both in the profile.
  [[nodiscard]] std::size_t in(std::size_t begin, std::size_t end) const {
    std::size_t best = begin;
    for (begin += leaves_, end += leaves_; begin < end; begin /= 2, end /= 2) {
      if (begin % 2 == 1) best = better(best, winners_[begin++]);
      if (end % 2 == 1) best = better(best, winners_[--end]);
    }
    return best;
  }

 private:
  [[nodiscard]] std::size_t better(std::size_t a, std::size_t b) const {
    if (a >= profile_.size() || b >= profile_.size()) return std::min(a, b);
    if (profile_[a].bytes != profile_[b].bytes) return profile_[a].bytes > profile_[b].bytes ? a : b;
    return std::min(a, b);
  }

  const std::vector<Load>& profile_;
  std::size_t leaves_;
  std::vector<std::size_t> winners_;
};

}  // namespace

Placing greedy_by_breadth(const Problem& problem, const Control& control) {
  const std::vector<Load> profile = load_profile(problem.buffers);
  const BroadestEntry broadest(profile);
  const auto entry_at = [&](Position at) {
    const auto it = std::lower_bound(profile.begin(), profile.end(), at,
                                     [](const Load& load, Position position) { return load.at < position; });
    return static_cast<std::size_t>(it - profile.begin());
  };
  using Key = std::tuple<Bytes, std::size_t, Bytes>;  // sorts upwards, hence the minus signs
  std::vector<Key> keys;
  keys.reserve(problem.buffers.size());
  for (const Buffer& buffer : problem.buffers) {
    if (keys.size() % buffers_between_looks == 0 && control.is_too_late()) return no_placing();
    std::optional<std::size_t> entry;
    for (const Piece& piece : buffer.pieces) {
      if (!piece.is_ever_alive()) continue;
      const std::size_t candidate = broadest.in(entry_at(piece.life.lower), entry_at(piece.life.upper));
      if (!entry || profile[candidate].bytes > profile[*entry].bytes ||
          (profile[candidate].bytes == profile[*entry].bytes && candidate < *entry)) {
        entry = candidate;
      }
    }
    keys.emplace_back(entry ? -profile[*entry].bytes : 0, entry.value_or(0), -buffer.size);
  }
  const auto order = sorted_buffers(problem, [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  return place_in_order(problem, order, Fit::tightest, control, "greedy-by-breadth");
}

}  // namespace stowage::pack
