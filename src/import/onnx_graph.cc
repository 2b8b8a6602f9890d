#include "import/onnx_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/text.h"
#include "stowage/error.h"
#include "stowage/open_sizes.h"

namespace stowage::import {
namespace {

/// Subgraphs that an operator runs, in execution order.
std::vector<const wire::GraphProto*> bodies_of(const wire::NodeProto& node) {
  std::vector<const wire::GraphProto*> bodies;
  const auto add = [&](const wire::AttributeProto& attribute) {
    if (const auto* const graph = attribute.get<wire::AttributeProto::Graph>())
      bodies.push_back(graph->get());
    if (const auto* const graphs = attribute.get<std::vector<wire::AttributeProto::Graph>>()) {
      for (const auto& graph : *graphs) bodies.push_back(graph.get());
    }
  };
  const bool is_if = type_of(node) == "If";
  for (const wire::AttributeProto& attribute : node.attribute) {
    if (!is_if || attribute.name == "then_branch") add(attribute);
  }
  for (const wire::AttributeProto& attribute : node.attribute) {
    if (is_if && attribute.name == "else_branch") add(attribute);
  }
  return bodies;
}

class Resolver {
 public:
  OnnxGraph run(const wire::GraphProto& main) {
    add_subgraph(main);
    return std::move(result_);
  }

 private:
  using Scope = std::unordered_map<std::string_view, TensorId>;

  TensorId add_tensor(std::string_view name, TensorKind kind) {
    const TensorId tensor = result_.graph.tensors.size();
    result_.graph.tensors.push_back({.name = std::string(name), .kind = kind});
    result_.declared.push_back(nullptr);
    result_.initializers.push_back(nullptr);
    if (!name.empty()) scopes_.back().emplace(name, tensor);
    return tensor;
  }

  [[nodiscard]] TensorId find(std::string_view name, const auto& reader) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto it = scope->find(name);
      if (it != scope->end()) return it->second;
    }
    throw Error("tensor " + base::quoted(name),
                fmt::format("is read by {} but nothing produces it", reader()));
  }

  std::size_t add_subgraph(const wire::GraphProto& proto) {
    const std::size_t index = result_.graph.subgraphs.size();
    result_.graph.subgraphs.push_back({.name = std::string(proto.name)});
    result_.protos.push_back(&proto);
    result_.nodes.emplace_back();
    scopes_.emplace_back();
    if (index == 0) reserve(proto);
    define_weights(proto);
    define_inputs(proto, index);
    define_results(proto, index);
    note_declarations(proto);
    if (index == 0) name_open_axes();
    connect(proto, index);
    scopes_.pop_back();
    return index;
  }

  /// Room for the tensors of the network itself, which are most of all.
  void reserve(const wire::GraphProto& proto) {
    std::size_t count = proto.initializer.size() + proto.sparse_initializer.size() + proto.input.size();
    for (const wire::NodeProto& node : proto.node) count += node.output.size();
    result_.graph.tensors.reserve(count);
    result_.declared.reserve(count);
    result_.initializers.reserve(count);
  }

  void define_weights(const wire::GraphProto& proto) {
    const auto define = [&](std::string_view name) {
      if (scopes_.back().contains(name)) throw Error("initializer " + base::quoted(name), "comes twice");
      return add_tensor(name, TensorKind::weight);
    };
    for (const wire::TensorProto& initializer : proto.initializer) {
      result_.initializers[define(initializer.name)] = &initializer;
    }
    for (const wire::SparseTensorProto& initializer : proto.sparse_initializer)
      define(initializer.values.name);
  }

  /// An input with an initializer is a weight that no caller gives: see `inputs_of_caller`.
  void define_inputs(const wire::GraphProto& proto, std::size_t subgraph) {
    for (const wire::ValueInfoProto& input : proto.input) {
      const auto known = scopes_.back().find(input.name);
      if (known != scopes_.back().end()) {
        if (result_.graph.tensors[known->second].kind != TensorKind::weight) {
          throw Error("input " + base::quoted(input.name), "comes twice");
        }
        continue;
      }
      const TensorKind kind = subgraph == 0 ? TensorKind::input : TensorKind::temporary;
      result_.graph.subgraphs[subgraph].inputs.push_back(add_tensor(input.name, kind));
    }
  }

