#include "stowage/model_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/checked.h"
#include "base/file.h"
#include "import/onnx_graph.h"
#include "import/onnx_types.h"
#include "import/onnx_values.h"
#include "import/onnx_wire.h"
#include "stowage/error.h"

namespace stowage {
namespace {

using import::OnnxGraph;
namespace wire = import::wire;

/// "float32[batch,3,?]".
std::string words_of(const wire::TypeProto& type) {
  if (type.kind != wire::TypeProto::Kind::tensor) return "no tensor";
  const auto dtype = import::known_dtype(type.elem_type);
  std::string text(dtype ? name_of(*dtype) : "of unknown type ");
  if (!type.shape) return text + " of unknown rank";
  text += "[";
  for (const wire::Dimension& it : *type.shape) {
    if (text.back() != '[') text += ",";
    text += !it.name.empty()           ? std::string(it.name)
            : it.size.value_or(-1) < 0 ? "?"
                                       : std::to_string(*it.size);
  }
  return text + "]";
}

std::vector<ModelFacts::Value> values_of(const std::vector<wire::ValueInfoProto>& values,
                                         const OnnxGraph& model, bool are_inputs) {
  std::vector<ModelFacts::Value> found;
  const std::vector<TensorId>& inputs = model.graph.subgraphs[0].inputs;
  for (const wire::ValueInfoProto& value : values) {
    const auto is_it = [&](TensorId t) { return model.graph.tensors[t].name == value.name; };
    if (are_inputs && std::ranges::none_of(inputs, is_it)) continue;
    found.push_back({std::string(value.name), value.type ? words_of(*value.type) : ""});
  }
  return found;
}

std::vector<OpenSize> open_inputs_of(const OnnxGraph& model) {
  std::vector<OpenSize> sizes;
  for (const TensorId input : model.graph.subgraphs[0].inputs) {
    const wire::TypeProto* const declared = model.declared[input];
    if (declared == nullptr || !declared->shape) continue;
    for (std::size_t axis = 0; axis < declared->shape->size(); ++axis) {
      const wire::Dimension& it = (*declared->shape)[axis];
      if (!it.name.empty())
        import::note_open_size(std::string(it.name), {model.graph.tensors[input].name, axis}, sizes);
    }
  }
  return sizes;
}

Bytes bytes_of(const wire::TensorProto& weight) {
  const auto dtype = import::known_dtype(weight.data_type);
  const auto bits = dtype ? bits_of(*dtype) : std::nullopt;
  std::optional<std::int64_t> all = bits ? std::optional<std::int64_t>(*bits) : std::nullopt;
  for (const std::int64_t extent : weight.dims)
    all = all && extent >= 0 ? base::checked_multiply(*all, extent) : std::nullopt;
  constexpr std::int64_t bits_of_byte = 8;
  return all ? *all / bits_of_byte + (*all % bits_of_byte != 0 ? 1 : 0) : 0;
}

std::vector<ModelFacts::Count> operators_of(const Graph& graph) {
  std::map<std::string, std::size_t> counts;
  for (const Subgraph& subgraph : graph.subgraphs)
    for (const Operator& op : subgraph.operators) ++counts[op.type];
  std::vector<ModelFacts::Count> operators;
  for (const auto& [type, count] : counts) operators.push_back({type, count});
  std::ranges::stable_sort(operators, std::ranges::greater{}, &ModelFacts::Count::count);
  return operators;
}

ModelFacts facts_of(std::string_view bytes) {
  const wire::ModelProto proto = wire::parse_model(bytes);
  if (!proto.graph) throw Error("", "has no graph, expected an ONNX model with one");
  const OnnxGraph model = import::resolve_names(*proto.graph);
  ModelFacts facts{.name = std::string(proto.graph->name),
                   .inputs = values_of(proto.graph->input, model, true),
                   .outputs = values_of(proto.graph->output, model, false),
                   .open = open_inputs_of(model),
                   .operators = operators_of(model.graph),
                   .bodies = model.graph.subgraphs.size() - 1};
  for (const wire::OperatorSetIdProto& set : proto.opset_import)
    facts.operator_sets.push_back(
        {std::string(set.domain),
         static_cast<int>(std::clamp<std::int64_t>(set.version, 0, std::numeric_limits<int>::max()))});
  const auto count = [&](const wire::TensorProto* weight) {
    if (weight == nullptr) return;
    ++facts.weights;
    facts.weight_bytes =
        std::min(largest_value, facts.weight_bytes + std::min(largest_value, bytes_of(*weight)));
  };
  for (const wire::TensorProto* const weight : model.initializers) count(weight);
  for (const auto& nodes : model.nodes)
    for (const wire::NodeProto* const node : nodes)
      if (node->op_type == "Constant") count(import::value_in(*node));
  return facts;
}

}  // namespace

ModelFacts facts_of_model(const std::filesystem::path& file) {
  const base::InputFile bytes(file);
  try {
    return facts_of(bytes.bytes());
  } catch (const Error& error) {
    throw error.in_file(file.string());
  }
}

}  // namespace stowage
