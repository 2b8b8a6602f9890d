#include "import/onnx.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "import/onnx_constants.h"
#include "import/onnx_copies.h"
#include "import/onnx_graph.h"
#include "import/onnx_shapes.h"
#include "import/onnx_values.h"
#include "import/readers.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

onnx::ModelProto parse(std::string_view bytes) {
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error("", "is larger than 2 GiB, the most an ONNX file can be; keep weights in external data");
  }
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw Error("", "is not an ONNX model, or cut short");
  if (!model.has_graph()) throw Error("", "has no graph, expected an ONNX model with one");
  return model;
}

Versions versions_of(const onnx::ModelProto& model) {
  Versions versions;
  for (const onnx::OperatorSetIdProto& set : model.opset_import()) {
    if (set.version() < 1 || set.version() > std::numeric_limits<int>::max()) {
      throw Error("operator set " + base::quoted(set.domain()),
                  fmt::format("has version {}, expected at least 1", set.version()));
    }
    versions[set.domain() == "ai.onnx" ? "" : set.domain()] = static_cast<int>(set.version());
  }
  constexpr std::int64_t first_with_operator_sets = 3;
  if (versions.empty() && model.ir_version() < first_with_operator_sets) versions[""] = 1;
  return versions;
}

void collect_dimension_names(const onnx::GraphProto& graph, std::set<std::string>& names) {
  for (const auto* values : {&graph.input(), &graph.output(), &graph.value_info()}) {
    for (const onnx::ValueInfoProto& value : *values) {
      for (const auto& dimension : value.type().tensor_type().shape().dim())
        names.insert(dimension.dim_param());
    }
  }
}

/// Throws for options that name something that the model does not have.
void expect_known_names(const OnnxGraph& model, const ImportOptions& options) {
  std::set<std::string> dimensions;
  for (const onnx::GraphProto* const proto : model.protos) collect_dimension_names(*proto, dimensions);
  dimensions.erase("");  // unnamed dimensions
  std::set<std::string> tensors;
  for (const Tensor& tensor : model.graph.tensors) tensors.insert(tensor.name);
  tensors.erase("");
  const auto expect = [](const auto& given, const std::set<std::string>& known, std::string_view flag,
                         std::string_view what) {
    for (const auto& [name, value] : given) {
      if (!known.contains(name))
        throw UsageError(fmt::format("{}: the model has no {} {}", flag, what, base::quoted(name)));
    }
  };
  expect(options.dims, dimensions, "--dim", "symbolic dimension");
  expect(options.shapes, tensors, "--shape", "tensor");
  expect(options.bounds, tensors, "--bound", "tensor");
}

void expect_sizes(const ImportOptions& options) {
  const auto expect = [](std::string_view flag, const std::string& name, std::int64_t size) {
    if (size < 0 || size > largest_value)
      throw UsageError(fmt::format("{} {}: {} is no size, expected 0 to {}", flag, base::quoted(name), size,
                                   largest_value));
  };
  for (const auto& [name, size] : options.dims) expect("--dim", name, size);
  for (const auto& [name, shape] : options.shapes) {
    for (const std::int64_t size : shape) expect("--shape", name, size);
  }
  for (const auto& [name, size] : options.bounds) expect("--bound", name, size);
}

/// A model after reading; the parts of the graph point into the file's model.
struct Read {
  onnx::ModelProto proto{};
  Versions versions{};
  OnnxGraph model{};
  std::vector<std::optional<Value>> values{};  ///< Per tensor; only values that shapes depend on.
};

std::unique_ptr<Read> read(std::string_view bytes, const ImportOptions& options) {
  auto result = std::make_unique<Read>();
  result->proto = parse(bytes);
  result->versions = versions_of(result->proto);
  inline_functions(result->proto);
  OnnxGraph& model = result->model;
  model = resolve_names(result->proto.graph());
  expect_known_names(model, options);
  expect_sizes(options);
  result->values = infer_shapes(model, result->versions, options);
  find_copies(model, result->versions, result->values, options);
  add_states(model.graph, options.states);
  add_scratch(model.graph, options.scratch);
  validate(model.graph);
  return result;
}

Constants constants_of(const Read& it, const std::filesystem::path& folder) {
  return constants_of(it.model, it.versions, it.values, folder);
}

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
        break;  // bodies are subgraphs; kernels do not use the other kinds
    }
  }
  return attributes;
}

/// A complete graph with its constants and the attributes of its nodes.
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

}  // namespace

Input read_onnx(const Source& source, const ImportOptions& options) {
  const std::unique_ptr<Read> it = read(source.bytes, options);
  Input input;
  if (options.constants) input.constants = constants_of(*it, source.folder);
  input.content = std::move(it->model.graph);
  return input;
}

Network read_onnx_network(const Source& source, const ImportOptions& options) {
  const std::unique_ptr<Read> it = read(source.bytes, options);
  Constants constants = constants_of(*it, source.folder);
  return network_of(std::move(it->model), it->versions, std::move(constants), source.folder);
}

}  // namespace stowage::import
