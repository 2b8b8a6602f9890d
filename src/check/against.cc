// Checks a plan against its networks, whole operators and rows alike, using only the plan and the networks:
//
//   rows        the axis of each tensor's rows, and the rows that a step runs and reads
//   replay      the steps, played back: when bytes are written and last read
//   views       the view that holds them all that time
//   updates     what operators write over
//   sharing     which bytes may be shared; one check for all networks together
//   hand_over   what a run hands to the next, and a round of a loop
//   copies      claims about removed copies, and alignment
//
// It matches tensors of the plan to those of a network. A tensor that is missing or has another size is a fault, and so
// are needed bytes without a place. State, outputs that feed other models, and outputs that are not released are needed
// beyond their own model's steps. Inputs that do not arrive exist before the first step; outputs that do not leave are
// read after the last one.

#include "check/against.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "check/block_network.h"
#include "check/clocks.h"
#include "check/constants.h"
#include "check/copies.h"
#include "check/feeds.h"
#include "check/hand_over.h"
#include "check/matching.h"
#include "check/moves.h"
#include "check/moving.h"
#include "check/names.h"
#include "check/replay.h"
#include "check/sharing.h"
#include "check/states.h"
#include "check/updates.h"
#include "check/views.h"
#include "model/blocks.h"
#include "model/plan_blocks.h"
#include "model/ties.h"
#include "stowage/error.h"

namespace stowage::check {
namespace {

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

void note_ids(const Plan& plan, const std::vector<const PlannedTensor*>& matched, Ids& ids) {
  for (TensorId t = 0; t < matched.size(); ++t) {
    if (matched[t] != nullptr) ids[static_cast<std::size_t>(matched[t] - plan.tensors.data())] = t;
  }
}

/// Copied tensors must belong to the main subgraph and must not be tied state: no step could copy others.
void check_moved(const NetworkSteps& part, Faults& faults) {
  const Graph& graph = *part.graph;
  if (std::find(part.is_moved.begin(), part.is_moved.end(), true) == part.is_moved.end()) return;
  const auto owners = owners_of(graph);
  const std::vector<StateTie> ties = model::ties_in_place(graph);
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    if (!part.is_moved[t] || is_constant(graph.tensors[t].kind)) continue;
    const bool is_tied =
        std::ranges::any_of(ties, [&](const StateTie& tie) { return tie.input == t || tie.output == t; });
    if (owners[t] == std::size_t{0} && !is_tied) continue;
    faults.push_back(
        {FaultKind::format, fmt::format("{} is copied, but is {}", describe(graph, t),
                                        is_tied ? "state" : "not of the network's main subgraph")});
  }
}

/// The steps of a model, and what the plan says about them. `part` has its graph and the tensors that match.
void find_steps(const model::ClockTree& tree, const std::optional<model::Stretch>& span,
                const std::vector<bool>& moved, const Ids& ids, NetworkSteps& part, Faults& faults) {
  const Plan& plan = *part.plan;
  const Graph& graph = *part.graph;
  part.ids = &ids;
  part.span = span ? *span : span_without_steps(plan, tree, part.model);
  part.steps_end = span ? span->life.upper : part.span.life.lower;
  part.is_fed.resize(graph.tensors.size(), false);
  part.is_moved.resize(graph.tensors.size(), false);
  for (const Feed& feed : plan.feeds) {
    if (const auto input = part.id_of(feed.input)) part.is_fed[*input] = true;
  }
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    if (part.matched[t] == nullptr) continue;
    part.is_moved[t] = moved[static_cast<std::size_t>(part.matched[t] - plan.tensors.data())];
    check_tensor(graph, t, part.matched[t]->tensor, faults);
  }
  for (const StateTie& tie : model::ties_in_place(graph)) part.old_states[tie.output] = tie.input;
}

void play(const model::ClockTree& tree, Network& network, Faults& faults) {
  const NetworkSteps& part = network.part;
  check_moved(part, faults);
  network.played = replay(part, faults);
  for (const auto& [t, uses] : network.played.uses) {
    if (part.matched[t] != nullptr) network.played.followed.emplace(t, follow(part, tree, t, uses, faults));
  }
}

