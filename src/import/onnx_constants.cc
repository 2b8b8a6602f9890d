// Constants can be compared without computing them. Each constant keeps the first of these that is
// known:
//
//   bytes      initializers, Constant, results that only known shapes decide
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

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "import/onnx_values.h"
#include "import/readers.h"
#include "import/recipes.h"
#include "operators/facts.h"

namespace stowage::import {
namespace {

using wire::AttributeProto;
using wire::TensorProto;

bool passes_on_its_bytes(const Operator& op) {
  return op.type == "Identity" || operators::facts_of(op.type).facts.keeps == operators::Keeps::elements;
}

/// True if its data is in another file, and so not part of the attribute.
bool has_external_data(const AttributeProto& attribute) {
  if (const auto* const tensor = attribute.get<AttributeProto::Tensor>()) return (*tensor)->is_external;
  if (const auto* const sparse = attribute.get<AttributeProto::SparseTensor>())
    return (*sparse)->values.is_external || (*sparse)->indices.is_external;
  const auto* const tensors = attribute.get<std::vector<AttributeProto::Tensor>>();
  return tensors != nullptr && std::ranges::any_of(*tensors, [](const auto& it) { return it->is_external; });
}

class ConstantReader {
 public:
  ConstantReader(const OnnxGraph& model, const Versions& versions, const Values& values, const Source& source,
                 bool in_place)
      : model_(model),
        versions_(versions),
        values_(values),
        files_(source.folder),
        in_place_(in_place && source.holder != nullptr) {
    if (in_place_) constants_.hold(source.holder);
  }

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
    if (data.data_type == element::string) return;
    const std::string place = describe(model_.graph, t);
    const auto raw = raw_data(data, place);
    if (data.is_external) {
      constants_.set(t, external_data(data, files_, place));
    } else if (raw && in_place_) {
      constants_.set(t, *raw);
    } else {
      constants_.set(t, array_of(data, files_, place).data);
    }
  }

  void read_results(const Operator& op, const wire::NodeProto& node) {
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (!op.outputs[i]) continue;
      const TensorId t = *op.outputs[i];
      if (i == 0 && (read_value(t, op, node) || read_element(t, op, node) || read_same(t, op))) continue;
      read_recipe(t, i, op, node);
    }
  }

  /// The value of a Constant, and what is known of the shape of a tensor that is no constant.
  bool read_value(TensorId t, const Operator& op, const wire::NodeProto& node) {
    const TensorProto* const constant = op.type == "Constant" ? value_in(node) : nullptr;
    if (constant != nullptr && constant->data_type != element::string) {
      read_tensor(t, *constant);
      return true;
    }
    const bool reads_values = std::ranges::all_of(
        op.inputs, [&](const auto& input) { return !input || is_constant(tensor(*input).kind); });
    const bool is_sized_by_data =
        op.type == "Compress" || op.type == "NonZero" || op.type == "Unique";  // no kernels
    if (op.type != "Constant" && op.type != "Shape" && op.type != "Size" && !is_sized_by_data && reads_values)
      return false;
    if (!values_[t]) return false;
    constants_.set(t, bytes_of(*values_[t]));
    return true;
  }

  bool read_element(TensorId t, const Operator& op, const wire::NodeProto& node) {
    constexpr int bits_of_a_byte = 8;
    if (op.type != "ConstantOfShape" || bits_of(tensor(t).dtype).value_or(0) < bits_of_a_byte) return false;
    std::vector<std::byte> element(sizeof(float));  // zero
    const TensorProto* const value = value_in(node);
    if (value != nullptr) element = array_of(*value, files_, describe(model_.graph, t)).data;
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

  void read_recipe(TensorId t, std::size_t output, const Operator& op, const wire::NodeProto& node) {
    Recipe recipe{fmt::format("{} {} {}", op.type, version_of(node, versions_), output), op.inputs};
    for (const auto& input : op.inputs) {
      const auto type = input ? type_in_words(tensor(*input)) : std::optional<std::string>("-");
      if (!type) return;
      recipe.operation += " " + *type;
    }
    std::vector<const AttributeProto*> attributes;
    for (const AttributeProto& attribute : node.attribute) attributes.push_back(&attribute);
    std::ranges::sort(attributes, {}, [](const AttributeProto* it) { return it->name; });
    for (const AttributeProto* const attribute : attributes) {
      if (has_external_data(*attribute)) return;
      recipe.operation += fmt::format("\n{} {}{} {}", attribute->name.size(), attribute->name,
                                      attribute->bytes.size(), attribute->bytes);
    }
    constants_.set_recipe(t, std::move(recipe));
  }

  const OnnxGraph& model_;
  const Versions& versions_;
  const Values& values_;
  NearbyFiles files_;
  bool in_place_;
  Constants constants_;
};

}  // namespace

std::int64_t version_of(const wire::NodeProto& node, const Versions& versions) {
  const auto version = versions.find(node.domain == "ai.onnx" ? "" : node.domain);
  return version == versions.end() ? 1 : version->second;
}

Constants constants_of(const OnnxGraph& model, const Versions& versions, const Values& values,
                       const Source& source, bool in_place) {
  return ConstantReader(model, versions, values, source, in_place).read();
}

}  // namespace stowage::import
