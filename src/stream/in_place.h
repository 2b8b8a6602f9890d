#pragma once

#include "stowage/graph.h"
#include "stream/instances.h"
#include "stream/regions.h"

namespace stowage::stream {

/// The options without what makes the rows larger that it is written over (a PAD), where the order by regions
/// needs less then. The given ones write over rows where they may.
[[nodiscard]] InstanceOptions in_place_where_it_helps(const Graph& graph, const InstanceOptions& options,
                                                      const TrialEffort& effort);

}  // namespace stowage::stream
