// Pieces are boxes, addresses by time, and no two of a memory may overlap. On one clock, a sweep over
// time finds overlaps (base/overlap.h). Between clocks, everything in a branch lives as long as its fork:
// the clock that forks it sees the branch as the addresses that it uses at any time, during one position.
//
//   clock 1, forked at 4      clock 0
//   position  0   1   2       position   3   4   5
//   8..12         b           8..12          b
//   0..8      a       c       0..8           a
//
// A clock that runs at pauses has its bytes at each of them, and not in between. But a buffer that a pause carries has one
// place, beside these bytes, so there is room for both at all times.
//
// So clocks are processed from the leaves to the root, and each passes its boxes to the clock that forks it.
// Those boxes do not overlap, and each keeps the name of a buffer that has the bytes. Bounds are proven the
// same way: the branches of a fork together hold at least the sum of what each holds at most.
// Cost: n log n in pieces, times the depth of their clocks.

#include "check/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/overlap.h"
#include "check/exhaust.h"
#include "check/moving.h"
#include "check/names.h"
#include "check/slots.h"
#include "model/clock_tree.h"
#include "model/motions.h"

namespace stowage::check {
namespace {

// Loads. Buffers that are live at a position lie above each other and end no lower than the sum of their
// sizes. If all begin at multiples of some unit, the space between an end and the next multiple is lost, too,
// except above the topmost, which may be the one that would lose most.
//
//     unit 8     |xxxxx...|yyyyyyy.|zzz      x, y and z of 5, 7 and 3 bytes: 19 at least, not 15
//
// The units are the powers of two among the alignments. A sum leaves out bytes that do not begin at multiples
// of its unit. Cost: n log n for each unit.

/// Bytes [begin, begin + size) of a buffer that lies at a multiple of its alignment.
struct LiveBytes {
  Lifetime life{};
  Bytes begin = 0;
  Bytes size = 0;
  Bytes alignment = 1;
};

__extension__ using Sum = __int128;  // the sum of live bytes may exceed 64 bits

/// Changes are sorted.
Sum most_live(std::span<const std::pair<Position, Bytes>> changes) {
  Sum sum = 0;
  Sum most = 0;
  for (const auto& [at, change] : changes) most = std::max(most, sum += change);
  return most;
}

/// `for_each` calls a visitor with all live bytes. They are not listed: there may be a million.
Sum least_top(const auto& for_each, Bytes unit) {
  std::size_t count = 0;
  bool does_lose = unit == 1;
  for_each([&](const LiveBytes& it) {
    ++count;
    does_lose = does_lose || it.size % unit != 0;
  });
  if (!does_lose) return 0;
  std::vector<std::pair<Position, Bytes>> changes;  // at one position, ends (negative) come first
  changes.reserve(2 * count);
  for_each([&](const LiveBytes& it) {
    if (it.life.lower >= it.life.upper || it.size <= 0) return;
    if (it.alignment % unit != 0 || it.begin % unit != 0) return;
    changes.emplace_back(it.life.lower, it.size);
    changes.emplace_back(it.life.upper, -it.size);
  });
  std::sort(changes.begin(), changes.end());
  if (unit == 1) return most_live(changes);
  std::multiset<Bytes> lost;  // padding above each
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

/// Wherever they are placed, some of them end at or above this.
Bytes least_top(const auto& for_each) {
  std::set<Bytes> units{1};
  for_each([&](const LiveBytes& it) {
    if (std::has_single_bit(static_cast<std::uint64_t>(it.alignment))) units.insert(it.alignment);
  });
  Sum most = 0;
  for (const Bytes unit : units) most = std::max(most, least_top(for_each, unit));
  return static_cast<Bytes>(std::min<Sum>(most, largest_value));
}

// Memories

using Boxes = std::vector<base::Box>;

void check_place(const Plan& plan, std::size_t b, Faults& faults) {
  const Buffer& buffer = plan.buffers[b];
  const Place& place = plan.places[b];
  if (place.offset % buffer.alignment != 0) {
    faults.push_back(
        {FaultKind::alignment, fmt::format("{} is at {}, which is not a multiple of its alignment {}",
                                           name_of_buffer(plan, b), place.offset, buffer.alignment)});
  }
  const Memory& memory = plan.memories[place.memory].memory;
  if (place.offset % memory.granule != 0 || buffer.size % memory.granule != 0) {
    faults.push_back(
        {FaultKind::alignment,
         fmt::format("{} has {} bytes at {}, which are not multiples of {}, the granule of memory {}",
                     name_of_buffer(plan, b), buffer.size, place.offset, memory.granule, memory.name)});
  }
  if (buffer.pinned && *buffer.pinned != place.offset) {
    faults.push_back({FaultKind::pin, fmt::format("{} is at {} but pinned at {}", name_of_buffer(plan, b),
                                                  place.offset, *buffer.pinned)});
  }
  if (!buffer.memories.empty() &&
      std::find(buffer.memories.begin(), buffer.memories.end(), place.memory) == buffer.memories.end()) {
    faults.push_back(
        {FaultKind::pin, fmt::format("{} is in memory {}, where it must not be", name_of_buffer(plan, b),
                                     base::quoted(plan.memories[place.memory].memory.name))});
  }
  if (memory.capacity && place.offset + buffer.size > *memory.capacity) {
    faults.push_back({FaultKind::capacity,
                      fmt::format("{} ends at {}, beyond the {} bytes of memory {}", name_of_buffer(plan, b),
                                  place.offset + buffer.size, *memory.capacity, base::quoted(memory.name))});
  }
}

/// All bytes that the boxes hold at any time, each once, as boxes with that live range.
Boxes all_together(Boxes boxes, const Lifetime& life) {
  std::sort(boxes.begin(), boxes.end(),
            [](const base::Box& a, const base::Box& b) { return a.begin < b.begin; });
  Boxes together;
  Bytes done = 0;
  for (const base::Box& box : boxes) {
    if (box.life.lower >= box.life.upper || box.end <= done) continue;
    together.push_back({life, std::max(box.begin, done), box.end, box.holder});
    done = box.end;
  }
  return together;
}

Bytes size_of(const Boxes& together) {
  Bytes size = 0;
  for (const base::Box& box : together) size += box.end - box.begin;
  return size;
}

/// Bytes that the boxes of one buffer hold at any time.
Bytes bytes_ever_live(std::span<const base::Box> boxes) {
  if (boxes.size() == 1) return boxes[0].life.lower < boxes[0].life.upper ? boxes[0].end - boxes[0].begin : 0;
  return size_of(all_together(Boxes(boxes.begin(), boxes.end()), {0, 1}));
}

/// What a clock uses of a memory.
struct Used {
  Boxes boxes{};                       ///< Of its buffers and, during forks, of the branches.
  std::vector<std::size_t> buffers{};  ///< Its own.
  std::vector<std::size_t> pools{};    ///< Of slots.
  std::vector<LiveBytes> branches{};   ///< For each branch, its proven bound.
  std::vector<std::pair<std::size_t, Bytes>> at_pauses{};  ///< Clocks that run there, and the same.
  Bytes largest = 0;  ///< Most bytes of one of its buffers that are ever live.
};

/// One memory, clock by clock.
class MemoryCheck {
 public:
  MemoryCheck(const Plan& plan, const model::ClockTree& tree, Faults& faults)
      : plan_(plan), tree_(tree), faults_(faults) {}

  /// A million boxes take much memory: it is taken once, not by doubling.
  void add_all(const std::vector<std::size_t>& buffers) {
    std::map<std::size_t, std::size_t> pieces;  // by rank of the clock
    for (const std::size_t b : buffers)
      pieces[tree_.rank_of(plan_.buffers[b].clock)] += plan_.buffers[b].pieces.size();
    for (const auto& [rank, count] : pieces) used_[rank].boxes.reserve(count);
    for (const std::size_t b : buffers) add(b);
  }

  void add_pool(std::size_t pool) { used_[tree_.rank_of(plan_.slots[pool].clock)].pools.push_back(pool); }

  /// Finds overlaps on all clocks. A bound proven for the root holds for the memory.
  Bytes check() {
    Bytes proven = 0;
    while (!used_.empty()) {
      const std::size_t clock = tree_.clock_of_rank(used_.begin()->first);
      Used used = std::move(used_.begin()->second);
      used_.erase(used_.begin());
      check_overlap(clock, used.boxes);
      check_slots(plan_, clock, used.pools, used.boxes, faults_);
      if (clock == 0) Boxes().swap(used.boxes);
      proven = std::max(least_top_of(used), used.largest);
      for (const auto& [branch, bytes] : used.at_pauses)
        proven = std::max(proven, least_top_beside(used, branch, bytes));
      if (clock != 0) hand_up(clock, used, proven);
    }
    return proven;
  }

 private:
  void add(std::size_t buffer) {
    const Buffer& it = plan_.buffers[buffer];
    const Bytes offset = plan_.places[buffer].offset;
    Used& used = used_[tree_.rank_of(it.clock)];
    const std::size_t first = used.boxes.size();
    for (const Piece& piece : it.pieces)
      used.boxes.push_back({piece.life, offset + piece.offset, offset + piece.offset + piece.size, buffer});
    used.buffers.push_back(buffer);
    used.largest = std::max(used.largest, bytes_ever_live(std::span(used.boxes).subspan(first)));
  }

  /// Wherever its buffers and its branches are placed, some of them end at or above this.
  [[nodiscard]] Bytes least_top_of(const Used& used) const {
    return least_top([&](const auto& visit) {
      for (const std::size_t b : used.buffers) {
        const Buffer& it = plan_.buffers[b];
        for (const Piece& piece : it.pieces)
          visit(LiveBytes{piece.life, piece.offset, piece.size, it.alignment});
      }
      for (const LiveBytes& branch : used.branches) visit(branch);
    });
  }

  /// A buffer has one place. So bytes that a pause carries are never those of a clock that runs there, which holds the
  /// same at each.
  [[nodiscard]] Bytes least_top_beside(const Used& used, std::size_t branch, Bytes bytes) const {
    const std::span<const Position> pauses = tree_.positions_of(branch);
    return least_top([&](const auto& visit) {
      Lifetime always{pauses.front(), pauses.back() + 1};
      for (const std::size_t b : used.buffers) {
        const Buffer& it = plan_.buffers[b];
        for (const Piece& piece : it.pieces) {
          const auto pause = std::ranges::lower_bound(pauses, piece.life.lower);
          if (pause == pauses.end() || *pause >= piece.life.upper) continue;
          always = {std::min(always.lower, piece.life.lower), std::max(always.upper, piece.life.upper)};
          visit(LiveBytes{piece.life, piece.offset, piece.size, it.alignment});
        }
      }
      visit(LiveBytes{always, 0, bytes, 1});
    });
  }

  void check_overlap(std::size_t clock, const Boxes& boxes) {
    const auto overlap = base::find_overlap(boxes);
    if (!overlap) return;
    const base::Box& first = boxes[overlap->first];
    const base::Box& second = boxes[overlap->second];
    faults_.push_back({FaultKind::overlap,
                       fmt::format("{} (bytes {} to {}) and {} (bytes {} to {}) overlap at position {}{}",
                                   name_of_holder(plan_, first.holder), first.begin, first.end,
                                   name_of_holder(plan_, second.holder), second.begin, second.end,
                                   overlap->at, of_clock(clock))});
  }

  void hand_up(std::size_t clock, const Used& used, Bytes proven) {
    Used& parent = used_[tree_.rank_of(tree_.fork_of(clock)->clock)];
    Boxes taken = used.boxes;
    for (const std::size_t pool : used.pools) taken.push_back(box_of_pool(plan_, pool));
    if (tree_.is_at_pauses(clock)) parent.at_pauses.emplace_back(clock, proven);
    Boxes boxes = all_together(std::move(taken), {});
    for (const Position at : tree_.positions_of(clock)) {
      const Lifetime life{at, at + 1};
      for (base::Box& box : boxes) box.life = life;
      parent.boxes.insert(parent.boxes.end(), boxes.begin(), boxes.end());
      parent.branches.push_back({life, 0, proven, 1});
    }
  }

  const Plan& plan_;
  const model::ClockTree& tree_;
  Faults& faults_;
  std::map<std::size_t, Used, std::greater<>> used_;  ///< By rank of the clock, forked clocks first.
};

/// The fault in the certificate of a memory's lower bound; none if it proves the bound.
std::optional<std::string> why_unproven(const Plan& plan, std::size_t m,
                                        const std::vector<std::size_t>& buffers) {
  const PlannedMemory& memory = plan.memories[m];
  if (memory.certificate.empty()) return "";
  std::vector<Buffer> of_clock;
  for (const std::size_t b : buffers) {
    const Buffer& it = plan.buffers[b];
    if (it.clock == 0)
      of_clock.push_back(
          {.size = it.size, .alignment = it.alignment, .pieces = it.pieces, .pinned = it.pinned});
  }
  switch (exhaust(of_clock, memory.certificate, memory.lower_bound - 1)) {
    case Verdict::does_not_fit:
      return std::nullopt;
    case Verdict::fits:
      return ": what is alive at the positions of its certificate fits below it";
    case Verdict::takes_too_long:
      return ": its certificate takes too long to check";
  }
  return "";
}

void check_memory(const Plan& plan, const model::ClockTree& tree, std::size_t m,
                  const std::vector<std::size_t>& buffers, Faults& faults) {
  MemoryCheck check(plan, tree, faults);
  check.add_all(buffers);
  Bytes peak = 0;
  Bytes provable = 0;
  for (const std::size_t b : buffers) {
    const Buffer& buffer = plan.buffers[b];
    peak = std::max(peak, plan.places[b].offset + buffer.size);
    provable = std::max(provable, buffer.pinned.value_or(0) + buffer.size);
  }
  const PlannedMemory& memory = plan.memories[m];
  for (std::size_t p = 0; p < plan.slots.size(); ++p) {
    const SlotPool& pool = plan.slots[p];
    if (pool.place.memory != m) continue;
    check.add_pool(p);
    peak = std::max(peak, pool.end());
    if (pool.end() <= memory.memory.capacity.value_or(largest_value)) continue;
    faults.push_back(
        {FaultKind::capacity, fmt::format("pool of slots {} ends at {}, beyond the {} bytes of {}", p,
                                          pool.end(), *memory.memory.capacity, name_of_memory(plan, m))});
  }
  provable = std::max(provable, check.check());
  const auto claim = [&](const std::string& what) {
    faults.push_back({FaultKind::claim, fmt::format("{}: {}", name_of_memory(plan, m), what)});
  };
  if (memory.peak != peak) claim(fmt::format("its peak is said to be {} but is {}", memory.peak, peak));
  if (memory.lower_bound <= provable) return;
  const auto unproven = why_unproven(plan, m, buffers);
  if (unproven) {
    claim(fmt::format("its lower bound is said to be {} but only {} can be proven{}", memory.lower_bound,
                      provable, *unproven));
  }
}

}  // namespace

Faults check_places(const Plan& plan) {
  Faults faults;
  const model::ClockTree tree(plan.clocks);
  std::vector<std::vector<std::size_t>> buffers_in(plan.memories.size());
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    check_place(plan, b, faults);
    buffers_in[plan.places[b].memory].push_back(b);
  }
  for (std::size_t m = 0; m < plan.memories.size(); ++m) check_memory(plan, tree, m, buffers_in[m], faults);
  return faults;
}

namespace {

/// The pieces of a buffer in time order, to find which bytes they hold when. A buffer of a body that runs
/// many times has as many pieces; a query visits only those near it in time.
class PiecesInTime {
 public:
  explicit PiecesInTime(const Buffer& buffer) : pieces_(buffer.pieces) {
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Piece& a, const Piece& b) { return a.life.lower < b.life.lower; });
    Position latest = 0;
    for (const Piece& piece : pieces_) latest_upper_.push_back(latest = std::max(latest, piece.life.upper));
  }

