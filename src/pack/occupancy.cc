// Idea. To place buffers in an order that is not the order of time, one must ask: which addresses
// are taken at any time in [lower, upper)? The usual answer compares each buffer with every one
// placed before it, or builds the graph of all pairs that conflict: quadratic. Here the answer is
// the union of a few address sets in a segment tree over time.
//
// Time is compressed to the positions where some piece begins or ends; the stretches between them
// are cells, sixteen cells are a block, blocks are the leaves of the tree. A node knows
//   throughout   addresses taken during all of the node's time by pieces recorded at this node,
//   somewhere    addresses taken at some of its time by pieces recorded at it or below it,
// both as merged intervals. A piece that covers a part of a block only is listed in the block.
//
//     [ root: somewhere                                ]
//     [ left: somewhere      ][ right: throughout      ]   a piece over blocks 1 to 3
//     [ block 0 ][ block 1:T  ][ block 2 ][ block 3     ]   is recorded at block 1 and at `right`
//
// A query for [lower, upper) adds, on the way down, `throughout` of the nodes it leaves partly, and
// `somewhere` of those it covers. Where addresses are packed densely these sets are short: the
// merging is what makes it fast.
//
// From the taken addresses follow the offsets that are impossible: a piece at `offset` of `size`
// bytes forbids every x with begin - offset - size < x < end - offset. The forbidden intervals of
// all pieces of a buffer are sorted by their lower end, and one pass over them finds the lowest or
// the tightest place, so that several pieces cost no more thought than one.
//
// Cost. Memory: linear in buffers, times log(blocks) at worst before merging. A query: log(blocks)
// nodes and the intervals in them. Source: ours; the segment tree is Bentley's (1977).

#include "pack/occupancy.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/checked.h"

namespace stowage::pack {
namespace {

constexpr std::size_t cells_per_block = 16;
constexpr std::size_t root = 1;  // there is always an unused cell at the end, so no piece covers it

}  // namespace

void AddressSet::insert(Interval interval) {
  // The first that touches `interval` or lies above it, and the first that lies wholly above it.
  const auto first = std::lower_bound(intervals_.begin(), intervals_.end(), interval.begin,
                                      [](const Interval& it, Bytes begin) { return it.end < begin; });
  auto last = first;
  while (last != intervals_.end() && last->begin <= interval.end) {
    interval.begin = std::min(interval.begin, last->begin);
    interval.end = std::max(interval.end, last->end);
    ++last;
  }
  if (first == last) {
    intervals_.insert(first, interval);
    return;
  }
  *first = interval;
  intervals_.erase(first + 1, last);
}

Occupancy::Occupancy(std::span<const Buffer> buffers) {
  for (const Buffer& buffer : buffers) {
    for (const Piece& piece : buffer.pieces) {
      if (!piece.is_ever_alive()) continue;
      times_.push_back(piece.life.lower);
      times_.push_back(piece.life.upper);
    }
  }
  std::sort(times_.begin(), times_.end());
  times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
  times_.shrink_to_fit();
  blocks_ = std::bit_ceil(times_.size() / cells_per_block + 1);
  nodes_.resize(2 * blocks_);
  partials_.resize(blocks_);
}

Occupancy::Cells Occupancy::cells_of(const Lifetime& life) const {
  const auto index = [&](Position at) {
    return static_cast<std::size_t>(std::lower_bound(times_.begin(), times_.end(), at) - times_.begin());
  };
  return {index(life.lower), index(life.upper)};
}

void Occupancy::reserve(const Buffer& buffer, Bytes offset) {
  for (const Piece& piece : buffer.pieces) {
    if (!piece.is_ever_alive()) continue;
    const Bytes begin = offset + piece.offset;
    insert(root, {0, blocks_}, cells_of(piece.life), {begin, begin + piece.size});
  }
}

void Occupancy::insert(std::size_t node, Cells blocks, Cells cells, Interval addresses) {
  const Cells covered{blocks.begin * cells_per_block, blocks.end * cells_per_block};
  if (cells.end <= covered.begin || covered.end <= cells.begin) return;
  if (node != root) nodes_[node].somewhere.insert(addresses);  // nobody asks for all of time
  if (cells.begin <= covered.begin && covered.end <= cells.end) {
    nodes_[node].throughout.insert(addresses);
  } else if (blocks.end - blocks.begin == 1) {
    partials_[blocks.begin].push_back({cells, addresses});
  } else {
    const std::size_t middle = blocks.begin + (blocks.end - blocks.begin) / 2;
    insert(2 * node, {blocks.begin, middle}, cells, addresses);
    insert(2 * node + 1, {middle, blocks.end}, cells, addresses);
  }
}

void Occupancy::collect(std::size_t node, Cells blocks, Cells cells, const Piece& piece) {
  const Cells covered{blocks.begin * cells_per_block, blocks.end * cells_per_block};
  if (cells.end <= covered.begin || covered.end <= cells.begin) return;
  if (cells.begin <= covered.begin && covered.end <= cells.end) {
    for (const Interval& taken : nodes_[node].somewhere.intervals()) forbid(taken, piece);
    return;
  }
  for (const Interval& taken : nodes_[node].throughout.intervals()) forbid(taken, piece);
  if (blocks.end - blocks.begin == 1) {
    for (const Partial& partial : partials_[blocks.begin]) {
      if (partial.cells.begin < cells.end && cells.begin < partial.cells.end)
        forbid(partial.addresses, piece);
    }
    return;
  }
  const std::size_t middle = blocks.begin + (blocks.end - blocks.begin) / 2;
  collect(2 * node, {blocks.begin, middle}, cells, piece);
  collect(2 * node + 1, {middle, blocks.end}, cells, piece);
}

void Occupancy::forbid(const Interval& taken, const Piece& piece) {
  forbidden_.push_back({taken.begin - piece.offset - piece.size, taken.end - piece.offset});
}

void Occupancy::forbid_offsets(const Buffer& buffer) {
  forbidden_.clear();
  for (const Piece& piece : buffer.pieces) {
    if (piece.is_ever_alive()) collect(root, {0, blocks_}, cells_of(piece.life), piece);
  }
  std::sort(forbidden_.begin(), forbidden_.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
}

Bytes Occupancy::lowest_fit(const Buffer& buffer) {
  forbid_offsets(buffer);
  Bytes offset = 0;
  for (const Interval& forbidden : forbidden_) {
    if (forbidden.begin >= offset) break;  // and so are all that follow
    if (forbidden.end > offset) offset = base::align_up(forbidden.end, buffer.alignment);
  }
  return offset;
}

Bytes Occupancy::tightest_fit(const Buffer& buffer) {
  forbid_offsets(buffer);
  Bytes reach = 0;  // offsets below it are decided
  Bytes least_room = std::numeric_limits<Bytes>::max();
  Bytes best = 0;
  for (const Interval& forbidden : forbidden_) {
    const Bytes offset = base::align_up(reach, buffer.alignment);
    const Bytes room = forbidden.begin - reach;
    if (offset <= forbidden.begin && room < least_room) {
      least_room = room;
      best = offset;
    }
    reach = std::max(reach, forbidden.end);
  }
  return least_room == std::numeric_limits<Bytes>::max() ? base::align_up(reach, buffer.alignment) : best;
}

}  // namespace stowage::pack
