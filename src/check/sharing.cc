// Idea. Every need that is met makes boxes: addresses by time, one for each fragment of the tensor's
// content. Boxes of one clock that overlap must have the same content (live_content.cc).
//
// What is in different buffers does not overlap, or the buffers do (places.cc): so it is enough that boxes
// meet which may be in one buffer. Those of a buffer's own clock do. Needs of a branch may be met in a buffer
// of a clock that forks it: they meet each other on their own clock, and then, all of them together as long
// as the fork takes, whatever its parent and the fork's other branches have in that buffer:
//
//   clock 1, forked at 4       clock 0
//   position  0   1   2        position   3   4   5
//   8..16     a   a   a        8..16      a   a   a       outlives the branch
//   0..8      b   b   c        0..8       c   *           content of branch 1 alone
//
// A position has two halves. In the first one operands are handed over: the caller's inputs, those of a
// body. In the second one an operator runs. So two inputs cannot be in one place even if the operator at
// their first position writes over both.

#include "check/sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/live_content.h"
#include "check/names.h"
#include "check/sources.h"
#include "check/weights.h"

namespace stowage::check {
namespace {

using HeldBoxes = std::vector<HeldBox>;

/// Boxes of one clock, by memory.
using BoxesByMemory = std::map<std::size_t, HeldBoxes>;

/// Boxes by the rank of their clocks, those in forks first.
using BoxesByClock = std::map<std::size_t, BoxesByMemory, std::greater<>>;

/// Makes the boxes of all needs.
class BoxMaker {
 public:
  BoxMaker(const Plan& plan, const ClockTree& tree, std::span<const Network> networks, const Sources& sources)
      : plan_(plan), tree_(tree), networks_(networks), sources_(sources), users_(plan.buffers.size()) {}

  BoxesByClock make() {
    for (std::size_t n = 0; n < networks_.size(); ++n) {
      for (const Need& need : networks_[n].played.needs) {
        if (need.view != nullptr) note_user(need.view->buffer, sources_.of_all({n, need.tensor}));
      }
    }
    for (std::size_t n = 0; n < networks_.size(); ++n) {
      for (const Need& need : networks_[n].played.needs) {
        if (need.view != nullptr) add_need({n, &need});
      }
    }
    return std::move(boxes_);
  }

 private:
  struct Users {
    std::optional<std::size_t> first{};
    bool are_several = false;
  };

  void note_user(std::size_t buffer, std::size_t source) {
    Users& users = users_[buffer];
    users.are_several = users.are_several || (users.first && *users.first != source);
    users.first = source;
  }

  void add_need(const Holder& holder) {
    const Need& need = *holder.need;
    add_boxes(holder, need.clock,
              {2 * need.life.lower + (need.is_given ? 0 : 1),
               2 * need.life.upper + (need.is_written_over ? 1 : 0)});
    for (const Stretch& stretch : need.beyond)
      add_boxes(holder, stretch.clock, {2 * stretch.life.lower, 2 * stretch.life.upper});
  }

  void add_boxes(const Holder& holder, std::size_t clock, const Lifetime& halves) {
    const Need& need = *holder.need;
    const Place& place = plan_.places[need.view->buffer];
    const Bytes address = place.offset + need.view->offset;
    const TensorRef tensor{holder.network, need.tensor};
    HeldBoxes& boxes = boxes_[tree_.rank_of(clock)][place.memory];
    const auto add = [&](const Fragment& part) {
      const Bytes begin = address + part.begin;
      boxes.push_back({halves, begin, begin + part.size, {part.source, begin - part.from}, holder});
    };
    const auto fragments = sources_.of(tensor);
    if (fragments.empty() || !users_[need.view->buffer].are_several) {
      add({0, networks_[holder.network].graph.tensors[need.tensor].bytes, sources_.of_all(tensor), 0});
    } else {
      std::for_each(fragments.begin(), fragments.end(), add);
    }
  }

