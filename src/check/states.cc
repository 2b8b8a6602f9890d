// State that several models share: outputs and inputs that the plan joins. What a model reads there is what the last
// model before it in this run has written, or what was there before the run:
//
//     prefill; decode      prefill.cache, decode.past, decode.present are one state
//
//     before the run       (nobody reads it)
//     prefill   writes     cache     -> read as past, by decode
//     decode    reads past, writes present             -> kept to the end: the next run may read it
//
// The value of each is followed to its readers, as that of an output that feeds an input. Besides, the bytes are
// reserved for the state at all times: a caller may leave models out of a later run. Cost: n log n in tensors and steps;
// pairs of models of one state.

#include "check/states.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "base/union_find.h"
#include "check/clocks.h"
#include "check/feeds.h"
#include "check/free_bytes.h"
#include "check/moves.h"
#include "check/names.h"
#include "model/ties.h"

namespace stowage::check {
namespace {

/// The tensor for messages about a state.
std::size_t any_of(const SharedState& state) { return state[0].input ? *state[0].input : *state[0].output; }

/// Where each model stands when branches are taken one after the other.
std::vector<std::size_t> ranks_of(const Plan& plan) {
  std::vector<std::size_t> ranks(plan.models.size(), std::numeric_limits<std::size_t>::max());
  std::size_t next = 0;
  std::vector<std::pair<std::size_t, std::size_t>> open{{0, 0}};  // clocks, and their next steps
  std::vector<bool> is_visited(plan.clocks.size(), false);        // of those that run at pauses
  while (!open.empty()) {
    const auto [clock, at] = open.back();
    if (at == plan.clocks[clock].steps.size()) {
      open.pop_back();
      continue;
    }
    ++open.back().second;
    const Step& step = plan.clocks[clock].steps[at];
    if (const auto* const run = std::get_if<Run>(&step)) {
      if (ranks[run->model] > next) ranks[run->model] = next++;
    } else if (const auto* const fork = std::get_if<Fork>(&step)) {
      for (auto branch = fork->clocks.rbegin(); branch != fork->clocks.rend(); ++branch)
        open.emplace_back(*branch, 0);
    } else if (const auto* const pause = std::get_if<Pause>(&step)) {
      if (is_visited[pause->clock]) continue;
      is_visited[pause->clock] = true;
      open.emplace_back(pause->clock, 0);
    }
  }
  return ranks;
}

/// Notes which values the inputs have.
void follow_values(SharedState& state) {
  std::optional<std::size_t> held;
  StateUser* last_writer = nullptr;
  for (StateUser& user : state) {
    if (user.input) {
      user.source = held;
      if (!held) held = user.input;
    }
    if (!user.output) continue;
    if (last_writer != nullptr) last_writer->is_overwritten = !last_writer->is_copied;
    last_writer = &user;
    held = user.output;
  }
}

}  // namespace

std::vector<SharedState> shared_states(const Plan& plan) {
  std::vector<SharedState> states;
  if (plan.states.empty()) return states;
  base::UnionFind sets(plan.tensors.size());
  for (const Feed& it : plan.states) sets.join(it.output, it.input);
  std::map<std::size_t, std::map<std::size_t, StateUser>> users;  // by set and model
  for (const Feed& it : plan.states) {
    auto& of_set = users[sets.find(it.output)];
    of_set[plan.tensors[it.output].model].output = it.output;
    of_set[plan.tensors[it.input].model].input = it.input;
  }
  const std::vector<std::size_t> ranks = ranks_of(plan);
  for (const auto& [set, by_model] : users) {
    SharedState& state = states.emplace_back();
    for (const auto& [model, user] : by_model) {
      state.push_back(user);
      state.back().model = model;
      state.back().is_copied =
          user.input && user.output && model::is_copied(plan, {*user.output, *user.input});
    }
    std::ranges::stable_sort(state, {}, [&](const StateUser& user) { return ranks[user.model]; });
    follow_values(state);
  }
  return states;
}

std::map<std::size_t, std::size_t> sources_of_states(const Plan& plan) {
  std::map<std::size_t, std::size_t> sources;
  for (const SharedState& state : shared_states(plan)) {
    for (const StateUser& user : state)
      if (user.input && user.source) sources.emplace(*user.input, *user.source);
  }
  return sources;
}

std::set<std::size_t> tensors_of_states(const Plan& plan) {
  std::set<std::size_t> tensors;
  for (const Feed& it : plan.states) tensors.insert({it.output, it.input});
  return tensors;
}

void check_states_form(const Plan& plan, Faults& faults) {
  const std::size_t before = faults.size();
  for (const Feed& it : plan.states)
    check_pair_form(plan, it, "the state that was", model::may_be_one_state, faults);
  if (faults.size() != before) return;
  const auto fault = [&](std::size_t tensor, const std::string& what) {
    faults.push_back(
        {FaultKind::format, fmt::format("{} is state, but {}", name_with_model(plan, tensor), what)});
  };
  const std::set<std::size_t> shared = tensors_of_states(plan);
  for (const Feed& feed : plan.feeds) {
    for (const std::size_t tensor : {feed.output, feed.input})
      if (shared.contains(tensor)) fault(tensor, "is passed from model to model");
  }
  for (const std::size_t tensor : plan.released)
    if (shared.contains(tensor)) fault(tensor, "is released");
  const std::vector<bool> moved = moved_tensors(plan);
  for (const SharedState& state : shared_states(plan)) {
    for (const StateUser& user : state) {
      if (user.input && moved[*user.input]) fault(*user.input, "is moved");
      if (user.output && !user.is_copied && moved[*user.output]) fault(*user.output, "is moved");
    }
  }
  std::map<std::size_t, std::size_t> count;  // by model
  for (const SharedState& state : shared_states(plan)) {
    for (const StateUser& user : state) count[user.model] += (user.input ? 1 : 0) + (user.output ? 1 : 0);
  }
  for (const std::size_t tensor : shared) --count[plan.tensors[tensor].model];
  for (const std::size_t tensor : shared) {
    if (count[plan.tensors[tensor].model] == 0) continue;
    fault(tensor, "its model has several inputs or outputs of one state");
    return;
  }
}

namespace {

/// The tensors, which lie in the place of a state, are whole, in one place of a buffer of the root. As many bytes are
/// reserved there for the state at all times.
void check_place(const Plan& plan, const std::set<std::size_t>& own, Bytes bytes, Position end,
                 Faults& faults) {
  if (bytes == 0) return;
  const std::size_t any = *own.begin();
  std::set<std::pair<std::size_t, Bytes>> places;
  for (const std::size_t tensor : own) {
    const std::vector<View>& views = plan.tensors[tensor].views;
    if (plan.tensors[tensor].tensor.bytes == 0 && views.empty()) continue;
    if (views.size() != 1 || views[0].ring || views[0].rows || views[0].block) {
      faults.push_back({FaultKind::accounting, fmt::format("{} is state, but is not whole in one place",
                                                           name_with_model(plan, tensor))});
      return;
    }
    places.emplace(views[0].buffer, views[0].offset);
  }
  const auto fault = [&](const std::string& what) {
    faults.push_back(
        {FaultKind::accounting, fmt::format("the state of {} {}", name_with_model(plan, any), what)});
  };
  if (places.size() != 1) return fault("is not in one place for all models that share it");
  const auto [in, offset] = *places.begin();
  const Buffer& buffer = plan.buffers[in];
  const auto is_in_it = [&, first = offset](const base::Box& box) {
    return box.life.lower < end && box.begin < first + bytes && first < box.end;
  };
  if (buffer.size - offset < bytes)
    return fault(fmt::format("takes {} bytes, and {} has {} for it", bytes, name_of_buffer(plan, in),
                             buffer.size - offset));
  if (buffer.clock != 0 || std::ranges::any_of(free_bytes(buffer), is_in_it))
    return fault(fmt::format("is not reserved at all times in {}", name_of_buffer(plan, in)));
  for (const Clock& clock : plan.clocks) {
    for (const Step& step : clock.steps) {
      const auto* const run = std::get_if<Run>(&step);
      if (run != nullptr &&
          ((run->sums && run->sums->buffer == in) || (run->carry && run->carry->buffer == in)))
        return fault(fmt::format("shares {} with the sums of {}", name_of_buffer(plan, in),
                                 name_of_model(plan, run->model)));
    }
  }
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    if (own.contains(t)) continue;
    for (const View& view : plan.tensors[t].views) {
      if (view.buffer != in) continue;
      fault(fmt::format("shares {} with {}", name_of_buffer(plan, in), name_with_model(plan, t)));
      return;
    }
  }
}

/// The same for a state of the plan.
void check_place(const Plan& plan, const SharedState& state, Position end, Faults& faults) {
  std::set<std::size_t> own;
  Bytes bytes = 0;
  for (const StateUser& user : state) {
    if (user.input) own.insert(*user.input);
    if (user.output && !user.is_copied) own.insert(*user.output);
    for (const std::optional<std::size_t> tensor : {user.input, user.output})
      bytes = std::max(bytes, tensor ? plan.tensors[*tensor].tensor.bytes : 0);
  }
  check_place(plan, own, bytes, end, faults);
}

/// Models that share a state run one after the other, unless they only read it.
void check_order(const Plan& plan, const model::ClockTree& tree,
                 const std::vector<std::optional<model::Stretch>>& spans, const SharedState& state,
                 Faults& faults) {
  if (state.size() == 1) return;
  const auto fault = [&](const std::string& what) {
    faults.push_back(
        {FaultKind::order, fmt::format("the state of {} {}", name_with_model(plan, any_of(state)), what)});
  };
  for (const StateUser& user : state) {
    if (!spans[user.model])
      return fault(fmt::format("belongs to {}, which runs no step", name_of_model(plan, user.model)));
  }
  for (auto first = state.begin(); first != state.end(); ++first) {
    for (auto second = std::next(first); second != state.end(); ++second) {
      if (!first->output && !second->output) continue;
      if (tree.pausing_clock(spans[first->model]->clock) != tree.pausing_clock(spans[second->model]->clock))
        return fault(
            fmt::format("is written by one of {} and {}, of which one runs at pauses without the other",
                        name_of_model(plan, first->model), name_of_model(plan, second->model)));
      if (tree.is_before(*spans[first->model], *spans[second->model])) continue;
      fault(fmt::format("is written by one of {} and {}, which run at the same time",
                        name_of_model(plan, first->model), name_of_model(plan, second->model)));
    }
  }
}

}  // namespace

