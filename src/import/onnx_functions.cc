// A call becomes copies of the function's nodes with names of their own: those of the call for what goes
// in and out, prefixed ones for the rest. Attributes that refer to the call's get its values, or the
// function's defaults. Bodies are copied only where names change; data never is.

#include "import/onnx_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

constexpr int deepest_calls = 64;
/// Functions that call functions can grow exponentially.
constexpr std::size_t most_bytes = std::size_t{256} << 20;
constexpr int most_nodes = 1'000'000;

using Renames = std::unordered_map<std::string_view, std::string_view>;
using GraphPointer = wire::AttributeProto::Graph;
using GraphPointers = std::vector<GraphPointer>;

class Inliner {
 public:
  explicit Inliner(wire::ModelProto& model) : names_(model.made_names) {
    for (const wire::FunctionProto& function : model.functions) {
      functions_.emplace(key(function.domain, function.name, function.overload), &function);
    }
  }

  void expand(wire::GraphProto& graph) { expand(graph.node, 0); }

 private:
  using Nodes = std::vector<wire::NodeProto>;

  static std::string key(std::string_view domain, std::string_view name, std::string_view overload) {
    return fmt::format("{}:{}:{}", domain == "ai.onnx" ? "" : domain, name, overload);
  }

  std::string_view keep(std::string name) { return names_.emplace_back(std::move(name)); }

  void expand(Nodes& nodes, int depth) {
    Nodes expanded;
    for (wire::NodeProto& node : nodes) {
      const auto function = functions_.find(key(node.domain, node.op_type, node.overload));
      if (function != functions_.end()) {
        call(node, *function->second, depth, expanded);
        continue;
      }
      for_bodies(node, [&](wire::GraphProto& body) { expand(body.node, depth); });
      expanded.push_back(std::move(node));
    }
    nodes = std::move(expanded);
  }

  /// Lets `change` loose on copies of the node's bodies.
  template <typename Change>
  static void for_bodies(wire::NodeProto& node, const Change& change) {
    const auto changed = [&](const GraphPointer& body) {
      auto copy = std::make_shared<wire::GraphProto>(*body);
      change(*copy);
      return copy;
    };
    for (wire::AttributeProto& attribute : node.attribute) {
      if (auto* const body = std::get_if<GraphPointer>(&attribute.value)) *body = changed(*body);
      if (auto* const bodies = std::get_if<GraphPointers>(&attribute.value)) {
        for (GraphPointer& body : *bodies) body = changed(body);
      }
    }
  }

  /// The call with the function's defaults for omitted attributes.
  static wire::NodeProto with_defaults(wire::NodeProto node, const wire::FunctionProto& function) {
    for (const wire::AttributeProto& attribute : function.attribute_proto) {
      if (std::ranges::find(node.attribute, attribute.name, &wire::AttributeProto::name) ==
          node.attribute.end())
        node.attribute.push_back(attribute);
    }
    return node;
  }

  void call(const wire::NodeProto& caller, const wire::FunctionProto& function, int depth, Nodes& into) {
    const wire::NodeProto node = with_defaults(caller, function);
    const std::string place = "function " + base::quoted(function.name);
    if (depth >= deepest_calls)
      throw Error(place,
                  fmt::format("calls are nested more than {} deep, expected no recursion", deepest_calls));
    const std::string_view prefix =
        keep(fmt::format("{}#{}/", node.name.empty() ? function.name : node.name, ++calls_));
    if (node.input.size() > function.input.size() || node.output.size() > function.output.size()) {
      throw Error(place, fmt::format("is called with {} inputs for {} outputs, expected at most {} for {}",
                                     node.input.size(), node.output.size(), function.input.size(),
                                     function.output.size()));
    }
    Renames renames;
    Nodes copies;  // outputs that are inputs, and second outputs of one value
    for (std::size_t i = 0; i < function.input.size(); ++i)
      renames[function.input[i]] = i < node.input.size() ? node.input[i] : std::string_view();
    for (std::size_t i = 0; i < node.output.size(); ++i) {
      if (node.output[i].empty()) continue;
      const auto [it, is_new] = renames.emplace(function.output[i], node.output[i]);
      if (is_new) continue;
      copies.push_back(
          {.name = prefix, .op_type = "Identity", .input = {it->second}, .output = {node.output[i]}});
    }
    Nodes body = function.node;
    for (wire::NodeProto& inner : body) {
      if (++nodes_ > most_nodes) throw Error(place, "unfolds to more than can be planned");
      rename(inner, node, prefix, renames);
      if (made_bytes_ > most_bytes) throw Error(place, "unfolds to more than can be planned");
    }
    expand(body, depth + 1);
    for (wire::NodeProto& inner : body) into.push_back(std::move(inner));
    for (wire::NodeProto& copy : copies) into.push_back(std::move(copy));
  }

  std::string_view renamed(std::string_view name, std::string_view prefix, Renames& renames) {
    if (name.empty()) return name;
    const auto known = renames.find(name);
    if (known != renames.end()) return known->second;
    return renames.emplace(name, prefixed(prefix, name)).first->second;
  }

  std::string_view prefixed(std::string_view prefix, std::string_view name) {
    made_bytes_ += prefix.size() + name.size() + sizeof(std::string);
    return keep(fmt::format("{}{}", prefix, name));
  }

  void rename(wire::NodeProto& node, const wire::NodeProto& call, std::string_view prefix, Renames& renames) {
    node.name = prefixed(prefix, node.name);
    for (std::string_view& input : node.input) input = renamed(input, prefix, renames);
    for (std::string_view& output : node.output) output = renamed(output, prefix, renames);
    std::vector<wire::AttributeProto> attributes;
    for (wire::AttributeProto& attribute : node.attribute) {
      if (attribute.ref_attr_name.empty()) {
        attributes.push_back(std::move(attribute));
        continue;
      }
      const auto given =
          std::ranges::find(call.attribute, attribute.ref_attr_name, &wire::AttributeProto::name);
      if (given == call.attribute.end()) continue;
      attributes.push_back(*given);
      attributes.back().name = attribute.name;
    }
    made_bytes_ += attributes.size() * sizeof(wire::AttributeProto) +
                   (node.input.size() + node.output.size()) * sizeof(std::string_view);
    node.attribute = std::move(attributes);
    for_bodies(node, [&](wire::GraphProto& body) { rename(body, call, prefix, renames); });
  }

  void rename(wire::GraphProto& graph, const wire::NodeProto& call, std::string_view prefix,
              Renames& renames) {
    for (auto* values : {&graph.input, &graph.output, &graph.value_info}) {
      for (wire::ValueInfoProto& value : *values) value.name = renamed(value.name, prefix, renames);
    }
    for (wire::TensorProto& tensor : graph.initializer) tensor.name = renamed(tensor.name, prefix, renames);
    for (wire::SparseTensorProto& tensor : graph.sparse_initializer)
      tensor.values.name = renamed(tensor.values.name, prefix, renames);
    for (wire::NodeProto& node : graph.node) {
      if (++nodes_ > most_nodes) throw Error("function", "unfolds to more than can be planned");
      rename(node, call, prefix, renames);
    }
  }

  std::unordered_map<std::string, const wire::FunctionProto*> functions_;
  std::deque<std::string>& names_;
  std::size_t made_bytes_ = 0;
  int nodes_ = 0;
  int calls_ = 0;
};

}  // namespace

void inline_functions(wire::ModelProto& model) {
  if (!model.functions.empty()) Inliner(model).expand(*model.graph);
}

}  // namespace stowage::import
