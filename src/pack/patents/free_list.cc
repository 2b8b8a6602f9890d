// Do before the run what an allocator would do during the run. Operator by operator, buffers that come
// to life are allocated in the given order; then buffers that were read for the last time are released. Every
// memory (level) has a list of allocated blocks, a list of free blocks sorted from small to large, and a
// frontier: no byte above it was ever used (below). A buffer goes to the first level that can take it, by the
// first of these ways that works:
//
//     free list 2 4, frontier ^, want..   4: an equal block, whole              |  2  |xxxx|^
//                                         3: the largest, split                 |  2  |xxx|1|^
//                                         6: the largest, if it touches the     |  2  |xxxxxx^
//                                            frontier, and the 2 missing
//                                         6, if it does not: fresh memory       |..4..|...^xxxxxx
//
// Buffers up to the threshold (`reuse_threshold`) take fresh memory only, so that they do not fragment free
// blocks. After release their blocks serve larger buffers.
//
// In one memory, a second pass of ours lets the free block at the frontier grow even if another one is larger; the
// lower placing is kept. As the fallback of other strategies, the first pass is all.
//
// Cost: n log n (buffers and memories).
// Source: the document of docs/free-list.md, paragraphs 40-58 (the ways and the threshold), 108 (operator by
// operator), 118-143 (levels), 144-151 (release), 172-198 (the flow chart).
//
// Where the document is open:
// - "The largest block is at the end" (paragraphs 129 and 188) refers to the list, where it always holds.
//   Only a block that touches the frontier can grow, so the code tests that. Of equally large blocks the list
//   has the highest last; of equal blocks that fit, the lowest is taken. The next level is tried only when no
//   way works in the first.
// - Several pieces: a block is held from the first position of a buffer to its last, gaps included.
// - Pins: bytes of pinned buffers are set aside from the start until the last pinned buffer there ends. A
//   pinned buffer names no memory: it goes to the first allowed level whose capacity holds it, else to the
//   last allowed one. Buffers that are never alive do the same, but have no block.
// - No level has room: the last allowed one grows beyond its capacity.
// - If cancelled after its first thousand buffers, it allocates the rest in groups: buffers that begin one after the
//   other are stacked in one block, which is free when the last of them ends. That takes a tenth of the time.

#include "pack/patents/free_list.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <queue>
#include <span>
#include <vector>

#include "base/checked.h"
#include "pack/strategies.h"