  const Plan& plan_;
  const ClockTree& tree_;
  std::span<const Network> networks_;
  const Sources& sources_;
  BoxesByClock boxes_;
  std::vector<Users> users_;  ///< Of each buffer.
};

/// What a branch has in buffers of clocks that fork it, to be looked at there.
void hand_up(const Plan& plan, const ClockTree& tree, std::size_t clock, const BoxesByMemory& boxes,
             std::size_t& unique, BoxesByClock& all) {
  const Moment& fork = tree.fork_of(clock);
  for (const auto& [memory, of_memory] : boxes) {
    std::map<std::size_t, HeldBoxes> by_buffer;
    for (const HeldBox& box : of_memory) {
      const std::size_t buffer = box.holder.need->view->buffer;
      if (plan.buffers[buffer].clock != clock) by_buffer[buffer].push_back(box);
    }
    for (const auto& [buffer, of_buffer] : by_buffer) {
      const HeldBoxes together = held_together(of_buffer, {2 * fork.at, 2 * fork.at + 2}, unique);
      HeldBoxes& parents = all[tree.rank_of(fork.clock)][memory];
      parents.insert(parents.end(), together.begin(), together.end());
    }
  }
}

void check_content(const Plan& plan, const ClockTree& tree, std::span<const Network> networks,
                   std::span<const Joined> joined, Faults& faults) {
  const auto name = [&](const Holder& holder) {
    return describe(networks[holder.network].graph, holder.need->tensor);
  };
  const Sources sources(networks, joined);
  std::size_t unique = sources.size();
  BoxesByClock all = BoxMaker(plan, tree, networks, sources).make();
  while (!all.empty()) {
    const std::size_t clock = tree.clock_of_rank(all.begin()->first);
    const BoxesByMemory boxes = std::move(all.begin()->second);
    all.erase(all.begin());
    for (const auto& [memory, of_memory] : boxes) {
      if (const auto conflict = find_conflict(of_memory)) {
        faults.push_back(
            {FaultKind::overlap,
             fmt::format("{} and {} need the same bytes for different content at position {}{}",
                         name(conflict->first), name(conflict->second), conflict->at, of_clock(clock))});
      }
    }
    if (clock != 0) hand_up(plan, tree, clock, boxes, unique, all);
  }
}

/// For each operator that passes on bytes and runs, which of its copies have nothing to do in any run.
using Removed = std::unordered_map<const Operator*, std::vector<bool>>;

Removed removed_copies(const Played& played) {
  Removed removed;
  for (const PassedOn& passed : played.copies) {
    const ByteCopy& copy = passed.op->copies[passed.copy];
    const View* const read = passed.read ? played.needs[*passed.read].view : nullptr;
    const View* const written = passed.written ? played.needs[*passed.written].view : nullptr;
    const bool is_in_place = read != nullptr && written != nullptr && read->buffer == written->buffer &&
                             read->offset + copy.from == written->offset + copy.to;
    auto& of_operator = removed.try_emplace(passed.op, passed.op->copies.size(), true).first->second;
    of_operator[passed.copy] = of_operator[passed.copy] && is_in_place;
  }
  return removed;
}

void add_to(CopiesRemoved& sum, const Removed& removed) {
  for (const auto& [op, is_removed] : removed) {
    for (std::size_t c = 0; c < is_removed.size(); ++c) {
      if (!is_removed[c]) continue;
      ++sum.count;
      sum.bytes += op->copies[c].size;
    }
  }
}

/// Which operands a kernel has nothing to do with, since all of its work on them is copies that are removed.
class Untouched {
 public:
  Untouched(const Graph& graph, const Operator& op, const Removed& removed)
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
    bool computes = false;  // any input may be needed for that
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

void mark_touched(const Graph& graph, const Operator& op, const Removed& removed,
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

/// Tensors that somebody reads or writes where they lie: kernels, callers, runtimes that hand over.
std::vector<bool> touched_tensors(const Graph& graph, const Removed& removed) {
  std::vector<bool> touched(graph.tensors.size(), false);
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const auto* tensors : {&subgraph.inputs, &subgraph.outputs}) {
      for (const TensorId tensor : *tensors) touched[tensor] = true;
    }
    for (const Operator& op : subgraph.operators) mark_touched(graph, op, removed, touched);
  }
  return touched;
}

void check_alignment(const Plan& plan, const Network& network, const Removed& removed, Faults& faults) {
  const auto touched = touched_tensors(network.graph, removed);
  for (const Need& need : network.played.needs) {
    if (need.view == nullptr || !touched[need.tensor] || network.graph.tensors[need.tensor].bytes == 0)
      continue;
    const Bytes address = plan.places[need.view->buffer].offset + need.view->offset;
    const Bytes alignment = plan.buffers[need.view->buffer].alignment;
    if (address % alignment != 0) {
      faults.push_back({FaultKind::alignment,
                        fmt::format("{} is at {}, which is not a multiple of its buffer's alignment {}",
                                    describe(network.graph, need.tensor), address, alignment)});
    }
  }
}

}  // namespace

void hold_weights(const Plan& plan, Network& network, const std::vector<Views>& views) {
  const auto hold = [&](TensorId t, const View& view) {
    const Lifetime life{std::min(view.life.lower, largest_value), std::min(view.life.upper, largest_value)};
    network.played.needs.push_back(
        {.tensor = t, .clock = plan.buffers[view.buffer].clock, .life = life, .view = &view});
  };
  for (TensorId t = 0; t < views.size(); ++t) {
    if (!is_constant(network.graph.tensors[t].kind)) continue;
    for (const auto& [clock, of_clock] : views[t]) {
      for (const View* const view : of_clock) hold(t, *view);
    }
  }
}

void check_sharing(const Plan& plan, const ClockTree& tree, std::span<const Network> networks,
                   std::span<const Joined> joined, Faults& faults) {
  check_content(plan, tree, networks, joined, faults);
  CopiesRemoved sum;
  for (const Network& network : networks) {
    const Removed removed = removed_copies(network.played);
    add_to(sum, removed);
    check_alignment(plan, network, removed, faults);
  }
  if (sum != plan.copies_removed) {
    faults.push_back(
        {FaultKind::accounting,
         fmt::format("the plan is said to remove {} copies of {} bytes but removes {} of {}",
                     plan.copies_removed.count, plan.copies_removed.bytes, sum.count, sum.bytes)});
  }
}

}  // namespace stowage::check
