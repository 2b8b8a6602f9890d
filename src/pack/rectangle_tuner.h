#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "pack/placing.h"
#include "pack/rectangle_container.h"
#include "pack/rectangle_reorder.h"
#include "pack/sort_order.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// Why tuning ends.
enum class Goal : std::uint8_t {
  fits,      ///< Nothing lies above the threshold.
  repeated,  ///< The order came up before, in whichever round.
  rounds,    ///< The orders after the first are as many as the rounds allowed.
};

/// The stopping rule: told every order that was placed, and how high it came to lie. Remembers all
/// orders in full, four bytes per rectangle, so that no two are ever mistaken for each other.
class Goals {
 public:
  /// Without `rounds` only the other two goals end the tuning.
  Goals(Bytes threshold, std::optional<std::int64_t> rounds) : threshold_(threshold), rounds_(rounds) {}

  /// The goal that this order reaches, the first in the order above; none: go on.
  [[nodiscard]] std::optional<Goal> reached(std::span<const std::size_t> order, Bytes top);

 private:
  Bytes threshold_;
  std::optional<std::int64_t> rounds_;
  std::set<std::vector<std::uint32_t>> seen_;
};

/// What all tuners of a problem share, and none changes.
struct Rectangles {
  std::span<const Buffer> buffers{};
  std::vector<Rectangle> all{};  ///< To be placed; pinned ones are not among them.
  Neighbours neighbours;
  Bytes threshold = 0;  ///< To get below it is impossible, to get down to it the goal.
};

/// Keeps a reference to the buffers. Nothing if told to stop.
[[nodiscard]] std::optional<Rectangles> prepare(std::span<const Buffer> buffers, const Stop& stop);

/// One way to tune: how rectangles are sorted and grouped, and how groups are re-ordered.
struct Start {
  SortOrder sort{};
  int group_percent = 0;   ///< See groups_by_overlap.
  bool tunes_all = false;  ///< From the first round on; else once a round has brought nothing.
  Manner manner{};
  std::optional<std::int64_t> rounds{};  ///< The third goal.
  int patience = 1;                      ///< Rounds in a row that may bring nothing better.
};

struct Tuned {
  std::vector<Bytes> offsets{};  ///< The lowest layout there was; by buffer. Empty: none was completed.
  Bytes top = 0;
  bool was_stopped = false;  ///< Before a goal of its own.
};

/// Asked now and then while a tuner works.
struct Stops {
  std::function<bool()> ends_search;   ///< Nothing new is to be begun; what was found is placed and kept.
  std::function<bool()> ends_placing;  ///< Nor is a placing that was begun to be completed.
};

/// The layout optimiser: sorts, places, and re-orders until a goal is met. See rectangle_tuner.cc.
[[nodiscard]] Tuned tune(const Rectangles& rectangles, const Start& start, const Stops& stops);

/// One round of it: of a placed order, classified against `critical`, the high and the medium ones are
/// tuned in groups, and all are merged.
[[nodiscard]] Order adjusted(const Rectangles& rectangles, const Start& start, const Stops& stops,
                             const Order& order, const std::vector<Bytes>& offsets, Bytes critical);

}  // namespace stowage::pack