namespace stowage::pack {

// A memory is a sequence of blocks up to a frontier; no byte above it was ever used. Blocks that are
// free again are in a list sorted by size, and in a map by address, where a released block finds the
// neighbours to merge with.
//
//     address  0        16       24        40      48
//              | taken  |  free  |  taken  | free  | never used ..   | set aside |  never used ..
//                                                  ^ frontier
//     free list: [40, 48), [16, 24)    set aside: blocks above the frontier that cannot be taken
//
// Alignment. A request starts at the first aligned address of a block. The padding before it returns to the
// free list. So does skipped never-used memory: padding after the frontier, and the bytes before a block set
// aside that a fresh block steps over.
//
// A block set aside may be released before the frontier reaches it. Then it was never touched, and its bytes
// count as never used again.
//
// Cost: log n for each call. Stepping over a block set aside costs log n once, unless the limit forbids the
// step.
// Source: the document of docs/free-list.md, paragraphs 118-130 and 185-191 (taking), 146-150 (releasing).

namespace {

/// The first aligned one of several equal blocks is taken. This limits the search when none is aligned.
constexpr int equal_blocks_looked_at = 32;

}  // namespace

void FreeBlocks::set_aside(Interval block) { set_aside_.emplace(block.begin, block.end); }

std::optional<Bytes> FreeBlocks::take_equal(const Request& request) {
  auto block = by_size_.lower_bound({request.size, 0});
  for (int looked_at = 0; looked_at < equal_blocks_looked_at; ++looked_at, ++block) {
    if (block == by_size_.end() || block->first != request.size) return std::nullopt;
    const Bytes begin = block->second;
    if (begin % request.alignment != 0) continue;
    by_size_.erase(block);
    by_address_.erase(begin);
    return begin;
  }
  return std::nullopt;
}

std::optional<Bytes> FreeBlocks::take_split(const Request& request) {
  if (by_size_.empty()) return std::nullopt;
  const auto [size, begin] = *by_size_.rbegin();
  const Interval largest{begin, begin + size};
  if (base::align_up(begin, request.alignment) + request.size > largest.end) return std::nullopt;
  return take_from(largest, request);
}

std::optional<Bytes> FreeBlocks::take_extended(const Request& request, Bytes limit, Growing growing) {
  if (by_size_.empty()) return std::nullopt;
  const Bytes begin = growing == Growing::largest ? by_size_.rbegin()->second : by_address_.rbegin()->first;
  const Interval block{begin, by_address_.at(begin)};
  const Bytes end = base::align_up(begin, request.alignment) + request.size;
  const bool is_in_the_way = !set_aside_.empty() && set_aside_.begin()->first < end;
  if (block.end != frontier_ || end <= frontier_ || end > limit || is_in_the_way) return std::nullopt;
  frontier_ = end;
  remove(by_address_.find(begin));
  add({begin, end});
  return take_from({begin, end}, request);
}

std::optional<Bytes> FreeBlocks::take_fresh(const Request& request, Bytes limit) {
  Bytes begin = base::align_up(frontier_, request.alignment);
  auto next = set_aside_.begin();
  for (; next != set_aside_.end() && next->first < begin + request.size; ++next)
    begin = base::align_up(next->second, request.alignment);
  if (begin + request.size > limit) return std::nullopt;
  for (auto stepped_over = set_aside_.begin(); stepped_over != next;) {
    add({frontier_, stepped_over->first});
    frontier_ = stepped_over->second;
    stepped_over = set_aside_.erase(stepped_over);
  }
  add({frontier_, begin});
  frontier_ = begin + request.size;
  return begin;
}

void FreeBlocks::release(Interval block) {
  if (set_aside_.erase(block.begin) == 0) add(block);  // only blocks set aside begin at or above the frontier
}

std::vector<Interval> FreeBlocks::free_list() const {
  std::vector<Interval> blocks;
  for (const auto& [size, begin] : by_size_) blocks.push_back({begin, begin + size});
  return blocks;
}

/// Puts a block in the free list, merged with the free blocks that it touches.
void FreeBlocks::add(Interval block) {
  if (block.begin == block.end) return;
  auto above = by_address_.lower_bound(block.begin);
  if (above != by_address_.end() && above->first == block.end) {
    block.end = above->second;
    above = remove(above);
  }
  if (above != by_address_.begin() && std::prev(above)->second == block.begin) {
    block.begin = std::prev(above)->first;
    above = remove(std::prev(above));
  }
  by_address_.emplace_hint(above, block.begin, block.end);
  by_size_.emplace(block.end - block.begin, block.begin);
}

/// Returns the next one by address.
FreeBlocks::ByAddress::iterator FreeBlocks::remove(ByAddress::iterator block) {
  by_size_.erase({block->second - block->first, block->first});
  return by_address_.erase(block);
}

/// Serves the request from a free block that is large enough.
Bytes FreeBlocks::take_from(Interval block, const Request& request) {
  const Bytes begin = base::align_up(block.begin, request.alignment);
  remove(by_address_.find(block.begin));
  add({block.begin, begin});
  add({begin + request.size, block.end});
  return begin;
}

namespace {

constexpr std::int64_t work_of_pass = 300;        ///< For each buffer, in the units of deadlines, about.
constexpr std::size_t placed_in_any_case = 1024;  ///< Buffers, which take less than a millisecond.
constexpr std::size_t most_in_a_group = 64;       ///< Buffers that are allocated as one after a cut.

/// A block in use: an entry of the allocated list.
struct Allocated {
  Position upper = 0;  ///< From here on it is free.
  std::size_t memory = 0;
  Interval block{};
};

/// A buffer that waits for its block. It holds all data needed, so that a pass over a million buffers in the
/// order of time reads memory sequentially.
struct Demand {
  std::uint32_t buffer = 0;
  bool is_choosy = false;  ///< Only some memories are allowed.
  Lifetime life{};
  Request request{};
};

struct EndsLater {
  bool operator()(const Allocated& a, const Allocated& b) const { return a.upper > b.upper; }
};

void sort_by_start(std::vector<Demand>& demands) {
  std::sort(demands.begin(), demands.end(), [](const Demand& a, const Demand& b) {
    return a.life.lower != b.life.lower ? a.life.lower < b.life.lower : a.buffer < b.buffer;
  });
}

class FreeLists {
 public:
  FreeLists(const Problem& problem, Growing growing)
      : problem_(problem), growing_(growing), levels_(problem.memories.size()) {
    for (std::size_t m = 0; m < levels_.size(); ++m) every_level_.push_back(m);
  }

