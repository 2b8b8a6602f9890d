#pragma once

#include <functional>
#include <set>
#include <vector>

#include "base/deadline.h"
#include "stowage/graph.h"
#include "stream/instances.h"
#include "stream/regions.h"

namespace stowage::stream {

/// The tensors in groups that are alike: of one shape and size, with writers and readers of the same types. Groups and
/// their tensors are in the order of the list.
[[nodiscard]] std::vector<std::vector<TensorId>> groups_of_alike(const Graph& graph,
                                                                 const std::vector<TensorId>& tensors);

/// The least peak with these tensors; the largest value if it exceeds the limit.
using PeakOfTensors = std::function<Bytes(const std::set<TensorId>&, Bytes limit)>;

/// Chooses the tensors with the least peak, and few of them: none or all, then flips groups and single ones
/// where that is better, until the deadline. Of large groups no single ones are flipped.
[[nodiscard]] std::set<TensorId> choose_tensors(const std::vector<std::vector<TensorId>>& groups,
                                                const PeakOfTensors& peak_of, const base::Deadline& deadline);

/// The options, but with tensors apart that are larger than the rows they are written over (a PAD), if the
/// order by regions then needs less. The given options write over rows wherever they may.
[[nodiscard]] InstanceOptions in_place_where_it_helps(const Graph& graph, const InstanceOptions& options,
                                                      const TrialEffort& effort);

/// The options, but with the direction of operators that run backward spread to others (directions.cc), if the order
/// by regions then needs less.
[[nodiscard]] InstanceOptions backward_where_it_helps(const Graph& graph, const InstanceOptions& options,
                                                      const TrialEffort& effort);

/// Axes of rows with which the order by regions needs less than with those that follow by themselves.
[[nodiscard]] ChosenAxes axes_where_it_helps(const Graph& graph, const InstanceOptions& options,
                                             const TrialEffort& effort);

}  // namespace stowage::stream
