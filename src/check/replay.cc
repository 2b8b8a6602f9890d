// Idea. The steps are played back as a run would play them. Whenever an operator writes a tensor a
// need begins: from here on somebody may want these bytes. Every read extends it; reads inside a
// loop of what was written before the loop extend it to the loop's end, because the next round
// reads it again. In the end each need must lie within one view of the tensor. That two tensors
// never have the same bytes at the same time is checked for all views at once (places.cc).

#include "check/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"

namespace stowage::check {
namespace {

/// A tensor's bytes must be kept from when they are written to after their last reading.
struct Need {
  TensorId tensor = 0;
  Lifetime life;
};

class Replay {
 public:
  Replay(const Graph& graph, std::size_t model, const Clock& clock, Faults& faults)
      : graph_(graph), faults_(faults), need_of_(graph.tensors.size()), run_(graph.subgraphs.size()) {
    for (const Step& step : clock.steps) {
      const Run& run = std::get<Run>(step);
      paths_.push_back(run.model == model ? &run.path : nullptr);
    }
    for (std::size_t s = 0; s < graph.subgraphs.size(); ++s)
      run_[s].resize(graph.subgraphs[s].operators.size());
  }

  std::vector<Need> play() {
    const Position end = std::max<Position>(size(), 1);
    for (const StateTie& tie : graph_.ties) old_state_of_[tie.output] = tie.input;
    for (const TensorId input : graph_.subgraphs[0].inputs) write(input, 0, 1);
    for (const StateTie& tie : graph_.ties) {
      needs_[*need_of_[tie.input]].life.upper = 0;  // unread, it may be written over at once
    }
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].kind == TensorKind::state) write(t, 0, end);
    }
    play_subgraph(0, 1);
    if (at_ < size())
      fault(FaultKind::order, fmt::format("step {} is not an operator that could run there", at_));
    for (const TensorId output : graph_.subgraphs[0].outputs) read(output, end, "the caller");
    return std::move(needs_);
  }

 private:
  [[nodiscard]] Position size() const { return static_cast<Position>(paths_.size()); }

  void fault(FaultKind kind, std::string what) { faults_.push_back({kind, std::move(what)}); }

  /// The next step's operator if it is one of `subgraph`, run at this depth under the open operators.
  [[nodiscard]] std::optional<std::size_t> next_in(std::size_t subgraph, std::size_t depth) const {
    if (at_ >= size() || paths_[static_cast<std::size_t>(at_)] == nullptr) return std::nullopt;
    const std::vector<std::size_t>& path = *paths_[static_cast<std::size_t>(at_)];
    if (path.size() != 2 * depth || path[2 * depth - 2] != subgraph) return std::nullopt;
    if (!std::equal(open_.begin(), open_.end(), path.begin())) return std::nullopt;
    return path.back() < graph_.subgraphs[subgraph].operators.size() ? std::optional(path.back())
                                                                     : std::nullopt;
  }

  void play_subgraph(std::size_t subgraph, std::size_t depth) {
    const auto& operators = graph_.subgraphs[subgraph].operators;
    std::vector<bool>& has_run = run_[subgraph];
    has_run.assign(operators.size(), false);
    forget_results_of(subgraph);
    std::optional<std::size_t> last_stateful;
    while (const auto o = next_in(subgraph, depth)) {
      const Operator& op = operators[*o];
      const std::string name = describe(graph_, subgraph, *o);
      if (has_run[*o]) fault(FaultKind::order, fmt::format("{} runs twice, again at position {}", name, at_));
      if (op.folded)
        fault(FaultKind::order, fmt::format("{} runs at position {} though it is folded", name, at_));
      has_run[*o] = true;
      for (const std::size_t earlier : op.after) {
        if (!has_run[earlier] && !operators[earlier].folded) {
          fault(FaultKind::order, fmt::format("{} runs at position {}, before {}", name, at_,
                                              describe(graph_, subgraph, earlier)));
        }
      }
      if (op.stateful) {
        if (last_stateful && *last_stateful > *o) {
          fault(FaultKind::order, fmt::format("{} runs after {}, and both are stateful", name,
                                              describe(graph_, subgraph, *last_stateful)));
        }
        last_stateful = o;
      }
      open_.push_back(subgraph);
      open_.push_back(*o);
      play_operator(op, name, depth);
      open_.resize(open_.size() - 2);
    }
    for (std::size_t o = 0; o < operators.size(); ++o) {
      if (!has_run[o] && !operators[o].folded)
        fault(FaultKind::order, describe(graph_, subgraph, o) + " is never run");
    }
  }

  void play_operator(const Operator& op, const std::string& name, std::size_t depth) {
    const Position begin = at_++;
    const std::size_t reads_before = reads_.size();
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i]) read(*op.inputs[i], writes_over(op, i) ? begin : begin + 1, name);
    }
    for (const auto& output : op.outputs) {
      if (output) write(*output, begin, begin + 1);
    }
    for (const TensorId scratch : op.scratch) write(scratch, begin, begin + 1);
    const bool is_loop = op.body_use == BodyUse::repeated;
    for (const std::size_t body : op.bodies) {
      const Position first = at_;
      const bool is_empty = !next_in(body, depth + 1);
      for (const TensorId input : graph_.subgraphs[body].inputs) {
        const Position from = is_loop || is_empty ? begin : first;
        write(input, from, from + 1);
      }
      play_subgraph(body, depth + 1);
      for (const TensorId output : graph_.subgraphs[body].outputs) read(output, at_, name);
    }
    if (op.bodies.empty()) return;
    for (const auto* operands : {&op.inputs, &op.outputs}) {
      for (const auto& tensor : *operands) {
        if (tensor) extend(*tensor, at_);
      }
    }
    for (const TensorId scratch : op.scratch) extend(scratch, at_);
    if (!is_loop) return;
    for (const std::size_t body : op.bodies) {
      for (const TensorId input : graph_.subgraphs[body].inputs) extend(input, at_);
    }
    for (std::size_t r = reads_before; r < reads_.size(); ++r) {
      const auto& need = need_of_[reads_[r]];
      if (need && needs_[*need].life.lower <= begin) extend(reads_[r], at_);
    }
  }

  /// Whether the operator replaces the state that it reads as this input.
  [[nodiscard]] bool writes_over(const Operator& op, std::size_t input) const {
    if (old_state_of_.empty() || !op.bodies.empty() || !updates_in_place(op, input)) return false;
    return std::any_of(op.outputs.begin(), op.outputs.end(), [&](const auto& output) {
      const auto tie = output ? old_state_of_.find(*output) : old_state_of_.end();
      return tie != old_state_of_.end() && tie->second == op.inputs[input];
    });
  }

  /// What an earlier run of the subgraph wrote is no value of this run.
  void forget_results_of(std::size_t subgraph) {
    for (const Operator& op : graph_.subgraphs[subgraph].operators) {
      for (const auto& output : op.outputs) {
        if (output) need_of_[*output].reset();
      }
    }
  }

  void write(TensorId tensor, Position from, Position until) {
    need_of_[tensor] = needs_.size();
    needs_.push_back({tensor, {from, until}});
  }

  void extend(TensorId tensor, Position until) {
    if (!need_of_[tensor]) return;
    Lifetime& life = needs_[*need_of_[tensor]].life;
    life.upper = std::max(life.upper, until);
  }

  void read(TensorId tensor, Position until, const std::string& reader) {
    const Tensor& it = graph_.tensors[tensor];
    const bool has_own_value =
        it.kind == TensorKind::weight || it.kind == TensorKind::instruction || it.bytes == 0;
    if (!need_of_[tensor] && !has_own_value) {
      fault(FaultKind::order,
            fmt::format("{} is read by {} before it is written", describe(graph_, tensor), reader));
    }
    extend(tensor, until);
    reads_.push_back(tensor);
  }

  const Graph& graph_;
  Faults& faults_;
  std::vector<const std::vector<std::size_t>*> paths_;  ///< Null: of another model.
  Position at_ = 0;
  std::vector<std::size_t> open_;  ///< Path of the operators whose bodies are being played.
  std::vector<Need> needs_;
  std::vector<std::optional<std::size_t>> need_of_;  ///< Each tensor's present need.
  std::vector<TensorId> reads_;
  std::vector<std::vector<bool>> run_;
  std::map<TensorId, TensorId> old_state_of_;
};

