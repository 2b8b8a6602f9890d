// Checks a plan against its networks. It matches tensors of the plan to those of a network, and finds a view
// (replay.h) for each need of the replayed steps. These are faults: a tensor that is missing or has another
// size, needed bytes without a place, state in more than one place, a result of a loop in the place of its
// input. State, outputs that feed other models, and outputs that are not released are needed beyond their own
// model's steps. One check for all networks together decides which bytes may be shared (sharing.cc).

#include "check/against.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "check/clocks.h"
#include "check/constants.h"
#include "check/feeds.h"
#include "check/matching.h"
#include "check/moves.h"
#include "check/names.h"
#include "check/replay.h"
#include "check/sharing.h"
#include "check/stream.h"

namespace stowage::check {
namespace {

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

/// The inputs of a body, by buffer and first byte. All of them live as long as the loop, so in a correct plan
/// no two of them overlap.
using InputsByPlace = std::map<std::pair<std::size_t, Bytes>, TensorId>;

/// An input of a body, other than the tensor itself, whose place overlaps the view of the tensor.
std::optional<TensorId> input_under(const View& view, TensorId tensor, const Graph& graph,
                                    const InputsByPlace& inputs) {
  const Bytes end = view.offset + graph.tensors[tensor].bytes;
  auto input = inputs.lower_bound({view.buffer, end});  // the first that begins after it
  while (input != inputs.begin()) {
    --input;
    const auto& [place, id] = *input;
    if (place.first != view.buffer) break;
    if (id != tensor) {
      if (place.second + graph.tensors[id].bytes <= view.offset) break;
      return id;
    }
  }
  return std::nullopt;
}

/// A loop copies the results of its body to the inputs one after the other. A result in the place of an input
/// could be overwritten before its turn.
void check_hand_over(const Graph& graph, const Subgraph& body,
                     const std::vector<const PlannedTensor*>& matched, Faults& faults) {
  InputsByPlace inputs;
  for (const TensorId input : body.inputs) {
    if (matched[input] == nullptr || graph.tensors[input].bytes == 0) continue;
    for (const View& view : matched[input]->views) inputs.emplace(std::pair(view.buffer, view.offset), input);
  }
  for (const TensorId output : body.outputs) {
    if (matched[output] == nullptr || graph.tensors[output].bytes == 0) continue;
    for (const View& view : matched[output]->views) {
      const auto input = input_under(view, output, graph, inputs);
      if (!input) continue;
      faults.push_back(
          {FaultKind::overlap, fmt::format("{} is handed over to the next round from where its input {} lies",
                                           describe(graph, output), describe(graph, *input))});
      break;
    }
  }
}

void check_hand_overs(const Graph& graph, const std::vector<const PlannedTensor*>& matched, Faults& faults) {
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators) {
      if (op.body_use != BodyUse::repeated) continue;
      for (const std::size_t body : op.bodies) check_hand_over(graph, graph.subgraphs[body], matched, faults);
    }
  }
}

/// The position of a model without steps, found from the places of its inputs and outputs.
model::Stretch span_without_steps(const Plan& plan, const model::ClockTree& tree, std::size_t model) {
  for (const PlannedTensor& tensor : plan.tensors) {
    if (plan.models.size() == 1 || tensor.model != model || tensor.views.empty()) continue;
    if (is_constant(tensor.tensor.kind) || tensor.tensor.kind == TensorKind::state) continue;
    const View& view = tensor.views.front();
    const std::size_t clock = plan.buffers[view.buffer].clock;
    const Position at = std::min(view.life.lower, tree.end_of(clock));
    return {clock, {at, at + 1}};
  }
  return {0, {0, 1}};
}

/// A network of the plan during the check.
struct MatchedNetwork {
  std::vector<const PlannedTensor*> matched{};
  NetworkSteps part{};
  Network network;
};

/// For each tensor of the plan, its tensor in the network.
using Ids = std::vector<std::optional<TensorId>>;

void note_ids(const Plan& plan, const std::vector<const PlannedTensor*>& matched, Ids& ids) {
  for (TensorId t = 0; t < matched.size(); ++t) {
    if (matched[t] != nullptr) ids[static_cast<std::size_t>(matched[t] - plan.tensors.data())] = t;
  }
}

