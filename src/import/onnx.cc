#include "import/onnx.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "import/onnx_constants.h"
#include "import/onnx_copies.h"
#include "import/onnx_functions.h"
#include "import/onnx_graph.h"
#include "import/onnx_quantized.h"
#include "import/onnx_shapes.h"
#include "import/onnx_values.h"
#include "import/onnx_wire.h"
#include "import/readers.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

wire::ModelProto parse(std::string_view bytes) {
  wire::ModelProto model = wire::parse_model(bytes);
  if (!model.graph) throw Error("", "has no graph, expected an ONNX model with one");
  return model;
}

Versions versions_of(const wire::ModelProto& model) {
  Versions versions;
  for (const wire::OperatorSetIdProto& set : model.opset_import) {
    if (set.version < 1 || set.version > std::numeric_limits<int>::max()) {
      throw Error("operator set " + base::quoted(set.domain),
                  fmt::format("has version {}, expected at least 1", set.version));
    }
    versions[std::string(set.domain == "ai.onnx" ? "" : set.domain)] = static_cast<int>(set.version);
  }
  constexpr std::int64_t first_with_operator_sets = 3;
  if (versions.empty() && model.ir_version < first_with_operator_sets) versions[""] = 1;
  return versions;
}

void collect_dimension_names(const wire::GraphProto& graph, std::set<std::string_view>& names) {
  for (const auto* values : {&graph.input, &graph.output, &graph.value_info}) {
    for (const wire::ValueInfoProto& value : *values) {
      if (!value.type || !value.type->shape) continue;
      for (const wire::Dimension& dimension : *value.type->shape) names.insert(dimension.name);
    }
  }
}

/// Throws for options that name something that the model does not have.
void expect_known_names(const OnnxGraph& model, const ImportOptions& options) {
  std::set<std::string_view> dimensions;
  for (const wire::GraphProto* const proto : model.protos) collect_dimension_names(*proto, dimensions);
  dimensions.erase("");  // unnamed dimensions
  std::set<std::string_view> tensors;
  if (!options.shapes.empty() || !options.bounds.empty()) {
    for (const Tensor& tensor : model.graph.tensors) tensors.insert(tensor.name);
  }
  tensors.erase("");
  const auto expect = [](const auto& given, const std::set<std::string_view>& known, std::string_view flag,
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
  const auto expect = [](std::string_view flag, const std::string& name, const GivenSize& size) {
    if (size.most < 0 || size.most > largest_value)
      throw UsageError(fmt::format("{} {}: {} is no size, expected 0 to {}", flag, base::quoted(name),
                                   size.most, largest_value));
    if (size.least && (*size.least < 0 || *size.least > size.most))
      throw UsageError(
          fmt::format("{} {}: {}..{} is no range of sizes, expected the smallest before the largest", flag,
                      base::quoted(name), *size.least, size.most));
  };
  for (const auto& [name, size] : options.dims) expect("--dim", name, size);
  for (const auto& [name, shape] : options.shapes) {
    for (const GivenSize& size : shape) expect("--shape", name, size);
  }
  for (const auto& [name, size] : options.bounds) expect("--bound", name, size);
}

/// A model after reading; the parts of the graph point into the file's model.
struct Read {
  wire::ModelProto proto{};
  Versions versions{};
  OnnxGraph model{};
  std::vector<std::optional<Value>> values{};  ///< Per tensor; only values that shapes depend on.
};

std::unique_ptr<Read> read(const Source& source, const ImportOptions& options) {
  auto result = std::make_unique<Read>();
  result->proto = parse(source.bytes);
  result->versions = versions_of(result->proto);
  inline_functions(result->proto);
  NearbyFiles files(source.folder);
  join_quantized(result->proto, files);
  OnnxGraph& model = result->model;
  model = resolve_names(*result->proto.graph);
  expect_known_names(model, options);
  expect_sizes(options);
  result->values = infer_shapes(model, result->versions, source.folder, options);
  find_copies(model, result->versions, result->values, options);
  add_states(model.graph, options.states);
  add_scratch(model.graph, options.scratch);
  validate(model.graph);
  return result;
}

Attributes attributes_of(const wire::NodeProto& node, NearbyFiles& files) {
  Attributes attributes;
  for (const wire::AttributeProto& it : node.attribute) {
    std::string name(it.name);
    std::visit(
        [&]<typename Held>(const Held& value) {
          if constexpr (std::is_same_v<Held, std::string_view>) {
            attributes.set(std::move(name), std::string(value));
          } else if constexpr (std::is_same_v<Held, std::vector<std::string_view>>) {
            attributes.set(std::move(name), std::vector<std::string>(value.begin(), value.end()));
          } else if constexpr (std::is_same_v<Held, std::int64_t> || std::is_same_v<Held, float> ||
                               std::is_same_v<Held, Shape> || std::is_same_v<Held, std::vector<float>>) {
            attributes.set(std::move(name), value);
          } else if constexpr (std::is_same_v<Held, wire::AttributeProto::Tensor>) {
            if (value->data_type == wire::element::string) return;
            Array array = array_of(*value, files, "attribute " + base::quoted(name));
            attributes.set(std::move(name), std::move(array));
          }
          // Bodies are subgraphs; kernels do not use the other kinds.
        },
        it.value);
  }
  return attributes;
}

/// A complete graph with its constants and the attributes of its nodes.
Network network_of(OnnxGraph model, const Versions& versions, Constants constants,
                   const std::filesystem::path& folder) {
  Network network;
  NearbyFiles files(folder);
  for (const auto& nodes : model.nodes) {
    auto& details = network.details.emplace_back();
    for (const wire::NodeProto* const node : nodes)
      details.push_back({attributes_of(*node, files), version_of(*node, versions)});
  }
  network.quantizations.resize(model.graph.tensors.size());
  network.input.constants = std::move(constants);
  network.input.content = std::move(model.graph);
  return network;
}

}  // namespace

Input read_onnx(const Source& source, const ImportOptions& options) {
  const std::unique_ptr<Read> it = read(source, options);
  Input input;
  if (options.constants) input.constants = constants_of(it->model, it->versions, it->values, source, true);
  input.content = std::move(it->model.graph);
  return input;
}

Network read_onnx_network(const Source& source, const ImportOptions& options) {
  const std::unique_ptr<Read> it = read(source, options);
  Constants constants = constants_of(it->model, it->versions, it->values, source, false);
  return network_of(std::move(it->model), it->versions, std::move(constants), source.folder);
}

}  // namespace stowage::import
