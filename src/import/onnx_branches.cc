// Exporters write an If for what only the sizes decide, such as a Squeeze of a dimension that may be 1. With all sizes
// known the condition is a constant, and the branch is a part of the network like any other:
//
//     c = Equal(..)  known: true          t = Squeeze(x)       (of the branch)
//     y = If(c) { t = Squeeze(x) }   ->   y = Identity(t)
//               { Identity(x) }
//
// The other branch may even be wrong at these sizes.
//
// Cost: linear in the model, for each call.

#include "import/onnx_branches.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "stowage/error.h"

namespace stowage::import {
namespace {

/// Calls `visit` with each tensor that the subgraph names.
template <typename Visit>
void for_each_tensor(Subgraph& subgraph, const Visit& visit) {
  for (auto* const ends : {&subgraph.inputs, &subgraph.outputs})
    for (TensorId& tensor : *ends) visit(tensor);
  for (Operator& op : subgraph.operators)
    for (auto* const operands : {&op.inputs, &op.outputs})
      for (auto& tensor : *operands)
        if (tensor) visit(*tensor);
}

std::shared_ptr<const wire::NodeProto> identity_of(const wire::NodeProto& node, std::size_t output) {
  wire::NodeProto identity{.name = node.name, .op_type = "Identity"};
  identity.input.emplace_back("result");
  identity.output.push_back(node.output[output]);
  return std::make_shared<const wire::NodeProto>(std::move(identity));
}

void take(OnnxGraph& model, const DecidedIf& it) {
  Graph& graph = model.graph;
  const Operator own = graph.subgraphs[it.subgraph].operators[it.op];
  const wire::NodeProto& node = *model.nodes[it.subgraph][it.op];
  const std::size_t body = own.bodies[it.branch];
  const std::vector<TensorId> results = graph.subgraphs[body].outputs;
  if (own.outputs.size() > results.size())
    throw Error(describe(graph, it.subgraph, it.op),
                fmt::format("has {} results, but the branch that it takes returns {}", own.outputs.size(),
                            results.size()));
  std::vector<Operator> operators = std::exchange(graph.subgraphs[body].operators, {});
  std::vector<const wire::NodeProto*> nodes = std::exchange(model.nodes[body], {});
  for (std::size_t i = 0; i < own.outputs.size(); ++i) {
    if (!own.outputs[i]) continue;
    operators.push_back(
        {.name = own.name, .type = "Identity", .inputs = {results[i]}, .outputs = {own.outputs[i]}});
    nodes.push_back(model.made.emplace_back(identity_of(node, i)).get());
  }
  const auto replace = [&](auto& all, auto& by) {
    const auto at = all.erase(all.begin() + static_cast<std::ptrdiff_t>(it.op));
    all.insert(at, std::make_move_iterator(by.begin()), std::make_move_iterator(by.end()));
  };
  replace(graph.subgraphs[it.subgraph].operators, operators);
  replace(model.nodes[it.subgraph], nodes);
}

/// The subgraphs that the network runs, itself among them, in their order.
std::vector<bool> reached_subgraphs(const Graph& graph) {
  std::vector<bool> is_reached(graph.subgraphs.size(), false);
  is_reached[0] = true;
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {  // bodies come after their operators
    if (!is_reached[s]) continue;
    for (const Operator& op : graph.subgraphs[s].operators)
      for (const std::size_t body : op.bodies) is_reached[body] = true;
  }
  return is_reached;
}

/// Removes the entries that have no new number.
template <typename Entry>
void keep_numbered(std::vector<Entry>& all, const std::vector<std::optional<std::size_t>>& numbers) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (numbers[i] && *numbers[i] != i) all[*numbers[i]] = std::move(all[i]);
  all.resize(static_cast<std::size_t>(
      std::ranges::count_if(numbers, [](const auto& it) { return it.has_value(); })));
}

std::vector<std::optional<std::size_t>> numbered(const std::vector<bool>& is_kept) {
  std::vector<std::optional<std::size_t>> numbers(is_kept.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < is_kept.size(); ++i)
    if (is_kept[i]) numbers[i] = next++;
  return numbers;
}

void remove_others(OnnxGraph& model) {
  Graph& graph = model.graph;
  const std::vector<bool> is_reached = reached_subgraphs(graph);
  std::vector<bool> is_kept(graph.tensors.size(), true);
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s)
    if (!is_reached[s]) for_each_tensor(graph.subgraphs[s], [&](TensorId t) { is_kept[t] = false; });
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s)
    if (is_reached[s]) for_each_tensor(graph.subgraphs[s], [&](TensorId t) { is_kept[t] = true; });
  const auto subgraphs = numbered(is_reached);
  const auto tensors = numbered(is_kept);
  keep_numbered(graph.subgraphs, subgraphs);
  keep_numbered(model.protos, subgraphs);
  keep_numbered(model.nodes, subgraphs);
  keep_numbered(graph.tensors, tensors);
  keep_numbered(model.declared, tensors);
  keep_numbered(model.initializers, tensors);
  for (Subgraph& subgraph : graph.subgraphs) {
    for_each_tensor(subgraph, [&](TensorId& t) { t = *tensors[t]; });
    for (Operator& op : subgraph.operators)
      for (std::size_t& body : op.bodies) body = *subgraphs[body];
  }
}

}  // namespace

void take_branches(OnnxGraph& model, std::vector<DecidedIf> decided) {
  // The last of a subgraph first, and bodies before what runs them: numbers of the others stay.
  std::ranges::sort(decided, [](const DecidedIf& a, const DecidedIf& b) {
    return std::tie(a.subgraph, a.op) > std::tie(b.subgraph, b.op);
  });
  for (const DecidedIf& it : decided) take(model, it);
  remove_others(model);
}

}  // namespace stowage::import
