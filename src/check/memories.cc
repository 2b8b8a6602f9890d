// Bytes that are live at one position are at different addresses or in different memories, whatever memories
// are chosen. So the peaks of all memories add up to as much. Branches of a fork run at the same time, and the most
// live bytes of each count for the position of the fork:
//
//     clock 1 (fork at 2)        3 5 4           most: 5
//     clock 2 (fork at 2)        7 2             most: 7
//     clock 0              1 2  1 + 5 + 7  4     most: 13
//
// The same holds at each pause.
// Cost: n log n in pieces.

#include "check/memories.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/clock_tree.h"

namespace stowage::check {
namespace {

__extension__ using WideSum = __int128;  // live bytes may exceed 64 bits

using Changes = std::vector<std::pair<Position, Bytes>>;

/// At one position, ends (negative) come first.
Bytes highest_sum(Changes& changes) {
  std::sort(changes.begin(), changes.end());
  WideSum sum = 0;
  WideSum most = 0;
  for (const auto& [at, change] : changes) most = std::max(most, sum += change);
  return static_cast<Bytes>(std::min<WideSum>(most, largest_value));
}

}  // namespace

Bytes most_live_bytes(const Plan& plan) {
  const model::ClockTree tree(plan.clocks);
  std::vector<Changes> changes(tree.size());  // per clock
  const auto add = [&](std::size_t clock, const Lifetime& life, Bytes bytes) {
    if (life.lower >= life.upper || bytes <= 0) return;
    changes[clock].emplace_back(life.lower, bytes);
    changes[clock].emplace_back(life.upper, -bytes);
  };
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.memories[plan.places[b].memory].memory.role == MemoryRole::weights) continue;
    for (const Piece& piece : plan.buffers[b].pieces) add(plan.buffers[b].clock, piece.life, piece.size);
  }
  for (std::size_t rank = tree.size() - 1; rank > 0; --rank) {
    const std::size_t clock = tree.clock_of_rank(rank);
    const Bytes most = highest_sum(changes[clock]);
    for (const Position at : tree.positions_of(clock)) add(tree.fork_of(clock)->clock, {at, at + 1}, most);
  }
  return highest_sum(changes[tree.clock_of_rank(0)]);
}

}  // namespace stowage::check