/// Copied tensors must belong to the main subgraph and must not be tied state: no step could copy others.
void check_moved(const Graph& graph, const NetworkSteps& part, Faults& faults) {
  if (part.moved.empty()) return;
  const auto owners = owners_of(graph);
  for (const auto& tensor : part.moved) {
    if (!tensor) continue;
    const bool is_tied = std::any_of(graph.ties.begin(), graph.ties.end(), [&](const StateTie& tie) {
      return tie.input == *tensor || tie.output == *tensor;
    });
    if (owners[*tensor] == std::size_t{0} && !is_tied) continue;
    faults.push_back(
        {FaultKind::format, fmt::format("{} is copied, but is {}", describe(graph, *tensor),
                                        is_tied ? "state" : "not of the network's main subgraph")});
  }
}

/// The steps of a model, and what the plan says about them.
NetworkSteps part_of(const Plan& plan, const model::ClockTree& tree, std::size_t model,
                     const std::optional<model::Stretch>& span, const Ids& ids, const Graph& graph) {
  NetworkSteps part;
  part.span = span ? *span : span_without_steps(plan, tree, model);
  part.clock = &plan.clocks[part.span.clock];
  part.steps_end = span ? span->life.upper : part.span.life.lower;
  part.is_fed.resize(graph.tensors.size(), false);
  for (const Feed& feed : plan.feeds) {
    if (plan.tensors[feed.input].model == model && ids[feed.input]) part.is_fed[*ids[feed.input]] = true;
  }
  const std::vector<bool> moved = moved_tensors(plan);
  if (std::find(moved.begin(), moved.end(), true) == moved.end()) return part;
  part.moved.resize(plan.tensors.size());
  for (std::size_t t = 0; t < moved.size(); ++t) {
    if (moved[t] && plan.tensors[t].model == model) part.moved[t] = ids[t];
  }
  return part;
}

void begin_model(const Plan& plan, const model::ClockTree& tree, MatchedNetwork& model, Faults& faults) {
  const Graph& graph = model.network.graph;
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    if (model.matched[t] != nullptr) check_tensor(graph, t, model.matched[t]->tensor, faults);
  }
  check_moved(graph, model.part, faults);
  Played& played = model.network.played = replay(graph, model.part, faults);
  for (const auto& [t, uses] : played.uses) {
    if (model.matched[t] == nullptr) continue;
    const auto tensor = static_cast<std::size_t>(model.matched[t] - plan.tensors.data());
    for (KeptBytes& need : follow(plan, tree, tensor, describe(graph, t), uses, faults))
      played.needs.push_back(std::move(need));
  }
}

/// Extends the needs of a model's tensors beyond its steps.
class Keeper {
 public:
  Keeper(const model::ClockTree& tree, MatchedNetwork& model)
      : tree_(tree),
        graph_(model.network.graph),
        played_(model.network.played),
        begin_{model.part.span.clock, model.part.span.life.lower},
        end_{model.part.span.clock, model.part.span.life.upper},
        after_(tree.between(end_, {0, tree.end_of(0)})) {}

  /// State that is read exists from the start of the plan to its end.
  void keep_state() {
    for (const StateTie& tie : graph_.ties) {
      const auto& old_state = played_.last_needs[tie.input];
      if (old_state && played_.needs[*old_state].is_read) keep(tie.input, tree_.between({0, 0}, begin_));
      keep(tie.output, after_);
    }
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].kind != TensorKind::state) continue;
      keep(t, tree_.between({0, 0}, begin_));
      keep(t, after_);
    }
  }

  /// An output that the caller does not take after its model stays until the plan ends.
  void keep_output(TensorId tensor, Faults& faults) {
    const auto& need = played_.last_needs[tensor];
    if (need && played_.needs[*need].is_followed && !after_.empty()) {
      faults.push_back({FaultKind::format,
                        describe(graph_, tensor) + " is copied, though it is kept when its model has run"});
    }
    keep(tensor, after_);
  }

 private:
  void keep(TensorId tensor, const std::vector<model::Stretch>& stretches) {
    if (!played_.last_needs[tensor]) return;
    auto& beyond = played_.needs[*played_.last_needs[tensor]].beyond;
    beyond.insert(beyond.end(), stretches.begin(), stretches.end());
  }

  const model::ClockTree& tree_;
  const Graph& graph_;
  Played& played_;
  model::Moment begin_;
  model::Moment end_;
  std::vector<model::Stretch> after_;
};

