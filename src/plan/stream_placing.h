#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "plan/draft.h"
#include "stowage/plan.h"
#include "stowage/planner.h"
#include "stream/affine.h"
#include "stream/layout.h"
#include "stream/model.h"
#include "stream/program.h"
#include "stream/regions.h"
#include "stream/repeat.h"

namespace stowage::plan {

/// A network as operators over rows.
struct Streamed {
  stream::Repeated network{};
  stream::RowModel once{};   ///< Every row is computed once.
  stream::RowModel model{};  ///< What is planned.
  stream::RowProgram program{};
  stream::RegionOrder regions{};
  std::optional<stream::AffineOrder> affine{};
};

/// An order of a program's instances.
struct RowOrder {
  std::vector<stream::IterationId> steps{};
  std::vector<stream::Form> forms{};  ///< Those whose rows take what was counted.
  std::vector<Bytes> loads{};         ///< Bytes that are live while each step runs.
  std::vector<stream::Region> regions{};
  Bytes counted_in = 1;  ///< Rows were counted rounded up to multiples of this.
};

/// An order in one form, with offsets, ready to be a plan.
struct PlacedStream {
  std::vector<Step> steps{};
  std::vector<PlannedTensor> tensors{};
  Problem problem{};
  Solution solution{};
  Bytes peak = 0;
  Bytes alignment = 1;
  Streaming streaming{};
};

struct PlacingOptions {
  const PlanOptions& plan;
  Bytes alignment = 1;
  base::Deadline deadline{};
};

/// Gives an order's rows places in memory. None: the time was up, or rows of operators that are repeated
/// would be in two places at once.
[[nodiscard]] std::optional<PlacedStream> place_stream(const Streamed& streamed, const RowOrder& order,
                                                       stream::Form form, const PlacingOptions& options);

/// `bound` is claimed for all orders of rows.
[[nodiscard]] Draft draft_of(PlacedStream placed, Bytes bound);

}  // namespace stowage::plan
