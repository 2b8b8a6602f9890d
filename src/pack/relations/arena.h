#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stowage/problem.h"

namespace stowage::pack::relations {

/// All memories lie one after the other, in cells of equal size.
using Cell = std::int64_t;

/// The first cell of an item that has no place.
inline constexpr Cell nowhere = -1;

/// Another item of the same part.
struct Neighbour {
  std::uint32_t item = 0;
  bool is_hard = false;   ///< The two share no cell.
  std::int64_t cost = 0;  ///< Of sharing one, if they may.
};

/// First cells from `first` to `last`, both included.
struct Range {
  Cell first = 0;
  Cell last = 0;
  std::int64_t cost = 0;  ///< Of an item there: its memory may be dearer than another.
};

/// Buffers with one offset, as one block.
struct Item {
  Cell size = 0;
  Cell step = 1;  ///< Its first cell is `phase` beyond a multiple of this.
  Cell phase = 0;
  std::vector<Range> ranges{};  ///< Where its first cell may be: ascending, apart; ends are aligned so.
  std::vector<Neighbour> neighbours{};  ///< Ascending, hard or of some cost.

  /// What it costs with this first cell, whatever its neighbours. The cell is in a range.
  [[nodiscard]] std::int64_t cost_at(Cell cell) const {
    for (const Range& range : ranges)
      if (cell <= range.last) return range.cost;
    return 0;
  }
};

/// The next cell that is aligned so, or the one before; for cells from 0 on.
[[nodiscard]] inline Cell aligned_up(Cell cell, Cell step, Cell phase) {
  return (cell - phase + step + step - 1) / step * step - step + phase;
}
[[nodiscard]] inline Cell aligned_down(Cell cell, Cell step, Cell phase) {
  return (cell - phase + step) / step * step - step + phase;
}

/// Items that have nothing to do with items of other parts.
struct Part {
  std::vector<Item> items{};
  Cell cells = 0;  ///< All of the memories.
};

/// The first cell of each item of a part.
using Cells = std::vector<Cell>;

/// A problem as cells and parts; see arena.cc.
class Arena {
 public:
  /// The problem must be valid, and each memory have a capacity.
  explicit Arena(const Problem& problem);

  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  /// A proof that some buffers do not fit, whatever the offsets; none if there is no simple one.
  [[nodiscard]] const std::optional<Overload>& overload() const { return overload_; }
  /// A buffer of each item of a part.
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& buffers() const { return buffers_; }
  [[nodiscard]] Bytes unit() const { return unit_; }
  /// A place for each buffer of the problem, from the cells of each part.
  [[nodiscard]] std::vector<Place> places_of(std::span<const Cells> cells) const;
  /// The other way round: nowhere, if a cell does not begin there. They may be cells that the item may not have.
  [[nodiscard]] std::vector<Cells> cells_of(std::span<const std::optional<Place>> places) const;
  /// Buffers of items that are nowhere.
  [[nodiscard]] std::vector<bool> missing(std::span<const Cells> cells) const;

 private:
  /// Of a buffer.
  struct Member {
    bool has_item = false;  ///< Else it has no bytes, and this place:
    Place place{};
    std::size_t part = 0;
    std::size_t item = 0;
    Bytes offset = 0;  ///< In the item.
  };

  Bytes unit_ = 1;
  std::vector<Cell> first_cells_;  ///< By memory.
  std::vector<Part> parts_;
  std::vector<Member> members_;                    ///< By buffer.
  std::vector<std::vector<std::size_t>> buffers_;  ///< By part and item.
  std::optional<Overload> overload_;
};

}  // namespace stowage::pack::relations
