#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pack/relations/arena.h"

namespace stowage::pack::relations {

/// First cells of an item that cost the same; both ends are multiples of its step.
struct Segment {
  Cell first = 0;
  Cell last = 0;
  std::int64_t cost = 0;
};

/// What an item would cost in each place, while its neighbours are where they are. A neighbour at cell o costs
/// something for first cells from o - size + 1 to o + its size - 1: costs change at two cells for each neighbour.
///
///     neighbour             ####
///     item of 3 cells     ^^^^^^      first cells that touch it
///
/// Cost: the neighbours, and a word for 64 cells; for very many cells the neighbours are sorted.
class Scan {
 public:
  explicit Scan(const Part& part) : part_(part) {
    for (const Item& item : part.items) sizes_.push_back(item.size);
    if (part.cells >= most_cells) return;
    changes_.resize(static_cast<std::size_t>(part.cells) + 1);
    marks_.resize(static_cast<std::size_t>(part.cells) / bits + 1);
  }

  /// Valid until the next call. `weigh(neighbour)` is what it costs to touch a neighbour. Items nowhere cost nothing. Costs
  /// of ranges count `unit` times.
  template <typename Weigh>
  [[nodiscard]] std::span<const Segment> segments(std::size_t number, const Cells& cells, const Weigh& weigh,
                                                  double unit) {
    const Item& item = part_.items[number];
    segments_.clear();
    events_.clear();
    others_.clear();
    for (const Range& range : item.ranges) {
      const auto cost = static_cast<std::int64_t>(static_cast<double>(range.cost) * unit);
      note(range.first, cost);
      note(range.last + 1, -cost);
    }
    for (const Neighbour& neighbour : item.neighbours) {
      const Cell other = cells[neighbour.item];
      if (other == nowhere) {
        others_.push_back({nowhere, nowhere});
        continue;
      }
      const Cell end = other + sizes_[neighbour.item];
      others_.push_back({other, end});
      const std::int64_t cost = weigh(neighbour);
      note(std::max<Cell>(other - item.size + 1, 0), cost);
      note(end, -cost);
    }
    Walk walk{item};
    if (marks_.empty()) {
      std::ranges::sort(events_, {}, &Event::at);
      for (const Event& event : events_) visit(walk, event.at, event.change);
    } else {
      for (std::size_t w = 0; w < marks_.size(); ++w) {
        if (marks_[w] == 0) continue;
        for (std::uint64_t word = marks_[w]; word != 0; word &= word - 1) {
          const std::size_t at = w * bits + static_cast<std::size_t>(std::countr_zero(word));
          visit(walk, static_cast<Cell>(at), changes_[at]);
          changes_[at] = 0;
        }
        marks_[w] = 0;
      }
    }
    return segments_;
  }

  /// Cells of a neighbour: from `begin` to before `end`. Nowhere, it touches no item.
  struct Other {
    Cell begin = 0;
    Cell end = 0;
  };
  /// Of the item of the last call, in the order of its neighbours.
  [[nodiscard]] std::span<const Other> others() const { return others_; }

 private:
  static constexpr Cell most_cells = Cell{1} << 17;
  static constexpr std::size_t bits = 64;

  struct Event {
    Cell at = 0;
    std::int64_t change = 0;
  };
  struct Walk {
    const Item& item;
    std::size_t range = 0;
    Cell from = 0;
    std::int64_t cost = 0;
  };

  void note(Cell at, std::int64_t change) {
    if (marks_.empty()) {
      events_.push_back({at, change});
      return;
    }
    const auto place = static_cast<std::size_t>(at);
    changes_[place] += change;
    marks_[place / bits] |= std::uint64_t{1} << (place % bits);
  }

  /// Ends the segment that goes up to `at`, if it lies in a range.
  void visit(Walk& walk, Cell at, std::int64_t change) {
    if (at > walk.from) {
      const auto& ranges = walk.item.ranges;
      while (walk.range < ranges.size() && ranges[walk.range].last < walk.from) ++walk.range;
      if (walk.range < ranges.size() && ranges[walk.range].first <= walk.from) {
        const Cell step = walk.item.step;
        const Cell first = aligned_up(walk.from, step, walk.item.phase);
        const Cell last = aligned_down(at - 1, step, walk.item.phase);
        if (first <= last) segments_.push_back({first, last, walk.cost});
      }
      walk.from = at;
    }
    walk.cost += change;
  }

  const Part& part_;
  std::vector<Cell> sizes_;  ///< Of all items.
  std::vector<Other> others_;
  std::vector<Segment> segments_;
  std::vector<Event> events_;
  std::vector<std::int64_t> changes_;
  std::vector<std::uint64_t> marks_;
};

}  // namespace stowage::pack::relations
