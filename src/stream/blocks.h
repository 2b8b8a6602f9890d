#pragma once

#include <cstdint>
#include <vector>

#include "model/blocks.h"
#include "stowage/graph.h"
#include "stream/instances.h"
#include "stream/regions.h"

namespace stowage::stream {

/// Operators that can be split together: each reads the others block by block. Chains of the same types of
/// operators, as in layers that are alike, are one choice. No tensor is split along the axis of its rows.
[[nodiscard]] std::vector<model::Splits> block_choices(const Graph& graph, const ChosenAxes& axes);

/// Choices of blocks.
struct SplitChoice {
  model::Splits splits{};           ///< Empty if none helps.
  bool is_cut = false;              ///< The deadline ended the search.
  std::int64_t least_left_out = 0;  ///< The fewest iterations of a choice that had too many; 0: none had.
};

/// Takes choices one by one, where they lower the peak of the best order by regions. Leaves out choices that make
/// more than so many iterations.
[[nodiscard]] SplitChoice split_where_it_helps(const Graph& graph, const InstanceOptions& options,
                                               std::int64_t most_iterations, const TrialEffort& effort);

}  // namespace stowage::stream
