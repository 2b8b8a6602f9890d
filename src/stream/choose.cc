// Two choices that only trials can make: which tensors lie apart from those that they are written over, and
// along which axes rows lie. Each trial is an order by regions.
//
// Cost: choosing tensors takes one peak for each of them, and two.

#include "stream/choose.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace stowage::stream {

std::set<TensorId> choose_tensors(const std::vector<TensorId>& candidates,
                                  const std::function<Bytes(const std::set<TensorId>&)>& peak_of,
                                  const base::Deadline& deadline) {
  std::set<TensorId> best;
  if (candidates.empty()) return best;
  Bytes least = peak_of(best);
  const std::set<TensorId> all(candidates.begin(), candidates.end());
  if (const Bytes peak = peak_of(all); peak < least) {
    least = peak;
    best = all;
  }
  for (const TensorId it : candidates) {  // drop what does not help, add what does
    if (candidates.size() == 1 || deadline.is_over()) break;
    std::set<TensorId> other = best;
    if (other.erase(it) == 0) other.insert(it);
    const Bytes peak = peak_of(other);
    if (peak > least || (peak == least && other.size() > best.size())) continue;
    least = peak;
    best = std::move(other);
  }
  return best;
}

// Idea. A row that is written over lies from its start in the bytes of the row that replaces it. If that row
// is larger and the small one lives long, this costs more than it saves:
//
//     x (2 bytes)  . a a a a a a a         x and its PAD in one place: 4 bytes all the time
//     PAD (4)                    b b       apart: 2 bytes, 6 in the step that makes b of a, 4 then
//
// Trials show which of them are better apart.
//
// Cost: one order for each, until the deadline.

namespace {

/// Tensors whose rows are larger than the rows they are written over.
std::vector<TensorId> larger_than_what_was_there(const RowModel& model) {
  std::vector<TensorId> larger;
  for (const Tensor& tensor : model.tensors) {
    if (tensor.takes_over && model.tensors[tensor.takes_over->tensor].bytes_per_row < tensor.bytes_per_row)
      larger.push_back(*tensor.source);
  }
  return larger;
}

}  // namespace

InstanceOptions in_place_where_it_helps(const Graph& graph, const InstanceOptions& options,
                                        const TrialEffort& effort) {
  const auto with = [&](const std::set<TensorId>& apart) {
    InstanceOptions other = options;
    other.apart = apart;
    return other;
  };
  return with(choose_tensors(
      larger_than_what_was_there(instances_of(graph, options)),
      [&](const std::set<TensorId>& apart) {
        return least_peak_of(instances_of(graph, with(apart)), effort);
      },
      effort.deadline));
}

// Idea. By itself the height of an image streams, and the rows of a matrix. An image of 16 x 1024 needs less by
// columns, and a sequence of 4096 in a single row has only columns. Trials: each axis of the network's inputs,
// then of the largest tensors; all other axes follow.
//
// Cost: one order for each axis of these tensors, until the deadline.

namespace {

/// Tensors whose axes are tried, with the most promising first.
std::vector<TensorId> tensors_to_turn(const Graph& graph) {
  constexpr std::size_t most = 24;
  std::vector<TensorId> tensors;
  std::vector<TensorId> inner;
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    if (!is_passed_on(graph.tensors[t].kind)) continue;
    (graph.tensors[t].kind == TensorKind::input ? tensors : inner).push_back(t);
  }
  const auto larger = [&](TensorId a, TensorId b) { return graph.tensors[a].bytes > graph.tensors[b].bytes; };
  std::ranges::stable_sort(inner, larger);
  tensors.insert(tensors.end(), inner.begin(), inner.end());
  tensors.resize(std::min(tensors.size(), most));
  return tensors;
}

}  // namespace

ChosenAxes axes_where_it_helps(const Graph& graph, const InstanceOptions& options,
                               const TrialEffort& effort) {
  InstanceOptions trial = options;
  const auto peak_with = [&](const ChosenAxes& axes) {
    trial.axes = axes;
    return least_peak_of(instances_of(graph, trial), effort);
  };
  ChosenAxes best = options.axes;
  std::optional<Bytes> least;
  for (const TensorId t : tensors_to_turn(graph)) {
    const Shape shape = graph.tensors[t].shape.value_or(Shape{});
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] < 2 || axes_of(graph, best)[t] == axis || !bytes_of_row(graph.tensors[t], axis))
        continue;
      if (!least) least = peak_with(best);
      ChosenAxes other = best;
      other[t] = axis;
      const Bytes peak = peak_with(other);
      if (effort.deadline.is_over()) return best;
      if (peak >= *least) continue;
      least = peak;
      best = std::move(other);
    }
  }
  return best;
}

}  // namespace stowage::stream