Faults check_states(const Plan& plan) {
  Faults faults;
  if (plan.states.empty()) return faults;
  const model::ClockTree tree(plan.clocks);
  const auto spans = spans_of(plan);
  for (const SharedState& state : shared_states(plan)) {
    check_place(plan, state, tree.end_of(0), faults);
    check_order(plan, tree, spans, state, faults);
  }
  return faults;
}

void check_states_of(const Plan& plan, std::span<const Graph* const> graphs, const Ids& ids, Faults& faults) {
  if (plan.states.empty()) return;
  const auto fault = [&](std::size_t tensor, const std::string& what) {
    faults.push_back(
        {FaultKind::accounting, fmt::format("{} is state, but {}", name_with_model(plan, tensor), what)});
  };
  const auto has = [](const std::vector<TensorId>& tensors, TensorId tensor) {
    return std::ranges::find(tensors, tensor) != tensors.end();
  };
  for (const auto& [output, input] : plan.states) {
    const Subgraph& of_output = graphs[plan.tensors[output].model]->subgraphs[0];
    const Subgraph& of_input = graphs[plan.tensors[input].model]->subgraphs[0];
    if (ids[output] && !has(of_output.outputs, *ids[output])) fault(output, "is no output of its model");
    if (ids[input] && !has(of_input.inputs, *ids[input])) fault(input, "is no input of its model");
    if (ids[input] && has(of_input.outputs, *ids[input]))
      fault(input, "is an output of its model, which the caller reads, and an input");
  }
  for (const SharedState& state : shared_states(plan)) {
    for (const StateUser& user : state) {
      const auto id_of = [&](const std::optional<std::size_t>& it) { return it ? ids[*it] : std::nullopt; };
      const std::optional<TensorId> input = id_of(user.input);
      const std::optional<TensorId> output = id_of(user.output);
      const std::vector<StateTie>& ties = graphs[user.model]->ties;
      const bool is_tied = std::ranges::any_of(
          ties, [&](const StateTie& tie) { return tie.output == output && tie.input == input; });
      const bool is_in_tie = std::ranges::any_of(
          ties, [&](const StateTie& tie) { return tie.output == output || tie.input == input; });
      if (is_in_tie && !is_tied)
        fault(user.input ? *user.input : *user.output, "its model ties it to another");
      if (input && output && !is_in_tie)
        fault(*user.input,
              fmt::format("its model does not tie {} to it", name_with_model(plan, *user.output)));
    }
  }
}

