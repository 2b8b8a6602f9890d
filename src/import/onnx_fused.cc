// onnxruntime joins operators when it optimises a model: to run, not to save memory. They become those of the standard
// again, for which everything is known:
//
//     FusedConv, FusedGemm                            Conv or Gemm, Add, an activation
//     DynamicQuantizeMatMul, MatMulIntegerToFloat     DynamicQuantizeLinear, MatMulInteger, Cast, Mul, Add
//     Attention, QAttention, MultiHeadAttention       see onnx_fused_attention.cc
//
// An activation may write over its input, so a plan is no larger. Integers of dynamic products, which onnxruntime has in
// memory of its own, are in the plan. Source: the document ContribOperators.md of onnxruntime. Cost: linear.

#include "import/onnx_fused.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "import/onnx_fused_attention.h"
#include "import/onnx_known_values.h"
#include "import/onnx_made_nodes.h"

namespace stowage::import {
namespace {

using wire::AttributeProto;
using wire::NodeProto;

/// The names of an activation's attributes, in the order of a FusedConv's parameters.
struct Activation {
  std::string_view type;
  std::vector<std::string_view> parameters{};
  bool is_of_gemm = false;  ///< FusedConv does not know it.
  std::int64_t since = 1;   ///< The operator set that defines it.
};

const Activation activations[] = {{"Relu"},
                                  {"Sigmoid"},
                                  {"Tanh"},
                                  {"LeakyRelu", {"alpha"}},
                                  {"HardSigmoid", {"alpha", "beta"}},
                                  {"Clip", {"min", "max"}},
                                  {"HardSwish", {}, false, 14},
                                  {"Elu", {"alpha"}, true},
                                  {"Selu", {"alpha", "gamma"}, true},
                                  {"Softplus", {}, true},
                                  {"Softsign", {}, true},
                                  {"ThresholdedRelu", {"alpha"}, true}};

/// Whether the graph has such operators, or a body of it.
bool has_fused(const wire::GraphProto& graph) {
  return std::ranges::any_of(graph.node, [](const NodeProto& node) {
    return node.domain == "com.microsoft" ||
           std::ranges::any_of(node.attribute, [](const AttributeProto& attribute) {
             const auto* const body = attribute.get<AttributeProto::Graph>();
             const auto* const bodies = attribute.get<std::vector<AttributeProto::Graph>>();
             return (body != nullptr && has_fused(**body)) ||
                    (bodies != nullptr &&
                     std::ranges::any_of(*bodies, [](const auto& it) { return has_fused(*it); }));
           });
  });
}

class Splitter {
 public:
  Splitter(wire::ModelProto& model, std::int64_t version) : made_{.model = model, .version = version} {}

  void run(wire::GraphProto& graph) {
    const auto outer = std::exchange(made_.graph, &graph);
    std::vector<NodeProto> before = std::exchange(made_.nodes, {});
    const KnownValues known(graph, known_);
    const auto around = std::exchange(known_, &known);
    for (NodeProto& node : graph.node) {
      if (is_attention(node) ? split_attention(made_, known, node) : split(node)) continue;
      for (AttributeProto& attribute : node.attribute) run_in(attribute);
      made_.nodes.push_back(std::move(node));
    }
    graph.node = std::exchange(made_.nodes, std::move(before));
    made_.graph = outer;
    known_ = around;
  }

 private:
  static bool is_attention(const NodeProto& node) {
    return node.domain == "com.microsoft" && (node.op_type == "Attention" || node.op_type == "QAttention" ||
                                              node.op_type == "MultiHeadAttention");
  }

  /// Bodies may be shared, so others are put in their place where they change.
  void run_in(AttributeProto& attribute) {
    const auto changed = [&](AttributeProto::Graph& body) {
      if (!has_fused(*body)) return;
      auto copy = std::make_shared<wire::GraphProto>(*body);
      run(*copy);
      body = std::move(copy);
    };
    if (auto* const body = std::get_if<AttributeProto::Graph>(&attribute.value)) changed(*body);
    if (auto* const bodies = std::get_if<std::vector<AttributeProto::Graph>>(&attribute.value))
      std::ranges::for_each(*bodies, changed);
  }

  /// Whether it has put other nodes in place of this one.
  bool split(const NodeProto& node) {
    if (node.domain != "com.microsoft" || node.output.size() != 1) return false;
    if (node.op_type == "FusedConv") return split_layer(node, "Conv");
    if (node.op_type == "FusedGemm") return split_layer(node, "Gemm");
    if (made_.version < first_with_dynamic_products) return false;
    if (node.op_type == "DynamicQuantizeMatMul") return split_dynamic_product(node);
    if (node.op_type == "MatMulIntegerToFloat") return split_integer_product(node);
    return false;
  }

