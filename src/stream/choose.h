#pragma once

#include <functional>
#include <set>
#include <vector>

#include "base/deadline.h"
#include "stowage/graph.h"
#include "stream/instances.h"
#include "stream/regions.h"

namespace stowage::stream {

/// Chooses the tensors with the least peak, and few of them: none or all, then flips single ones where that
/// is better, until the deadline.
[[nodiscard]] std::set<TensorId> choose_tensors(
    const std::vector<TensorId>& candidates, const std::function<Bytes(const std::set<TensorId>&)>& peak_of,
    const base::Deadline& deadline);

/// The options, but with tensors apart that are larger than the rows they are written over (a PAD), if the
/// order by regions then needs less. The given options write over rows wherever they may.
[[nodiscard]] InstanceOptions in_place_where_it_helps(const Graph& graph, const InstanceOptions& options,
                                                      const TrialEffort& effort);

/// Axes of rows with which the order by regions needs less than with those that follow by themselves.
[[nodiscard]] ChosenAxes axes_where_it_helps(const Graph& graph, const InstanceOptions& options,
                                             const TrialEffort& effort);

}  // namespace stowage::stream
