#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// Addresses [begin, end).
struct Interval {
  Bytes begin = 0;
  Bytes end = 0;

  bool operator==(const Interval&) const = default;
};

/// A set of addresses as disjoint intervals in rising order, touching ones merged.
class AddressSet {
 public:
  void insert(Interval interval);
  [[nodiscard]] const std::vector<Interval>& intervals() const { return intervals_; }

 private:
  std::vector<Interval> intervals_;
};

/// The addresses taken at each time, for placing buffers in any order; see occupancy.cc.
class Occupancy {
 public:
  /// Knows the times of these buffers; no address is taken yet.
  explicit Occupancy(std::span<const Buffer> buffers);

  /// Marks the bytes of the buffer's pieces as taken.
  void reserve(const Buffer& buffer, Bytes offset);

  /// The least offset, a multiple of its alignment and at least `from`, at which the bytes of every piece are
  /// free during its life.
  [[nodiscard]] Bytes lowest_fit(const Buffer& buffer, Bytes from = 0);

  /// The offset in the tightest place: the gap with the least room to spare, the lowest of equal ones. The
  /// open end above everything comes last.
  [[nodiscard]] Bytes tightest_fit(const Buffer& buffer);

  /// Of all calls so far, in the units of deadlines.
  [[nodiscard]] std::int64_t work() const { return work_; }

 private:
  /// Cells [begin, end) of compressed time.
  struct Cells {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  struct Node {
    AddressSet throughout;  ///< Taken in all of the node's time; recorded here, not below.
    AddressSet somewhere;   ///< Taken at some of it; recorded here or below.
  };
  struct Partial {
    std::uint32_t begin;  ///< Cells, in half the bytes of `Cells`: of a million buffers most are here.
    std::uint32_t end;
    Interval addresses;
  };
  /// Taken addresses in rising order, disjoint, that a piece of a buffer must avoid. The piece begins `low`
  /// bytes above the buffer's offset and ends `high` bytes above it.
  struct Run {
    const Interval* next;
    const Interval* end;
    Bytes low;
    Bytes high;
    Bytes begin = 0;  ///< The next interval forbids all offsets above it, up to the end of the interval.
  };
  /// The range of a run of partly covered blocks in `partly_`, which may still move.
  struct PartlyRun {
    std::size_t begin;
    std::size_t end;
    const Piece* piece;
  };

  /// Returns how many cells there are.
  std::size_t number_cells();
  [[nodiscard]] std::size_t cell_at(Position at) const;
  [[nodiscard]] Cells cells_of(const Lifetime& life) const;
  void insert(std::size_t node, Cells blocks, Cells cells, Interval addresses);
  void collect(std::size_t node, Cells blocks, Cells cells, const Piece& piece);
  void collect_partials(const std::vector<Partial>& partials, Cells cells, const Piece& piece);
  void add_run(const std::vector<Interval>& taken, const Piece& piece);
  void find_runs(const Buffer& buffer);
  void sift_first_run();
  [[nodiscard]] std::optional<Bytes> clear_runs(Bytes& offset, Bytes alignment);

  std::vector<Position> times_;       ///< In rising order; empty if there is a table.
  std::vector<std::uint32_t> cells_;  ///< The table: the cell of each position from the first on.
  Position first_ = 0;                ///< The first position of the table.
  std::size_t blocks_ = 1;            ///< A power of two.
  std::vector<Node> nodes_;           ///< 1 is the root, 2i and 2i+1 the halves of i; leaves are blocks.
  std::vector<std::vector<Partial>> partials_;  ///< Per block.
  std::vector<Run> runs_;  ///< A heap by begin. This and the next two are members to save allocations.
  std::vector<PartlyRun> partly_runs_;
  std::vector<Interval> partly_;
  std::int64_t work_ = 0;
};

}  // namespace stowage::pack
