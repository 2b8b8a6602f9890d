// Networks that feed each other become one network, by which rows flow from one to the next:
//
//     a: x -> conv -> y          a+b: a.x -> a.conv -> a.y -> b.conv -> b.y
//     b: x -> conv -> y
//
// The operators of a network stand behind those of the networks that it reads. An input that is joined is the tensor that
// feeds it: references to it go there. Cost: linear in the networks.

#include "stowage/join.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "share/feeds.h"
#include "stowage/error.h"

namespace stowage {
namespace {

using share::ModelTensor;
using share::ResolvedFeed;

UsageError refused(const ResolvedFeed& join, std::span<const Network> networks, const std::string& what) {
  const auto name = [&](const ModelTensor& it) {
    return networks[it.model].input.info.name + "." + networks[it.model].graph().tensors[it.tensor].name;
  };
  return UsageError(fmt::format("--join {}={}: {}", name(join.output), name(join.input), what));
}

/// What both sides of a join say of their values must be equal: the reader gets the bytes of the writer.
void expect_alike(const ResolvedFeed& join, std::span<const Network> networks) {
  const Network& from = networks[join.output.model];
  const Network& to = networks[join.input.model];
  const Tensor& output = from.graph().tensors[join.output.tensor];
  const Tensor& input = to.graph().tensors[join.input.tensor];
  if (output.shape != input.shape) {
    const auto text = [](const std::optional<Shape>& shape) {
      return shape ? fmt::format("[{}]", fmt::join(*shape, ",")) : "open";
    };
    throw refused(
        join, networks,
        fmt::format("the shapes are {} and {}, expected one", text(output.shape), text(input.shape)));
  }
  if (from.quantizations[join.output.tensor] != to.quantizations[join.input.tensor])
    throw refused(join, networks,
                  "the scales or zero points differ: an integer means another number in each of them");
  if (!input.value.empty()) throw refused(join, networks, "the input has a value that never changes");
  if (from.input.info.format != to.input.info.format)
    throw refused(join, networks,
                  fmt::format("the files are {} and {}, expected one format", name_of(from.input.info.format),
                              name_of(to.input.info.format)));
}

/// For each network, the first of those that it becomes one with.
std::vector<std::size_t> first_of_each(std::size_t count, std::span<const ResolvedFeed> joins) {
  std::vector<std::size_t> first(count);
  for (std::size_t m = 0; m < count; ++m) first[m] = m;
  for (const ResolvedFeed& join : joins) {
    const auto [low, high] = std::minmax(first[join.output.model], first[join.input.model]);
    std::ranges::replace(first, std::size_t{high}, std::size_t{low});
  }
  return first;
}

/// The same networks, each behind those that it reads.
std::vector<std::size_t> in_order(std::vector<std::size_t> members, std::span<const ResolvedFeed> joins,
                                  std::span<const Network> networks) {
  std::vector<std::size_t> ordered;
  while (!members.empty()) {
    const auto waits = [&](std::size_t m) {
      return std::ranges::any_of(joins, [&](const ResolvedFeed& join) {
        return join.input.model == m && std::ranges::find(members, join.output.model) != members.end();
      });
    };
    const auto next = std::ranges::find_if_not(members, waits);
    if (next == members.end()) {
      const auto join = std::ranges::find_if(joins, [&](const ResolvedFeed& it) {
        return std::ranges::find(members, it.input.model) != members.end() && waits(it.input.model);
      });
      throw refused(*join, networks, "these networks join in a circle");
    }
    ordered.push_back(*next);
    members.erase(next);
  }
  return ordered;
}

/// Adds networks to one, each after those that it reads.
class Joiner {
 public:
  Joiner(std::span<const Network> networks, std::span<const ResolvedFeed> joins)
      : networks_(networks), joins_(joins), graph_(joined_.input.content.emplace<Graph>()) {
    graph_.subgraphs.emplace_back();
    joined_.details.emplace_back();
  }

