/// Streamed plans of networks whose operators are split into blocks. Example:
///
///     const model::SplitNetwork split = model::split(network.graph(), splits);
///     const Plan plan = plan_of_blocks(split, {.granule = 2});
#pragma once

#include <cstdint>
#include <optional>

#include "image_networks.h"
#include "model/blocks.h"
#include "stowage/network.h"
#include "stowage/plan.h"
#include "stream_run_plans.h"

namespace stowage::testing {

/// Attention over all heads at once: projections, scores, softmax, what is mixed, and a projection.
[[nodiscard]] Network attention(std::int64_t tokens, std::int64_t heads, std::int64_t depth);

/// Attention, or convolutions to more channels, one for each channel, and back; small.
[[nodiscard]] Network random_network(Random& random);

/// Such convolutions with a norm between them, which carries sums if it runs by rows.
[[nodiscard]] Network random_normed_network(Random& random);

/// Some operators, each along any axis, into blocks of any sizes.
[[nodiscard]] model::Splits random_splits(const Graph& graph, Random& random);

/// None if blocks of a reshape are no whole rows of its input.
[[nodiscard]] std::optional<model::SplitNetwork> try_split(const Graph& graph, const model::Splits& splits);

/// A plan of the network's blocks, in the names of the network.
[[nodiscard]] Plan plan_of_blocks(const model::SplitNetwork& split, const StreamedOptions& options);

}  // namespace stowage::testing
