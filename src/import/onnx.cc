#include "import/onnx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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
#include "import/onnx_branches.h"
#include "import/onnx_constants.h"
#include "import/onnx_copies.h"
#include "import/onnx_data_shapes.h"
#include "import/onnx_functions.h"
#include "import/onnx_fused.h"
#include "import/onnx_given.h"
#include "import/onnx_graph.h"
#include "import/onnx_invariants.h"
#include "import/onnx_quantized.h"
#include "import/onnx_sequences.h"
#include "import/onnx_shapes.h"
#include "import/onnx_values.h"
#include "import/onnx_wire.h"
#include "import/open_sizes.h"
#include "import/readers.h"
#include "operators/states.h"
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

/// A model after reading; the parts of the graph point into the file's model.
struct Read {
  std::shared_ptr<const void> holder{};  ///< Of the file; null if only the caller knows it.
  wire::ModelProto proto{};
  Versions versions{};
  OnnxGraph model{};
  std::string note{};                           ///< As Input::note.
  std::vector<Type> types{};                    ///< Per tensor.
  std::vector<std::optional<Value>> values{};   ///< Per tensor; only values that shapes depend on.
  std::vector<std::vector<DecidedIf>> taken{};  ///< Branches, one set after the other.

  /// The graph without sizes, and with the branches that are taken.
  [[nodiscard]] OnnxGraph resolved() const {
    OnnxGraph graph = resolve_names(*proto.graph);
    for (const auto& decided : taken) take_branches(graph, decided);
    return graph;
  }
  void take(std::vector<DecidedIf> decided) {
    taken.push_back(std::move(decided));
    model = resolved();
  }
  void take_none() {
    taken.clear();
    model = resolved();
  }
};

/// Takes the values away from inputs that the caller gives, as runtimes do since version 4 of the format; returns the
/// names of those.
std::set<std::string> inputs_of_caller(wire::ModelProto& model, const ImportOptions& options) {
  constexpr std::int64_t first_with_values_of_inputs = 4;
  std::set<std::string> names;
  if (model.ir_version < first_with_values_of_inputs) return names;
  wire::GraphProto& graph = *model.graph;
  for (const wire::ValueInfoProto& input : graph.input) {
    const std::string name(input.name);
    if (!options.inputs.contains(name) && !options.shapes.contains(name) && !options.values.contains(name))
      continue;
    const auto taken =
        std::erase_if(graph.initializer, [&](const auto& it) { return it.name == input.name; }) +
        std::erase_if(graph.sparse_initializer, [&](const auto& it) { return it.values.name == input.name; });
    if (taken > 0) names.insert(name);
  }
  return names;
}

/// Throws Error if a round makes a value that is larger than the largest before a round, whatever that is.
void expect_rounds_hold(const Graph& graph, const std::vector<GivenRound>& rounds) {
  for (const auto& [before, after] : rounds) {
    const auto& most = graph.tensors[before].shape;
    const Tensor& result = graph.tensors[after];
    if (!most || !result.shape || result.shape->size() != most->size()) continue;
    for (std::size_t d = 0; d < most->size(); ++d) {
      const bool is_open = std::ranges::find(result.open, d, &OpenExtent::axis) != result.open.end();
      if (is_open || (*result.shape)[d] <= (*most)[d]) continue;
      throw Error(describe(graph, before),
                  fmt::format("is at most [{}] by --shape, but every round makes [{}], {}; give the largest",
                              fmt::join(*most, ","), fmt::join(*result.shape, ","), describe(graph, after)));
    }
  }
}

/// The options without sizes that differ from run to run, or that the network may compute smaller.
ImportOptions without_open_sizes(const OnnxGraph& model, const ImportOptions& options) {
  std::set<std::string> inputs;
  std::set<std::string> dims;
  for (const TensorId input : model.graph.subgraphs[0].inputs) {
    inputs.insert(model.graph.tensors[input].name);
    if (model.declared[input] == nullptr || !model.declared[input]->shape) continue;
    for (const wire::Dimension& dimension : *model.declared[input]->shape) dims.emplace(dimension.name);
  }
  ImportOptions sure = options;
  std::erase_if(sure.dims, [&](const auto& it) { return is_range(it.second) || !dims.contains(it.first); });
  std::erase_if(sure.shapes, [&](const auto& it) {
    return !inputs.contains(it.first) || std::ranges::any_of(it.second, is_range);
  });
  return sure;
}

/// Takes the branches that are known, and then those that are known by these, as long as there are some. Returns the
/// types with all of them; none if a branch is not sure.
std::optional<Inferred> take_known_branches(Read& it, const Source& source, const ImportOptions& options,
                                            const Reading& reading) {
  for (;;) {
    Inferred inferred = infer_shapes(it.model, it.versions, source.folder, options, reading);
    if (inferred.are_rounds_unlike) return std::nullopt;
    if (inferred.decided.empty()) return inferred;
    if (inferred.is_drawn && !reading.leaves_sizes_open) return std::nullopt;
    it.take(std::move(inferred.decided));
  }
}

