#include "import/graph_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "import/json.h"
#include "import/open_sizes.h"
#include "import/readers.h"
#include "model/motions.h"
#include "operators/states.h"

namespace stowage::import {
namespace {

/// Decodes pairs of hexadecimal digits.
std::vector<std::byte> bytes_of_hex(const Json& json, Bytes expected) {
  static constexpr std::string_view digits = "0123456789abcdef0123456789ABCDEF";
  const std::string text = json.string();
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  if (text.find_first_not_of(digits) != std::string::npos || text.size() % 2 != 0)
    throw json.error(fmt::format("is {}, expected pairs of hexadecimal digits", json.shown()));
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::size_t high = digits.find(text[i]) % 16;
    const std::size_t low = digits.find(text[i + 1]) % 16;
    bytes.push_back(static_cast<std::byte>(high * 16 + low));
  }
  if (static_cast<Bytes>(bytes.size()) != expected)
    throw json.error(fmt::format("has {} bytes of data, expected {}", bytes.size(), expected));
  return bytes;
}

class GraphReader {
 public:
  /// Searches for data files in `folder`, and reads the data only if it is wanted.
  GraphReader(const Json& document, const std::filesystem::path& folder, bool wants_data)
      : document_(document), folder_(folder), files_(folder), wants_data_(wants_data) {}

  Input run() {
    document_.expect_members({"format", "version", "name", "tensors", "subgraphs", "state"});
    if (const auto name = document_.find("name")) graph_.name = name->string();
    for (const Json& tensor : document_.at("tensors").elements()) add_tensor(tensor);
    for (const Json& subgraph : document_.at("subgraphs").elements()) add_subgraph(subgraph);
    if (const auto states = document_.find("state")) {
      for (const Json& state : states->elements()) {
        state.expect_members({"output", "input"});
        graph_.ties.push_back({tensor_named(state.at("output")), tensor_named(state.at("input"))});
      }
    }
    mark_inputs_and_outputs();
    files_.hold_in(constants_);
    return {.content = std::move(graph_), .constants = std::move(constants_)};
  }

 private:
  void add_tensor(const Json& json) {
    json.expect_members({"name", "kind", "dtype", "shape", "open", "bytes", "data", "value"});
    Tensor tensor{.name = json.at("name").string()};
    if (!tensor_of_.emplace(tensor.name, graph_.tensors.size()).second) {
      throw json.at("name").error(
          fmt::format("{} comes twice, expected unique names", json.at("name").shown()));
    }
    const auto kind = json.find("kind");
    if (kind) tensor.kind = enumerator(*kind, tensor_kind_named);
    has_kind_.push_back(kind.has_value());
    if (const auto dtype = json.find("dtype")) tensor.dtype = enumerator(*dtype, dtype_named);
    if (const auto shape = json.find("shape")) {
      tensor.shape.emplace();
      for (const Json& dimension : shape->elements()) tensor.shape->push_back(dimension.natural());
      if (const auto open = json.find("open")) tensor.open = read_open(*open);
    }
    tensor.bytes = read_bytes(json, tensor);
    if (const auto data = json.find("data")) read_data(*data, tensor);
    if (const auto value = json.find("value")) tensor.value = read_value(*value, tensor);
    graph_.tensors.push_back(std::move(tensor));
  }

  /// The given size, or that of shape and element type; if both are given, they must agree.
  static Bytes read_bytes(const Json& json, const Tensor& tensor) {
    const auto given = json.find("bytes");
    if (!tensor.shape || !bits_of(tensor.dtype)) {
      if (!given) throw json.error("has neither bytes nor shape and dtype");
      return given->natural();
    }
    Bytes bytes = 0;
    try {
      bytes = bytes_of(tensor.dtype, *tensor.shape);
    } catch (const Error& error) {
      throw json.error(error.what());
    }
    if (given && given->natural() != bytes) {
      throw given->error(fmt::format("is {}, expected {} by shape and dtype", given->shown(), bytes));
    }
    return bytes;
  }

