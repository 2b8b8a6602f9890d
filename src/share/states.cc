// State of several models: sets of tensors that outputs and the inputs that they become join, those of single models
// (ties) among them:
//
//     prefill     -> cache
//     decode past -> present       --state prefill.cache=decode.past --state decode.present=decode.past
//
//     one state:  { prefill.cache, decode.past, decode.present }
//
// A model reads what the model before it in the run expression has written, or what the last run has left. Cost:
// n log n in tensors that are named, plus ties; pairs of models of one state.

#include "share/states.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/text.h"
#include "base/union_find.h"
#include "model/ties.h"
#include "stowage/error.h"

namespace stowage::share {
namespace {

std::string name_of(const NamedGraph& network, TensorId tensor) {
  return network.name + "." + network.graph.tensors[tensor].name;
}

/// A state that is being put together, with its users by model.
struct Growing {
  std::map<std::size_t, StateUser> users{};
  std::vector<ResolvedFeed> becomes{};
  bool is_shared = false;
};

/// Notes the input or output that a model has of a state. A second one is an error.
void note(std::optional<TensorId>& of_model, const NamedGraph& network, TensorId tensor, const char* what) {
  if (of_model && *of_model != tensor) {
    throw UsageError(fmt::format("--state: {} and {} would be one state, expected one {} of each model",
                                 name_of(network, *of_model), name_of(network, tensor), what));
  }
  of_model = tensor;
}

/// Feeds by the set of tensors that they join.
std::vector<Growing> states_of(std::span<const ResolvedFeed> feeds, std::span<const NamedGraph> networks) {
  std::map<ModelTensor, std::size_t> numbers;
  for (const ResolvedFeed& feed : feeds) {
    numbers.try_emplace(feed.output, numbers.size());
    numbers.try_emplace(feed.input, numbers.size());
  }
  base::UnionFind sets(numbers.size());
  for (const ResolvedFeed& feed : feeds) sets.join(numbers.at(feed.output), numbers.at(feed.input));
  std::map<std::size_t, std::size_t> index;
  std::vector<Growing> states;
  for (const ResolvedFeed& feed : feeds) {
    const auto [at, is_new] = index.try_emplace(sets.find(numbers.at(feed.output)), states.size());
    if (is_new) states.emplace_back();
    Growing& state = states[at->second];
    state.becomes.push_back(feed);
    state.is_shared = state.is_shared || feed.output.model != feed.input.model;
    for (const ModelTensor& it : {feed.output, feed.input}) {
      StateUser& user = state.users.try_emplace(it.model, StateUser{it.model, {}, {}}).first->second;
      const bool is_output = it == feed.output;
      note(is_output ? user.output : user.input, networks[it.model], it.tensor,
           is_output ? "output" : "input");
    }
  }
  return states;
}

void check_user(const StateUser& user, const NamedGraph& network, const Stage& stage) {
  const Graph& graph = network.graph;
  const auto is_among = [](const std::vector<TensorId>& tensors, TensorId tensor) {
    return std::ranges::find(tensors, tensor) != tensors.end();
  };
  for (const std::optional<TensorId> tensor : {user.input, user.output}) {
    if (!tensor) continue;
    const std::string name = name_of(network, *tensor);
    if (!user.is_copied && is_among(graph.subgraphs[0].inputs, *tensor) &&
        is_among(graph.subgraphs[0].outputs, *tensor))
      throw UsageError(fmt::format("--state: {} is an input and an output of its model, expected one", name));
    if (graph.tensors[*tensor].kind == TensorKind::state && !user.is_copied)
      throw UsageError(fmt::format("--state: {} is a variable that its model keeps for itself", name));
    if (!graph.tensors[*tensor].value.empty())
      throw UsageError(fmt::format("--state: {} has the same value in every run (--value)", name));
    if (stage.begin == stage.end)
      throw UsageError(fmt::format("--state: the model of {} runs no operators", name));
  }
  if (!user.input || !user.output) return;
  if (std::ranges::find(graph.ties, StateTie{*user.output, *user.input}) == graph.ties.end()) {
    throw UsageError(fmt::format("--state: {0} and {1} are one state, expected --state {0}={1}, too",
                                 name_of(network, *user.output), name_of(network, *user.input)));
  }
}

/// Models that share a state run one after the other, unless they only read it.
void check_order(const SharedState& state, std::span<const NamedGraph> networks, const Timeline& timeline) {
  for (auto first = state.users.begin(); first != state.users.end(); ++first) {
    for (auto second = std::next(first); second != state.users.end(); ++second) {
      if (timeline.runs_before(first->model, second->model)) continue;
      if (!first->output && !second->output) continue;
      if (timeline.are_parted(first->model, second->model)) {
        throw UsageError(fmt::format(
            "--state: of {} and {} one runs between steps without the other (^ in --run), and one writes the "
            "state of "
            "both; expected them one after the other",
            base::quoted(networks[first->model].name), base::quoted(networks[second->model].name)));
      }
      const StateUser& writer = first->output ? *first : *second;
      const StateUser& other = first->output ? *second : *first;
      const NamedGraph& of_other = networks[other.model];
      throw UsageError(
          fmt::format("--state: {} and {} run at the same time, but {} is written into the state that is "
                      "also {}; expected "
                      "them one after the other",
                      base::quoted(networks[first->model].name), base::quoted(networks[second->model].name),
                      name_of(networks[writer.model], *writer.output),
                      name_of(of_other, other.input ? *other.input : *other.output)));
    }
  }
}

}  // namespace

std::vector<SharedState> resolve_states(std::span<const FeedNames> states,
                                        std::span<const NamedGraph> networks, const Timeline& timeline) {
  std::vector<SharedState> resolved;
  if (states.empty()) return resolved;
  std::vector<ResolvedFeed> feeds;
  for (const FeedNames& names : states) {
    const ResolvedFeed feed = resolve_names("--state", names, networks);
    if (std::ranges::find(feeds, feed) != feeds.end()) continue;
    feeds.push_back(feed);
    if (feeds.back().output.model == feeds.back().input.model)
      throw UsageError(fmt::format("--state {}={}: both are of one model, whose network has such ties itself",
                                   names.output, names.input));
  }
  for (std::size_t m = 0; m < networks.size(); ++m) {
    for (const StateTie& tie : networks[m].graph.ties) feeds.push_back({{m, tie.output}, {m, tie.input}});
  }
  for (Growing& found : states_of(feeds, networks)) {
    if (!found.is_shared) continue;
    SharedState& state = resolved.emplace_back();
    state.becomes = std::move(found.becomes);
    for (const auto& [model, user] : found.users) {
      state.users.push_back(user);
      const Graph& graph = networks[model].graph;
      const auto is_own = [&, own = user](const StateTie& tie) {
        return own.output == tie.output && own.input == tie.input;
      };
      state.users.back().is_copied = std::ranges::any_of(model::copied_ties(graph), is_own);
      check_user(state.users.back(), networks[model], timeline.stage_of(model));
    }
    std::ranges::sort(state.users, {}, [&](const StateUser& user) { return timeline.rank_of(user.model); });
    check_order(state, networks, timeline);
  }
  return resolved;
}

std::set<ModelTensor> tensors_of(std::span<const SharedState> states) {
  std::set<ModelTensor> tensors;
  for (const SharedState& state : states) {
    for (const StateUser& user : state.users) {
      if (user.input) tensors.insert({user.model, *user.input});
      if (user.output && !user.is_copied) tensors.insert({user.model, *user.output});
    }
  }
  return tensors;
}

void expect_no_state(std::span<const ResolvedFeed> feeds, std::span<const ModelTensor> released,
                     const std::set<ModelTensor>& shared, std::span<const NamedGraph> networks) {
  const auto expect = [&](const char* option, const ModelTensor& it) {
    if (shared.contains(it))
      throw UsageError(fmt::format("{}: {} is state", option, name_of(networks[it.model], it.tensor)));
  };
  for (const ResolvedFeed& feed : feeds) {
    expect("--feed", feed.output);
    expect("--feed", feed.input);
  }
  for (const ModelTensor& output : released) expect("--release", output);
}

}  // namespace stowage::share