/// Notes when the last values of a model's tensors are needed beyond its steps.
class Keeper {
 public:
  /// `shared`: tensors of state that several models share, which join_states keeps.
  Keeper(const model::ClockTree& tree, const std::vector<bool>& shared, Network& network)
      : tree_(tree),
        shared_(shared),
        network_(network),
        begin_{network.part.span.clock, network.part.span.life.lower},
        end_{network.part.span.clock, network.part.span.life.upper},
        after_(tree.between(end_, {0, tree.end_of(0)})),
        until_taken_(tree.between(end_, tree.end_around(end_.clock))) {}

  /// State that is read exists from the start of the plan to its end.
  void keep_state() {
    for (const StateTie& tie : model::ties_in_place(network_.graph())) {
      if (shared_[tie.input] || shared_[tie.output]) continue;
      const RowLife* const old_state = network_.played.last_of(tie.input);
      if (old_state != nullptr && old_state->is_read) keep(tie.input, tree_.between({0, 0}, begin_));
      keep(tie.output, after_);
    }
    for (TensorId t = 0; t < network_.graph().tensors.size(); ++t) {
      if (network_.graph().tensors[t].kind != TensorKind::state || shared_[t]) continue;
      keep(t, tree_.between({0, 0}, begin_));
      keep(t, after_);
    }
  }

  /// An output that the caller does not take after its model stays until the plan ends, or what runs at a pause.
  void keep_output(TensorId tensor, Faults& faults) {
    if (network_.part.is_moved[tensor] && network_.played.last_of(tensor) != nullptr &&
        !until_taken_.empty()) {
      faults.push_back({FaultKind::format, describe(network_.graph(), tensor) +
                                               " is copied, though it is kept when its model has run"});
    }
    keep(tensor, until_taken_);
  }

 private:
  void keep(TensorId tensor, const std::vector<model::Stretch>& stretches) {
    if (stretches.empty()) return;
    auto& beyond = network_.played.beyond[tensor];
    beyond.insert(beyond.end(), stretches.begin(), stretches.end());
  }

  const model::ClockTree& tree_;
  const std::vector<bool>& shared_;
  Network& network_;
  model::Moment begin_;
  model::Moment end_;
  std::vector<model::Stretch> after_;
  std::vector<model::Stretch> until_taken_;
};

/// Keeps outputs and state after their model has run. Tied tensors are state.
void keep_for_later(const Plan& plan, const model::ClockTree& tree, Network& network, Faults& faults) {
  const Graph& graph = network.graph();
  std::vector<bool> is_taken(graph.tensors.size(), false);
  std::vector<bool> is_output(graph.tensors.size(), false);
  for (const TensorId output : graph.subgraphs[0].outputs) is_output[output] = true;
  for (const std::size_t tensor : plan.released) {
    const auto t = network.part.id_of(tensor);
    if (!t) continue;
    is_taken[*t] = true;
    if (!is_output[*t]) {
      faults.push_back(
          {FaultKind::accounting, describe(graph, *t) + " is released but is no output of its model"});
    }
  }
  for (const StateTie& tie : model::ties_in_place(graph)) is_taken[tie.output] = is_taken[tie.input] = true;
  std::vector<bool> is_shared(graph.tensors.size(), false);
  for (const Feed& state : plan.states) {
    if (const auto t = network.part.id_of(state.input)) is_shared[*t] = is_taken[*t] = true;
    const auto output = model::is_copied(plan, state) ? std::nullopt : network.part.id_of(state.output);
    if (output) is_shared[*output] = is_taken[*output] = true;
  }
  const std::vector<StateTie> copied = model::copied_ties(graph);
  Keeper keeper(tree, is_shared, network);
  keeper.keep_state();
  for (const Step& step : network.part.steps()) {
    const auto* const leave = std::get_if<Leave>(&step);
    const auto t = leave != nullptr ? network.part.id_of(leave->tensor) : std::nullopt;
    if (!t) continue;
    is_taken[*t] = true;
    if (std::ranges::find(copied, *t, &StateTie::output) != copied.end())
      faults.push_back({FaultKind::order,
                        describe(graph, *t) + " leaves, and is copied to the place of a state afterwards"});
  }
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    const bool is_state = graph.tensors[t].kind == TensorKind::state;
    if (is_output[t] && !is_taken[t] && !is_state) keeper.keep_output(t, faults);
  }
}

