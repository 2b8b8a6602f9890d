#include "stowage/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "model/ties.h"
#include "stowage/error.h"

namespace stowage {
namespace {

/// Throws if a subgraph runs itself through bodies. Otherwise returns the subgraphs, every body before the
/// subgraph that runs it.
std::vector<std::size_t> bodies_first(const Graph& graph) {
  enum class Mark : std::uint8_t { unseen, open, done };
  std::vector<Mark> marks(graph.subgraphs.size(), Mark::unseen);
  std::vector<std::size_t> order;
  struct Frame {
    std::size_t subgraph;
    std::vector<std::size_t> bodies;
  };
  const auto bodies_of = [&](std::size_t subgraph) {
    std::vector<std::size_t> bodies;
    for (const Operator& op : graph.subgraphs[subgraph].operators) {
      bodies.insert(bodies.end(), op.bodies.begin(), op.bodies.end());
    }
    return bodies;
  };
  for (std::size_t root = 0; root < graph.subgraphs.size(); ++root) {
    if (marks[root] != Mark::unseen) continue;
    std::vector<Frame> open{{root, bodies_of(root)}};
    marks[root] = Mark::open;
    while (!open.empty()) {
      Frame& top = open.back();
      if (top.bodies.empty()) {
        marks[top.subgraph] = Mark::done;
        order.push_back(top.subgraph);
        open.pop_back();
        continue;
      }
      const std::size_t body = top.bodies.back();
      top.bodies.pop_back();
      if (marks[body] == Mark::open) {
        throw Error(fmt::format("subgraph {}", body), "runs itself as a body, expected no recursion");
      }
      if (marks[body] == Mark::unseen) {
        marks[body] = Mark::open;
        open.push_back({body, bodies_of(body)});
      }
    }
  }
  return order;
}

/// Operators of a subgraph: for each its followers, and the number of operators it waits for.
struct Dependences {
  std::vector<std::vector<std::size_t>> waiting;
  std::vector<std::size_t> missing;

  void add(std::size_t earlier, std::size_t later) {
    waiting[earlier].push_back(later);
    ++missing[later];
  }
};

Dependences dependences_in(const Graph& graph, std::size_t subgraph,
                           const std::vector<std::vector<TensorId>>& captures) {
  const auto& operators = graph.subgraphs[subgraph].operators;
  std::unordered_map<TensorId, std::size_t> producers;
  for (std::size_t o = 0; o < operators.size(); ++o) {
    for (const auto& output : operators[o].outputs) {
      if (output) producers[*output] = o;
    }
  }
  Dependences result{std::vector<std::vector<std::size_t>>(operators.size()),
                     std::vector<std::size_t>(operators.size(), 0)};
  const auto add_tensor = [&](TensorId tensor, std::size_t reader) {
    const auto producer = producers.find(tensor);
    if (producer != producers.end()) result.add(producer->second, reader);
  };
  std::optional<std::size_t> last_stateful;
  for (std::size_t o = 0; o < operators.size(); ++o) {
    for (const auto& input : operators[o].inputs) {
      if (input) add_tensor(*input, o);
    }
    for (const std::size_t body : operators[o].bodies) {
      for (const TensorId tensor : captures[body]) add_tensor(tensor, o);
    }
    for (const std::size_t earlier : operators[o].after) result.add(earlier, o);
    if (operators[o].stateful) {
      if (last_stateful) result.add(*last_stateful, o);
      last_stateful = o;
    }
  }
  return result;
}

/// A new state is written over the old one: its writer waits for all readers of the old one.
void add_ties(const Graph& graph, const std::vector<std::vector<TensorId>>& captures,
              Dependences& dependences) {
  const auto& operators = graph.subgraphs[0].operators;
  const auto reads = [&](const Operator& op, TensorId tensor) {
    return std::find(op.inputs.begin(), op.inputs.end(), std::optional(tensor)) != op.inputs.end() ||
           std::any_of(op.bodies.begin(), op.bodies.end(), [&](std::size_t body) {
             return std::binary_search(captures[body].begin(), captures[body].end(), tensor);
           });
  };
  for (const StateTie& tie : model::ties_in_place(graph)) {
    const auto writes = [&](const Operator& op) {
      return std::find(op.outputs.begin(), op.outputs.end(), std::optional(tie.output)) != op.outputs.end();
    };
    const auto writer = std::find_if(operators.begin(), operators.end(), writes);
    if (writer == operators.end()) continue;
    const auto later = static_cast<std::size_t>(writer - operators.begin());
    for (std::size_t o = 0; o < operators.size(); ++o) {
      if (o != later && reads(operators[o], tie.input)) dependences.add(o, later);
    }
  }
}

/// Two operators on a cycle, the second waiting for the first. Follows the dependences until an operator
/// repeats.
std::pair<std::size_t, std::size_t> wait_on_cycle(const Dependences& dependences) {
  std::vector<std::optional<std::size_t>> waits_for(dependences.missing.size());
  for (std::size_t o = 0; o < dependences.waiting.size(); ++o) {
    if (dependences.missing[o] == 0) continue;
    for (const std::size_t later : dependences.waiting[o]) waits_for[later] = o;
  }
  std::vector<bool> seen(waits_for.size(), false);
  std::size_t at = 0;
  while (dependences.missing[at] == 0) ++at;
  while (!seen[at]) {
    seen[at] = true;
    at = waits_for[at].value_or(at);
  }
  return {waits_for[at].value_or(at), at};
}

/// The tensor through which one operator waits for another; none for a control dependence.
std::optional<TensorId> tensor_between(const Graph& graph, std::size_t subgraph, std::size_t earlier,
                                       std::size_t later,
                                       const std::vector<std::vector<TensorId>>& captures) {
  const auto& operators = graph.subgraphs[subgraph].operators;
  std::unordered_set<TensorId> read;
  for (const auto& input : operators[later].inputs) {
    if (input) read.insert(*input);
  }
  for (const std::size_t body : operators[later].bodies)
    read.insert(captures[body].begin(), captures[body].end());
  for (const auto& output : operators[earlier].outputs) {
    if (output && read.contains(*output)) return output;
  }
  return std::nullopt;
}

/// All operators that neither are on a cycle nor depend on one, each after those it waits for.
std::vector<std::size_t> order_of(Dependences& dependences) {
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t o = 0; o < dependences.missing.size(); ++o) {
    if (dependences.missing[o] == 0) ready.push(o);
  }
  std::vector<std::size_t> order;
  order.reserve(dependences.missing.size());
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const std::size_t later : dependences.waiting[next]) {
      if (--dependences.missing[later] == 0) ready.push(later);
    }
  }
  return order;
}

