#pragma once

#include <cstdint>
#include <vector>

#include "stowage/graph.h"
#include "stream/instances.h"
#include "stream/regions.h"

namespace stowage::stream {

/// Consecutive operators whose outputs have about as many rows.
struct Stretch {
  std::vector<std::size_t> operators{};
  std::int64_t rows = 1;     ///< At most.
  std::int64_t granule = 1;  ///< Rows of their steps.
};

/// Those with more than one row, in the order of operators.
[[nodiscard]] std::vector<Stretch> stretches_of(const Graph& graph, const InstanceOptions& options);

/// The granules of their outputs that are not those of all others.
[[nodiscard]] ChosenGranules granules_of(const Graph& graph, const std::vector<Stretch>& stretches,
                                         const InstanceOptions& options);

/// Of each operator of the model: the bytes of its constants.
[[nodiscard]] std::vector<Bytes> weights_of_operators(const Graph& graph, const RowModel& model);

/// Larger steps for some operators, so that they read their weights less often.
struct LargerSteps {
  ChosenGranules granules{};
  Bytes peak = 0;   ///< Of the order by regions.
  Bytes reads = 0;  ///< Of weights, by all steps. At most `largest_value`.
};

/// Steps that read as few bytes of weights as this search finds within each of the limits of live bytes, which rise; if all
/// steps need more as they are, within that. Equal ones are left out, and so are those after the deadline. See steps.cc.
[[nodiscard]] std::vector<LargerSteps> steps_within(const Graph& graph, const InstanceOptions& options,
                                                    const std::vector<Bytes>& limits,
                                                    const TrialEffort& effort);

}  // namespace stowage::stream