  /// Places pinned buffers and those that are never alive. Returns the others.
  std::vector<Demand> set_aside(std::vector<Place>& places) {
    std::vector<Demand> demands;
    demands.reserve(places.size());
    std::vector<Allocated> pins;
    for (std::size_t b = 0; b < places.size(); ++b) {
      const Buffer& buffer = problem_.buffers[b];
      const Lifetime life = life_of(buffer);
      const bool is_alive = life.lower < life.upper;
      if (is_alive && !buffer.pinned) {
        demands.push_back(
            {static_cast<std::uint32_t>(b), !buffer.memories.empty(), life, {buffer.size, buffer.alignment}});
        continue;
      }
      const Bytes offset = buffer.pinned.value_or(0);
      places[b] = {first_that_holds(buffer, offset), offset};
      if (is_alive) pins.push_back({life.upper, places[b].memory, {offset, offset + buffer.size}});
    }
    set_aside_in_groups(std::move(pins));
    return demands;
  }

  /// Frees the blocks that have ended by then.
  void release_until(Position now) {
    while (!allocated_.empty() && allocated_.top().upper <= now) {
      levels_[allocated_.top().memory].release(allocated_.top().block);
      allocated_.pop();
    }
  }

  /// Allocates the first demands as one block, as many as are alike. Returns how many.
  std::size_t allocate_group(std::span<const Demand> demands, Bytes threshold, std::vector<Place>& places) {
    Demand group = demands[0];
    const auto may_reuse = [&](const Demand& it) { return it.request.size > threshold; };
    std::vector<Bytes> offsets;
    for (const Demand& it : demands.first(std::min(demands.size(), most_in_a_group))) {
      const bool is_alike = !group.is_choosy && !it.is_choosy &&
                            it.request.alignment == group.request.alignment &&
                            may_reuse(it) == may_reuse(demands[0]);
      if (!offsets.empty() && !is_alike) break;
      offsets.push_back(offsets.empty() ? 0 : base::align_up(group.request.size, group.request.alignment));
      group.request.size = offsets.back() + it.request.size;
      group.life.upper = std::max(group.life.upper, it.life.upper);
    }
    release_until(group.life.lower);
    const Place place = allocate(group, may_reuse(demands[0]));
    for (std::size_t i = 0; i < offsets.size(); ++i)
      places[demands[i].buffer] = {place.memory, place.offset + offsets[i]};
    return offsets.size();
  }

  Place allocate(const Demand& demand, bool may_reuse) {
    std::vector<std::size_t> some;
    if (demand.is_choosy) some = levels_allowed(problem_.buffers[demand.buffer]);
    const std::vector<std::size_t>& allowed = demand.is_choosy ? some : every_level_;
    std::optional<Place> place;
    for (const std::size_t m : allowed) {
      const auto offset = take(levels_[m], demand.request, may_reuse, capacity_of(m));
      if (!offset) continue;
      place = {m, *offset};
      break;
    }
    if (!place) {
      const std::size_t last = allowed.back();
      place = {last, take(levels_[last], demand.request, may_reuse, largest_value).value()};
    }
    allocated_.push({demand.life.upper, place->memory, {place->offset, place->offset + demand.request.size}});
    return *place;
  }

  /// The highest frontier of all memories.
  [[nodiscard]] Bytes most_used() const {
    Bytes most = 0;
    for (const FreeBlocks& level : levels_) most = std::max(most, level.frontier());
    return most;
  }

