// Plays the steps as a run would. A need begins whenever an operator writes a tensor: from here on its
// bytes may be read. Every read extends the need. A read inside a loop of a tensor written before the loop
// extends it to the loop's end, because the next round reads it again. An operator that writes over an input
// needs it only up to its own position; `meet` decides later if input and output share a place.

#include "check/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace stowage::check {
namespace {

class Replay {
 public:
  Replay(const Graph& graph, const NetworkSteps& part, Faults& faults)
      : graph_(graph),
        part_(part),
        faults_(faults),
        at_(part.span.life.lower),
        need_of_(graph.tensors.size()),
        is_moved_(graph.tensors.size(), false),
        run_(graph.subgraphs.size()) {
    for (const auto& tensor : part.moved) {
      if (tensor) is_moved_[*tensor] = true;
    }
    for (std::size_t s = 0; s < graph.subgraphs.size(); ++s)
      run_[s].resize(graph.subgraphs[s].operators.size());
  }

  Played play() {
    played_.needs.reserve(graph_.tensors.size());
    const auto [begin, end] = part_.span.life;
    for (const StateTie& tie : graph_.ties) old_state_of_[tie.output] = tie.input;
    for (const TensorId input : graph_.subgraphs[0].inputs) give(input, begin);
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].kind == TensorKind::state) write(t, begin, end);
    }
    play_subgraph(0, 1);
    if (at_ < part_.steps_end)
      fault(FaultKind::order, fmt::format("step {} is not an operator that could run there", at_));
    for (const TensorId output : graph_.subgraphs[0].outputs) read(output, end, "the caller");
    for (KeptBytes& need : played_.needs) {
      // Unread old state may be overwritten at once.
      if (need.is_given && !need.is_read && !is_old_state(need.tensor))
        need.life.upper = std::max(need.life.upper, need.life.lower + 1);
    }
    played_.last_needs = std::move(need_of_);
    return std::move(played_);
  }

 private:
  void fault(FaultKind kind, std::string what) { faults_.push_back({kind, std::move(what)}); }

  [[nodiscard]] const Step* next_step() const {
    return at_ < part_.steps_end ? &part_.clock->steps[static_cast<std::size_t>(at_)] : nullptr;
  }

  /// The next step's operator if it is in `subgraph`, at this depth under the open operators.
  [[nodiscard]] std::optional<std::size_t> next_in(std::size_t subgraph, std::size_t depth) const {
    const Run* const run = next_step() != nullptr ? std::get_if<Run>(next_step()) : nullptr;
    if (run == nullptr) return std::nullopt;
    const std::vector<std::size_t>& path = run->path;
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
    if (depth == 1) play_copies();
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
      if (depth == 1) play_copies();
    }
    for (std::size_t o = 0; o < operators.size(); ++o) {
      if (!has_run[o] && !operators[o].folded)
        fault(FaultKind::order, describe(graph_, subgraph, o) + " is never run");
    }
  }

  /// Bodies make no copies, so each happens once.
  void play_copies() {
    for (; next_step() != nullptr; ++at_) {
      const auto* const copy = std::get_if<Copy>(next_step());
      if (copy == nullptr) return;
      if (const auto tensor = part_.moved[copy->tensor])
        use({.tensor = *tensor, .life = {at_, at_ + 1}, .copy = copy});
    }
  }

  void play_operator(const Operator& op, const std::string& name, std::size_t depth) {
    const Position begin = at_++;
    const std::size_t reads_before = reads_.size();
    std::vector<std::optional<std::size_t>> read_needs(op.inputs.size());
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i]) continue;
      read(*op.inputs[i], written_over(op, i) ? begin : begin + 1, name);
      read_needs[i] = need_of_[*op.inputs[i]];
    }
    for (const auto& output : op.outputs) {
      if (output) write(*output, begin, begin + 1);
    }
    note_sharing(op, begin, read_needs);
    for (const TensorId scratch : op.scratch) write(scratch, begin, begin + 1);
    const bool is_loop = op.body_use == BodyUse::repeated;
    for (const std::size_t body : op.bodies) {
      const Position first = at_;
      const bool is_empty = !next_in(body, depth + 1);
      for (const TensorId input : graph_.subgraphs[body].inputs) {
        give(input, is_loop || is_empty ? begin : first);
      }
      play_subgraph(body, depth + 1);
      for (const TensorId output : graph_.subgraphs[body].outputs) read(output, at_, name);
    }
    if (op.bodies.empty()) return;
    for (const auto* operands : {&op.inputs, &op.outputs}) {
      for (const auto& tensor : *operands) {
        if (tensor) extend(*tensor, begin, at_);
      }
    }
    for (const TensorId scratch : op.scratch) extend(scratch, begin, at_);
    if (!is_loop) return;
    for (const std::size_t body : op.bodies) {
      for (const TensorId input : graph_.subgraphs[body].inputs) extend(input, begin, at_);
    }
    const std::set<TensorId> reads(reads_.begin() + static_cast<std::ptrdiff_t>(reads_before), reads_.end());
    for (const TensorId tensor : reads) {
      const auto& need = need_of_[tensor];
      if (need && played_.needs[*need].life.lower <= begin) extend(tensor, begin, at_);
    }
  }

  /// Notes inputs that the operator needs only up to its position if it writes over them, and the needs whose
  /// bytes it copies.
  void note_sharing(const Operator& op, Position at,
                    const std::vector<std::optional<std::size_t>>& read_needs) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!read_needs[i]) continue;
      if (const auto output = written_over(op, i))
        played_.updates.push_back({*read_needs[i], *need_of_[*output], at});
    }
    for (std::size_t c = 0; c < op.copies.size(); ++c) {
      played_.copies.push_back(
          {&op, c, read_needs[op.copies[c].input], need_of_[*op.outputs[op.copies[c].output]]});
    }
  }

  [[nodiscard]] bool is_old_state(TensorId tensor) const {
    return std::any_of(graph_.ties.begin(), graph_.ties.end(),
                       [&](const StateTie& tie) { return tie.input == tensor; });
  }

  /// The output that the operator may write over this input while reading it, or the new state if the input
  /// is the old one. None if other models may read the input too.
  [[nodiscard]] std::optional<TensorId> written_over(const Operator& op, std::size_t input) const {
    if (!op.inputs[input] || !updates_in_place(op, input)) return std::nullopt;
    if (part_.is_fed[*op.inputs[input]] || is_moved_[*op.inputs[input]]) return std::nullopt;
    for (const auto& output : op.outputs) {
      const auto tie = output ? old_state_of_.find(*output) : old_state_of_.end();
      if (tie == old_state_of_.end() || tie->second != *op.inputs[input]) continue;
      const bool are_alike = are_open_alike(graph_.tensors[tie->second], graph_.tensors[*output]);
      return are_alike ? output : std::nullopt;
    }
    return in_place_output(graph_, op, input);
  }

  /// Results of an earlier run of the subgraph are not values of this run.
  void forget_results_of(std::size_t subgraph) {
    for (const Operator& op : graph_.subgraphs[subgraph].operators) {
      for (const auto& output : op.outputs) {
        if (output) need_of_[*output].reset();
      }
    }
  }

  void use(Use use) {
    use.clock = part_.span.clock;
    played_.uses[use.tensor].push_back(std::move(use));
  }

  void write(TensorId tensor, Position from, Position until) {
    begin_need(tensor, {from, until});
    if (is_moved_[tensor])
      use({.tensor = tensor, .life = {from, until}, .is_written = true, .by = "its writer"});
  }

  /// The tensor is handed over before the operator at that position runs.
  void give(TensorId tensor, Position from) {
    begin_need(tensor, {from, from});
    played_.needs.back().is_given = true;
    if (is_moved_[tensor])
      use({.tensor = tensor, .life = {from, from + 1}, .is_given = true, .by = "the caller"});
  }

  void begin_need(TensorId tensor, const Lifetime& life) {
    need_of_[tensor] = played_.needs.size();
    played_.needs.push_back(
        {.tensor = tensor, .clock = part_.span.clock, .life = life, .is_followed = is_moved_[tensor]});
  }

  /// Reads by an operator that began at `since`.
  void extend(TensorId tensor, Position since, Position until) {
    if (!need_of_[tensor]) return;
    Lifetime& life = played_.needs[*need_of_[tensor]].life;
    life.upper = std::max(life.upper, until);
    if (!is_moved_[tensor]) return;
    std::vector<Use>& uses = played_.uses[tensor];
    for (auto use = uses.rbegin(); use != uses.rend() && use->life.lower >= since; ++use)
      use->life.upper = std::max(use->life.upper, until);
  }

  void read(TensorId tensor, Position until, const std::string& reader) {
    const Tensor& it = graph_.tensors[tensor];
    const bool has_own_value = is_constant(it.kind) || it.bytes == 0;
    if (!need_of_[tensor] && !has_own_value) {
      fault(FaultKind::order,
            fmt::format("{} is read by {} before it is written", describe(graph_, tensor), reader));
    }
    if (is_moved_[tensor]) use({.tensor = tensor, .life = {until - 1, until}, .by = reader});
    extend(tensor, until, until);
    if (need_of_[tensor]) played_.needs[*need_of_[tensor]].is_read = true;
    reads_.push_back(tensor);
  }

  const Graph& graph_;
  const NetworkSteps& part_;
  Faults& faults_;
  Position at_ = 0;
  std::vector<std::size_t> open_;  ///< Path of the operators whose bodies are being played.
  Played played_;
  std::vector<std::optional<std::size_t>> need_of_;  ///< The present need of each tensor.
  std::vector<bool> is_moved_;                       ///< By copies.
  std::vector<TensorId> reads_;
  std::vector<std::vector<bool>> run_;
  std::map<TensorId, TensorId> old_state_of_;
};

}  // namespace