/// Keeps an output until every input that it feeds is read, also through other feeds.
std::vector<Joined> join_feeds(const Plan& plan, const model::ClockTree& tree, const Ids& ids,
                               std::vector<Network>& networks, Faults& faults) {
  std::vector<Joined> joined;
  std::map<std::size_t, std::size_t> source_of;
  for (const Feed& feed : feeds_from_their_sources(plan)) {
    const auto upstream = source_of.find(feed.output);
    const std::size_t source = upstream != source_of.end() ? upstream->second : feed.output;
    source_of.emplace(feed.input, source);
    if (!ids[feed.output] || !ids[feed.input] || !ids[source]) continue;
    const std::size_t from = plan.tensors[feed.output].model;
    const std::size_t to = plan.tensors[feed.input].model;
    check_feed(networks[from].graph(), *ids[feed.output], networks[to].graph(), *ids[feed.input], faults);
    joined.push_back({{from, *ids[feed.output]}, {to, *ids[feed.input]}});
    Network& first = networks[plan.tensors[source].model];
    const RowLife* const written = first.played.last_of(*ids[source]);
    const NetworkSteps& reader = networks[to].part;
    const RowLife* const read = networks[to].played.last_of(*ids[feed.input]);
    if (written == nullptr || read == nullptr) continue;
    // From its first step on, a network by rows needs each row by itself.
    const Position until = reader.is_by_rows ? reader.span.life.lower : read->life.upper;
    const auto between =
        tree.between({first.part.span.clock, written->life.upper}, {reader.span.clock, until});
    auto& beyond = first.played.beyond[*ids[source]];
    beyond.insert(beyond.end(), between.begin(), between.end());
  }
  return joined;
}

/// No step writes weights; no other tensor may use the bytes of their views. Where rows run, all steps may read those in
/// a memory for weights; those of equal data are held once. Lives are on the clock of the buffer.
void hold_weights(const model::ClockTree& tree, Network& network, Faults& faults) {
  const NetworkSteps& part = network.part;
  for (TensorId t = 0; t < part.matched.size(); ++t) {
    if (!is_constant(network.graph().tensors[t].kind) || part.matched[t] == nullptr) continue;
    for (const View& view : part.matched[t]->views) {
      Lifetime life{std::min(view.life.lower, largest_value), std::min(view.life.upper, largest_value)};
      const MemoryRole role = part.plan->memories[part.plan->places[view.buffer].memory].memory.role;
      if (part.is_by_rows && role == MemoryRole::weights) {
        const auto seen = tree.seen_from(part.plan->buffers[view.buffer].clock, part.span);
        if (!seen) {
          faults.push_back(
              {FaultKind::accounting,
               fmt::format("{} is in {}, on another clock than the steps that read it",
                           describe(network.graph(), t), name_of_buffer(*part.plan, view.buffer))});
          continue;
        }
        life = *seen;
      }
      KeptBytes& need = network.needs.all.emplace_back();
      need.tensor = t;
      need.life = life;
      const TensorRows rows = part.rows_of(t);
      need.rows = rows_in(view, rows);
      if (view.rows) {
        need.view = &view;
        need.buffer = view.buffer;
        need.first = view.offset;
        need.step = rows.bytes;
      } else {
        put_in_whole(view, rows, need);
      }
    }
  }
}

/// Finds a place for each need of the replayed network.
void finish_network(const model::ClockTree& tree, Network& network, Faults& faults) {
  Played& played = network.played;
  Needs& needs = network.needs = place(network.part, tree, played, faults);
  end_handed_over(network.part, played.handed, needs, faults);
  end_written_over(network.part, tree, played, needs);
  check_ends(network.part, tree, played, needs, faults);
  check_hand_overs(network.graph(), network.part.matched, faults);
  needs.all.insert(needs.all.end(), played.sums.begin(), played.sums.end());
  hold_weights(tree, network, faults);
}