  Network join(const std::vector<std::size_t>& members) {
    std::vector<std::string> names;
    std::vector<std::string> sources;
    for (const std::size_t m : members) {
      add(m);
      names.push_back(networks_[m].input.info.name);
      sources.push_back(networks_[m].input.info.source);
    }
    joined_.input.info = {fmt::format("{}", fmt::join(names, "+")),
                          fmt::format("{}", fmt::join(sources, " + ")),
                          networks_[members[0]].input.info.format};
    graph_.name = joined_.input.info.name;
    graph_.subgraphs[0].name = networks_[members[0]].graph().subgraphs[0].name;
    keep_outputs();
    validate(graph_);
    return std::move(joined_);
  }

 private:
  void add(std::size_t m) {
    const Network& network = networks_[m];
    const Graph& graph = network.graph();
    prefix_ = network.input.info.name + ".";
    take_symbols_of_fed(m);
    for (TensorId t = 0; t < graph.tensors.size(); ++t) {
      if (const ResolvedFeed* const join = join_of(m, t))
        ids_[{m, t}] = ids_.at(join->output);
      else
        add_tensor(m, t);
    }
    add_constants(m);
    first_operator_ = graph_.subgraphs[0].operators.size();
    first_body_ = graph_.subgraphs.size() - 1;  // its main subgraph is not added
    for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) add_subgraph(m, s);
    for (const StateTie& tie : graph.ties)
      graph_.ties.push_back({ids_.at({m, tie.output}), ids_.at({m, tie.input})});
    if (!network.input.note.empty())
      joined_.input.note += (joined_.input.note.empty() ? "" : "; ") + network.input.note;
  }

  [[nodiscard]] const ResolvedFeed* join_of(std::size_t m, TensorId input) const {
    const auto join = std::ranges::find(joins_, ModelTensor{m, input}, &ResolvedFeed::input);
    return join != joins_.end() ? &*join : nullptr;
  }

  /// Open extents of a fed input are those of the output.
  void take_symbols_of_fed(std::size_t m) {
    symbols_.clear();
    for (const ResolvedFeed& join : joins_) {
      if (join.input.model != m) continue;
      const std::vector<OpenExtent>& from = graph_.tensors[ids_.at(join.output)].open;
      const std::vector<OpenExtent>& to = networks_[m].graph().tensors[join.input.tensor].open;
      bool is_alike = std::ranges::equal(from, to, {}, &OpenExtent::axis, &OpenExtent::axis);
      for (std::size_t i = 0; is_alike && i < to.size(); ++i)
        is_alike = symbols_.try_emplace(to[i].symbol, from[i].symbol).first->second == from[i].symbol;
      if (!is_alike) throw refused(join, networks_, "the open sizes of both are not the same");
    }
  }

  void add_tensor(std::size_t m, TensorId t) {
    Tensor tensor = networks_[m].graph().tensors[t];
    if (!tensor.name.empty()) tensor.name.insert(0, prefix_);
    for (OpenExtent& it : tensor.open) {
      const auto [symbol, is_new] = symbols_.try_emplace(it.symbol, next_symbol_);
      if (is_new) ++next_symbol_;
      it.symbol = symbol->second;
    }
    ids_[{m, t}] = graph_.tensors.size();
    graph_.tensors.push_back(std::move(tensor));
    joined_.quantizations.push_back(networks_[m].quantizations[t]);
  }

  void add_constants(std::size_t m) {
    const auto known = std::make_shared<const Constants>(networks_[m].input.constants);
    Constants& all = joined_.input.constants;
    all.hold(known);
    for (TensorId t = 0; t < networks_[m].graph().tensors.size(); ++t) {
      const TensorId id = ids_.at({m, t});
      if (const auto bytes = known->of(t); bytes.data() != nullptr) all.set(id, bytes);
      if (const auto element = known->element_of(t); !element.empty())
        all.set_element(id, {element.begin(), element.end()});
      if (const Recipe* const recipe = known->recipe_of(t)) {
        Recipe own = *recipe;
        rename(m, own.inputs);
        all.set_recipe(id, std::move(own));
      }
    }
  }

