#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "stowage/plan.h"
#include "stowage/planner.h"
#include "stream/affine.h"
#include "stream/instances.h"
#include "stream/layout.h"
#include "stream/model.h"
#include "stream/program.h"
#include "stream/regions.h"
#include "stream/repeat.h"

namespace stowage::plan {

/// Rows of a step: as the options say, or one.
[[nodiscard]] inline std::int64_t granule_of(const StreamOptions& options) {
  return options.granule.value_or(1);
}

/// A network as operators over rows.
struct RowNetwork {
  stream::Repeated network{};
  stream::RowModel once{};   ///< Every row is computed once.
  stream::RowModel model{};  ///< The model to plan.
  stream::RowProgram program{};
  stream::RegionOrder regions{};
  std::optional<stream::AffineOrder> affine{};
  bool has_apart = false;  ///< Some tensors are not written over others, by choice.
};

/// The multiplies of its model, as a multiple of those with every row computed once.
[[nodiscard]] double recomputed(const RowNetwork& streamed);

/// An order of a program's iterations.
struct RowOrder {
  std::vector<stream::IterationId> steps{};
  std::vector<stream::Form> forms{};  ///< Forms whose rows take the counted bytes.
  std::vector<stream::Region> regions{};
  Bytes counted_in = 1;  ///< Rows were rounded up to multiples of this.
};

/// An order of rows in one form.
struct Attempt {
  std::shared_ptr<const RowNetwork> streamed{};
  std::shared_ptr<const RowOrder> order{};
  stream::Form form = stream::Form::rings;
};

/// An order in one form, with offsets, ready for a plan.
struct PlacedRows {
  std::vector<Step> steps{};
  std::vector<PlannedTensor> tensors{};
  Problem problem{};
  /// When each buffer is used, if it can move: see stream::Layout. Empty unless buffers may move between memories.
  std::vector<std::vector<stream::RowAccess>> accesses{};
  Solution solution{};
  Bytes peak = 0;
  Bytes alignment = 1;
  double recomputed = 1;  ///< Multiplies, as a multiple of those with every row computed once.
  Streaming streaming{};  ///< Once it is the best of all (`streaming_of`).
};

using RowsPtr = std::shared_ptr<const PlacedRows>;

/// What is around a network by rows.
struct Around {
  stream::PassedIo passed{};
  Bytes alignment = 1;
  bool keeps_state = false;           ///< Its state is in the plan.
  stream::ChosenGranules granules{};  ///< Of tensors whose steps have other rows than those of all others.
  std::optional<Bytes>
      fast{};  ///< The fast memory of several, if what is read and written in slower ones counts.
  stream::ChosenSlots slots{};  ///< Of tensors that are rings, whatever their form.
};

struct PlacingOptions {
  const PlanOptions& plan;
  std::string strategy{};  ///< That places its rows.
  const Around& around;
  base::Deadline deadline{};
};

/// An order's rows as buffers without offsets. None as for `place_rows`.
[[nodiscard]] std::optional<PlacedRows> lay_rows(const RowNetwork& streamed, const RowOrder& order,
                                                 stream::Form form, const PlacingOptions& options);

/// Places an order's rows in memory. None if time is up, if rows of repeated operators would be in two places
/// at once, or if a repeated tensor has rows along two axes.
[[nodiscard]] std::optional<PlacedRows> place_rows(const RowNetwork& streamed, const RowOrder& order,
                                                   stream::Form form, const PlacingOptions& options);

/// Places an attempt again, with the inputs and outputs that its search has left to the caller in memory, but for those
/// that are passed on. None if time is up.
[[nodiscard]] std::optional<PlacedRows> place_with_io(const Attempt& attempt, const PlacingOptions& options);

/// Rows, and the buffers of inputs that other networks feed.
struct WithoutFed {
  PlacedRows rows{};  ///< Without these buffers, and without offsets.
  std::map<TensorId, Buffer> fed{};
};

/// Takes out the buffers of these inputs, which have no other tensors.
[[nodiscard]] WithoutFed without_fed(const PlacedRows& rows, std::span<const TensorId> inputs);

/// How an order streams. Loads are live bytes as memory holds them: tensors and row blocks that lie alone are rounded
/// up to the alignment, and so is each sum.
[[nodiscard]] Streaming streaming_of(const RowNetwork& streamed, const RowOrder& order,
                                     const StreamOptions& options, Bytes alignment);

}  // namespace stowage::plan
