#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "pack/random.h"
#include "pack/rectangle_container.h"
#include "pack/section_search.h"
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
  /// The items are those of `clashes`, which the search calls from one thread at a time. Keeps a reference to
  /// the items; several searches may share them.
  EjectionSearch(std::span<const Movable> items, ClashesOf clashes, std::uint64_t seed);

  /// Begins anew from the items' first offsets.
  void begin(Bytes height);
  /// Begins anew from these offsets. Items that reach above the height go to the pool.
  void begin(std::span<const Bytes> offsets, Bytes height);
  /// Forgets what was learnt: all weights are those at first.
  void forget();

  /// True if the pool is empty after at most so many steps. Stops early if an item fits nowhere.
  bool run(std::int64_t steps, const Stop& stop);

  /// By item; of those in the pool without meaning.
  [[nodiscard]] const std::vector<Bytes>& offsets() const { return offsets_; }
  [[nodiscard]] std::int64_t steps() const { return step_; }  ///< So far.

 private:
  /// A collision begins or ends at this offset.
  struct Barrier {
    Bytes at;
    double weight;
    int pins;  ///< 1 if it cannot be thrown out.
  };

  std::uint32_t take();
  bool put(std::uint32_t i);
  [[nodiscard]] std::optional<Bytes> best_offset(std::uint32_t i);
  [[nodiscard]] std::optional<Bytes> sweep(Bytes last, std::optional<Bytes> barred);
  void compact();
  [[nodiscard]] Bytes lowest_free(std::uint32_t i);

  std::span<const Movable> items_;
  ClashesOf clashes_;
  Bytes height_ = 0;
  Random random_;
  std::vector<double> weights_;
  std::vector<Bytes> offsets_;
  std::vector<char> is_placed_;
  std::vector<std::int64_t> thrown_out_;  ///< The step at which each item was last thrown out.
  std::vector<std::uint32_t> pool_;
  std::vector<Barrier> starts_;  ///< These are members to save allocations.
  std::vector<Barrier> ends_;
  std::vector<Bytes> candidates_;
  std::vector<std::pair<Bytes, Bytes>> taken_;
  std::int64_t step_ = 0;
};

struct Ejection {
  std::uint64_t seed = 0;
  std::int64_t steps = 0;  ///< The search gives up after this many.
};

/// One search for all items of a model, all in the pool at first. Never answers no.
[[nodiscard]] Found search_by_ejection(const Tables& tables, Bytes height, const Ejection& ejection,
                                       const Stop& stop);

}  // namespace stowage::pack