  /// True if live pieces hold bytes [begin, end) during all of `life`. Pieces of one buffer do not overlap
  /// (check_memory), so they hold that rectangle if their parts of it have its area.
  [[nodiscard]] bool hold(Bytes begin, Bytes end, const Lifetime& life) const {
    __extension__ using Area = unsigned __int128;
    const auto area = [](Bytes bytes, Position time) {
      return bytes > 0 && time > 0 ? static_cast<Area>(bytes) * static_cast<Area>(time) : Area{0};
    };
    Area covered = 0;
    const auto first = std::upper_bound(latest_upper_.begin(), latest_upper_.end(), life.lower);
    for (auto at = pieces_.begin() + (first - latest_upper_.begin());
         at != pieces_.end() && at->life.lower < life.upper; ++at) {
      covered += area(std::min(end, at->offset + at->size) - std::max(begin, at->offset),
                      std::min(life.upper, at->life.upper) - std::max(life.lower, at->life.lower));
    }
    return covered >= area(end - begin, life.upper - life.lower);
  }

 private:
  std::vector<Piece> pieces_;
  std::vector<Position> latest_upper_;  ///< Highest upper end among the pieces up to each one.
};

}  // namespace

Faults check_views(const Plan& plan) {
  Faults faults;
  const bool has_rows = is_streamed(plan);  // these need their bytes when the network says; see sharing.cc
  std::vector<model::Extents> largest;
  for (std::size_t m = 0; m < plan.models.size(); ++m) largest.push_back(largest_extents(plan, m));
  std::unordered_map<std::size_t, PiecesInTime> pieces_of;
  for (const PlannedTensor& tensor : plan.tensors) {
    for (const View& view : tensor.views) {
      if (has_rows && !view.moves) continue;
      const PiecesInTime& pieces =
          pieces_of.try_emplace(view.buffer, plan.buffers[view.buffer]).first->second;
      const auto [begin, end] = reach_of(tensor.tensor, view, largest[tensor.model]);
      if (!pieces.hold(begin, end, view.life)) {
        faults.push_back(
            {FaultKind::accounting,
             fmt::format("{} is in {} from {} to {}, but not all of its bytes are reserved there then",
                         name_of_tensor(tensor), name_of_buffer(plan, view.buffer), view.life.lower,
                         view.life.upper)});
      }
    }
  }
  return faults;
}

}  // namespace stowage::check
