// Checks the offsets in a file against its network. The runtime trusts them, so a mistake only shows in wrong
// results. A sweep over the scopes keeps the used addresses as disjoint ranges: a new tensor is compared with
// its neighbours by address, and is inserted if nothing overlaps it. Tensors that have the same bytes,
// because one is a reshape of the other, may share an address. The working memory of an accelerator's
// operator contains its inputs and outputs as its commands place them: outputs may overwrite inputs.
//
// Cost: tensors * log(tensors), for each run of their subgraphs.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "base/checked.h"
#include "stowage/tflm.h"
#include "tflm/runtime.h"

namespace stowage::tflm {
namespace {

/// One run of a tensor's live range.
struct Stay {
  TensorId tensor = 0;
  Span span{};
};

class Checker {
 public:
  Checker(const Graph& graph, const OfflineOffsets& offsets, std::optional<Bytes> most)
      : graph_(graph),
        offsets_(offsets),
        timeline_(timeline_of(graph, file_orders(graph))),
        is_planned_(planned_tensors(graph)),
        most_(most),
        source_(graph.tensors.size()) {
    std::iota(source_.begin(), source_.end(), TensorId{0});
    for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
      for (std::size_t o = 0; o < graph.subgraphs[s].operators.size(); ++o) {
        const Operator& op = graph.subgraphs[s].operators[o];
        note_same_bytes(op);
        if (op.scratch.empty()) continue;
        for (const Span& span : timeline_.operators[s][o]) in_accelerator_.insert(span.last);
      }
    }
  }

  Faults run() {
    std::vector<Stay> stays;
    for (TensorId t = 0; t < offsets_.size(); ++t) {
      if (!offsets_[t] || !has_good_offset(t) || graph_.tensors[t].kind == TensorKind::scratch) continue;
      for (const Span& span : timeline_.tensors[t]) {
        const bool ends_in_accelerator = span.first < span.last && in_accelerator_.contains(span.last);
        stays.push_back({t, {span.first, ends_in_accelerator ? span.last - 1 : span.last}});
      }
    }
    std::stable_sort(stays.begin(), stays.end(),
                     [](const Stay& a, const Stay& b) { return a.span.first < b.span.first; });
    sweep(stays);
    return std::move(faults_);
  }

 private:
  /// Copies of whole tensors make both equal.
  void note_same_bytes(const Operator& op) {
    for (const ByteCopy& copy : op.copies) {
      const TensorId input = *op.inputs[copy.input];
      const TensorId output = *op.outputs[copy.output];
      if (copy.from == 0 && copy.to == 0 && copy.size == graph_.tensors[output].bytes &&
          copy.size == graph_.tensors[input].bytes && (op.type == "RESHAPE" || op.type == "EXPAND_DIMS"))
        source_[output] = source_of(input);
    }
  }

  /// The tensor whose bytes it repeats. Ends: every tensor has one producer, and copies make no circle.
  [[nodiscard]] TensorId source_of(TensorId tensor) const {
    while (source_[tensor] != tensor) tensor = source_[tensor];
    return tensor;
  }

  bool has_good_offset(TensorId t) {
    const Tensor& tensor = graph_.tensors[t];
    if (!is_planned_[t]) {
      const bool is_state = tensor.kind == TensorKind::state;
      if (tensor.bytes == 0) return false;  // the runtime never reads its offset
      faults_.push_back(
          {FaultKind::accounting, fmt::format("{} has offset {}, expected -1 for {}", describe(graph_, t),
                                              *offsets_[t], is_state ? "a variable" : "a constant")});
      return false;
    }
    const Bytes end = *offsets_[t] + runtime_bytes(tensor);
    if (end > std::numeric_limits<std::int32_t>::max()) {
      faults_.push_back({FaultKind::accounting,
                         fmt::format("{} ends at {}, expected at most 31 bits", describe(graph_, t), end)});
      return false;
    }
    if (most_ && end > *most_) {
      faults_.push_back(
          {FaultKind::accounting, fmt::format("{} ends at {}, but all tensors one after the other end at {}",
                                              describe(graph_, t), end, *most_)});
    }
    if (*offsets_[t] % tflm_alignment == 0) return true;
    faults_.push_back({FaultKind::alignment, fmt::format("{} is at {}, expected a multiple of {}",
                                                         describe(graph_, t), *offsets_[t], tflm_alignment)});
    return true;
  }

  void sweep(const std::vector<Stay>& stays) {
    using Leaving = std::pair<Position, Bytes>;  // the last scope, and the address
    std::priority_queue<Leaving, std::vector<Leaving>, std::greater<>> leaving;
    for (const Stay& stay : stays) {
      while (!leaving.empty() && leaving.top().first < stay.span.first) {
        leave(leaving.top().second);
        leaving.pop();
      }
      if (!enter(stay)) continue;
      leaving.emplace(stay.span.last, *offsets_[stay.tensor]);
    }
  }

  /// Tensors at one address, all with the same bytes.
  struct Range {
    Bytes end = 0;
    std::size_t tensors = 0;
    TensorId first = 0;
  };

  bool enter(const Stay& stay) {
    const Bytes begin = *offsets_[stay.tensor];
    const Bytes end = begin + runtime_bytes(graph_.tensors[stay.tensor]);
    auto above = ranges_.upper_bound(begin);
    if (above != ranges_.begin()) {
      auto& [below_begin, below] = *std::prev(above);
      if (below_begin == begin && source_of(below.first) == source_of(stay.tensor)) {
        ++below.tensors;
        return true;
      }
      if (below.end > begin) return collides(stay, below.first);
    }
    if (above != ranges_.end() && above->first < end) return collides(stay, above->second.first);
    ranges_[begin] = {end, 1, stay.tensor};
    return true;
  }

  void leave(Bytes begin) {
    const auto range = ranges_.find(begin);
    if (--range->second.tensors == 0) ranges_.erase(range);
  }

  bool collides(const Stay& stay, TensorId other) {
    faults_.push_back({FaultKind::overlap,
                       fmt::format("{} at {} and {} at {} hold the same bytes in scope {}",
                                   describe(graph_, other), *offsets_[other], describe(graph_, stay.tensor),
                                   *offsets_[stay.tensor], stay.span.first)});
    return false;
  }

  const Graph& graph_;
  const OfflineOffsets& offsets_;
  Timeline timeline_;
  std::vector<bool> is_planned_;
  std::optional<Bytes> most_;  // that an arena may have
  std::vector<TensorId> source_;
  std::set<Position> in_accelerator_;  // scopes of operators with working memory
  std::map<Bytes, Range> ranges_;
  Faults faults_;
};

}  // namespace
}  // namespace stowage::tflm

namespace stowage {

Faults check_offline_offsets(const Graph& graph, const OfflineOffsets& offsets, std::optional<Bytes> most) {
  return tflm::Checker(graph, offsets, most).run();
}

Bytes tflm_all_tensors(const Graph& graph) {
  const std::vector<bool> is_planned = tflm::planned_tensors(graph);
  Bytes all = 0;
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    if (!is_planned[t]) continue;
    const Bytes bytes = base::align_up(tflm::runtime_bytes(graph.tensors[t]), tflm_alignment);
    all = std::min(largest_value, all + std::min(bytes, largest_value));
  }
  return all;
}

}  // namespace stowage
