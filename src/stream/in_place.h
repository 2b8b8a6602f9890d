#pragma once

#include "stowage/graph.h"
#include "stream/instances.h"
#include "stream/regions.h"

namespace stowage::stream {

/// The options in which those tensors lie apart that make rows larger where they are written over them (a
/// PAD), if the order by regions needs less then.
[[nodiscard]] InstanceOptions in_place_where_it_helps(const Graph& graph, const InstanceOptions& options,
                                                      const TrialEffort& effort);

}  // namespace stowage::stream