  void rename(std::size_t m, std::vector<std::optional<TensorId>>& tensors) const {
    for (std::optional<TensorId>& tensor : tensors) {
      if (tensor) tensor = ids_.at({m, *tensor});
    }
  }

  void add_subgraph(std::size_t m, std::size_t s) {
    const Subgraph& own = networks_[m].graph().subgraphs[s];
    if (s > 0) {
      graph_.subgraphs.push_back({.name = own.name.empty() ? "" : prefix_ + own.name});
      joined_.details.emplace_back();
    }
    Subgraph& subgraph = s > 0 ? graph_.subgraphs.back() : graph_.subgraphs[0];
    std::vector<OperatorDetails>& details = s > 0 ? joined_.details.back() : joined_.details[0];
    for (const TensorId input : own.inputs) {
      if (s > 0 || join_of(m, input) == nullptr) subgraph.inputs.push_back(ids_.at({m, input}));
    }
    for (const TensorId output : own.outputs) {
      if (s > 0 || !is_joined({m, output})) subgraph.outputs.push_back(ids_.at({m, output}));
    }
    for (Operator op : own.operators) {
      if (!op.name.empty()) op.name.insert(0, prefix_);
      rename(m, op.inputs);
      rename(m, op.outputs);
      for (TensorId& scratch : op.scratch) scratch = ids_.at({m, scratch});
      for (std::size_t& body : op.bodies) body += first_body_;
      for (std::size_t& before : op.after) before += s > 0 ? 0 : first_operator_;
      subgraph.operators.push_back(std::move(op));
    }
    std::ranges::copy(networks_[m].details[s], std::back_inserter(details));
  }

  [[nodiscard]] bool is_joined(const ModelTensor& output) const {
    return std::ranges::find(joins_, output, &ResolvedFeed::output) != joins_.end();
  }

  /// An output that is joined is kept if another network passes it on as its own output.
  void keep_outputs() {
    const std::vector<TensorId>& outputs = graph_.subgraphs[0].outputs;
    for (const ResolvedFeed& join : joins_) {
      const auto id = ids_.find(join.output);
      if (id == ids_.end()) continue;
      Tensor& tensor = graph_.tensors[id->second];
      const bool is_kept = std::ranges::find(outputs, id->second) != outputs.end();
      if (tensor.kind == TensorKind::output && !is_kept) tensor.kind = TensorKind::temporary;
    }
  }

  std::span<const Network> networks_;
  std::span<const ResolvedFeed> joins_;
  Network joined_;
  Graph& graph_;
  std::map<ModelTensor, TensorId> ids_;
  std::string prefix_;                          ///< Of names of the network that is added.
  std::size_t first_operator_ = 0;              ///< The same, in the main subgraph.
  std::size_t first_body_ = 0;                  ///< The same, less one.
  std::map<std::size_t, std::size_t> symbols_;  ///< Of its open extents.
  std::size_t next_symbol_ = 0;
};

}  // namespace

std::vector<Network> join_networks(std::vector<Network> networks, std::span<const FeedNames> joins) {
  std::vector<share::NamedGraph> graphs;
  for (const Network& network : networks) graphs.push_back({network.input.info.name, network.graph()});
  const std::vector<ResolvedFeed> resolved = share::resolve_joins(joins, graphs);
  for (const ResolvedFeed& join : resolved) expect_alike(join, networks);
  const std::vector<std::size_t> first = first_of_each(networks.size(), resolved);
  std::vector<Network> result;
  for (std::size_t m = 0; m < networks.size(); ++m) {
    if (first[m] != m) continue;
    std::vector<std::size_t> members;
    for (std::size_t other = m; other < networks.size(); ++other) {
      if (first[other] == m) members.push_back(other);
    }
    if (members.size() == 1) {
      result.push_back(networks[m]);
      continue;
    }
    result.push_back(Joiner(networks, resolved).join(in_order(std::move(members), resolved, networks)));
  }
  return result;
}

}  // namespace stowage
