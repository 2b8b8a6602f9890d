// Idea. What is alive at a position lies above each other and ends no lower than the sum of its sizes. Where
// all begin at multiples of some unit the space between an end and the next multiple is lost, too, except
// above the topmost, which may be the one that would lose most.
//
//     unit 8     |xxxxx...|yyyyyyy.|zzz      x, y and z of 5, 7 and 3 bytes: 19 at least, not 15
//
// The units are the powers of two among the alignments. What does not begin at their multiples is left out.
// Cost: n log n for each unit.

#include "check/loads.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

namespace stowage::check {
namespace {

__extension__ using Sum = __int128;  // what overlaps may add up to more than 64 bits hold

Sum least_top(std::span<const LiveBytes> all, Bytes unit) {
  const auto loses = [unit](const LiveBytes& it) { return it.size % unit != 0; };
  if (unit > 1 && std::none_of(all.begin(), all.end(), loses)) return 0;
  std::vector<std::pair<Position, Bytes>> changes;  // at one position what ends, below 0, comes first
  changes.reserve(2 * all.size());
  for (const LiveBytes& it : all) {
    if (it.life.lower >= it.life.upper || it.size <= 0) continue;
    if (it.alignment % unit != 0 || it.begin % unit != 0) continue;
    changes.emplace_back(it.life.lower, it.size);
    changes.emplace_back(it.life.upper, -it.size);
  }
  std::sort(changes.begin(), changes.end());
  std::multiset<Bytes> lost;  // above each
  Sum sum = 0;
  Sum most = 0;
  for (const auto& [at, change] : changes) {
    const Bytes size = std::abs(change);
    const Bytes loss = (unit - size % unit) % unit;
    if (change > 0) {
      sum += Sum{size} + loss;
      lost.insert(loss);
      most = std::max(most, sum - *lost.rbegin());
    } else {
      sum -= Sum{size} + loss;
      lost.erase(lost.find(loss));
    }
  }
  return most;
}

}  // namespace

Bytes least_top(std::span<const LiveBytes> all) {
  std::set<Bytes> units{1};
  for (const LiveBytes& it : all) {
    if (std::has_single_bit(static_cast<std::uint64_t>(it.alignment))) units.insert(it.alignment);
  }
  Sum most = 0;
  for (const Bytes unit : units) most = std::max(most, least_top(all, unit));
  return static_cast<Bytes>(std::min<Sum>(most, largest_value));
}

}  // namespace stowage::check
