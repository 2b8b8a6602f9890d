// An operator that copies bytes has no work if they are where they must go, in every run. A kernel then touches only what
// other work needs; what it touches must be aligned. Plans by rows count no copies in this version, and rows need not be
// aligned.

#include "check/copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "model/motions.h"

namespace stowage::check {
namespace {

/// The view that has the tensor when the operator at that position reads it; null if none is known.
const View* read_view(const Needs& needs, TensorId t, Position at) {
  const auto first = needs.all.begin() + static_cast<std::ptrdiff_t>(needs.first[t]);
  const auto last = needs.all.begin() + static_cast<std::ptrdiff_t>(needs.first[t + 1]);
  const auto after = std::upper_bound(
      first, last, at, [](Position position, const KeptBytes& it) { return position < it.life.lower; });
  return after == first ? nullptr : std::prev(after)->view;
}

model::Motion moves_of(const View& view) { return view.moves ? *view.moves : model::Motion(); }

/// For each operator that runs and copies bytes, the copies (ByteCopy) that need no work in any run.
using RemovedCopies = std::unordered_map<const Operator*, std::vector<bool>>;

RemovedCopies removed_copies(const Network& network) {
  RemovedCopies removed;
  std::unordered_map<const Operator*, std::vector<model::CopyMotion>> motions;
  for (const Task& task : network.played.tasks) {
    if (task.op->copies.empty()) continue;
    const auto [found, is_new] = removed.try_emplace(task.op, task.op->copies.size(), true);
    if (is_new) motions[task.op] = model::motions_of_copies(network.graph(), *task.op);
    for (std::size_t c = 0; c < task.op->copies.size(); ++c) {
      if (!found->second[c]) continue;
      const ByteCopy& copy = task.op->copies[c];
      const model::CopyMotion& motion = motions[task.op][c];
      const View* const read = read_view(network.needs, *task.op->inputs[copy.input], task.at);
      const View* const written = read_view(network.needs, *task.op->outputs[copy.output], task.at);
      found->second[c] =
          motion.is_known && read != nullptr && written != nullptr && read->buffer == written->buffer &&
          read->offset + copy.from == written->offset + copy.to &&
          model::sum_of(moves_of(*read), motion.from, 1) == model::sum_of(moves_of(*written), motion.to, 1);
    }
  }
  return removed;
}

void add_to(CopiesRemoved& sum, const RemovedCopies& removed) {
  for (const auto& [op, is_removed] : removed) {
    for (std::size_t c = 0; c < is_removed.size(); ++c) {
      if (!is_removed[c]) continue;
      ++sum.count;
      sum.bytes += op->copies[c].size;
    }
  }
}

/// The operands that a kernel does not touch, because all of its work on them is removed copies.
class Untouched {
 public:
  Untouched(const Graph& graph, const Operator& op, const RemovedCopies& removed)
      : inputs_(op.inputs.size(), false), outputs_(op.outputs.size(), false) {
    const auto it = removed.find(&op);
    if (it == removed.end()) return;
    std::vector<bool> kept_inputs(op.inputs.size(), false);
    std::vector<Bytes> removed_bytes(op.outputs.size(), 0);
    std::vector<Bytes> copied_bytes(op.outputs.size(), 0);
    for (std::size_t c = 0; c < op.copies.size(); ++c) {
      const ByteCopy& copy = op.copies[c];
      inputs_[copy.input] = true;
      copied_bytes[copy.output] += copy.size;
      if (it->second[c]) {
        removed_bytes[copy.output] += copy.size;
      } else {
        kept_inputs[copy.input] = true;
      }
    }
    bool computes = false;  // this may need any input
    for (std::size_t j = 0; j < op.outputs.size(); ++j) {
      if (!op.outputs[j]) continue;
      const Bytes bytes = graph.tensors[*op.outputs[j]].bytes;
      computes = computes || copied_bytes[j] < bytes;
      outputs_[j] = removed_bytes[j] == bytes;
    }
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      inputs_[i] = inputs_[i] && !kept_inputs[i] && !computes;
  }

  [[nodiscard]] bool has_input(std::size_t i) const { return inputs_[i]; }
  [[nodiscard]] bool has_output(std::size_t j) const { return outputs_[j]; }

 private:
  std::vector<bool> inputs_;
  std::vector<bool> outputs_;
};

void mark_touched(const Graph& graph, const Operator& op, const RemovedCopies& removed,
                  std::vector<bool>& touched) {
  const Untouched untouched(graph, op, removed);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] && !untouched.has_input(i)) touched[*op.inputs[i]] = true;
  }
  for (std::size_t j = 0; j < op.outputs.size(); ++j) {
    if (op.outputs[j] && !untouched.has_output(j)) touched[*op.outputs[j]] = true;
  }
  for (const TensorId scratch : op.scratch) touched[scratch] = true;
}

/// Tensors that kernels, callers or the runtime's hand-overs read or write in place.
std::vector<bool> touched_tensors(const Graph& graph, const RemovedCopies& removed) {
  std::vector<bool> touched(graph.tensors.size(), false);
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const auto* tensors : {&subgraph.inputs, &subgraph.outputs}) {
      for (const TensorId tensor : *tensors) touched[tensor] = true;
    }
    for (const Operator& op : subgraph.operators) {
      if (!op.folded) mark_touched(graph, op, removed, touched);
    }
  }
  return touched;
}

void check_alignment(const Plan& plan, const Network& network, const RemovedCopies& removed, Faults& faults) {
  const auto touched = touched_tensors(network.graph(), removed);
  for (const KeptBytes& need : network.needs.all) {
    if (need.view == nullptr || !touched[need.tensor] || network.graph().tensors[need.tensor].bytes == 0)
      continue;
    const Bytes address = plan.places[need.view->buffer].offset + need.view->offset;
    const Bytes alignment = plan.buffers[need.view->buffer].alignment;
    const auto is_multiple = [&](const OpenBytes& it) { return it.bytes % alignment == 0; };
    if (!std::ranges::all_of(moves_of(*need.view), is_multiple)) {
      faults.push_back(
          {FaultKind::alignment,
           fmt::format("{} moves with open extents by bytes that are not a multiple of its buffer's "
                       "alignment {}",
                       describe(network.graph(), need.tensor), alignment)});
    }
    if (address % alignment != 0) {
      faults.push_back({FaultKind::alignment,
                        fmt::format("{} is at {}, which is not a multiple of its buffer's alignment {}",
                                    describe(network.graph(), need.tensor), address, alignment)});
    }
  }
}

}  // namespace

void check_removed_copies(const Plan& plan, std::span<const Network> networks, Faults& faults) {
  CopiesRemoved sum;
  for (const Network& network : networks) {
    if (network.part.is_by_rows) continue;
    const RemovedCopies removed = removed_copies(network);
    add_to(sum, removed);
    check_alignment(plan, network, removed, faults);
  }
  if (sum == plan.copies_removed) return;
  faults.push_back({FaultKind::accounting,
                    fmt::format("the plan is said to remove {} copies of {} bytes but removes {} of {}",
                                plan.copies_removed.count, plan.copies_removed.bytes, sum.count, sum.bytes)});
}

}  // namespace stowage::check