  void define_results(const wire::GraphProto& proto, std::size_t subgraph) {
    result_.graph.subgraphs[subgraph].operators.reserve(proto.node.size());
    result_.nodes[subgraph].reserve(proto.node.size());
    for (const wire::NodeProto& node : proto.node) {
      Operator op{.name = std::string(node.name), .type = type_of(node)};
      for (const std::string_view output : node.output) {
        if (output.empty()) {
          op.outputs.emplace_back();
          continue;
        }
        if (scopes_.back().contains(output)) {
          throw Error("tensor " + base::quoted(output),
                      fmt::format("has two producers, one of them operator {} ({})", base::quoted(node.name),
                                  op.type));
        }
        op.outputs.emplace_back(add_tensor(output, TensorKind::temporary));
      }
      result_.graph.subgraphs[subgraph].operators.push_back(std::move(op));
      result_.nodes[subgraph].push_back(&node);
    }
  }

  void note_declarations(const wire::GraphProto& proto) {
    for (const auto* values : {&proto.value_info, &proto.output, &proto.input}) {
      for (const wire::ValueInfoProto& value : *values) {
        const auto it = scopes_.back().find(value.name);
        if (it != scopes_.back().end() && value.type) result_.declared[it->second] = &*value.type;
      }
    }
  }

  /// A size that the caller decides has a name, in the file or by its place.
  void name_open_axes() {
    const auto is_unnamed = [](const wire::Dimension& it) {
      return it.name.empty() && it.size.value_or(-1) == -1;
    };
    for (const TensorId input : result_.graph.subgraphs[0].inputs) {
      const wire::TypeProto* const declared = result_.declared[input];
      if (declared == nullptr || !declared->shape || std::ranges::none_of(*declared->shape, is_unnamed))
        continue;
      const auto named = std::make_shared<NamedType>(NamedType{.type = *declared});
      for (std::size_t axis = 0; axis < named->type.shape->size(); ++axis) {
        wire::Dimension& dimension = (*named->type.shape)[axis];
        if (!is_unnamed(dimension)) continue;
        named->names.push_back(name_of_axis(result_.graph.tensors[input].name, axis));
        dimension = {.name = named->names.back()};
      }
      result_.declared[input] = &named->type;
      result_.named.push_back(named);
    }
  }

  void connect(const wire::GraphProto& proto, std::size_t subgraph) {
    for (std::size_t o = 0; o < result_.nodes[subgraph].size(); ++o) {
      const wire::NodeProto& node = *result_.nodes[subgraph][o];
      for (const std::string_view input : node.input) {
        std::optional<TensorId> tensor;
        if (!input.empty()) tensor = find(input, [&] { return describe(result_.graph, subgraph, o); });
        result_.graph.subgraphs[subgraph].operators[o].inputs.push_back(tensor);
      }
      for (const wire::GraphProto* const body : bodies_of(node)) {
        const std::size_t index = add_subgraph(*body);  // moves the subgraphs: take no references before
        result_.graph.subgraphs[subgraph].operators[o].bodies.push_back(index);
      }
      Operator& op = result_.graph.subgraphs[subgraph].operators[o];
      op.body_use = op.type == "If" ? BodyUse::once : BodyUse::repeated;
    }
    for (const wire::ValueInfoProto& output : proto.output) {
      const TensorId tensor = find(output.name, [&] {
        return subgraph == 0 ? "the caller, as an output," : "the operator around it";
      });
      result_.graph.subgraphs[subgraph].outputs.push_back(tensor);
      Tensor& it = result_.graph.tensors[tensor];
      if (subgraph == 0 && it.kind == TensorKind::temporary) it.kind = TensorKind::output;
    }
  }

  OnnxGraph result_;
  std::vector<Scope> scopes_;
};

}  // namespace

OnnxGraph resolve_names(const wire::GraphProto& main) { return Resolver().run(main); }

void note_open_size(const std::string& name, const OpenSize::Place& place, std::vector<OpenSize>& sizes) {
  auto same = std::ranges::find(sizes, name, &OpenSize::name);
  if (same == sizes.end()) same = sizes.insert(sizes.end(), {.name = name});
  same->places.push_back(place);
}

std::string type_of(const wire::NodeProto& node) {
  const bool is_standard = node.domain.empty() || node.domain == "ai.onnx";
  return is_standard ? std::string(node.op_type) : fmt::format("{}.{}", node.domain, node.op_type);
}

}  // namespace stowage::import
