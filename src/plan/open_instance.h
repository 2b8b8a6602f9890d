#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "plan/row_placing.h"
#include "stowage/graph.h"
#include "stowage/open_rows.h"
#include "stowage/plan.h"
#include "stream/affine.h"
#include "stream/axes.h"
#include "stream/layout.h"

namespace stowage::plan {

/// What a network by rows has at every size of its open axis; see open_instance.cc.
struct OpenSchedule {
  std::vector<std::size_t> order{};  ///< All operators of the main subgraph.
  stream::ChosenAxes axes{};
  std::set<TensorId> apart{};  ///< Tensors that are never written over others.
  std::int64_t granule = 1;
  Bytes alignment = 1;
  bool keeps_state = false;
  /// Of each operator of the model: when it runs at the size that the schedule was made for, how many steps it has
  /// there, and whether another size has as many.
  std::vector<stream::AffineTime> times{};
  std::vector<std::int64_t> counts{};
  std::vector<bool> is_open{};
};

/// The operators over rows of a network at some size.
[[nodiscard]] stream::RowModel model_at(const Graph& at, const OpenSchedule& schedule);

/// A network at some size in the order of the schedule; none if the order is not legal there.
struct OpenInstance {
  RowNetwork network{};  ///< With the times as its affine schedule.
  RowOrder order{};
};
[[nodiscard]] std::optional<OpenInstance> instance_at(const Graph& at, const OpenSchedule& schedule);

/// Its rows in rings of at least so many slots, without offsets; none if rows cannot be laid out so.
[[nodiscard]] std::optional<PlacedRows> lay_instance(const OpenInstance& instance,
                                                     const OpenSchedule& schedule,
                                                     const stream::ChosenSlots& slots,
                                                     const std::vector<Memory>& memories);

/// The slots of all rings.
[[nodiscard]] stream::ChosenSlots slots_in(const std::vector<PlannedTensor>& tensors);

/// The schedule of a plan. Throws Error if the plan is not one that find_open_rows makes.
[[nodiscard]] OpenSchedule schedule_in(const Plan& plan, const OpenRows& rows);

}  // namespace stowage::plan