  /// The data of the next tensor. Checks its form even if the data is not wanted.
  void read_data(const Json& json, const Tensor& tensor) {
    if (tensor.kind != TensorKind::weight && tensor.kind != TensorKind::instruction)
      throw json.error(fmt::format("is of a tensor of kind {}, expected one of kind weight or instruction",
                                   name_of(tensor.kind)));
    json.expect_members({"hex", "file", "offset"});
    const TensorId id = graph_.tensors.size();
    const auto hex = json.find("hex");
    const auto file = json.find("file");
    if (hex.has_value() == file.has_value())
      throw json.error(fmt::format("has {}, expected one of 'hex' and 'file'", hex ? "both" : "neither"));
    if (hex) {
      auto bytes = bytes_of_hex(*hex, tensor.bytes);
      if (wants_data_) constants_.set(id, std::move(bytes));
      return;
    }
    const auto given = json.find("offset");
    const std::size_t offset = given ? given->index() : 0;
    (void)path_below(folder_, file->string(), file->place());
    if (!wants_data_) return;
    const auto size = static_cast<std::size_t>(tensor.bytes);
    constants_.set(id, files_.part(file->string(), offset, size, file->place()));
  }

  [[nodiscard]] TensorId tensor_named(const Json& json) const {
    const auto it = tensor_of_.find(json.string());
    if (it == tensor_of_.end()) throw json.error(fmt::format("{} is no tensor of this graph", json.shown()));
    return it->second;
  }

  [[nodiscard]] std::vector<TensorId> tensors_named(const Json& json) const {
    std::vector<TensorId> tensors;
    for (const Json& name : json.elements()) tensors.push_back(tensor_named(name));
    return tensors;
  }

  [[nodiscard]] std::vector<std::optional<TensorId>> operands(const Json& json) const {
    std::vector<std::optional<TensorId>> tensors;
    for (const Json& name : json.elements()) {
      tensors.push_back(name.is_null() ? std::nullopt : std::optional(tensor_named(name)));
    }
    return tensors;
  }

  static std::vector<std::size_t> indices(const Json& json, const std::string& key) {
    std::vector<std::size_t> result;
    if (const auto list = json.find(key)) {
      for (const Json& index : list->elements()) result.push_back(index.index());
    }
    return result;
  }

  [[nodiscard]] Operator read_operator(const Json& json) const {
    json.expect_members({"type", "name", "inputs", "outputs", "scratch", "bodies", "body_use", "after",
                         "folded", "stateful", "copies", "must_copy", "row_axes", "sums_over", "carries",
                         "multiplies"});
    Operator op{.type = json.at("type").string(),
                .inputs = operands(json.at("inputs")),
                .outputs = operands(json.at("outputs")),
                .bodies = indices(json, "bodies"),
                .after = indices(json, "after")};
    if (const auto name = json.find("name")) op.name = name->string();
    if (const auto scratch = json.find("scratch")) op.scratch = tensors_named(*scratch);
    if (const auto use = json.find("body_use")) {
      const std::string value = use->string();
      if (value != "once" && value != "repeated")
        throw use->error(fmt::format("is {}, expected 'once' or 'repeated'", use->shown()));
      op.body_use = value == "once" ? BodyUse::once : BodyUse::repeated;
    }
    if (const auto folded = json.find("folded")) op.folded = folded->boolean();
    if (const auto stateful = json.find("stateful")) op.stateful = stateful->boolean();
    if (const auto copies = json.find("copies")) {
      for (const Json& copy : copies->elements()) {
        copy.expect_members({"input", "output", "from", "to", "size"});
        op.copies.push_back({.input = copy.at("input").index(),
                             .output = copy.at("output").index(),
                             .from = copy.at("from").natural(),
                             .to = copy.at("to").natural(),
                             .size = copy.at("size").natural()});
      }
    }
    if (const auto reason = json.find("must_copy")) op.must_copy = reason->string();
    if (const auto axes = json.find("row_axes")) {
      for (const Json& along : axes->elements()) op.row_axes.push_back(read_row_axis(along));
    }
    op.sums_over = indices(json, "sums_over");
    if (const auto multiplies = json.find("multiplies")) op.multiplies = multiplies->natural();
    if (const auto axes = json.find("carries")) {
      for (const Json& along : axes->elements()) op.carries.push_back(read_carried_axis(along));
    }
    return op;
  }

  static CarriedAxis read_carried_axis(const Json& json) {
    json.expect_members({"axis", "input_axis", "bytes", "reads_twice", "backward"});
    CarriedAxis along{.axis = json.at("axis").index(),
                      .input_axis = json.at("input_axis").index(),
                      .carried = json.at("bytes").natural()};
    if (const auto twice = json.find("reads_twice")) along.reads_twice = twice->boolean();
    if (const auto backward = json.find("backward")) along.backward = backward->boolean();
    return along;
  }

