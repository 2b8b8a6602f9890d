// Placing buffers in any order but that of time raises a question: which addresses are taken at any
// time in [lower, upper)? The usual answer compares each buffer with all placed before it, or builds the
// graph of all conflicts: quadratic. Here the answer is the union of a few address sets in a segment tree
// over time.
//
// Time is compressed to the positions where some piece begins or ends. The stretches between them are
// cells, sixteen cells are a block, blocks are the leaves of the tree. A node holds
//   throughout   addresses taken during all of the node's time by pieces recorded at this node,
//   somewhere    addresses taken at some of its time by pieces recorded at it or below it,
// both as merged intervals. A piece that covers only a part of a block is listed in the block.
//
//     [ root: somewhere                                ]
//     [ left: somewhere      ][ right: throughout      ]   a piece over blocks 1 to 3
//     [ block 0 ][ block 1:T  ][ block 2 ][ block 3     ]   is recorded at block 1 and at `right`
//
// On its way down, a query for [lower, upper) adds `throughout` of the nodes it covers in part, and
// `somewhere` of those it covers whole. Where addresses are densely packed these sets are short: the merging
// makes the query fast.
//
// The taken addresses yield the impossible offsets: a piece at `offset` of `size` bytes forbids every x with
// begin - offset - size < x < end - offset. Sorted by lower end, the forbidden intervals of all pieces of a
// buffer yield the lowest or the tightest place in one pass. So several pieces need no extra code.
//
// Cost. Memory: linear in buffers, at worst times log(blocks) before merging. A query: log(blocks) nodes and
// the intervals in them, merged by a heap. Source: ours; the segment tree is Bentley's (1977).

#include "pack/occupancy.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <utility>

#include "base/checked.h"

