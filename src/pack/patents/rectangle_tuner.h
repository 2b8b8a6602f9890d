#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "pack/container.h"
#include "pack/patents/rectangle_reorder.h"
#include "pack/placing.h"
#include "pack/sort_order.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// The stopping rule. It receives every placed order and its top. It remembers all orders in full, four bytes
/// per rectangle, so that it never confuses two.
class Goals {
 public:
  /// Without `rounds` only the other two goals end the tuning.
  Goals(Bytes threshold, std::optional<std::int64_t> rounds) : threshold_(threshold), rounds_(rounds) {}

  /// The first goal, in the order of `TuningEnd`, that this order reaches; none: continue.
  [[nodiscard]] std::optional<TuningEnd> reached(std::span<const std::size_t> order, Bytes top);

 private:
  Bytes threshold_;
  std::optional<std::int64_t> rounds_;
  std::set<std::vector<std::uint32_t>> seen_;
};

/// Shared by all tuners of a problem and never changed.
struct Rectangles {
  std::span<const Buffer> buffers{};
  std::vector<Rectangle> all{};  ///< To be placed; excludes pinned ones.
  Neighbours neighbours;
  Bytes threshold = 0;  ///< A lower bound; tuning ends when it is reached.
};

/// Keeps a reference to the buffers. Nothing if cancelled.
[[nodiscard]] std::optional<Rectangles> prepare(std::span<const Buffer> buffers, const Stop& stop);

/// One way to tune: how rectangles are sorted and grouped, and how groups are re-ordered.
struct Start {
  SortOrder sort{};
  int group_percent = 0;   ///< See groups_by_overlap.
  bool tunes_all = false;  ///< From the first round on; otherwise after a round without improvement.
  Manner manner{};
  std::optional<std::int64_t> rounds{};  ///< The third goal.
  int patience = 1;                      ///< Rounds in a row that may pass without improvement.
};

struct Tuned {
  std::vector<Bytes> offsets{};  ///< The lowest layout found, by buffer. Empty: none was completed.
  Bytes top = 0;
  bool was_stopped = false;  ///< Before it ended by itself.
  Tuning tuning{};
};

/// Called while a tuner works.
struct Stops {
  std::function<bool()> ends_search;   ///< Begin nothing new, but place and keep the results.
  std::function<bool()> ends_placing;  ///< Abandon even a placing that has begun.
  std::function<void(std::int64_t)> spend = [](std::int64_t) {
  };  ///< Told of work, in the units of deadlines.
};

/// What can be said of a start when its sorted rectangles lie at these offsets, by buffer.
[[nodiscard]] Tuning tuning_of(const Rectangles& rectangles, const Start& start,
                               std::span<const Bytes> offsets);

/// The layout optimiser: sorts, places, and re-orders until a goal is met. See rectangle_tuner.cc.
[[nodiscard]] Tuned tune(const Rectangles& rectangles, const Start& start, const Stops& stops);

/// One round of the optimiser: classifies a placed order against `critical`, tunes the high and the medium
/// ones in groups, and merges all.
[[nodiscard]] Order adjusted(const Rectangles& rectangles, const Start& start, const Stops& stops,
                             const Order& order, const std::vector<Bytes>& offsets, Bytes critical);

}  // namespace stowage::pack