void check_places_of_ties(const Plan& plan, const Graph& graph, std::span<const PlannedTensor* const> matched,
                          Position end, Faults& faults) {
  const std::set<std::size_t> shared = tensors_of_states(plan);
  for (const StateTie& tie : graph.ties) {
    const PlannedTensor* const output = matched[tie.output];
    const PlannedTensor* const input = matched[tie.input];
    if (output == nullptr || input == nullptr) continue;
    const Feed state{static_cast<std::size_t>(output - plan.tensors.data()),
                     static_cast<std::size_t>(input - plan.tensors.data())};
    if (model::is_copied(graph, tie)) {
      if (std::ranges::find(plan.states, state) == plan.states.end())
        faults.push_back(
            {FaultKind::accounting,
             fmt::format("{} is copied to the place of {} when its model has run, and the plan does "
                         "not have it among its states",
                         describe(graph, tie.output), describe(graph, tie.input))});
    } else if (output->tensor.bytes != input->tensor.bytes && !shared.contains(state.input)) {
      check_place(plan, {state.output, state.input}, model::bytes_of_state(graph, tie), end, faults);
    }
  }
}

void join_states(const Plan& plan, const model::ClockTree& tree, const Ids& ids,
                 std::vector<Network>& networks, std::vector<Joined>& joined) {
  const auto span_of = [&](std::size_t tensor) -> const model::Stretch& {
    return networks[plan.tensors[tensor].model].part.span;
  };
  const auto keep = [&](std::size_t tensor, const model::Moment& from, const model::Moment& until) {
    const std::vector<model::Stretch> stretches = tree.between(from, until);
    auto& beyond = networks[plan.tensors[tensor].model].played.beyond[*ids[tensor]];
    beyond.insert(beyond.end(), stretches.begin(), stretches.end());
  };
  const auto is_read = [&](std::size_t tensor) {
    const RowLife* const life = networks[plan.tensors[tensor].model].played.last_of(*ids[tensor]);
    return life != nullptr && life->is_read;
  };
  for (const SharedState& state : shared_states(plan)) {
    std::set<std::size_t> written;
    std::set<std::size_t> copied;  // of those that are written: their place is checked for all times
    for (const StateUser& user : state) {
      if (user.input && ids[*user.input]) {
        const model::Stretch& reader = span_of(*user.input);
        const model::Moment begin{reader.clock, reader.life.lower};
        if (user.source && ids[*user.source]) {
          joined.push_back(
              {{plan.tensors[*user.source].model, *ids[*user.source]}, {user.model, *ids[*user.input]}});
        }
        if (!user.source || !written.contains(*user.source)) {
          if (is_read(*user.input)) keep(*user.input, {0, 0}, begin);
        } else if (ids[*user.source] && is_read(*user.input) && !copied.contains(*user.source)) {
          const model::Stretch& writer = span_of(*user.source);
          keep(*user.source, {writer.clock, writer.life.upper}, begin);
        }
      }
      if (!user.output || !ids[*user.output]) continue;
      written.insert(*user.output);
      if (user.is_copied) {
        copied.insert(*user.output);
        continue;
      }
      const model::Stretch& writer = span_of(*user.output);
      if (!user.is_overwritten) keep(*user.output, {writer.clock, writer.life.upper}, {0, tree.end_of(0)});
    }
  }
}

}  // namespace stowage::check
