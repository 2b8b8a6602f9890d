#pragma once

#include <functional>
#include <set>
#include <vector>

#include "base/deadline.h"
#include "stowage/graph.h"
#include "stream/instances.h"
#include "stream/regions.h"

namespace stowage::stream {

/// Of the tensors those for which the peak is least, and rather fewer: none, or all, but for single ones
/// where the other is better, until the deadline.
[[nodiscard]] std::set<TensorId> choose_tensors(
    const std::vector<TensorId>& candidates, const std::function<Bytes(const std::set<TensorId>&)>& peak_of,
    const base::Deadline& deadline);

/// The options without what makes the rows larger that it is written over (a PAD), where the order by regions
/// needs less then. The given ones write over rows where they may.
[[nodiscard]] InstanceOptions in_place_where_it_helps(const Graph& graph, const InstanceOptions& options,
                                                      const TrialEffort& effort);

}  // namespace stowage::stream
