// Choices that only trials can make: which tensors lie apart from those that they are written over, along which axes
// rows lie, and which operators run backward. Each trial is an order by regions.
//
// Layers repeat themselves. To choose for one of twelve equal layers lowers nothing, for the others are as high.
// So tensors that are alike are tried together first.
//
// Cost: choosing tensors takes one peak for each group and each of their tensors, and two.

#include "stream/choose.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stream/directions.h"

namespace stowage::stream {

std::vector<std::vector<TensorId>> groups_of_alike(const Graph& graph, const std::vector<TensorId>& tensors) {
  std::vector<std::vector<std::string>> uses(graph.tensors.size());  // types of the writer and the readers
  for (const stowage::Operator& op : graph.subgraphs[0].operators) {
    for (const auto& output : op.outputs) {
      if (output) uses[*output].insert(uses[*output].begin(), op.type + " writes");
    }
    for (const auto& input : op.inputs) {
      if (input) uses[*input].push_back(op.type);
    }
  }
  std::map<std::tuple<std::optional<Shape>, Bytes, std::vector<std::string>>, std::size_t> known;
  std::vector<std::vector<TensorId>> groups;
  for (const TensorId t : tensors) {
    const stowage::Tensor& tensor = graph.tensors[t];
    const auto [found, is_new] =
        known.try_emplace({tensor.shape, tensor.bytes, std::move(uses[t])}, groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(t);
  }
  return groups;
}

std::set<TensorId> choose_tensors(const std::vector<std::vector<TensorId>>& groups,
                                  const PeakOfTensors& peak_of, const base::Deadline& deadline) {
  constexpr std::size_t most_single = 4;
  std::set<TensorId> best;
  if (groups.empty()) return best;
  std::set<TensorId> all;
  for (const auto& group : groups) all.insert(group.begin(), group.end());
  Bytes least = peak_of(best, std::numeric_limits<Bytes>::max());
  if (const Bytes peak = peak_of(all, least - 1); peak < least) {
    least = peak;
    best = all;
  }
  const auto flip = [&](const std::vector<TensorId>& tensors) {  // drop what does not help, add what does
    std::set<TensorId> other = best;
    for (const TensorId it : tensors) {
      if (other.erase(it) == 0) other.insert(it);
    }
    const Bytes limit = other.size() > best.size() ? least - 1 : least;
    const Bytes peak = peak_of(other, limit);
    if (peak > limit) return;
    least = peak;
    best = std::move(other);
  };
  if (all.size() == 1) return best;
  for (const auto& group : groups) {
    if (groups.size() > 1 && !deadline.is_over()) flip(group);
  }
  for (const auto& group : groups) {
    if (group.size() == 1 || group.size() > most_single) continue;
    for (const TensorId it : group) {
      if (!deadline.is_over()) flip({it});
    }
  }
  return best;
}

// A row that is written over lies from its start in the bytes of the row that replaces it. If that row
// is larger and the small one lives long, this costs more than it saves:
//
//     x (2 bytes)  . a a a a a a a         x and its PAD in one place: 4 bytes all the time
//     PAD (4)                    b b       apart: 2 bytes, 6 in the step that makes b of a, 4 then
//
// One that is written over rows which were there from the start waits until all others have read them. It may run
// sooner apart.
//
// Trials show which of them are better apart.
//
// Cost: one order for each, until the deadline.

namespace {

/// Tensors whose rows are larger than the rows they are written over, and those that wait for other readers of rows
/// which were there from the start.
std::vector<TensorId> may_be_better_apart(const RowModel& model) {
  std::vector<bool> is_written(model.tensors.size(), false);
  std::vector<std::size_t> readers(model.tensors.size(), 0);
  for (const Operator& op : model.operators) {
    for (const std::size_t t : op.writes) is_written[t] = true;
    for (const Access& access : op.reads) ++readers[access.tensor];
  }
  std::vector<TensorId> found;
  for (const Tensor& tensor : model.tensors) {
    if (!tensor.takes_over) continue;
    const std::size_t taken = tensor.takes_over->tensor;
    if (model.tensors[taken].bytes_per_row < tensor.bytes_per_row ||
        (!is_written[taken] && readers[taken] > 1))
      found.push_back(*tensor.source);
  }
  return found;
}

}  // namespace

InstanceOptions backward_where_it_helps(const Graph& graph, const InstanceOptions& options,
                                        const TrialEffort& effort) {
  const RowModel alone = instances_of(graph, options);
  if (!runs_backward(alone)) return options;
  InstanceOptions spread = options;
  spread.turns_back = true;
  const Bytes peak = least_peak_of(alone, effort);
  return least_peak_of(instances_of(graph, spread), effort, peak - 1) < peak ? spread : options;
}

InstanceOptions in_place_where_it_helps(const Graph& graph, const InstanceOptions& options,
                                        const TrialEffort& effort) {
  const auto with = [&](const std::set<TensorId>& apart) {
    InstanceOptions other = options;
    other.apart = apart;
    return other;
  };
  return with(choose_tensors(
      groups_of_alike(graph, may_be_better_apart(instances_of(graph, options))),
      [&](const std::set<TensorId>& apart, Bytes limit) {
        return least_peak_of(instances_of(graph, with(apart)), effort, limit);
      },
      effort.deadline));
}

// By itself the height of an image streams, and the rows of a matrix. An image of 16 x 1024 needs less by
// columns, and a sequence of 4096 in a single row has only columns. Trials: each axis of the network's inputs,
// then of the largest tensors; all other axes follow.
//
// Cost: one order for each axis of these tensors, until the deadline.

namespace {

constexpr std::size_t most_turned = 24;  ///< Tensors, and groups of them, whose axes are tried.

/// Tensors whose axes may be tried, with the most promising first.
std::vector<TensorId> tensors_to_turn(const Graph& graph) {
  std::vector<TensorId> tensors;
  std::vector<TensorId> inner;
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    if (!is_passed_on(graph.tensors[t].kind)) continue;
    (graph.tensors[t].kind == TensorKind::input ? tensors : inner).push_back(t);
  }
  const auto larger = [&](TensorId a, TensorId b) { return graph.tensors[a].bytes > graph.tensors[b].bytes; };
  std::ranges::stable_sort(inner, larger);
  tensors.insert(tensors.end(), inner.begin(), inner.end());
  return tensors;
}

/// Groups of tensors that turn together, with the most promising first: those of several, then single ones.
std::vector<std::vector<TensorId>> groups_to_turn(const Graph& graph) {
  const std::vector<TensorId> tensors = tensors_to_turn(graph);
  std::vector<std::vector<TensorId>> groups = groups_of_alike(graph, tensors);
  std::erase_if(groups, [](const auto& group) { return group.size() < 2; });
  groups.resize(std::min(groups.size(), most_turned));
  for (std::size_t i = 0; i < std::min(tensors.size(), most_turned); ++i) groups.push_back({tensors[i]});
  return groups;
}

}  // namespace

ChosenAxes axes_where_it_helps(const Graph& graph, const InstanceOptions& options,
                               const TrialEffort& effort) {
  InstanceOptions trial = options;
  const auto peak_with = [&](const ChosenAxes& axes, Bytes limit) {
    trial.axes = axes;
    return least_peak_of(instances_of(graph, trial), effort, limit);
  };
  ChosenAxes best = options.axes;
  std::optional<Bytes> least;
  for (const std::vector<TensorId>& group : groups_to_turn(graph)) {
    const Shape shape = graph.tensors[group[0]].shape.value_or(Shape{});
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const Axes now = axes_of(graph, best);
      ChosenAxes other = best;
      for (const TensorId t : group) {
        if (shape[axis] >= 2 && now[t] != axis && bytes_of_row(graph.tensors[t], axis)) other[t] = axis;
      }
      if (other == best) continue;
      if (!least) least = peak_with(best, std::numeric_limits<Bytes>::max());
      const Bytes peak = peak_with(other, *least - 1);
      if (effort.deadline.is_over()) return best;
      if (peak >= *least) continue;
      least = peak;
      best = std::move(other);
    }
  }
  return best;
}

}  // namespace stowage::stream