Played replay(const Graph& graph, const NetworkSteps& part, Faults& faults) {
  return Replay(graph, part, faults).play();
}

// Meeting needs. One view must cover all of a need. If an operator may write over an input while reading it,
// and the output's view has the same bytes, the input's bytes are needed only until then:
//
//   positions     0   1   2   3   4
//   input         |-------|                read at 2 by Relu; elsewhere it would be needed at 2 as well
//   output                |-----------|    same buffer, same offset
//
// The output's own need may end early in the same way, at a later position, so the last update is decided
// first. All other readers of the input at that position, and tensors that repeat its bytes, still need them
// there. A view may be in a buffer of a clock that forks the network's; then it lives as long as the fork.
// Cost: n log n for tensors whose views are not live together.

namespace {

/// The live range of the need as another clock sees it; none if part of it is not visible from there.
std::optional<Lifetime> life_on(std::size_t clock, const KeptBytes& need, const model::ClockTree& tree) {
  auto life = tree.seen_from(clock, {need.clock, need.life});
  for (const model::Stretch& stretch : need.beyond) {
    const auto more = tree.seen_from(clock, stretch);
    if (!life || !more) return std::nullopt;
    life = {std::min(life->lower, more->lower), std::max(life->upper, more->upper)};
  }
  return life;
}

/// Finds views of needs.
class ViewFinder {
 public:
  ViewFinder(const Plan& plan, const model::ClockTree& tree, const std::vector<Views>& views)
      : plan_(plan), tree_(tree), views_(views) {}