namespace stowage::pack {
namespace {

constexpr std::size_t cells_per_block = 16;
/// Work, about, in the units of deadlines.
constexpr std::int64_t work_of_cell = 12;
constexpr std::int64_t work_to_insert = 20;  ///< At a node,
constexpr std::int64_t work_to_collect = 3;  ///< and to list its runs.
constexpr std::int64_t work_at_partial = 8;  ///< With sorting those that are found.
constexpr std::int64_t work_at_interval = 2;
constexpr std::int64_t work_between_runs = 23;  ///< To go from one run on to the next.
constexpr std::size_t root = 1;  // the end always has an unused cell, so no piece covers the root

}  // namespace

void AddressSet::insert(Interval interval) {
  // The first that touches `interval` or is above it, and the first that is wholly above it.
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
  times_.reserve(2 * buffers.size());
  for (const Buffer& buffer : buffers) {
    for (const Piece& piece : buffer.pieces) {
      if (!piece.is_ever_alive()) continue;
      times_.push_back(piece.life.lower);
      times_.push_back(piece.life.upper);
    }
  }
  work_ = work_of_cell * std::ssize(times_);
  blocks_ = std::bit_ceil(number_cells() / cells_per_block + 1);
  nodes_.resize(2 * blocks_);
  partials_.resize(blocks_);
}

/// Leaves each time once, in rising order. For close times a table maps positions to cells instead.
std::size_t Occupancy::number_cells() {
  if (times_.empty()) return 0;
  const auto [least, greatest] = std::minmax_element(times_.begin(), times_.end());
  first_ = *least;
  const Position span = *greatest - first_;
  if (span > std::ssize(times_) || std::ssize(times_) > std::numeric_limits<std::uint32_t>::max()) {
    std::sort(times_.begin(), times_.end());
    times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
    times_.shrink_to_fit();
    return times_.size();
  }
  cells_.resize(static_cast<std::size_t>(span) + 1);
  for (const Position at : times_) cells_[static_cast<std::size_t>(at - first_)] = 1;
  std::vector<Position>().swap(times_);
  std::uint32_t count = 0;
  for (std::uint32_t& cell : cells_) count += std::exchange(cell, count);
  return count;
}

std::size_t Occupancy::cell_at(Position at) const {
  if (!cells_.empty()) return cells_[static_cast<std::size_t>(at - first_)];
  return static_cast<std::size_t>(std::lower_bound(times_.begin(), times_.end(), at) - times_.begin());
}

Occupancy::Cells Occupancy::cells_of(const Lifetime& life) const {
  return {cell_at(life.lower), cell_at(life.upper)};
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
  work_ += work_to_insert;
  if (node != root) nodes_[node].somewhere.insert(addresses);  // no query covers all of time
  if (cells.begin <= covered.begin && covered.end <= cells.end) {
    nodes_[node].throughout.insert(addresses);
  } else if (blocks.end - blocks.begin == 1) {
    partials_[blocks.begin].push_back(
        {static_cast<std::uint32_t>(cells.begin), static_cast<std::uint32_t>(cells.end), addresses});
  } else {
    const std::size_t middle = blocks.begin + (blocks.end - blocks.begin) / 2;
    insert(2 * node, {blocks.begin, middle}, cells, addresses);
    insert(2 * node + 1, {middle, blocks.end}, cells, addresses);
  }
}

void Occupancy::collect(std::size_t node, Cells blocks, Cells cells, const Piece& piece) {
  const Cells covered{blocks.begin * cells_per_block, blocks.end * cells_per_block};
  if (cells.end <= covered.begin || covered.end <= cells.begin) return;
  work_ += work_to_collect;
  if (cells.begin <= covered.begin && covered.end <= cells.end) {
    add_run(nodes_[node].somewhere.intervals(), piece);
    return;
  }
  add_run(nodes_[node].throughout.intervals(), piece);
  if (blocks.end - blocks.begin == 1) {
    collect_partials(partials_[blocks.begin], cells, piece);
    return;
  }
  const std::size_t middle = blocks.begin + (blocks.end - blocks.begin) / 2;
  collect(2 * node, {blocks.begin, middle}, cells, piece);
  collect(2 * node + 1, {middle, blocks.end}, cells, piece);
}

/// Pieces that cover a part of a block are not sorted: those found become a run of their own.
void Occupancy::collect_partials(const std::vector<Partial>& partials, Cells cells, const Piece& piece) {
  work_ += work_at_partial * std::ssize(partials);
  const std::size_t begin = partly_.size();
  for (const Partial& partial : partials) {
    if (partial.begin < cells.end && cells.begin < partial.end) partly_.push_back(partial.addresses);
  }
  const std::size_t found = partly_.size() - begin;
  if (found == 0) return;
  const auto first = partly_.begin() + static_cast<std::ptrdiff_t>(begin);
  std::sort(first, partly_.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  auto last = first;
  for (auto it = first + 1; it != partly_.end(); ++it) {
    if (it->begin <= last->end) {
      last->end = std::max(last->end, it->end);
    } else {
      *++last = *it;
    }
  }
  partly_.erase(last + 1, partly_.end());
  partly_runs_.push_back({begin, partly_.size(), &piece});
}

void Occupancy::add_run(const std::vector<Interval>& taken, const Piece& piece) {
  if (taken.empty()) return;
  runs_.push_back({taken.data(), taken.data() + taken.size(), piece.offset, piece.offset + piece.size});
}

void Occupancy::find_runs(const Buffer& buffer) {
  runs_.clear();
  partly_.clear();
  partly_runs_.clear();
  for (const Piece& piece : buffer.pieces) {
    if (piece.is_ever_alive()) collect(root, {0, blocks_}, cells_of(piece.life), piece);
  }
  for (const PartlyRun& run : partly_runs_) {
    runs_.push_back({partly_.data() + run.begin, partly_.data() + run.end, run.piece->offset,
                     run.piece->offset + run.piece->size});
  }
  for (Run& run : runs_) run.begin = run.next->begin - run.high;
  std::ranges::make_heap(runs_, std::greater(), &Run::begin);
}

/// Moves the first run down the heap to where it belongs.
void Occupancy::sift_first_run() {
  const Run run = runs_.front();
  std::size_t at = 0;
  for (std::size_t child = 1; child < runs_.size(); child = 2 * at + 1) {
    if (child + 1 < runs_.size() && runs_[child + 1].begin < runs_[child].begin) ++child;
    if (run.begin <= runs_[child].begin) break;
    runs_[at] = runs_[child];
    at = child;
  }
  runs_[at] = run;
}

/// Raises an offset until no run is in its way. Returns the greatest offset up to which all offsets are free;
/// none: without limit. The run that forbids the least offset is the first. All calls for a buffer pass each
/// interval once.
std::optional<Bytes> Occupancy::clear_runs(Bytes& offset, Bytes alignment) {
  while (!runs_.empty()) {
    Run& run = runs_.front();
    if (run.begin >= offset) return run.begin;
    const Interval* const first = run.next;
    do {
      const Bytes end = run.next->end - run.low;
      if (end > offset) offset = base::align_up(end, alignment);
      ++run.next;
    } while (run.next != run.end && run.next->begin - run.high < offset);
    work_ += work_between_runs + work_at_interval * (run.next - first);
    if (run.next != run.end) {
      run.begin = run.next->begin - run.high;
    } else {
      run = runs_.back();
      runs_.pop_back();
    }
    if (!runs_.empty()) sift_first_run();
  }
  return std::nullopt;
}

Bytes Occupancy::lowest_fit(const Buffer& buffer, Bytes from) {
  find_runs(buffer);
  Bytes offset = base::align_up(from, buffer.alignment);
  (void)clear_runs(offset, buffer.alignment);
  return offset;
}

Bytes Occupancy::tightest_fit(const Buffer& buffer) {
  find_runs(buffer);
  Bytes least_room = std::numeric_limits<Bytes>::max();
  Bytes best = 0;
  Bytes reach = 0;  // all offsets below it are examined
  for (;;) {
    const auto until = clear_runs(reach, 1);
    const Bytes offset = base::align_up(reach, buffer.alignment);
    if (!until) return least_room == std::numeric_limits<Bytes>::max() ? offset : best;
    if (offset <= *until && *until - reach < least_room) {
      least_room = *until - reach;
      best = offset;
      if (least_room == 0) return best;
    }
    reach = *until + 1;
  }
}

}  // namespace stowage::pack
