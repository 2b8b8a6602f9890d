#pragma once

#include <cstdint>
#include <vector>

#include "stowage/graph.h"
#include "stream/instances.h"
#include "stream/regions.h"

namespace stowage::stream {

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
