// Lives on a clock with copies. A copy lies between the operators before it and behind it, so a life that begins or ends
// there does not meet it. But what one piece of a buffer has, a later one may go on with:
//
//     old positions     3    4              5
//     new positions     3    4    copy      6
//     pieces           [0..8)    [4..8)    [4..12)      the first ends at 5, the last begins there
//
// Cost: n log n in pieces.

#include "pack/memories/stretched.h"

#include <algorithm>
#include <map>

namespace stowage::memories {

Lifetime life_on(const Stretched& clock, const Lifetime& life) {
  return {clock.of(life.lower), std::max(clock.of(life.lower), clock.upper(life.upper))};
}

void stretch(const Stretched& clock, std::vector<Piece>& pieces) {
  std::multimap<Position, std::size_t> begins;  // of pieces in front of which there are copies
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Position lower = pieces[i].life.lower;
    if (pieces[i].is_ever_alive() && clock.upper(lower) < clock.of(lower)) begins.emplace(lower, i);
  }
  std::vector<Piece> all = pieces;
  for (Piece& piece : all) piece.life = life_on(clock, piece.life);
  for (const Piece& before : pieces) {
    if (!before.is_ever_alive()) continue;
    const auto [first, last] = begins.equal_range(before.life.upper);
    for (auto it = first; it != last; ++it) {
      const Piece& behind = pieces[it->second];
      const Bytes low = std::max(before.offset, behind.offset);
      const Bytes high = std::min(before.offset + before.size, behind.offset + behind.size);
      if (low < high)
        all.push_back({low, high - low, {clock.upper(behind.life.lower), clock.of(behind.life.lower)}});
    }
  }
  pieces = std::move(all);
}

}  // namespace stowage::memories