  /// The view that covers the need and satisfies the condition, usually the last view that begins early enough.
  template <typename Condition>
  [[nodiscard]] const View* during(const KeptBytes& need, const Condition& condition) const {
    const Views& views = views_[need.tensor];
    for (auto first = views.begin(); first != views.end();) {
      const std::size_t clock = plan_.buffers[(*first)->buffer].clock;
      const auto last = std::find_if(
          first, views.end(), [&](const View* view) { return plan_.buffers[view->buffer].clock != clock; });
      const auto begin = std::exchange(first, last);
      const auto life = life_on(clock, need, tree_);
      if (!life) continue;
      auto view = std::upper_bound(begin, last, life->lower,
                                   [](Position lower, const View* it) { return lower < it->life.lower; });
      while (view != begin) {
        --view;
        if (life->upper <= (*view)->life.upper && condition(**view)) return *view;
      }
    }
    return nullptr;
  }

  [[nodiscard]] const View* during(const KeptBytes& need) const {
    return during(need, [](const View&) { return true; });
  }

  /// The view of the input in the bytes that the output overwrites; null if there is none.
  [[nodiscard]] const View* written_over(const KeptBytes& read, const KeptBytes& written) const {
    const View* const output = during(written);
    if (output == nullptr) return nullptr;
    return during(read, [&](const View& view) {
      return view.buffer == output->buffer && view.offset == output->offset;
    });
  }

 private:
  const Plan& plan_;
  const model::ClockTree& tree_;
  const std::vector<Views>& views_;
};

}  // namespace

Views views_in_time(const Plan& plan, const PlannedTensor& tensor) {
  Views views;
  views.reserve(tensor.views.size());
  for (const View& view : tensor.views) views.push_back(&view);
  std::stable_sort(views.begin(), views.end(), [&](const View* a, const View* b) {
    return std::pair(plan.buffers[a->buffer].clock, a->life.lower) <
           std::pair(plan.buffers[b->buffer].clock, b->life.lower);
  });
  return views;
}

void meet(const Plan& plan, const model::ClockTree& tree, Played& played, const std::vector<Views>& views) {
  const ViewFinder finder(plan, tree, views);
  for (auto update = played.updates.rbegin(); update != played.updates.rend(); ++update) {
    KeptBytes& read = played.needs[update->read];
    if (read.life.upper > update->at) continue;  // another reader needs it longer; else it is `at`
    const View* const view = finder.written_over(read, played.needs[update->written]);
    if (view != nullptr) read.view = view;
    read.is_written_over = view != nullptr;
    read.life.upper = view != nullptr ? update->at : update->at + 1;
  }
  for (KeptBytes& need : played.needs) {
    if (need.view == nullptr && !need.is_followed) need.view = finder.during(need);
  }
}

}  // namespace stowage::check
