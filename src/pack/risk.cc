// Idea. A layout is too high because of what sticks out, and of what is alive at the same time and could
// make room. These are the rectangles worth tuning; the others may be placed after them, anyhow.
//
//     address ^      +--+
//             |......|a |....+--+......  threshold      a, b: high, for a sticks out and b meets it
//             |  +---+--+--+ |c |                       c, d: medium, for c reaches the threshold
//             |  |    b    | |d +----+                  e: low, it meets d
//             +--+---------+-+--+ e  +--> time
//
// Who meets whom is not asked pair by pair. The lives of the culprits are merged into disjoint spans, and
// each piece looks up whether it meets one of them. Cost: n log n.
// Source: the document of docs/rectangle.md, claim 5, paragraphs 20, 125 and 152. "Time overlap" is between
// pieces: a buffer does not meet another one in a gap of its life.

#include "pack/risk.h"

#include <algorithm>
#include <cstddef>

namespace stowage::pack {
namespace {

/// Disjoint stretches of time in rising order.
using Spans = std::vector<Lifetime>;

template <typename Belongs>
Spans lives_of(std::span<const Buffer> buffers, Belongs belongs) {
  Spans lives;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    if (!belongs(b)) continue;
    for (const Piece& piece : buffers[b].pieces) {
      if (piece.is_ever_alive()) lives.push_back(piece.life);
    }
  }
  std::sort(lives.begin(), lives.end(),
            [](const Lifetime& a, const Lifetime& b) { return a.lower < b.lower; });
  Spans spans;
  for (const Lifetime& life : lives) {
    if (!spans.empty() && life.lower <= spans.back().upper) {
      spans.back().upper = std::max(spans.back().upper, life.upper);
    } else {
      spans.push_back(life);
    }
  }
  return spans;
}

bool is_alive_during(const Buffer& buffer, const Spans& spans) {
  return std::any_of(buffer.pieces.begin(), buffer.pieces.end(), [&](const Piece& piece) {
    if (!piece.is_ever_alive()) return false;
    const auto next = std::upper_bound(spans.begin(), spans.end(), piece.life.lower,
                                       [](Position at, const Lifetime& span) { return at < span.upper; });
    return next != spans.end() && next->lower < piece.life.upper;
  });
}

}  // namespace

std::vector<Risk> classify(std::span<const Buffer> buffers, std::span<const Bytes> offsets, Bytes threshold) {
  std::vector<Risk> risks(buffers.size(), Risk::none);
  const auto raise = [&](Risk risk, const Spans& spans) {
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      if (risks[b] < risk && is_alive_during(buffers[b], spans)) risks[b] = risk;
    }
  };
  const auto top = [&](std::size_t b) { return offsets[b] + buffers[b].size; };
  raise(Risk::high, lives_of(buffers, [&](std::size_t b) { return top(b) > threshold; }));
  raise(Risk::medium, lives_of(buffers, [&](std::size_t b) { return top(b) == threshold; }));
  raise(Risk::low, lives_of(buffers, [&](std::size_t b) { return risks[b] >= Risk::medium; }));
  return risks;
}

}  // namespace stowage::pack
