#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/blocks.h"
#include "plan/row_placing.h"
#include "stowage/graph.h"

namespace stowage::plan {

/// A network of which all outputs and inputs are batches, and whose operators mix no samples.
struct Samples {
  model::SplitNetwork network{};   ///< In blocks of a sample each.
  Graph first{};                   ///< The network of the first sample, with the tensors of `network`.
  std::vector<std::size_t> ops{};  ///< Which operators of `network` are those of `first`.
  std::int64_t count = 0;
};

/// The samples along the first axis of the outputs. None if there is one, or if an operator mixes samples.
[[nodiscard]] std::optional<Samples> samples_of(const Graph& graph);

/// A plan for all samples, one after the other, in the bytes of one for the first. The steps name operators and
/// tensors of `samples.network`.
[[nodiscard]] PlacedRows one_after_another(PlacedRows first, const Samples& samples);

}  // namespace stowage::plan
