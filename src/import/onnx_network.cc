#include "import/onnx_network.h"

#include <utility>

#include "base/text.h"
#include "import/onnx_arrays.h"

namespace stowage::import {
namespace {

Attributes attributes_of(const onnx::NodeProto& node, const std::filesystem::path& folder) {
  Attributes attributes;
  for (const onnx::AttributeProto& it : node.attribute()) {
    using Proto = onnx::AttributeProto;
    switch (it.type()) {
      case Proto::INT:
        attributes.set(it.name(), it.i());
        break;
      case Proto::FLOAT:
        attributes.set(it.name(), it.f());
        break;
      case Proto::STRING:
        attributes.set(it.name(), it.s());
        break;
      case Proto::INTS:
        attributes.set(it.name(), std::vector<std::int64_t>(it.ints().begin(), it.ints().end()));
        break;
      case Proto::FLOATS:
        attributes.set(it.name(), std::vector<float>(it.floats().begin(), it.floats().end()));
        break;
      case Proto::STRINGS:
        attributes.set(it.name(), std::vector<std::string>(it.strings().begin(), it.strings().end()));
        break;
      case Proto::TENSOR:
        if (it.t().data_type() != onnx::TensorProto::STRING)
          attributes.set(it.name(), array_of(it.t(), folder, "attribute " + base::quoted(it.name())));
        break;
      default:
        break;  // bodies are subgraphs; kernels know nothing of the other kinds
    }
  }
  return attributes;
}

std::int64_t version_of(const onnx::NodeProto& node, const std::map<std::string, int>& versions) {
  const auto version = versions.find(node.domain() == "ai.onnx" ? "" : node.domain());
  return version == versions.end() ? 1 : version->second;
}

}  // namespace

Constants constants_of(const OnnxGraph& model, const std::filesystem::path& folder) {
  Constants constants;
  NearbyFiles files(folder);
  for (TensorId t = 0; t < model.graph.tensors.size(); ++t) {
    const onnx::TensorProto* const initializer = model.initializers[t];
    if (initializer == nullptr || initializer->data_type() == onnx::TensorProto::STRING) continue;
    const std::string place = describe(model.graph, t);
    if (is_external(*initializer)) {
      constants.set(t, external_data(*initializer, files, place));
    } else {
      constants.set(t, array_of(*initializer, folder, place).data);
    }
  }
  files.hold_in(constants);
  return constants;
}

Network network_of(OnnxGraph model, const std::map<std::string, int>& versions,
                   const std::filesystem::path& folder) {
  Network network;
  for (const auto& nodes : model.nodes) {
    auto& details = network.details.emplace_back();
    for (const onnx::NodeProto* const node : nodes)
      details.push_back({attributes_of(*node, folder), version_of(*node, versions)});
  }
  network.quantizations.resize(model.graph.tensors.size());
  network.input.constants = constants_of(model, folder);
  network.input.content = std::move(model.graph);
  return network;
}

}  // namespace stowage::import
