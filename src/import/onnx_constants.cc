// Idea. Constants can be compared without computing them. Each constant keeps the first of these that is
// known:
//
//   bytes      initializers, Constant, results of Shape and Size of known shapes
//   element    ConstantOfShape: one repeated element
//   the same   Identity, Reshape and similar operators have the bytes of their input
//   a recipe   any other folded operator: its type, attributes and inputs
//
// Two recipes that agree, down to equal bytes, are one computation, because random operators are never
// folded. The converse does not hold: equal bytes that are computed in different ways count as different. So
// do results of operators with bodies, and sparse initializers. Cost: linear in the bytes of initializers and
// attributes.

#include "import/onnx_constants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "import/onnx_values.h"
#include "import/readers.h"

namespace stowage::import {
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;

bool passes_on_its_bytes(const Operator& op) {
  return op.type == "Identity" || op.type == "Reshape" || op.type == "Flatten" || op.type == "Squeeze" ||
         op.type == "Unsqueeze";
}

/// True if its data is in another file, and so not part of the attribute.
bool has_external_data(const AttributeProto& attribute) {
  return is_external(attribute.t()) || is_external(attribute.sparse_tensor().values()) ||
         is_external(attribute.sparse_tensor().indices()) ||
         std::any_of(attribute.tensors().begin(), attribute.tensors().end(),
                     [](const TensorProto& tensor) { return is_external(tensor); });
}

/// "float32[2,3]"; none for tensors of text or of unknown shape.
std::optional<std::string> type_in_words(const Tensor& tensor) {
  if (!tensor.shape || !bits_of(tensor.dtype)) return std::nullopt;
  return fmt::format("{}[{}]", name_of(tensor.dtype), fmt::join(*tensor.shape, ","));
}

class ConstantReader {
 public:
  ConstantReader(const OnnxGraph& model, const Versions& versions,
                 const std::vector<std::optional<Value>>& values, const std::filesystem::path& folder)
      : model_(model), versions_(versions), values_(values), files_(folder) {}

  Constants read() {
    for (TensorId t = 0; t < model_.graph.tensors.size(); ++t) {
      if (model_.initializers[t] != nullptr) read_tensor(t, *model_.initializers[t]);
    }
    const auto orders = topological_orders(model_.graph);
    for (std::size_t s = 0; s < orders.size(); ++s) {  // bodies come after their operators
      for (const std::size_t o : orders[s]) {
        const Operator& op = model_.graph.subgraphs[s].operators[o];
        if (op.folded && op.bodies.empty()) read_results(op, *model_.nodes[s][o]);
      }
    }
    files_.hold_in(constants_);
    return std::move(constants_);
  }

 private:
  [[nodiscard]] const Tensor& tensor(TensorId t) const { return model_.graph.tensors[t]; }

  void read_tensor(TensorId t, const TensorProto& data) {
    if (data.data_type() == TensorProto::STRING) return;
    const std::string place = describe(model_.graph, t);
    if (is_external(data)) {
      constants_.set(t, external_data(data, files_, place));
    } else {
      constants_.set(t, array_of(data, {}, place).data);
    }
  }

  void read_results(const Operator& op, const onnx::NodeProto& node) {
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (!op.outputs[i]) continue;
      const TensorId t = *op.outputs[i];
      if (i == 0 && (read_value(t, op, node) || read_element(t, op, node) || read_same(t, op))) continue;
      read_recipe(t, i, op, node);
    }
  }

  /// The value of a Constant, and the known shape of another tensor.
  bool read_value(TensorId t, const Operator& op, const onnx::NodeProto& node) {
    if (op.type == "Constant") {
      for (const AttributeProto& attribute : node.attribute()) {
        if (attribute.name() != "value" || attribute.t().data_type() == TensorProto::STRING) continue;
        read_tensor(t, attribute.t());
        return true;
      }
    } else if (op.type != "Shape" && op.type != "Size") {
      return false;
    }
    if (!values_[t]) return false;
    read_tensor(t, to_proto(*values_[t]));
    return true;
  }

  bool read_element(TensorId t, const Operator& op, const onnx::NodeProto& node) {
    constexpr int bits_of_a_byte = 8;
    if (op.type != "ConstantOfShape" || bits_of(tensor(t).dtype).value_or(0) < bits_of_a_byte) return false;
    std::vector<std::byte> element(sizeof(float));  // zero
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.name() != "value" || is_external(attribute.t())) continue;
      element = array_of(attribute.t(), {}, describe(model_.graph, t)).data;
    }
    if (bits_of_a_byte * static_cast<int>(element.size()) != *bits_of(tensor(t).dtype)) return false;
    constants_.set_element(t, std::move(element));
    return true;
  }

  bool read_same(TensorId t, const Operator& op) {
    if (!passes_on_its_bytes(op) || op.inputs.empty() || !op.inputs[0]) return false;
    const Tensor& input = tensor(*op.inputs[0]);
    if (input.dtype != tensor(t).dtype || input.bytes != tensor(t).bytes) return false;
    constants_.set_same(t, *op.inputs[0]);
    return true;
  }

  void read_recipe(TensorId t, std::size_t output, const Operator& op, const onnx::NodeProto& node) {
    Recipe recipe{fmt::format("{} {} {}", op.type, version_of(node, versions_), output), op.inputs};
    for (const auto& input : op.inputs) {
      const auto type = input ? type_in_words(tensor(*input)) : std::optional<std::string>("-");
      if (!type) return;
      recipe.operation += " " + *type;
    }
    std::vector<const AttributeProto*> attributes;
    for (const AttributeProto& attribute : node.attribute()) attributes.push_back(&attribute);
    std::ranges::sort(attributes, {}, [](const AttributeProto* it) { return it->name(); });
    for (const AttributeProto* const attribute : attributes) {
      if (has_external_data(*attribute)) return;
      const std::string said = attribute->SerializeAsString();
      recipe.operation += fmt::format("\n{} {}", said.size(), said);
    }
    constants_.set_recipe(t, std::move(recipe));
  }

  const OnnxGraph& model_;
  const Versions& versions_;
  const std::vector<std::optional<Value>>& values_;
  NearbyFiles files_;
  Constants constants_;
};

}  // namespace

std::int64_t version_of(const onnx::NodeProto& node, const Versions& versions) {
  const auto version = versions.find(node.domain() == "ai.onnx" ? "" : node.domain());
  return version == versions.end() ? 1 : version->second;
}

Constants constants_of(const OnnxGraph& model, const Versions& versions,
                       const std::vector<std::optional<Value>>& values, const std::filesystem::path& folder) {
  return ConstantReader(model, versions, values, folder).read();
}

}  // namespace stowage::import