  static RowAxis read_row_axis(const Json& json) {
    json.expect_members({"axis", "reads", "is_windows", "adds_rows", "splits"});
    RowAxis along{.axis = json.at("axis").index()};
    for (const Json& entry : json.at("reads").elements()) {
      entry.expect_members({"input", "axis", "scale", "offset", "divisor", "taps", "dilation", "kept_at"});
      RowRead read{.input = entry.at("input").index(), .axis = entry.at("axis").index()};
      if (const auto scale = entry.find("scale")) read.rows.scale = scale->integer();
      if (const auto offset = entry.find("offset")) read.rows.offset = offset->integer();
      if (const auto divisor = entry.find("divisor")) read.rows.divisor = divisor->natural();
      if (const auto taps = entry.find("taps")) read.rows.taps = taps->natural();
      if (const auto dilation = entry.find("dilation")) read.rows.dilation = dilation->natural();
      if (const auto kept_at = entry.find("kept_at")) read.kept_at = kept_at->natural();
      along.reads.push_back(read);
    }
    if (const auto windows = json.find("is_windows")) along.is_windows = windows->boolean();
    if (const auto adds = json.find("adds_rows")) along.adds_rows = adds->boolean();
    if (const auto splits = json.find("splits")) along.splits = splits->boolean();
    return along;
  }

  void add_subgraph(const Json& json) {
    json.expect_members({"name", "inputs", "outputs", "operators"});
    Subgraph subgraph{.inputs = tensors_named(json.at("inputs")),
                      .outputs = tensors_named(json.at("outputs"))};
    if (const auto name = json.find("name")) subgraph.name = name->string();
    for (const Json& op : json.at("operators").elements()) subgraph.operators.push_back(read_operator(op));
    graph_.subgraphs.push_back(std::move(subgraph));
  }

  /// Sets the kinds of the network's inputs and outputs if the file does not.
  void mark_inputs_and_outputs() {
    if (graph_.subgraphs.empty()) return;
    const auto mark = [&](const std::vector<TensorId>& tensors, TensorKind kind) {
      for (const TensorId tensor : tensors) {
        if (!has_kind_[tensor]) graph_.tensors[tensor].kind = kind;
      }
    };
    mark(graph_.subgraphs[0].outputs, TensorKind::output);
    mark(graph_.subgraphs[0].inputs, TensorKind::input);
  }

  const Json& document_;
  const std::filesystem::path& folder_;
  NearbyFiles files_;
  bool wants_data_;
  Graph graph_;
  Constants constants_;
  std::unordered_map<std::string, TensorId> tensor_of_;
  std::vector<bool> has_kind_;
};

/// A run decides open extents of graph JSON, so nothing is known of them before it.
void expect_copies_that_stay(const Graph& graph) {
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    for (std::size_t o = 0; o < graph.subgraphs[s].operators.size(); ++o) {
      const Operator& op = graph.subgraphs[s].operators[o];
      const std::vector<bool> fixed = fixed_copies(graph, op);
      const auto moved = std::ranges::find(fixed, false);
      if (moved == fixed.end()) continue;
      const ByteCopy& copy = op.copies[static_cast<std::size_t>(moved - fixed.begin())];
      throw Error(describe(graph, s, o), model::text_of_moved(copy));
    }
  }
}

}  // namespace

Input read_graph_json(const Source& source, const ImportOptions& options) {
  refuse_shape_options(options, "graph JSON");
  const Json::Value value = Json::parse(source.bytes);
  const Json document(value);
  if (value.is_array())
    throw Error(
        document.place(),
        "is an array, expected an object; a list of buffers is CSV with the columns id,lower,upper,size, and "
        "stowage.pack in Python takes its dicts");
  expect_format(document, "stowage-graph");
  Input input = GraphReader(document, source.folder, options.constants).run();
  auto& graph = std::get<Graph>(input.content);
  validate(graph);  // so that indices are in range
  expect_copies_that_stay(graph);
  add_states(graph, options.states);
  add_scratch(graph, options.scratch);
  validate(graph);
  add_note(operators::settle_states(graph), input.note);
  return input;
}

}  // namespace stowage::import
