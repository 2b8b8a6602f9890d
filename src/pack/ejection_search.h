#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "pack/container.h"
#include "pack/meetings.h"
#include "pack/model.h"
#include "pack/random.h"
#include "stowage/units.h"

namespace stowage::pack {

/// An item that the search may move.
struct Movable {
  Bytes size = 0;
  Bytes alignment = 1;
  std::optional<Bytes> pin{};
  double weight = 0;              ///< Its weight at first: higher means less likely to be thrown out.
  std::optional<Bytes> offset{};  ///< Its first offset; none: in the pool.
};

/// The items that a movable meets; valid until the next call.
using ClashesOf = std::function<std::span<const ForbiddenOffsets>(std::uint32_t)>;

/// For items that are the buffers of `neighbours`, which is referred to.
[[nodiscard]] ClashesOf clashes_among(const Neighbours& neighbours);

/// Searches for a placing below a height by throwing out items in the way: see ejection_search.cc.
class EjectionSearch {
 public:
  /// The items are those of `clashes`, which the search calls from one thread at a time. With meetings,
  /// steps take a fraction of the time. Keeps references to items and meetings, which searches may share.
  EjectionSearch(std::span<const Movable> items, ClashesOf clashes, const Meetings* meetings,
                 std::uint64_t seed);

  /// Begins anew from the items' first offsets.
  void begin(Bytes height);
  /// Begins anew from these offsets. Items that reach above the height go to the pool.
  void begin(std::span<const Bytes> offsets, Bytes height);

  /// True if the pool is empty after at most so many steps. Stops early if an item fits nowhere.
  bool run(std::int64_t steps, const Stop& stop);

  /// Drops each item as low as it can, the lowest first.
  void compact();

  /// By item; of those in the pool without meaning.
  [[nodiscard]] const std::vector<Bytes>& offsets() const { return offsets_; }
  /// So far, in the units of deadlines.
  [[nodiscard]] std::int64_t work() const { return work_; }

 private:
  /// Where a walk over offsets in rising order passes the begin or the end of a collision.
  struct Barrier {
    Bytes at;
    double weight;
    int pins;  ///< 1 if it cannot be thrown out.
  };

  std::uint32_t take();
  bool put(std::uint32_t i);
  void place(std::uint32_t i, Bytes offset);
  void throw_out(std::uint32_t i);
  void list_barriers(std::uint32_t i);
  void list_ordered_barriers(std::uint32_t i);
  [[nodiscard]] std::span<const std::uint32_t> met_by(std::uint32_t i,
                                                      std::span<const std::uint32_t> ordered);
  [[nodiscard]] std::int64_t work_of_step() const;
  [[nodiscard]] std::optional<Bytes> best_offset(std::uint32_t i);
  [[nodiscard]] std::optional<Bytes> sweep(std::uint32_t i, std::optional<Bytes> barred);
  void order_placed();
  [[nodiscard]] Bytes lowest_free(std::uint32_t i);

  std::span<const Movable> items_;
  ClashesOf clashes_;
  const Meetings* meetings_;
  Bytes height_ = 0;
  Random random_;
  std::vector<double> weights_;
  std::vector<Bytes> offsets_;
  std::vector<char> is_placed_;
  std::vector<std::int64_t> thrown_out_;  ///< The step at which each item was last thrown out.
  std::vector<std::uint32_t> pool_;
  /// With meetings: offset plus size, and the placed items by rising begin and by rising end.
  std::vector<Bytes> tops_;
  std::vector<std::uint32_t> by_begin_;
  std::vector<std::uint32_t> by_end_;
  std::vector<Barrier> starts_;  ///< These are members to save allocations.
  std::vector<Barrier> ends_;
  std::vector<std::uint32_t> met_;
  std::span<const std::uint32_t> met_by_begin_;  ///< With meetings: placed items that the taken one meets.
  std::vector<std::pair<Bytes, Bytes>> taken_;
  std::int64_t step_ = 0;
  std::int64_t work_ = 0;
};

}  // namespace stowage::pack
