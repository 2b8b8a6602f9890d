#include "import/onnx_graph.h"

#include <fmt/format.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "base/text.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

/// Subgraphs that an operator runs, in execution order.
std::vector<const onnx::GraphProto*> bodies_of(const onnx::NodeProto& node) {
  std::vector<const onnx::GraphProto*> bodies;
  const auto add = [&](const onnx::AttributeProto& attribute) {
    if (attribute.has_g()) bodies.push_back(&attribute.g());
    for (const onnx::GraphProto& graph : attribute.graphs()) bodies.push_back(&graph);
  };
  const bool is_if = type_of(node) == "If";
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!is_if || attribute.name() == "then_branch") add(attribute);
  }
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (is_if && attribute.name() == "else_branch") add(attribute);
  }
  return bodies;
}

class Resolver {
 public:
  OnnxGraph run(const onnx::GraphProto& main) {
    add_subgraph(main);
    return std::move(result_);
  }

 private:
  using Scope = std::unordered_map<std::string, TensorId>;

  TensorId add_tensor(const std::string& name, TensorKind kind) {
    const TensorId tensor = result_.graph.tensors.size();
    result_.graph.tensors.push_back({.name = name, .kind = kind});
    result_.declared.push_back(nullptr);
    result_.initializers.push_back(nullptr);
    if (!name.empty()) scopes_.back().emplace(name, tensor);
    return tensor;
  }

  [[nodiscard]] TensorId find(const std::string& name, const std::string& reader) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto it = scope->find(name);
      if (it != scope->end()) return it->second;
    }
    throw Error("tensor " + base::quoted(name), fmt::format("is read by {} but nothing produces it", reader));
  }

  std::size_t add_subgraph(const onnx::GraphProto& proto) {
    const std::size_t index = result_.graph.subgraphs.size();
    result_.graph.subgraphs.push_back({.name = proto.name()});
    result_.protos.push_back(&proto);
    result_.nodes.emplace_back();
    scopes_.emplace_back();
    define_weights(proto);
    define_inputs(proto, index);
    define_results(proto, index);
    note_declarations(proto);
    connect(proto, index);
    scopes_.pop_back();
    return index;
  }

  void define_weights(const onnx::GraphProto& proto) {
    const auto define = [&](const std::string& name) {
      if (scopes_.back().contains(name)) throw Error("initializer " + base::quoted(name), "comes twice");
      return add_tensor(name, TensorKind::weight);
    };
    for (const onnx::TensorProto& initializer : proto.initializer()) {
      result_.initializers[define(initializer.name())] = &initializer;
    }
    for (const onnx::SparseTensorProto& initializer : proto.sparse_initializer())
      define(initializer.values().name());
  }

  /// An input with an initializer is a weight that a caller could override; it is planned as a weight.
  void define_inputs(const onnx::GraphProto& proto, std::size_t subgraph) {
    for (const onnx::ValueInfoProto& input : proto.input()) {
      const auto known = scopes_.back().find(input.name());
      if (known != scopes_.back().end()) {
        if (result_.graph.tensors[known->second].kind != TensorKind::weight) {
          throw Error("input " + base::quoted(input.name()), "comes twice");
        }
        continue;
      }
      const TensorKind kind = subgraph == 0 ? TensorKind::input : TensorKind::temporary;
      result_.graph.subgraphs[subgraph].inputs.push_back(add_tensor(input.name(), kind));
    }
  }

  void define_results(const onnx::GraphProto& proto, std::size_t subgraph) {
    for (const onnx::NodeProto& node : proto.node()) {
      Operator op{.name = node.name(), .type = type_of(node)};
      for (const std::string& output : node.output()) {
        if (output.empty()) {
          op.outputs.emplace_back();
          continue;
        }
        if (scopes_.back().contains(output)) {
          throw Error("tensor " + base::quoted(output),
                      fmt::format("has two producers, one of them operator {} ({})",
                                  base::quoted(node.name()), op.type));
        }
        op.outputs.emplace_back(add_tensor(output, TensorKind::temporary));
      }
      result_.graph.subgraphs[subgraph].operators.push_back(std::move(op));
      result_.nodes[subgraph].push_back(&node);
    }
  }

  void note_declarations(const onnx::GraphProto& proto) {
    for (const auto* values : {&proto.value_info(), &proto.output(), &proto.input()}) {
      for (const onnx::ValueInfoProto& value : *values) {
        const auto it = scopes_.back().find(value.name());
        if (it != scopes_.back().end() && value.has_type()) result_.declared[it->second] = &value.type();
      }
    }
  }

  void connect(const onnx::GraphProto& proto, std::size_t subgraph) {
    for (std::size_t o = 0; o < result_.nodes[subgraph].size(); ++o) {
      const onnx::NodeProto& node = *result_.nodes[subgraph][o];
      for (const std::string& input : node.input()) {
        std::optional<TensorId> tensor;
        if (!input.empty()) tensor = find(input, describe(result_.graph, subgraph, o));
        result_.graph.subgraphs[subgraph].operators[o].inputs.push_back(tensor);
      }
      for (const onnx::GraphProto* const body : bodies_of(node)) {
        const std::size_t index = add_subgraph(*body);  // moves the subgraphs: take no references before
        result_.graph.subgraphs[subgraph].operators[o].bodies.push_back(index);
      }
      Operator& op = result_.graph.subgraphs[subgraph].operators[o];
      op.body_use = op.type == "If" ? BodyUse::once : BodyUse::repeated;
    }
    for (const onnx::ValueInfoProto& output : proto.output()) {
      const TensorId tensor =
          find(output.name(), subgraph == 0 ? "the caller, as an output," : "the operator around it");
      result_.graph.subgraphs[subgraph].outputs.push_back(tensor);
      Tensor& it = result_.graph.tensors[tensor];
      if (subgraph == 0 && it.kind == TensorKind::temporary) it.kind = TensorKind::output;
    }
  }

  OnnxGraph result_;
  std::vector<Scope> scopes_;
};

}  // namespace