/// Keeps outputs and state after their model has run. Tied tensors are state.
void keep_for_later(const Plan& plan, const model::ClockTree& tree, const Ids& ids, std::size_t m,
                    MatchedNetwork& model, Faults& faults) {
  const Graph& graph = model.network.graph;
  std::vector<bool> is_taken(graph.tensors.size(), false);
  std::vector<bool> is_output(graph.tensors.size(), false);
  for (const TensorId output : graph.subgraphs[0].outputs) is_output[output] = true;
  for (const std::size_t tensor : plan.released) {
    if (plan.tensors[tensor].model != m || !ids[tensor]) continue;
    is_taken[*ids[tensor]] = true;
    if (!is_output[*ids[tensor]]) {
      faults.push_back({FaultKind::accounting,
                        describe(graph, *ids[tensor]) + " is released but is no output of its model"});
    }
  }
  for (const StateTie& tie : graph.ties) is_taken[tie.output] = is_taken[tie.input] = true;
  Keeper keeper(tree, model);
  keeper.keep_state();
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    const bool is_state = graph.tensors[t].kind == TensorKind::state;
    if (is_output[t] && !is_taken[t] && !is_state) keeper.keep_output(t, faults);
  }
}

/// Keeps an output until every input that it feeds is read, also through other feeds.
std::vector<Joined> join_feeds(const Plan& plan, const model::ClockTree& tree, const Ids& ids,
                               std::vector<MatchedNetwork>& models, Faults& faults) {
  std::vector<Joined> joined;
  std::map<std::size_t, std::size_t> source_of;
  for (const Feed& feed : feeds_from_their_sources(plan)) {
    const auto upstream = source_of.find(feed.output);
    const std::size_t source = upstream != source_of.end() ? upstream->second : feed.output;
    source_of.emplace(feed.input, source);
    if (!ids[feed.output] || !ids[feed.input] || !ids[source]) continue;
    const std::size_t from = plan.tensors[feed.output].model;
    const std::size_t to = plan.tensors[feed.input].model;
    check_feed(models[from].network.graph, *ids[feed.output], models[to].network.graph, *ids[feed.input],
               faults);
    joined.push_back({{from, *ids[feed.output]}, {to, *ids[feed.input]}});
    Played& played = models[plan.tensors[source].model].network.played;
    const auto& written = played.last_needs[*ids[source]];
    const auto& read = models[to].network.played.last_needs[*ids[feed.input]];
    if (!written || !read) continue;
    const KeptBytes& last = models[to].network.played.needs[*read];
    KeptBytes& need = played.needs[*written];
    for (const model::Stretch& stretch :
         tree.between({need.clock, need.life.upper}, {last.clock, last.life.upper}))
      need.beyond.push_back(stretch);
  }
  return joined;
}

void check_needs(const MatchedNetwork& model, Faults& faults) {
  const Graph& graph = model.network.graph;
  const auto elsewhere = may_be_elsewhere(graph);
  for (const KeptBytes& need : model.network.played.needs) {
    const PlannedTensor* const tensor = model.matched[need.tensor];
    if (tensor == nullptr || (tensor->views.empty() && elsewhere[need.tensor]) || need.view != nullptr ||
        need.is_followed || graph.tensors[need.tensor].bytes == 0) {
      continue;
    }
    faults.push_back(
        {FaultKind::accounting,
         fmt::format("{} needs its bytes from {} to {}{}{} but has no place for all of that time",
                     describe(graph, need.tensor), need.life.lower, need.life.upper, of_clock(need.clock),
                     need.beyond.empty() ? "" : ", and while other models run,")});
  }
}

/// No step writes weights; no other tensor may use the bytes of their views.
void hold_weights(const Plan& plan, Network& network, const std::vector<Views>& views) {
  const auto hold = [&](TensorId t, const View& view) {
    const Lifetime life{std::min(view.life.lower, largest_value), std::min(view.life.upper, largest_value)};
    network.played.needs.push_back(
        {.tensor = t, .clock = plan.buffers[view.buffer].clock, .life = life, .view = &view});
  };
  for (TensorId t = 0; t < views.size(); ++t) {
    if (!is_constant(network.graph.tensors[t].kind)) continue;
    for (const View* const view : views[t]) hold(t, *view);
  }
}