/// The sums lie in their buffers.
void check_sums(const Plan& plan, const Network& network, Faults& faults) {
  for (const KeptBytes& sums : network.played.sums) {
    const Bytes size = plan.buffers[sums.buffer].size;
    if (sums.step <= size - sums.first) continue;
    faults.push_back(
        {FaultKind::format, fmt::format("the sums of {} take {} bytes at {}, outside the {} bytes of {}",
                                        describe(network.graph(), 0, *sums.sums_of), sums.step, sums.first,
                                        size, name_of_buffer(plan, sums.buffer))});
  }
}

/// What a plan says of its rows in numbers. Only plans of one network have regions.
void check_numbers(const Plan& plan, std::span<const Network> networks, Faults& faults) {
  const auto is_by_rows = [](const Network& network) { return network.part.is_by_rows; };
  if (!plan.streaming || std::ranges::none_of(networks, is_by_rows)) return;
  const auto claim = [&](const std::string& what) { faults.push_back({FaultKind::claim, what}); };
  const auto has_run_again = [](const Network& network) { return network.played.has_run_again; };
  if (plan.streaming->recomputed > 1 && std::ranges::none_of(networks, has_run_again)) {
    claim(fmt::format("{} times the multiplies are said to be run, but no row is run again",
                      plan.streaming->recomputed));
  }
  if (networks.size() > 1 && !plan.streaming->regions.empty())
    claim(fmt::format("{} regions of rows are said to be there, expected none of several networks",
                      plan.streaming->regions.size()));
  if (networks.size() > 1) return;
  const Graph& graph = networks[0].graph();
  std::set<std::size_t> seen;
  for (const StreamRegion& region : plan.streaming->regions) {
    for (const std::size_t op : region.operators) {
      if (op >= graph.subgraphs[0].operators.size()) {
        claim(fmt::format("operator {} is said to be in a region, there are {}", op,
                          graph.subgraphs[0].operators.size()));
      } else if (!seen.insert(op).second) {
        claim(describe(graph, 0, op) + " is said to be in two regions, or twice in one");
      }
    }
  }
}

/// A plan of blocks is checked as a plan of networks in which each block is an operator or a tensor of its own.
/// `check` gets both.
template <typename Check>
Faults check_blocks(const Plan& plan, std::span<const Graph* const> graphs, const Check& check) {
  Plan of_blocks = plan;
  std::vector<const Graph*> all(graphs.begin(), graphs.end());
  std::deque<Graph> stored;
  try {
    for (std::size_t m = 0; m < all.size(); ++m) {
      if (!model::has_blocks(plan, m)) continue;
      Faults faults;
      const auto matched = match_tensors(of_blocks, *graphs[m], m, faults);
      if (!faults.empty()) return faults;
      std::vector<std::size_t> places;
      for (const PlannedTensor* const it : matched)
        places.push_back(static_cast<std::size_t>(it - of_blocks.tensors.data()));
      const model::SplitNetwork network = model::split(*graphs[m], model::splits_of(plan, m, *graphs[m]),
                                                       model::input_blocks_of(of_blocks, places));
      all[m] = &stored.emplace_back(model::stored(network));
      faults = check_block_network(*graphs[m], network, *all[m]);
      if (!faults.empty()) return faults;
      of_blocks = model::plan_of_blocks(of_blocks, m, network, places);
    }
  } catch (const Error& error) {
    return {{FaultKind::format, error.what()}};
  }
  if (model::has_blocks(of_blocks))
    return {{FaultKind::format, "a step runs a block of something that is no operator of its network"}};
  return check(of_blocks, all);
}

