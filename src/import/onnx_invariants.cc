// Exporters of TensorFlow let a loop carry everything that its rounds read, weights too, though no round changes them.
// A carried tensor has a place in the arena; a body may as well read the one from around:
//
//     Loop(rounds, condition, state, weights) -> last, same      weights -> same
//       state, weights -> MatMul(state, weights), weights        Loop(rounds, condition, state) -> last
//                                                                  weights (from around) -> inside
//                                                                  state -> MatMul(state, inside)
//
// So constants stay constants. An Identity stands where a name was; copies are removed later. Inner loops come first:
// what they leave alone, the outer one may leave alone, too.
// Source: the documents of Loop and Scan in the standard. Cost: linear.

#include "import/onnx_invariants.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stowage::import {
namespace {

using wire::AttributeProto;
using wire::GraphProto;
using wire::NodeProto;

/// Where an operator has the values that it carries from round to round.
struct Carried {
  std::size_t of_node = 0;  ///< Operands before them.
  std::size_t of_body = 0;  ///< Results of the body before them.
  std::size_t count = 0;
};

std::optional<Carried> carried_by(const NodeProto& node) {
  if (!node.domain.empty() && node.domain != "ai.onnx") return std::nullopt;
  const std::size_t operands = node.input.size();
  if (node.op_type == "Loop" && operands > 2) return Carried{2, 1, operands - 2};
  const auto* const scanned = wire::attribute_of<std::int64_t>(node, "num_scan_inputs");
  if (node.op_type != "Scan" || scanned == nullptr || *scanned < 0 || std::cmp_less(operands, *scanned))
    return std::nullopt;
  return Carried{0, 0, operands - static_cast<std::size_t>(*scanned)};
}

NodeProto copy_of(std::string_view from, std::string_view to) {
  return {.name = to, .op_type = "Identity", .input = {from}, .output = {to}};
}

bool has_bodies(const GraphProto& graph) {
  return std::ranges::any_of(graph.node, [](const NodeProto& node) {
    return std::ranges::any_of(
        node.attribute, [](const AttributeProto& it) { return it.get<AttributeProto::Graph>() != nullptr; });
  });
}

/// What a body names itself: a name from around with such a name is hidden.
std::set<std::string_view> own_names(const GraphProto& body) {
  std::set<std::string_view> names;
  for (const auto& input : body.input) names.insert(input.name);
  for (const auto& constant : body.initializer) names.insert(constant.name);
  for (const auto& constant : body.sparse_initializer) names.insert(constant.values.name);
  for (const NodeProto& node : body.node) names.insert(node.output.begin(), node.output.end());
  return names;
}

/// What values of a body are, behind any number of Identity.
class Sources {
 public:
  explicit Sources(const GraphProto& body) {
    for (const NodeProto& node : body.node)
      if (node.op_type == "Identity" && node.input.size() == 1 && node.output.size() == 1)
        copies_.emplace(node.output[0], node.input[0]);
  }

  /// Empty if they are copies of themselves. Shortens the way for those who ask next.
  std::string_view of(std::string_view name) {
    std::vector<std::string_view> passed;
    for (auto next = copies_.find(name); next != copies_.end(); next = copies_.find(name)) {
      passed.push_back(name);
      name = passed.size() > copies_.size() ? std::string_view() : next->second;
      if (name.empty()) break;
    }
    for (const std::string_view it : passed) copies_[it] = name;
    return name;
  }

 private:
  std::unordered_map<std::string_view, std::string_view> copies_{};
};

/// Removes the elements at these places, which ascend and count from `begin` on; there may be fewer elements.
template <typename T>
void erase_all(std::vector<T>& from, const std::vector<std::size_t>& places, std::size_t begin) {
  std::vector<T> kept;
  auto next = places.begin();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (next != places.end() && i == begin + *next)
      ++next;
    else
      kept.push_back(std::move(from[i]));
  }
  from = std::move(kept);
}

/// Takes what no round changes out of an operator and its body. Returns copies in place of its results.
std::vector<NodeProto> release(NodeProto& node, GraphProto& body, const Carried& carried) {
  std::vector<NodeProto> results;
  if (body.input.size() != node.input.size() || body.output.size() < carried.of_body + carried.count)
    return results;  // or a Scan of before version 9, whose first operand is another
  const auto names = own_names(body);
  Sources sources(body);
  std::vector<NodeProto> inside;
  std::vector<std::size_t> same;
  for (std::size_t i = 0; i < carried.count; ++i) {
    const std::string_view initial = node.input[carried.of_node + i];
    const std::string_view before = body.input[carried.of_node + i].name;
    const bool is_same = sources.of(body.output[carried.of_body + i].name) == before;
    if (initial.empty() || before.empty() || !is_same || (initial != before && names.contains(initial)))
      continue;
    same.push_back(i);
    if (initial != before) inside.push_back(copy_of(initial, before));
    if (i < node.output.size() && !node.output[i].empty())
      results.push_back(copy_of(initial, node.output[i]));
  }
  erase_all(node.input, same, carried.of_node);
  erase_all(node.output, same, 0);
  erase_all(body.input, same, carried.of_node);
  erase_all(body.output, same, carried.of_body);
  body.node.insert(body.node.begin(), inside.begin(), inside.end());
  return results;
}

void release_in(GraphProto& graph) {
  if (!has_bodies(graph)) return;
  std::vector<NodeProto> nodes = std::exchange(graph.node, {});
  for (NodeProto& node : nodes) {
    const auto carried = carried_by(node);
    std::vector<NodeProto> results;
    for (AttributeProto& attribute : node.attribute) {
      const auto* const body = attribute.get<AttributeProto::Graph>();
      if (body == nullptr) continue;
      auto own = std::make_shared<GraphProto>(**body);  // others may share it
      release_in(*own);
      if (carried && attribute.name == "body") results = release(node, *own, *carried);
      attribute.value = AttributeProto::Graph(std::move(own));
    }
    graph.node.push_back(std::move(node));
    for (NodeProto& result : results) graph.node.push_back(std::move(result));
  }
}

}  // namespace

void release_invariants(wire::ModelProto& model) { release_in(*model.graph); }

}  // namespace stowage::import