/// The same, in bodies of loops only if all rounds take the same branches.
std::optional<Inferred> take_sure_branches(Read& it, const Source& source, const ImportOptions& options,
                                           Reading reading) {
  for (const bool in_rounds : {true, false}) {
    reading.takes_branches_of_rounds = in_rounds;
    if (auto inferred = take_known_branches(it, source, options, reading)) return inferred;
    it.take_none();
  }
  return std::nullopt;
}

bool has_branches(const Graph& graph) {
  return std::ranges::any_of(graph.subgraphs, [](const Subgraph& subgraph) {
    return std::ranges::any_of(subgraph.operators, [](const Operator& op) { return op.type == "If"; });
  });
}

/// Reads a model whose sizes are open: at the largest and at others, see open_sizes.cc.
class OpenReader {
 public:
  OpenReader(Read& it, const Source& source, const ImportOptions& options)
      : it_(it), source_(source), options_(options) {}

  /// What the model rejects of ranges that are given, for a note.
  std::string read(const Inferred& largest) {
    if (!largest.own.empty()) own_ = &largest.own;
    varying_.resize(largest.values.size());
    if (has_ranges(largest.ranges)) expect_accepted(at_largest(largest.ranges));
    const ReadAt compare = [&](const ImportOptions& exact, Turns& turns) {
      expect_accepted(exact);
      return compare_values(exact, largest.values, turns);
    };
    const std::string rejected =
        read_at_others(largest.ranges, largest.is_drawn, turns_of(largest.values), compare);
    Graph graph = read_again(options_, 0).graph;
    std::vector<Graph> others;
    for (const auto& [number, exact] : accepted_) {
      others.push_back(read_again(exact, number).graph);
      if (others.size() < readings_at_once) continue;
      graph = hold_for_all(std::move(graph), others);
      others.clear();
    }
    it_.model = read_again(options_, 0);
    it_.model.graph = hold_for_all(std::move(graph), others);
    return have_same_ranges(largest.ranges, options_) ? rejected : "";
  }

 private:
  /// Throws Error if the model rejects these sizes. Branches that only they decide are left open elsewhere, and what is in
  /// one that may not run is no reason to reject anything.
  void expect_accepted(const ImportOptions& exact) {
    if (!has_branches(it_.model.graph)) return;
    Read alone = it_;
    const Reading reading{.number = numbers_ + 1, .own = own_, .takes_branches = true};
    (void)take_sure_branches(alone, source_, exact, reading);
  }

  [[nodiscard]] Turns turns_of(const std::vector<std::optional<Value>>& values) const {
    return turns_in(it_.model.graph, [&](TensorId t) { return values[t] ? &*values[t] : nullptr; });
  }

  /// Notes the values that are others at these sizes. Returns whether something was drawn.
  bool compare_values(const ImportOptions& exact, const std::vector<std::optional<Value>>& values,
                      Turns& turns) {
    OnnxGraph model = it_.resolved();
    const Reading reading{.number = ++numbers_, .own = own_};
    const Inferred other = infer_shapes(model, it_.versions, source_.folder, exact, reading);
    accepted_.emplace_back(reading.number, exact);
    turns = turns_of(other.values);
    for (TensorId t = 0; t < varying_.size(); ++t)
      varying_[t] = varying_[t] || (values[t] && values[t] != other.values[t]);
    return other.is_drawn;
  }

  OnnxGraph read_again(const ImportOptions& exact, std::size_t number) {
    OnnxGraph model = it_.resolved();
    const Reading reading{.number = number, .varying = varying_, .own = number == 0 ? nullptr : own_};
    Inferred inferred = infer_shapes(model, it_.versions, source_.folder, exact, reading);
    it_.types = std::move(inferred.types);
    it_.values = std::move(inferred.values);
    find_copies(model, it_.versions, it_.values);
    return model;
  }

  Read& it_;
  const Source& source_;
  const ImportOptions& options_;
  const std::vector<Type>* own_ = nullptr;
  std::size_t numbers_ = 0;
  std::vector<std::pair<std::size_t, ImportOptions>> accepted_{};
  std::vector<bool> varying_{};
};

/// Takes the branches that are the same at all sizes.
void take_branches_of_all_sizes(Read& it, const Source& source, const ImportOptions& options) {
  if (!has_branches(it.model.graph)) return;
  try {
    const ImportOptions sure = without_open_sizes(it.model, options);
    static_cast<void>(
        take_sure_branches(it, source, sure, {.takes_branches = true, .leaves_sizes_open = true}));
  } catch (const Error&) {
    it.taken.clear();  // reading at the largest sizes says what is wrong
  }
  it.model = it.resolved();
}