/// The networks of a plan, with their steps.
std::vector<Network> networks_of(const Plan& plan, model::ClockTree& tree, std::span<const Given> given,
                                 Ids& ids, Faults& faults) {
  std::vector<Network> networks;
  for (std::size_t m = 0; m < given.size(); ++m) {
    const Graph& graph = *given[m].graph;
    networks.push_back({.constants = given[m].constants});
    NetworkSteps& part = networks[m].part;
    part.plan = &plan;
    part.graph = &graph;
    part.model = m;
    part.is_by_rows = is_streamed(plan, m);
    part.matched = match_tensors(plan, graph, m, faults);
    note_ids(plan, part.matched, ids);
  }
  const auto spans = spans_of(plan);
  const std::vector<bool> moved = moved_tensors(plan);
  for (std::size_t m = 0; m < given.size(); ++m)
    find_steps(tree, spans[m], moved, ids, networks[m].part, faults);
  for (Network& network : networks) {
    tree.stretch(network.part.span);
    network.part.rows = rows_of_tensors(network.part, faults);
  }
  return networks;
}

}  // namespace

Faults check_against(const Plan& plan, std::span<const Given> given) {
  Faults faults;
  if (given.size() != plan.models.size()) {
    faults.push_back({FaultKind::accounting, fmt::format("the plan is for {} models, {} are given",
                                                         plan.models.size(), given.size())});
    return faults;
  }
  if (model::has_blocks(plan)) {
    std::vector<const Graph*> graphs;
    for (const Given& it : given) graphs.push_back(it.graph);
    return check_blocks(plan, graphs, [&](const Plan& of_blocks, std::span<const Graph* const> networks) {
      std::vector<Given> all(given.begin(), given.end());
      for (std::size_t m = 0; m < all.size(); ++m) all[m] = {networks[m], given[m].constants, given[m].graph};
      return check_against(of_blocks, all);
    });
  }
  model::ClockTree tree(plan.clocks);
  Ids ids(plan.tensors.size());
  std::vector<Network> networks = networks_of(plan, tree, given, ids, faults);
  if (!faults.empty() && is_streamed(plan)) return faults;  // its rows are unknown
  for (std::size_t n = 0; n < networks.size(); ++n) {
    play(tree, networks[n], faults);
    keep_for_later(plan, tree, networks[n], faults);
    check_sums(plan, networks[n], faults);
    check_places_of_ties(plan, networks[n].graph(), networks[n].part.matched, tree.end_of(0), faults);
  }
  check_numbers(plan, networks, faults);
  std::vector<Joined> joined = join_feeds(plan, tree, ids, networks, faults);
  std::vector<const Graph*> graphs;
  for (const Network& network : networks) graphs.push_back(&network.graph());
  check_states_of(plan, graphs, ids, faults);
  join_states(plan, tree, ids, networks, joined);
  StoredConstants stored(plan);
  for (std::size_t n = 0; n < networks.size(); ++n) {
    const Graph& graph = given[n].unsplit != nullptr ? *given[n].unsplit : networks[n].graph();
    const std::span<const PlannedTensor* const> matched(networks[n].part.matched);
    stored.check(graph, matched.first(graph.tensors.size()), faults);
    finish_network(tree, networks[n], faults);
    check_what_stays(plan, networks[n], faults);
  }
  stored.check_savings(faults);
  check_sharing(plan, tree, networks, joined, faults);
  check_removed_copies(plan, networks, faults);
  return faults;
}

Faults check_tasks(const Plan& plan, std::span<const Graph* const> graphs) {
  if (model::has_blocks(plan)) {
    return check_blocks(plan, graphs, [](const Plan& of_blocks, std::span<const Graph* const> networks) {
      return check_tasks(of_blocks, networks);
    });
  }
  Faults faults;
  model::ClockTree tree(plan.clocks);
  Ids ids(plan.tensors.size());
  std::vector<Given> given;
  for (const Graph* const graph : graphs) given.push_back({graph, nullptr});
  for (const Network& network : networks_of(plan, tree, given, ids, faults)) {
    const NetworkSteps& part = network.part;
    if (!part.is_by_rows) continue;
    for (Position at = part.span.life.lower; at < part.steps_end && faults.empty(); ++at) {
      if (const auto fault = fault_in_step(part, at)) faults.push_back(*fault);
    }
  }
  return faults;
}

}  // namespace stowage::check
