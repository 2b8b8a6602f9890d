// Cost: one peak for each tensor, and two.

#include "stream/choose.h"

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

}  // namespace stowage::stream
