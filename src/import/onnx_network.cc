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

}  // namespace

Network network_of(OnnxGraph model, const Versions& versions, Constants constants,
                   const std::filesystem::path& folder) {
  Network network;
  for (const auto& nodes : model.nodes) {
    auto& details = network.details.emplace_back();
    for (const onnx::NodeProto* const node : nodes)
      details.push_back({attributes_of(*node, folder), version_of(*node, versions)});
  }
  network.quantizations.resize(model.graph.tensors.size());
  network.input.constants = std::move(constants);
  network.input.content = std::move(model.graph);
  return network;
}

}  // namespace stowage::import
