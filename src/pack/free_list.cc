// Idea. Do before the run what an allocator would do in it. Operator by operator: what comes to life at
// its position is allocated, in the given order, then what it was the last to read is released. Every
// memory (level) has a list of allocated blocks, a list of free ones sorted from small to large, and a
// frontier above which it was never used (free_blocks.cc). A buffer goes to the first level that has
// a way for it, and there the first of these ways:
//
//     free list 2 4, frontier ^, want..   4: an equal block, whole              |  2  |xxxx|^
//                                         3: the largest, split                 |  2  |xxx|1|^
//                                         6: the largest, if it touches the     |  2  |xxxxxx^
//                                            frontier, and the 2 that miss
//                                         6, if it does not: fresh memory       |..4..|...^xxxxxx
//
// Buffers up to the threshold (`reuse_threshold`) take fresh memory only, so that free blocks are not cut
// into crumbs; what they leave is free for larger ones.
//
// Cost: n log n (buffers and memories).
// Source: the document of docs/free-list.md, paragraphs 40-58 (the ways and the threshold), 108 (operator by
// operator), 118-143 (levels), 144-151 (release), 172-198 (the flow chart).
//
// Where the document is open:
// - "The largest block is at the end" (paragraphs 129 and 188) is said of the list, where it always is. Only
//   a block that touches the frontier can grow, so that is what is asked. Of equally large blocks the list
//   has the highest last, of equal ones that fit the lowest is taken. It goes on to the next level only
//   when the first has no way at all.
// - Several pieces: a block is held from the first position of a buffer to its last, gaps and all.
// - Pins: bytes of pinned buffers are set aside from the start until the last pinned buffer that lies
//   there ends. A pinned buffer names no memory: it goes to the first allowed level whose capacity holds
//   it, else to the last allowed one. So do buffers that are never alive, which have no block.
// - No level has room: the last allowed one grows beyond its capacity.
// - Told to stop, it treats the rest as below the threshold: stacked on top.

#include "pack/free_list.h"

#include <algorithm>
#include <queue>
#include <vector>

#include "pack/free_blocks.h"

namespace stowage::pack {
namespace {

/// A block in use: an entry of the allocated list.
struct Allocated {
  Position upper = 0;  ///< From here on it is free.
  std::size_t memory = 0;
  Interval block{};
};

struct EndsLater {
  bool operator()(const Allocated& a, const Allocated& b) const { return a.upper > b.upper; }
};

class FreeLists {
 public:
  explicit FreeLists(const Problem& problem) : problem_(problem), levels_(problem.memories.size()) {
    for (std::size_t m = 0; m < levels_.size(); ++m) every_level_.push_back(m);
  }

  /// Gives every pinned buffer its place.
  void set_pins_aside(std::vector<Place>& places) {
    std::vector<Allocated> pins;
    for (std::size_t b = 0; b < places.size(); ++b) {
      const Buffer& buffer = problem_.buffers[b];
      if (!buffer.pinned) continue;
      places[b] = {first_that_holds(buffer, *buffer.pinned), *buffer.pinned};
      const Lifetime life = life_of(buffer);
      const Interval block{*buffer.pinned, *buffer.pinned + buffer.size};
      if (life.lower < life.upper) pins.push_back({life.upper, places[b].memory, block});
    }
    set_aside_in_groups(std::move(pins));
  }

  /// Frees what has ended by then.
  void release_until(Position now) {
    while (!allocated_.empty() && allocated_.top().upper <= now) {
      levels_[allocated_.top().memory].release(allocated_.top().block);
      allocated_.pop();
    }
  }

  /// A place for a buffer that lives until `upper`.
  Place allocate(const Buffer& buffer, Position upper, bool may_reuse) {
    const Request request{buffer.size, buffer.alignment};
    const std::vector<std::size_t> allowed = levels_allowed(buffer);
    std::optional<Place> place;
    for (const std::size_t m : allowed) {
      const auto offset = take(levels_[m], request, may_reuse, capacity_of(m));
      if (!offset) continue;
      place = {m, *offset};
      break;
    }
    if (!place) {
      const std::size_t last = allowed.back();
      place = {last, take(levels_[last], request, may_reuse, largest_value).value()};
    }
    allocated_.push({upper, place->memory, {place->offset, place->offset + buffer.size}});
    return *place;
  }

  /// The first allowed level whose capacity holds the buffer at that offset, else the last allowed.
  [[nodiscard]] std::size_t first_that_holds(const Buffer& buffer, Bytes offset) const {
    const std::vector<std::size_t> allowed = levels_allowed(buffer);
    const auto holds = [&](std::size_t m) { return offset + buffer.size <= capacity_of(m); };
    const auto first = std::find_if(allowed.begin(), allowed.end(), holds);
    return first != allowed.end() ? *first : allowed.back();
  }

 private:
  [[nodiscard]] Bytes capacity_of(std::size_t memory) const {
    return problem_.memories[memory].capacity.value_or(largest_value);
  }

  [[nodiscard]] std::vector<std::size_t> levels_allowed(const Buffer& buffer) const {
    std::vector<std::size_t> allowed = buffer.memories.empty() ? every_level_ : buffer.memories;
    std::sort(allowed.begin(), allowed.end());
    return allowed;
  }

  static std::optional<Bytes> take(FreeBlocks& level, const Request& request, bool may_reuse, Bytes limit) {
    if (may_reuse) {
      if (const auto offset = level.take_equal(request)) return offset;
      if (const auto offset = level.take_split(request)) return offset;
      if (const auto offset = level.take_extended(request, limit)) return offset;
    }
    return level.take_fresh(request, limit);
  }

  /// Pinned buffers may lie over each other at different times: those that do are one block.
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
  std::vector<std::size_t> every_level_;
  std::vector<FreeBlocks> levels_;
  std::priority_queue<Allocated, std::vector<Allocated>, EndsLater> allocated_;
};

}  // namespace

Placing free_list(const Problem& problem, const Control& control) {
  Placing placing{std::vector<Place>(problem.buffers.size())};
  std::vector<Lifetime> lives;
  lives.reserve(problem.buffers.size());
  for (const Buffer& buffer : problem.buffers) lives.push_back(life_of(buffer));
  const auto order =
      sorted_buffers(problem, [&](std::size_t a, std::size_t b) { return lives[a].lower < lives[b].lower; });
  FreeLists lists(problem);
  lists.set_pins_aside(placing.places);
  for (std::size_t done = 0; done < order.size(); ++done) {
    if (done % buffers_between_looks == 0 && !placing.cut_short) {
      placing.cut_short = control.should_cut();
      control.report("free-list", static_cast<double>(done) / static_cast<double>(order.size()));
    }
    const std::size_t b = order[done];
    const Buffer& buffer = problem.buffers[b];
    if (buffer.pinned) continue;
    if (lives[b].lower == lives[b].upper) {
      placing.places[b] = {lists.first_that_holds(buffer, 0), 0};
      continue;
    }
    if (!placing.cut_short) lists.release_until(lives[b].lower);
    const bool may_reuse = !placing.cut_short && buffer.size > control.options.reuse_threshold;
    placing.places[b] = lists.allocate(buffer, lives[b].upper, may_reuse);
  }
  return placing;
}

}  // namespace stowage::pack