OnnxGraph resolve_names(const onnx::GraphProto& main) { return Resolver().run(main); }

std::string type_of(const onnx::NodeProto& node) {
  const bool is_standard = node.domain().empty() || node.domain() == "ai.onnx";
  return is_standard ? node.op_type() : node.domain() + "." + node.op_type();
}

namespace {

constexpr int deepest_calls = 64;
/// Functions that call functions can grow exponentially.
constexpr std::size_t most_bytes = std::size_t{256} << 20;
constexpr int most_nodes = 1'000'000;

using Renames = std::unordered_map<std::string, std::string>;

class Inliner {
 public:
  explicit Inliner(const onnx::ModelProto& model) {
    for (const onnx::FunctionProto& function : model.functions()) {
      functions_.emplace(key(function.domain(), function.name()), &function);
    }
  }

  void expand(onnx::GraphProto& graph) { expand(*graph.mutable_node(), 0); }

 private:
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

  static std::string key(const std::string& domain, const std::string& name) {
    return (domain == "ai.onnx" ? "" : domain) + ":" + name;
  }

  void expand(Nodes& nodes, int depth) {
    Nodes expanded;
    for (onnx::NodeProto& node : nodes) {
      const auto function = functions_.find(key(node.domain(), node.op_type()));
      if (function != functions_.end()) {
        call(node, *function->second, depth, expanded);
        continue;
      }
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) expand(*attribute.mutable_g()->mutable_node(), depth);
        for (onnx::GraphProto& graph : *attribute.mutable_graphs()) expand(*graph.mutable_node(), depth);
      }
      *expanded.Add() = std::move(node);
    }
    nodes.Swap(&expanded);
  }

  /// The call with the function's defaults for omitted attributes. The installed libonnx does not know the
  /// field that has them.
  static onnx::NodeProto with_defaults(onnx::NodeProto node, const onnx::FunctionProto& function) {
    constexpr int attribute_proto = 11;
    const auto& fields = function.GetReflection()->GetUnknownFields(function);
    for (int i = 0; i < fields.field_count(); ++i) {
      const auto& field = fields.field(i);
      onnx::AttributeProto attribute;
      if (field.number() != attribute_proto ||
          field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED ||
          !attribute.ParseFromString(field.length_delimited()))
        continue;
      const bool is_given =
          std::any_of(node.attribute().begin(), node.attribute().end(),
                      [&](const onnx::AttributeProto& given) { return given.name() == attribute.name(); });
      if (!is_given) *node.add_attribute() = std::move(attribute);
    }
    return node;
  }

  void call(const onnx::NodeProto& caller, const onnx::FunctionProto& function, int depth, Nodes& into) {
    const onnx::NodeProto node = with_defaults(caller, function);
    const std::string place = "function " + base::quoted(function.name());
    if (depth >= deepest_calls)
      throw Error(place,
                  fmt::format("calls are nested more than {} deep, expected no recursion", deepest_calls));
    const std::string prefix =
        fmt::format("{}#{}/", node.name().empty() ? function.name() : node.name(), ++calls_);
    if (node.input_size() > function.input_size() || node.output_size() > function.output_size()) {
      throw Error(place, fmt::format("is called with {} inputs for {} outputs, expected at most {} for {}",
                                     node.input_size(), node.output_size(), function.input_size(),
                                     function.output_size()));
    }
    Renames renames;
    Nodes body;
    Nodes copies;  // outputs that are inputs, and second outputs of one value
    for (int i = 0; i < function.input_size(); ++i)
      renames[function.input(i)] = i < node.input_size() ? node.input(i) : "";
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty()) continue;
      const auto [it, is_new] = renames.emplace(function.output(i), node.output(i));
      if (is_new) continue;
      onnx::NodeProto& identity = *copies.Add();
      identity.set_op_type("Identity");
      identity.set_name(prefix);
      identity.add_input(it->second);
      identity.add_output(node.output(i));
    }
    for (const onnx::NodeProto& inner : function.node()) *body.Add() = inner;
    for (onnx::NodeProto& inner : body) {
      bytes_ += inner.ByteSizeLong();
      if (bytes_ > most_bytes || ++nodes_ > most_nodes)
        throw Error(place, "unfolds to more than can be planned");
      rename(inner, node, prefix, renames);
    }
    expand(body, depth + 1);
    for (onnx::NodeProto& inner : body) *into.Add() = std::move(inner);
    for (onnx::NodeProto& copy : copies) *into.Add() = std::move(copy);
  }

  static void rename(onnx::NodeProto& node, const onnx::NodeProto& call, const std::string& prefix,
                     Renames& renames) {
    const auto renamed = [&](const std::string& name) {
      return name.empty() ? name : renames.emplace(name, prefix + name).first->second;
    };
    node.set_name(prefix + node.name());
    for (std::string& input : *node.mutable_input()) input = renamed(input);
    for (std::string& output : *node.mutable_output()) output = renamed(output);
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> attributes;
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.ref_attr_name().empty()) {
        for (const onnx::AttributeProto& given : call.attribute()) {
          if (given.name() != attribute.ref_attr_name()) continue;
          *attributes.Add() = given;
          attributes.rbegin()->set_name(attribute.name());
        }
        continue;
      }
      if (attribute.has_g()) rename(*attribute.mutable_g(), call, prefix, renames);
      for (onnx::GraphProto& graph : *attribute.mutable_graphs()) rename(graph, call, prefix, renames);
      *attributes.Add() = std::move(attribute);
    }
    node.mutable_attribute()->Swap(&attributes);
  }

  static void rename(onnx::GraphProto& graph, const onnx::NodeProto& call, const std::string& prefix,
                     Renames& renames) {
    const auto renamed = [&](const std::string& name) {
      return name.empty() ? name : renames.emplace(name, prefix + name).first->second;
    };
    for (auto* values : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
      for (onnx::ValueInfoProto& value : *values) value.set_name(renamed(value.name()));
    }
    for (onnx::TensorProto& tensor : *graph.mutable_initializer()) tensor.set_name(renamed(tensor.name()));
    for (onnx::SparseTensorProto& tensor : *graph.mutable_sparse_initializer())
      tensor.mutable_values()->set_name(renamed(tensor.values().name()));
    for (onnx::NodeProto& node : *graph.mutable_node()) rename(node, call, prefix, renames);
  }

  std::unordered_map<std::string, const onnx::FunctionProto*> functions_;
  std::size_t bytes_ = 0;
  int nodes_ = 0;
  int calls_ = 0;
};

}  // namespace

void inline_functions(onnx::ModelProto& model) {
  if (model.functions_size() > 0) Inliner(model).expand(*model.mutable_graph());
}

}  // namespace stowage::import
