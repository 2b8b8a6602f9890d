// onnxruntime joins operators when it optimises a model: to run, not to save memory. They become those of the standard
// again, for which everything is known:
//
//     FusedConv, FusedGemm                            Conv or Gemm, Add, an activation
//     DynamicQuantizeMatMul, MatMulIntegerToFloat     DynamicQuantizeLinear, MatMulInteger, Cast, Mul, Add
//
// An activation may write over its input, so a plan is no larger. Integers of dynamic products, which onnxruntime has in
// memory of its own, are in the plan. Source: the document ContribOperators.md of onnxruntime. Cost: linear.

#include "import/onnx_fused.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operators/shapes.h"

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

class Splitter {
 public:
  Splitter(wire::ModelProto& model, std::int64_t version) : model_(model), version_(version) {}

  void run(wire::GraphProto& graph) {
    const auto outer = std::exchange(graph_, &graph);
    std::vector<NodeProto> before = std::exchange(nodes_, {});
    for (NodeProto& node : graph.node) {
      if (split(node)) continue;
      for (AttributeProto& attribute : node.attribute) run_in(attribute);
      nodes_.push_back(std::move(node));
    }
    graph.node = std::exchange(nodes_, std::move(before));
    graph_ = outer;
  }

 private:
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

  static bool has_fused(const wire::GraphProto& graph) {
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

  /// Whether it has put other nodes in place of this one.
  bool split(const NodeProto& node) {
    if (node.domain != "com.microsoft" || node.output.size() != 1) return false;
    if (node.op_type == "FusedConv") return split_layer(node, "Conv");
    if (node.op_type == "FusedGemm") return split_layer(node, "Gemm");
    if (version_ < first_with_dynamic_products) return false;
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
    std::string_view last = add(std::move(layer));
    if (!added.empty()) last = add({.name = node.name, .op_type = "Add", .input = {last, added}});
    if (!activation->op_type.empty()) {
      NodeProto end = *activation;
      end.input.insert(end.input.begin(), last);
      add(std::move(end));
    }
    nodes_.back().output = node.output;
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
    if (version_ < known->since || (known->is_of_gemm && node.op_type != "FusedGemm")) return std::nullopt;
    made.op_type = known->type;
    for (std::size_t i = 0; i < known->parameters.size(); ++i) {
      const auto value = parameter_of(node, known->parameters[i], i);
      if (known->type == "Clip" && version_ >= first_with_limits) {
        made.input.push_back(value ? constant(*value) : std::string_view());
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
    const std::string_view scale = keep_name(), zero = keep_name();
    const std::string_view bytes =
        add({.name = node.name, .op_type = "DynamicQuantizeLinear", .input = {node.input[0]}});
    nodes_.back().output.insert(nodes_.back().output.end(), {scale, zero});
    return scaled_product(node, {bytes, node.input[1], zero, input_of(node, 3)}, {scale, node.input[2]},
                          input_of(node, 4));
  }

  /// a, b, their scales; maybe their zero points and a bias.
  bool split_integer_product(const NodeProto& node) {
    if (node.input.size() < 4) return false;
    return scaled_product(node, {node.input[0], node.input[1], input_of(node, 4), input_of(node, 5)},
                          {node.input[2], node.input[3]}, input_of(node, 6));
  }

  bool scaled_product(const NodeProto& node, std::vector<std::string_view> product,
                      const std::vector<std::string_view>& scales, std::string_view bias) {
    while (product.back().empty()) product.pop_back();
    const std::string_view sums =
        add({.name = node.name, .op_type = "MatMulInteger", .input = std::move(product)});
    const std::string_view reals =
        add({.name = node.name,
             .op_type = "Cast",
             .input = {sums},
             .attribute = {{.name = "to", .value = std::int64_t{operators::element::float32}}}});
    const std::string_view scale = add({.name = node.name, .op_type = "Mul", .input = scales});
    const std::string_view result = add({.name = node.name, .op_type = "Mul", .input = {reals, scale}});
    if (!bias.empty()) add({.name = node.name, .op_type = "Add", .input = {result, bias}});
    nodes_.back().output = node.output;
    return true;
  }

  static std::string_view input_of(const NodeProto& node, std::size_t i) {
    return i < node.input.size() ? node.input[i] : std::string_view();
  }

  /// Appends a node and gives the name of its output.
  std::string_view add(NodeProto node) {
    node.output = {keep_name()};
    nodes_.push_back(std::move(node));
    return nodes_.back().output[0];
  }

  std::string_view keep_name() {
    return model_.made_names.emplace_back("stowage.fused." + std::to_string(++made_));
  }

  std::string_view constant(float value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    const std::string_view name = keep_name();
    graph_->initializer.push_back({.name = name,
                                   .data_type = operators::element::float32,
                                   .raw_data = model_.made_names.emplace_back(std::move(bytes))});
    return name;
  }

  static constexpr std::int64_t first_with_dynamic_products = 11;
  static constexpr std::int64_t first_with_limits = 11;  ///< Of Clip as inputs.

  wire::ModelProto& model_;
  wire::GraphProto* graph_ = nullptr;
  std::int64_t version_;
  std::vector<NodeProto> nodes_{};
  std::size_t made_ = 0;
};

}  // namespace

void split_fused(wire::ModelProto& model) {
  for (const wire::OperatorSetIdProto& set : model.opset_import)
    if (set.domain.empty() || set.domain == "ai.onnx") return Splitter(model, set.version).run(*model.graph);
}

}  // namespace stowage::import