/// For each tensor of a graph the entry of the plan that is it: by name, and tensors of one name in
/// their order. None where it is missing.
std::vector<const PlannedTensor*> match_tensors(const Plan& plan, const Graph& graph, std::size_t model,
                                                Faults& faults) {
  std::map<std::string_view, std::vector<const PlannedTensor*>> by_name;
  for (const PlannedTensor& tensor : plan.tensors) {
    if (tensor.model == model) by_name[tensor.tensor.name].push_back(&tensor);
  }
  std::map<std::string_view, std::size_t> used;
  std::vector<const PlannedTensor*> matched;
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    const std::string_view name = graph.tensors[t].name;
    const std::size_t index = used[name]++;
    const auto& entries = by_name[name];
    if (index >= entries.size()) {
      faults.push_back({FaultKind::accounting, describe(graph, t) + " is missing in the plan"});
      matched.push_back(nullptr);
    } else {
      matched.push_back(entries[index]);
    }
  }
  for (const auto& [name, entries] : by_name) {
    if (entries.size() > used[name]) {
      faults.push_back({FaultKind::accounting,
                        fmt::format("tensor {} is in the plan but not in the model", base::quoted(name))});
    }
  }
  return matched;
}

void check_tensor(const Graph& graph, TensorId t, const Tensor& planned, Faults& faults) {
  const Tensor& tensor = graph.tensors[t];
  const auto fault = [&](const std::string& what) {
    faults.push_back({FaultKind::accounting, describe(graph, t) + what});
  };
  if (planned.bytes != tensor.bytes)
    fault(fmt::format(" has {} bytes, the plan says {}", tensor.bytes, planned.bytes));
  if (planned.kind != tensor.kind)
    fault(fmt::format(" is of kind {}, the plan says {}", name_of(tensor.kind), name_of(planned.kind)));
  if (planned.dtype != tensor.dtype || planned.shape != tensor.shape)
    fault(" has another element type or shape in the plan");
}