/// Finds a view for each need of the replayed network.
void finish_model(const Plan& plan, const model::ClockTree& tree, MatchedNetwork& model, Faults& faults) {
  Network& network = model.network;
  std::vector<Views> views;
  views.reserve(model.matched.size());
  for (const PlannedTensor* const tensor : model.matched)
    views.push_back(tensor != nullptr ? views_in_time(plan, *tensor) : Views());
  meet(plan, tree, network.played, views);
  check_needs(model, faults);
  for (const StateTie& tie : network.graph.ties) check_tie(network.graph, tie, model.matched, faults);
  check_hand_overs(network.graph, model.matched, faults);
  hold_weights(plan, network, views);
}

}  // namespace

Faults check_against(const Plan& plan, std::span<const Given> given) {
  Faults faults;
  if (given.size() != plan.models.size()) {
    faults.push_back({FaultKind::accounting, fmt::format("the plan is for {} models, {} are given",
                                                         plan.models.size(), given.size())});
    return faults;
  }
  if (is_streamed(plan)) return check_stream(plan, given[0]);
  model::ClockTree tree(plan.clocks);
  const auto spans = spans_of(plan);
  std::vector<MatchedNetwork> models;
  Ids ids(plan.tensors.size());
  for (std::size_t m = 0; m < given.size(); ++m) {
    models.push_back(
        {match_tensors(plan, *given[m].graph, m, faults), {}, {*given[m].graph, given[m].constants}});
    note_ids(plan, models[m].matched, ids);
  }
  for (std::size_t m = 0; m < given.size(); ++m)
    models[m].part = part_of(plan, tree, m, spans[m], ids, *given[m].graph);
  for (const MatchedNetwork& model : models) tree.stretch(model.part.span);
  for (std::size_t m = 0; m < given.size(); ++m) {
    begin_model(plan, tree, models[m], faults);
    keep_for_later(plan, tree, ids, m, models[m], faults);
  }
  const std::vector<Joined> joined = join_feeds(plan, tree, ids, models, faults);
  std::vector<Network> networks;
  StoredConstants stored(plan);
  for (MatchedNetwork& model : models) {
    stored.check(model.network.graph, model.matched, faults);
    finish_model(plan, tree, model, faults);
    networks.push_back(std::move(model.network));
  }
  stored.check_savings(faults);
  check_sharing(plan, tree, networks, joined, faults);
  return faults;
}

Faults check_list(const Plan& plan, const Problem& list) {
  Faults faults;
  const auto fault = [&](const std::string& id, const std::string& what) {
    faults.push_back({FaultKind::accounting, "buffer " + base::quoted(id) + what});
  };
  const auto check_buffer = [&](const Buffer& given, std::size_t index) {
    const Buffer& planned = plan.buffers[index];
    if (planned.size != given.size || planned.pieces != given.pieces)
      fault(given.id, " has another size or lifetime in the plan");
    if (planned.alignment % given.alignment != 0) fault(given.id, " has a weaker alignment in the plan");
    if (given.pinned && plan.places[index].offset != *given.pinned)
      fault(given.id, " is not where it is pinned");
  };
  if (std::ranges::equal(plan.buffers, list.buffers, {}, &Buffer::id, &Buffer::id)) {  // as our plans are
    for (std::size_t b = 0; b < list.buffers.size(); ++b) check_buffer(list.buffers[b], b);
    return faults;
  }
  std::unordered_map<std::string_view, std::size_t> index_of;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) index_of.emplace(plan.buffers[b].id, b);
  for (const Buffer& given : list.buffers) {
    const auto it = index_of.find(given.id);
    if (it == index_of.end()) {
      fault(given.id, " is missing in the plan");
      continue;
    }
    check_buffer(given, it->second);
    index_of.erase(it);
  }
  for (const auto& [id, index] : index_of)
    fault(plan.buffers[index].id, " is in the plan but not in the list");
  return faults;
}

}  // namespace stowage::check
