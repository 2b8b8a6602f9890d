#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "pack/placing.h"
#include "pack/rectangle_container.h"
#include "pack/rectangle_groups.h"
#include "pack/rectangle_reorder.h"
#include "pack/sort_order.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

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
