// Rows of a tensor come and go in turn, and those that are there lie one behind the other. So a buffer of
// thousands of pieces needs, at each position, only few intervals of bytes:
//
//     address ^        +-----+
//             |     +--+     |         position 3: [0, 3)
//             |  +--+     +--+         position 5: [1, 3)
//             |  +--------+
//             +--1--2--3--4--5----> time
//
// Two buffers collide at the differences of such intervals. Where both have n pieces, this takes about n steps,
// not n * n, and what comes out are few intervals again, mostly one.
//
// Cost: n log n for the pieces of a buffer; for two buffers their sections, times the intervals in these.

#include "pack/collisions.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace stowage::pack {
namespace {

constexpr std::size_t most_unsorted = 4096;

/// Sorts open intervals, and joins those that overlap.
void join(std::vector<Interval>& intervals) {
  std::ranges::sort(intervals, {}, [](const Interval& it) { return std::pair(it.begin, it.end); });
  std::size_t kept = 0;
  for (const Interval& it : intervals) {
    if (kept > 0 && it.begin < intervals[kept - 1].end) {
      intervals[kept - 1].end = std::max(intervals[kept - 1].end, it.end);
    } else {
      intervals[kept++] = it;
    }
  }
  intervals.resize(kept);
}

/// Joins it with the last one if they overlap, as they mostly do from one section to the next.
void add_to(std::vector<Interval>& intervals, const Interval& it) {
  if (intervals.empty() || it.begin >= intervals.back().end || intervals.back().begin >= it.end) {
    intervals.push_back(it);
    return;
  }
  intervals.back().begin = std::min(intervals.back().begin, it.begin);
  intervals.back().end = std::max(intervals.back().end, it.end);
}

/// Disjoint intervals, by their begin; no two touch.
using Needed = std::map<Bytes, Bytes>;

void insert(const Piece& piece, Needed& needed) {
  Bytes begin = piece.offset;
  Bytes end = piece.offset + piece.size;
  auto next = needed.lower_bound(begin);
  if (next != needed.end() && next->first == end) {
    end = next->second;
    next = needed.erase(next);
  }
  if (next != needed.begin() && std::prev(next)->second == begin) {
    begin = std::prev(next)->first;
    needed.erase(std::prev(next));
  }
  needed.emplace(begin, end);
}

void erase(const Piece& piece, Needed& needed) {
  const auto around = std::prev(needed.upper_bound(piece.offset));
  const auto [begin, end] = *around;
  needed.erase(around);
  if (begin < piece.offset) needed.emplace(begin, piece.offset);
  if (piece.offset + piece.size < end) needed.emplace(piece.offset + piece.size, end);
}

}  // namespace

Collisions::Collisions(std::span<const Buffer> buffers) {
  for (const Buffer& buffer : buffers) {
    add(buffer);
    first_.push_back(sections_.size());
  }
}

void Collisions::add(const Buffer& buffer) {
  std::vector<std::tuple<Position, bool, const Piece*>> events;  // ends come before begins
  for (const Piece& piece : buffer.pieces) {
    if (!piece.is_ever_alive()) continue;
    events.emplace_back(piece.life.lower, true, &piece);
    events.emplace_back(piece.life.upper, false, &piece);
  }
  std::ranges::sort(events, {}, [](const auto& it) {
    const auto& [at, begins, piece] = it;
    return std::tuple(at, begins, piece->offset);
  });
  Needed needed;
  for (std::size_t e = 0; e < events.size(); ++e) {
    const auto& [at, begins, piece] = events[e];
    begins ? insert(*piece, needed) : erase(*piece, needed);
    if (e + 1 == events.size() || std::get<0>(events[e + 1]) == at || needed.empty()) continue;
    const std::size_t first = bytes_.size();
    for (const auto& [begin, end] : needed) bytes_.push_back({begin, end});
    sections_.push_back({{at, std::get<0>(events[e + 1])}, first, bytes_.size()});
  }
}

void Collisions::find(std::size_t buffer, std::size_t other, std::vector<Interval>& found) const {
  found.clear();
  std::size_t a = first_[buffer];
  std::size_t b = first_[other];
  while (a < first_[buffer + 1] && b < first_[other + 1]) {
    const Section& mine = sections_[a];
    const Section& its = sections_[b];
    if (mine.life.lower < its.life.upper && its.life.lower < mine.life.upper) {
      for (std::size_t i = mine.first; i < mine.end; ++i) {
        for (std::size_t k = its.first; k < its.end; ++k)
          add_to(found, {bytes_[k].begin - bytes_[i].end, bytes_[k].end - bytes_[i].begin});
      }
      if (found.size() > most_unsorted) join(found);
    }
    ++(mine.life.upper <= its.life.upper ? a : b);
  }
  join(found);
}

}  // namespace stowage::pack