 private:
  [[nodiscard]] Bytes capacity_of(std::size_t memory) const {
    return problem_.memories[memory].capacity.value_or(largest_value);
  }

  /// The first allowed level whose capacity holds the buffer at that offset, else the last allowed.
  [[nodiscard]] std::size_t first_that_holds(const Buffer& buffer, Bytes offset) const {
    const std::vector<std::size_t> allowed = levels_allowed(buffer);
    const auto holds = [&](std::size_t m) { return offset + buffer.size <= capacity_of(m); };
    const auto first = std::find_if(allowed.begin(), allowed.end(), holds);
    return first != allowed.end() ? *first : allowed.back();
  }

  [[nodiscard]] std::vector<std::size_t> levels_allowed(const Buffer& buffer) const {
    std::vector<std::size_t> allowed = buffer.memories.empty() ? every_level_ : buffer.memories;
    std::sort(allowed.begin(), allowed.end());
    return allowed;
  }

  [[nodiscard]] std::optional<Bytes> take(FreeBlocks& level, const Request& request, bool may_reuse,
                                          Bytes limit) const {
    if (may_reuse) {
      if (const auto offset = level.take_equal(request)) return offset;
      if (const auto offset = level.take_split(request)) return offset;
      if (const auto offset = level.take_extended(request, limit, growing_)) return offset;
    }
    return level.take_fresh(request, limit);
  }

  /// Pinned buffers may overlap in address at different times: these become one block.
  void set_aside_in_groups(std::vector<Allocated> pins) {
    std::sort(pins.begin(), pins.end(), [](const Allocated& a, const Allocated& b) {
      return a.memory != b.memory ? a.memory < b.memory : a.block.begin < b.block.begin;
    });
    for (auto pin = pins.begin(); pin != pins.end();) {
      Allocated group = *pin++;
      for (; pin != pins.end() && pin->memory == group.memory && pin->block.begin < group.block.end; ++pin) {
        group.block.end = std::max(group.block.end, pin->block.end);
        group.upper = std::max(group.upper, pin->upper);
      }
      levels_[group.memory].set_aside(group.block);
      allocated_.push(group);
    }
  }

  const Problem& problem_;
  Growing growing_;
  std::vector<std::size_t> every_level_;
  std::vector<FreeBlocks> levels_;
  std::priority_queue<Allocated, std::vector<Allocated>, EndsLater> allocated_;
};

}  // namespace

Placing free_list_pass(const Problem& problem, Growing growing, const Control& control) {
  Placing placing{std::vector<Place>(problem.buffers.size())};
  FreeLists lists(problem, growing);
  std::vector<Demand> demands = lists.set_aside(placing.places);
  sort_by_start(demands);
  const Bytes threshold = control.options.reuse_threshold;
  std::size_t done = 0;
  for (; done < demands.size(); ++done) {
    if (done % buffers_between_looks == 0) {
      placing.cut_short = done >= placed_in_any_case && control.is_too_late();
      if (placing.cut_short) break;
      if (control.is_beaten(lists.most_used())) return {};
      control.report("free-list", static_cast<double>(done) / static_cast<double>(demands.size()));
    }
    const Demand& demand = demands[done];
    lists.release_until(demand.life.lower);
    placing.places[demand.buffer] = lists.allocate(demand, demand.request.size > threshold);
  }
  while (done < demands.size())
    done += lists.allocate_group(std::span(demands).subspan(done), threshold, placing.places);
  return placing;
}

Placing free_list(const Problem& problem, const Control& control) {
  Placing best = free_list_pass(problem, Growing::largest, control);
  if (best.cut_short || control.is_fallback || problem.memories.size() > 1) return best;
  control.spend(work_of_pass * std::ssize(problem.buffers));
  Placing other = free_list_pass(problem, Growing::at_frontier, control);
  best.cut_short = other.cut_short;
  if (other.cut_short || other.places.empty()) return best;
  const bool is_lower =
      best.places.empty() || score_of(problem, other.places) < score_of(problem, best.places);
  return is_lower ? other : best;
}

}  // namespace stowage::pack