  bool split_layer(const NodeProto& node, std::string_view type) {
    const auto activation = activation_of(node);
    if (!activation || node.input.size() < 2 || node.input.size() > 4) return false;
    NodeProto layer{.name = node.name, .op_type = type, .input = node.input};
    for (const AttributeProto& attribute : node.attribute)
      if (!attribute.name.starts_with("activation")) layer.attribute.push_back(attribute);
    const std::string_view added = node.input.size() > 3 ? node.input[3] : std::string_view();
    layer.input.resize(std::min<std::size_t>(node.input.size(), 3));
    std::string_view last = made_.add(std::move(layer));
    if (!added.empty()) last = made_.add({.name = node.name, .op_type = "Add", .input = {last, added}});
    if (!activation->op_type.empty()) {
      NodeProto end = *activation;
      end.input.insert(end.input.begin(), last);
      made_.add(std::move(end));
    }
    made_.name_last(node.output[0]);
    return true;
  }

  /// A node without its input; one without a type if there is no activation, none if it is unknown.
  std::optional<NodeProto> activation_of(const NodeProto& node) {
    NodeProto made{.name = node.name};
    const bool is_named =
        std::ranges::find(node.attribute, "activation", &AttributeProto::name) != node.attribute.end();
    if (!is_named) return made;
    const auto* const type = wire::attribute_of<std::string_view>(node, "activation");
    const auto* const known =
        type == nullptr ? std::end(activations) : std::ranges::find(activations, *type, &Activation::type);
    if (known == std::end(activations)) return std::nullopt;
    if (made_.version < known->since || (known->is_of_gemm && node.op_type != "FusedGemm"))
      return std::nullopt;
    made.op_type = known->type;
    for (std::size_t i = 0; i < known->parameters.size(); ++i) {
      const auto value = parameter_of(node, known->parameters[i], i);
      if (known->type == "Clip" && made_.version >= first_with_limits) {
        made.input.push_back(value ? made_.constant(*value) : std::string_view());
      } else if (value) {
        made.attribute.push_back({.name = known->parameters[i], .value = *value});
      }
    }
    return made;
  }

  /// FusedConv lists parameters, FusedGemm names them: activation_alpha.
  static std::optional<float> parameter_of(const NodeProto& node, std::string_view name, std::size_t i) {
    if (const auto* const all = wire::attribute_of<std::vector<float>>(node, "activation_params"))
      return i < all->size() ? std::optional((*all)[i]) : std::nullopt;
    const auto* const value = wire::attribute_of<float>(node, "activation_" + std::string(name));
    return value == nullptr ? std::nullopt : std::optional(*value);
  }

  /// a, b, the scale of b; maybe its zero point and a bias.
  bool split_dynamic_product(const NodeProto& node) {
    if (node.input.size() < 3) return false;
    const std::string_view scale = made_.keep_name(), zero = made_.keep_name();
    const std::string_view bytes =
        made_.add({.name = node.name, .op_type = "DynamicQuantizeLinear", .input = {node.input[0]}});
    std::vector<std::string_view>& outputs = made_.nodes.back().output;
    outputs.insert(outputs.end(), {scale, zero});
    made_.scaled_product(node.name, {bytes, node.input[1], zero, input_of(node, 3)}, {scale, node.input[2]},
                         input_of(node, 4));
    made_.name_last(node.output[0]);
    return true;
  }

  /// a, b, their scales; maybe their zero points and a bias.
  bool split_integer_product(const NodeProto& node) {
    if (node.input.size() < 4) return false;
    made_.scaled_product(node.name, {node.input[0], node.input[1], input_of(node, 4), input_of(node, 5)},
                         {node.input[2], node.input[3]}, input_of(node, 6));
    made_.name_last(node.output[0]);
    return true;
  }

  static constexpr std::int64_t first_with_dynamic_products = 11;
  static constexpr std::int64_t first_with_limits = 11;  ///< Of Clip as inputs.

  MadeNodes made_;
  const KnownValues* known_ = nullptr;  ///< Around the graph.
};

}  // namespace

void split_fused(wire::ModelProto& model) {
  if (!has_fused(*model.graph)) return;
  for (const wire::OperatorSetIdProto& set : model.opset_import)
    if (set.domain.empty() || set.domain == "ai.onnx") return Splitter(model, set.version).run(*model.graph);
}

}  // namespace stowage::import