/// The types at the largest sizes. Each If whose condition is known is replaced by the branch that it takes; then there
/// are others whose condition is known. If sizes are open, only what is known without them counts.
Inferred infer_largest(Read& it, const Source& source, const ImportOptions& options) {
  if (!has_ranges(options)) {
    auto exact = take_sure_branches(it, source, options, {.takes_branches = true});
    const bool is_open = exact && (exact->is_drawn || has_ranges(exact->ranges));
    if (exact && (it.taken.empty() || !is_open)) return *std::move(exact);
    it.take_none();
  }
  take_branches_of_all_sizes(it, source, options);
  return infer_shapes(it.model, it.versions, source.folder, options, {});
}

std::unique_ptr<Read> read(const Source& source, const ImportOptions& wanted) {
  auto result = std::make_unique<Read>();
  result->proto = parse(source.bytes);
  result->versions = versions_of(result->proto);
  ImportOptions given = wanted;
  given.inputs = inputs_of_caller(result->proto, wanted);
  inline_functions(result->proto);
  split_fused(result->proto);
  release_invariants(result->proto);
  NearbyFiles files(source.folder);
  const std::string note_of_maps = leave_out_maps(*result->proto.graph);
  resolve_sequences(result->proto, files);
  join_quantized(result->proto, files);
  OnnxGraph& model = result->model;
  model = resolve_names(*result->proto.graph);
  expect_sound_options(model, given);
  const ImportOptions options = with_sizes_of_values(model, given);
  Inferred largest = infer_largest(*result, source, options);
  result->note = note_of_maps;
  add_note(largest.note, result->note);
  if (largest.is_drawn || has_ranges(largest.ranges)) {
    add_note(OpenReader(*result, source, options).read(largest), result->note);
  } else {
    result->types = std::move(largest.types);
    result->values = std::move(largest.values);
    find_copies(model, result->versions, result->values);
  }
  expect_rounds_hold(model.graph, largest.given_rounds);
  add_states(model.graph, options.states);
  add_scratch(model.graph, options.scratch);
  validate(model.graph);
  add_note(operators::settle_states(model.graph), result->note);
  return result;
}

/// Without a value that is among the constants.
Attributes attributes_of(const wire::NodeProto& node, bool has_value, NearbyFiles& files) {
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
            if (value->data_type == element::string || (has_value && name == "value")) return;
            Array array = array_of(*value, files, "attribute " + base::quoted(name));
            attributes.set(std::move(name), std::move(array));
          }
          // Bodies are subgraphs; kernels do not use the other kinds.
        },
        it.value);
  }
  return attributes;
}

/// Whether the operator is a constant whose elements are known.
bool has_value(const Graph& graph, const Operator& op, const Constants& constants) {
  if (!op.folded || !op.inputs.empty() || op.outputs.size() != 1 || !op.outputs[0]) return false;
  const auto value = constants.of(*op.outputs[0]);
  return !value.empty() && static_cast<Bytes>(value.size()) == graph.tensors[*op.outputs[0]].bytes;
}

/// A complete graph with its constants and the attributes of its nodes.
Network network_of(const std::shared_ptr<Read>& it, Constants constants, const Source& source) {
  Network network;
  OnnxGraph& model = it->model;
  NearbyFiles files(source.folder);
  for (std::size_t s = 0; s < model.nodes.size(); ++s) {
    auto& details = network.details.emplace_back();
    for (std::size_t o = 0; o < model.nodes[s].size(); ++o) {
      const wire::NodeProto& node = *model.nodes[s][o];
      const Operator& op = model.graph.subgraphs[s].operators[o];
      const std::int64_t version = version_of(node, it->versions);
      details.push_back({attributes_of(node, has_value(model.graph, op, constants), files), version,
                         shapes_of_data(op, node, static_cast<int>(version), it->types, it->values, it)});
    }
  }
  network.quantizations.resize(model.graph.tensors.size());
  network.input.note = std::move(it->note);
  network.input.constants = std::move(constants);
  network.input.content = std::move(model.graph);
  return network;
}

}  // namespace

Input read_onnx(const Source& source, const ImportOptions& options) {
  const std::unique_ptr<Read> it = read(source, options);
  Input input{.note = std::move(it->note)};
  if (options.constants) input.constants = constants_of(it->model, it->versions, it->values, source, true);
  input.content = std::move(it->model.graph);
  return input;
}

Network read_onnx_network(const Source& given, const ImportOptions& options) {
  const Source source = held(given);  // rules that a run asks read the nodes of the file
  const std::shared_ptr<Read> it = read(source, options);
  it->holder = source.holder;
  Constants constants = constants_of(it->model, it->versions, it->values, source, false);
  return network_of(it, std::move(constants), source);
}

}  // namespace stowage::import
