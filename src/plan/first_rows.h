#pragma once

#include <optional>

#include "base/deadline.h"
#include "plan/row_placing.h"
#include "stowage/graph.h"
#include "stowage/options.h"

namespace stowage::plan {

/// A plan by rows, and what it is made from.
struct FirstRows {
  Attempt from{};
  PlacedRows placed{};
};

/// A quick order of the graph's rows, each of which lies alone; as for `first_rows`, but without offsets.
[[nodiscard]] std::optional<Attempt> first_order(const Graph& graph, const PlanOptions& options,
                                                 const Around& around, const base::Deadline& deadline);

/// A quick plan of the graph's rows, see first_rows.cc. None if time is up, or if rows must lie in rings, which need an
/// affine order. Throws TooLarge for too many rows.
[[nodiscard]] std::optional<FirstRows> first_rows(const Graph& graph, const PlanOptions& options,
                                                  const Around& around, const base::Deadline& deadline);

}  // namespace stowage::plan