/// The views of a tensor, in order of time.
std::vector<View> views_in_time(const PlannedTensor* tensor) {
  std::vector<View> views;
  if (tensor != nullptr) views = tensor->views;
  std::sort(views.begin(), views.end(),
            [](const View& a, const View& b) { return a.life.lower < b.life.lower; });
  return views;
}

/// A need lies within one view: mostly the last that begins early enough.
bool is_met(const Need& need, const std::vector<View>& views) {
  auto view = std::upper_bound(views.begin(), views.end(), need.life.lower,
                               [](Position lower, const View& it) { return lower < it.life.lower; });
  while (view != views.begin()) {
    --view;
    if (need.life.upper <= view->life.upper) return true;
  }
  return false;
}

/// The caller may own inputs and outputs, the runtime may keep state; weights and instructions are
/// not in working memory.
std::vector<bool> may_be_elsewhere(const Graph& graph) {
  std::vector<bool> elsewhere(graph.tensors.size(), false);
  for (const auto* tensors : {&graph.subgraphs[0].inputs, &graph.subgraphs[0].outputs}) {
    for (const TensorId tensor : *tensors) elsewhere[tensor] = true;
  }
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    elsewhere[t] = elsewhere[t] || tensor.kind == TensorKind::weight ||
                   tensor.kind == TensorKind::instruction || tensor.kind == TensorKind::state ||
                   tensor.bytes == 0;
  }
  for (const StateTie& tie : graph.ties) elsewhere[tie.input] = elsewhere[tie.output] = false;
  return elsewhere;
}

void check_tie(const Graph& graph, const StateTie& tie, const std::vector<const PlannedTensor*>& matched,
               Faults& faults) {
  const PlannedTensor* const input = matched[tie.input];
  const PlannedTensor* const output = matched[tie.output];
  if (input == nullptr || output == nullptr || graph.tensors[tie.input].bytes == 0) return;
  const auto is_at_one_place = [](const View& a, const View& b) {
    return a.buffer == b.buffer && a.offset == b.offset;
  };
  if (input->views.size() != 1 || output->views.size() != 1 ||
      !is_at_one_place(input->views[0], output->views[0])) {
    faults.push_back(
        {FaultKind::accounting, fmt::format("{} is the new state of {}, but they are not in one place",
                                            describe(graph, tie.output), describe(graph, tie.input))});
  }
}

void check_model(const Plan& plan, const Graph& graph, std::size_t model, Faults& faults) {
  const auto matched = match_tensors(plan, graph, model, faults);
  const std::vector<Need> needs = Replay(graph, model, plan.clocks[0], faults).play();
  const auto elsewhere = may_be_elsewhere(graph);
  std::vector<std::vector<View>> views;
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    if (matched[t] != nullptr) check_tensor(graph, t, matched[t]->tensor, faults);
    views.push_back(views_in_time(matched[t]));
  }
  for (const Need& need : needs) {
    const PlannedTensor* const tensor = matched[need.tensor];
    if (tensor == nullptr || (tensor->views.empty() && elsewhere[need.tensor])) continue;
    if (!is_met(need, views[need.tensor])) {
      faults.push_back({FaultKind::accounting,
                        fmt::format("{} needs its bytes from {} to {} but has no place for all of that time",
                                    describe(graph, need.tensor), need.life.lower, need.life.upper)});
    }
  }
  for (const StateTie& tie : graph.ties) check_tie(graph, tie, matched, faults);
}

}  // namespace

Faults check_against(const Plan& plan, std::span<const Graph> graphs) {
  Faults faults;
  if (graphs.size() != plan.models.size()) {
    faults.push_back({FaultKind::accounting, fmt::format("the plan is for {} models, {} are given",
                                                         plan.models.size(), graphs.size())});
    return faults;
  }
  for (std::size_t model = 0; model < graphs.size(); ++model) check_model(plan, graphs[model], model, faults);
  return faults;
}

}  // namespace stowage::check