std::vector<std::size_t> ordered(const Graph& graph, std::size_t subgraph,
                                 const std::vector<std::vector<TensorId>>& captures) {
  Dependences dependences = dependences_in(graph, subgraph, captures);
  if (subgraph == 0 && !graph.ties.empty()) {
    Dependences with_ties = dependences;
    add_ties(graph, captures, with_ties);
    std::vector<std::size_t> order = order_of(with_ties);
    if (order.size() == dependences.missing.size()) return order;
  }
  std::vector<std::size_t> order = order_of(dependences);
  if (order.size() < dependences.missing.size()) {
    const auto [earlier, later] = wait_on_cycle(dependences);
    const auto tensor = tensor_between(graph, subgraph, earlier, later, captures);
    throw Error(tensor ? describe(graph, *tensor) : describe(graph, subgraph, later),
                fmt::format("is on a cycle: {} needs its own result", describe(graph, subgraph, later)));
  }
  return order;
}

}  // namespace

std::string describe(const Graph& graph, TensorId tensor) {
  const std::string& name = graph.tensors[tensor].name;
  return name.empty() ? fmt::format("tensor {}", tensor) : "tensor " + base::quoted(name);
}

std::string describe(const Graph& graph, std::size_t subgraph, std::size_t op) {
  const Operator& it = graph.subgraphs[subgraph].operators[op];
  constexpr std::size_t longest_type = 60;  // a file may give a custom operator any name
  const std::string type =
      it.type.size() <= longest_type && base::is_utf8(it.type) ? it.type : base::quoted(it.type);
  if (it.name.empty()) return fmt::format("operator {} of subgraph {} ({})", op, subgraph, type);
  return fmt::format("operator {} ({}, {} of subgraph {})", base::quoted(it.name), type, op, subgraph);
}

std::vector<std::vector<std::size_t>> topological_orders(const Graph& graph) {
  const auto captures = captures_of(graph);
  std::vector<std::vector<std::size_t>> orders;
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) orders.push_back(ordered(graph, s, captures));
  return orders;
}
std::vector<std::optional<std::size_t>> owners_of(const Graph& graph) {
  std::vector<std::optional<std::size_t>> owners(graph.tensors.size());
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    for (const TensorId tensor : graph.subgraphs[s].inputs) owners[tensor] = s;
    for (const Operator& op : graph.subgraphs[s].operators) {
      for (const auto& output : op.outputs) {
        if (output) owners[*output] = s;
      }
      for (const TensorId tensor : op.scratch) owners[tensor] = s;
    }
  }
  return owners;
}

std::vector<std::vector<TensorId>> captures_of(const Graph& graph) {
  const auto owners = owners_of(graph);
  std::vector<std::vector<TensorId>> captures(graph.subgraphs.size());
  for (const std::size_t s : bodies_first(graph)) {
    const auto add = [&](TensorId tensor) {
      if (owners[tensor] && *owners[tensor] != s) captures[s].push_back(tensor);
    };
    for (const Operator& op : graph.subgraphs[s].operators) {
      for (const auto& input : op.inputs) {
        if (input) add(*input);
      }
      for (const std::size_t body : op.bodies)
        std::for_each(captures[body].begin(), captures[body].end(), add);
    }
    std::for_each(graph.subgraphs[s].outputs.begin(), graph.subgraphs[s].outputs.end(), add);
    std::sort(captures[s].begin(), captures[s].end());
    captures[s].erase(std::unique(captures[s].begin(), captures[s].end()), captures[s].end());
  }
  return captures;
}

}  // namespace stowage
