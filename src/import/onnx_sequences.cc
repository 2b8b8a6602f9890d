// Exporters write a split or a list of tensors as a sequence. Where it is known which tensor an element is, what reads
// the sequence reads the tensor, and nothing is copied into a sequence or out of it:
//
//     SplitToSequence(x, [2, 3]) -> s, SequenceAt(s, 1)          Split(x, [2, 3]) -> _, y
//     SplitToSequence(x, 4) -> s, SequenceAt(s, 1)               Slice(x, 4 to 8)
//     SequenceConstruct(a, b) -> s, ConcatFromSequence(s)        Concat(a, b)
//
// SequenceEmpty, SequenceInsert, SequenceErase, SequenceLength and Identity are followed, positions that are constants
// known, in bodies too. A sequence stays where something else reads it: an operator with a body that carries it, an output
// of the network, a position that a run decides.
// Source: the documents of these operators in the standard. Cost: linear, and the elements of each sequence.

#include "import/onnx_sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "import/onnx_values.h"
#include "operators/known.h"

namespace stowage::import {
namespace {

using wire::AttributeProto;
using wire::NodeProto;
using ValueNames = std::vector<std::string_view>;

/// What is known of a sequence: the names of its elements, or how a tensor is cut along an axis.
struct Sequence {
  std::optional<ValueNames> elements{};
  std::string_view tensor{};
  std::int64_t axis = 0;
  std::vector<std::int64_t> lengths{};  ///< Of each part; without them, `rows` of each but the last.
  std::int64_t rows = 1;
  bool keeps_axis = true;  ///< Else each part is one row, without the axis.
};

bool is_set(const NodeProto& node, std::string_view name, bool otherwise) {
  const auto* const value = wire::attribute_of<std::int64_t>(node, name);
  return value == nullptr ? otherwise : *value != 0;
}

/// In the graph, or in a body of it.
bool has_sequences(const wire::GraphProto& graph) {
  return std::ranges::any_of(graph.node, [](const NodeProto& node) {
    return node.op_type.starts_with("Sequence") || node.op_type == "SplitToSequence" ||
           std::ranges::any_of(node.attribute, [](const AttributeProto& attribute) {
             const auto* const body = attribute.get<AttributeProto::Graph>();
             return body != nullptr && has_sequences(**body);
           });
  });
}

/// What is known by name, in a graph and around it.
struct Known {
  std::unordered_map<std::string_view, const wire::TensorProto*> constants{};
  std::unordered_map<std::string_view, Value> integers{};
  std::unordered_map<std::string_view, const wire::TypeProto*> types{};  ///< As the file declares them.
  std::unordered_map<std::string_view, Sequence> sequences{};
};

class SequenceResolver {
 public:
  SequenceResolver(wire::ModelProto& model, std::int64_t version, NearbyFiles& files)
      : model_(model), version_(version), files_(files) {}

  void run() { resolve(*model_.graph); }

 private:
  /// A body sees what is known around it, and nothing of it is known there.
  void resolve(wire::GraphProto& graph) {
    const auto around = known_;
    wire::GraphProto* const outer = std::exchange(graph_, &graph);
    std::vector<wire::TensorProto> made_around = std::exchange(made_, {});
    resolve_nodes();
    drop_unread();
    for (wire::TensorProto& tensor : made_) graph.initializer.push_back(std::move(tensor));
    made_ = std::move(made_around);
    graph_ = outer;
    known_ = around;
  }

  void resolve_nodes() {
    for (const wire::TensorProto& tensor : graph_->initializer)
      known_.constants.insert_or_assign(tensor.name, &tensor);
    note_types(graph_->input);
    note_types(graph_->value_info);
    std::vector<NodeProto> nodes = std::exchange(graph_->node, {});
    for (NodeProto& node : nodes) {
      note_constant(node);
      for (AttributeProto& attribute : node.attribute) {
        const auto* const body = attribute.get<AttributeProto::Graph>();
        if (body == nullptr || !has_sequences(**body)) continue;
        auto own = std::make_shared<wire::GraphProto>(**body);
        resolve(*own);
        attribute.value = AttributeProto::Graph(std::move(own));
      }
      if (node.domain.empty() || node.domain == "ai.onnx") {
        if (auto sequence = sequence_of(node))
          known_.sequences.insert_or_assign(node.output[0], std::move(*sequence));
        else if (reads_element(node))
          continue;
      }
      graph_->node.push_back(std::move(node));
    }
  }

  void note_types(const std::vector<wire::ValueInfoProto>& values) {
    for (const wire::ValueInfoProto& value : values)
      if (value.type) known_.types.insert_or_assign(value.name, &*value.type);
  }

  void note_constant(const NodeProto& node) {
    if (node.op_type != "Constant" || node.output.size() != 1) return;
    if (const auto* const tensor = wire::attribute_of<AttributeProto::Tensor>(node, "value"))
      known_.constants.insert_or_assign(node.output[0], tensor->get());
    else if (const auto* const one = wire::attribute_of<std::int64_t>(node, "value_int"))
      note_integers(node, {*one}, {});
    else if (const auto* const all = wire::attribute_of<Shape>(node, "value_ints"))
      note_integers(node, *all, {static_cast<std::int64_t>(all->size())});
  }

  void note_integers(const NodeProto& node, std::vector<std::int64_t> values, Shape shape) {
    Value value{
        .elem_type = element::int64, .shape = std::move(shape), .integers = std::move(values), .reals = {}};
    known_.integers.insert_or_assign(node.output[0], std::move(value));
  }

  /// A constant of whole numbers.
  [[nodiscard]] std::optional<Value> integers(const NodeProto& node, std::size_t input) const {
    if (input >= node.input.size()) return std::nullopt;
    if (const auto known = known_.integers.find(node.input[input]); known != known_.integers.end())
      return known->second;
    const auto constant = known_.constants.find(node.input[input]);
    if (constant == known_.constants.end()) return std::nullopt;
    std::optional<Value> value = value_of(*constant->second, files_);
    return value && !value->is_real() ? std::move(value) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::int64_t> integer(const NodeProto& node, std::size_t input) const {
    const std::optional<Value> value = integers(node, input);
    return value && value->integers.size() == 1 ? std::optional(value->integers[0]) : std::nullopt;
  }

  [[nodiscard]] Sequence* known(std::string_view name) {
    const auto found = known_.sequences.find(name);
    return found == known_.sequences.end() ? nullptr : &found->second;
  }
  [[nodiscard]] const ValueNames* elements_of(const NodeProto& node) {
    Sequence* const sequence = node.input.empty() ? nullptr : known(node.input[0]);
    return sequence != nullptr && sequence->elements ? &*sequence->elements : nullptr;
  }

  /// Of a node that makes one.
  [[nodiscard]] std::optional<Sequence> sequence_of(const NodeProto& node) {
    if (node.output.size() != 1) return std::nullopt;
    if (node.op_type == "SequenceEmpty") return Sequence{.elements = ValueNames()};
    if (node.op_type == "SequenceConstruct") return Sequence{.elements = node.input};
    if (node.op_type == "SplitToSequence") return split_of(node);
    if (node.op_type == "Identity" && node.input.size() == 1 && known(node.input[0]) != nullptr)
      return *known(node.input[0]);
    const bool inserts = node.op_type == "SequenceInsert";
    const ValueNames* const before = inserts || node.op_type == "SequenceErase" ? elements_of(node) : nullptr;
    if (before == nullptr || (inserts && node.input.size() < 2)) return std::nullopt;
    if ((copied_ += before->size()) > most_copied) return std::nullopt;
    ValueNames elements = *before;
    const std::size_t input = inserts ? 2 : 1;
    const bool is_given = input < node.input.size() && !node.input[input].empty();
    std::optional<std::int64_t> at = std::ssize(elements) - (inserts ? 0 : 1);
    if (is_given) at = integer(node, input);
    if (at && *at < 0) *at += std::ssize(elements);  // from the end
    if (!at || *at < 0 || *at > std::ssize(elements) - (inserts ? 0 : 1)) return std::nullopt;
    const auto place = elements.begin() + static_cast<std::ptrdiff_t>(*at);
    if (inserts)
      elements.insert(place, node.input[1]);
    else
      elements.erase(place);
    return Sequence{.elements = std::move(elements)};
  }

  /// Of so many; a negative one counts from the end.
  static std::optional<std::size_t> position(std::optional<std::int64_t> at, std::size_t count) {
    if (!at) return std::nullopt;
    const auto all = static_cast<std::int64_t>(count);
    if (*at < -all || *at >= all) return std::nullopt;
    return static_cast<std::size_t>(*at < 0 ? *at + all : *at);
  }

  [[nodiscard]] std::optional<Sequence> split_of(const NodeProto& node) const {
    if (node.input.empty()) return std::nullopt;
    Sequence parts;
    parts.tensor = node.input[0];
    if (const auto* const axis = wire::attribute_of<std::int64_t>(node, "axis")) parts.axis = *axis;
    if (node.input.size() < 2 || node.input[1].empty()) {
      parts.keeps_axis = is_set(node, "keepdims", true);
      return parts;
    }
    const std::optional<Value> lengths = integers(node, 1);
    if (!lengths || std::ranges::any_of(lengths->integers, [](std::int64_t it) { return it < 0; }))
      return std::nullopt;
    if (!lengths->shape.empty()) {
      parts.lengths = lengths->integers;
      if (parts.lengths.empty()) return std::nullopt;
    } else if (lengths->integers.size() == 1 && lengths->integers[0] > 0) {
      parts.rows = lengths->integers[0];
    } else {
      return std::nullopt;
    }
    return parts;
  }

  /// Whether it has put other nodes in place of one that reads a sequence.
  bool reads_element(const NodeProto& node) {
    if (node.output.size() != 1 || node.input.empty()) return false;
    Sequence* const sequence = known(node.input[0]);
    if (sequence == nullptr) return false;
    if (node.op_type == "SequenceAt") return read_one(node, *sequence);
    if (node.op_type == "ConcatFromSequence") return read_all(node, *sequence);
    if (node.op_type != "SequenceLength") return false;
    if (!sequence->elements && sequence->lengths.empty()) {
      count_parts(node, *sequence);
      return true;
    }
    const std::size_t count = sequence->elements ? sequence->elements->size() : sequence->lengths.size();
    put(node, "Identity", {constant({static_cast<std::int64_t>(count)}, {})});
    return true;
  }

  /// (extent + rows - 1) / rows
  void count_parts(const NodeProto& node, const Sequence& sequence) {
    const std::string_view shape = add("Shape", {sequence.tensor});
    const std::string_view extent = add("Gather", {shape, constant({sequence.axis}, {})});
    const std::string_view more = add("Add", {extent, constant({sequence.rows - 1}, {})});
    put(node, "Div", {more, constant({sequence.rows}, {})});
  }

  /// Parts of so many rows have lengths if the file declares the extent.
  void know_lengths(Sequence& sequence) {
    if (sequence.elements || !sequence.lengths.empty() || !sequence.keeps_axis) return;
    const auto type = known_.types.find(sequence.tensor);
    if (type == known_.types.end() || !type->second->shape) return;
    const auto at = position(sequence.axis, type->second->shape->size());
    const std::int64_t extent = at ? (*type->second->shape)[*at].size.value_or(0) : 0;
    if (extent < 1 || extent / sequence.rows >= most_elements) return;
    for (std::int64_t begin = 0; begin < extent; begin += sequence.rows)
      sequence.lengths.push_back(std::min(sequence.rows, extent - begin));
  }

  bool read_one(const NodeProto& node, Sequence& sequence) {
    const std::optional<std::int64_t> given = integer(node, 1);
    if (!given) return false;
    if (!sequence.lengths.empty() && position(given, sequence.lengths.size())) split(node, sequence);
    if (sequence.elements) {
      const auto at = position(given, sequence.elements->size());
      if (at) put(node, "Identity", {(*sequence.elements)[*at]});
      return at.has_value();
    }
    if (!sequence.keeps_axis) {
      put(node, "Gather", {sequence.tensor, constant({*given}, {})},
          {{.name = "axis", .value = sequence.axis}});
      return true;
    }
    constexpr std::int64_t most = std::int64_t{1} << 30;
    if (*given < 0 || *given > most || sequence.rows > most) return false;  // the last part may be shorter
    put(node, "Slice",
        {sequence.tensor, constant({*given * sequence.rows}, {1}),
         constant({(*given + 1) * sequence.rows}, {1}), constant({sequence.axis}, {1})});
    return true;
  }

  bool read_all(const NodeProto& node, Sequence& sequence) {
    const auto* const axis = wire::attribute_of<std::int64_t>(node, "axis");
    if (axis == nullptr) return false;
    const bool stacks = is_set(node, "new_axis", false);
    if (!sequence.elements && sequence.axis == *axis && sequence.keeps_axis != stacks) {
      put(node, "Identity", {sequence.tensor});  // all parts, as they were
      return true;
    }
    know_lengths(sequence);
    if (!sequence.lengths.empty()) split(node, sequence);
    if (!sequence.elements || sequence.elements->empty()) return false;
    ValueNames parts = *sequence.elements;
    if (stacks) {
      const std::string_view axes = version_ < first_with_axes_as_input ? "" : constant({*axis}, {1});
      for (std::string_view& part : parts) {
        NodeProto made{.name = node.name, .op_type = "Unsqueeze", .input = {part}, .output = {keep_name()}};
        if (axes.empty())
          made.attribute.push_back({.name = "axes", .value = Shape{*axis}});
        else
          made.input.push_back(axes);
        graph_->node.push_back(std::move(made));
        part = graph_->node.back().output[0];
      }
    }
    put(node, "Concat", std::move(parts), {{.name = "axis", .value = *axis}});
    return true;
  }

  /// Makes the elements of parts with lengths.
  void split(const NodeProto& node, Sequence& sequence) {
    if (sequence.elements) return;
    NodeProto made{.name = node.name,
                   .op_type = "Split",
                   .input = {sequence.tensor},
                   .attribute = {{.name = "axis", .value = sequence.axis}}};
    if (version_ < first_with_axes_as_input)
      made.attribute.push_back({.name = "split", .value = sequence.lengths});
    else
      made.input.push_back(constant(sequence.lengths, {static_cast<std::int64_t>(sequence.lengths.size())}));
    for (std::size_t i = 0; i < sequence.lengths.size(); ++i) made.output.push_back(keep_name());
    sequence.elements = made.output;
    graph_->node.push_back(std::move(made));
  }

  /// The result of a node of its own.
  std::string_view add(std::string_view type, ValueNames inputs) {
    const std::string_view output = keep_name();
    graph_->node.push_back({.op_type = type, .input = std::move(inputs), .output = {output}});
    return output;
  }

  void put(const NodeProto& node, std::string_view type, ValueNames inputs,
           std::vector<AttributeProto> attributes = {}) {
    graph_->node.push_back({.name = node.name,
                            .op_type = type,
                            .input = std::move(inputs),
                            .output = node.output,
                            .attribute = std::move(attributes)});
  }

  std::string_view keep_name() {
    return model_.made_names.emplace_back("stowage.sequence." + std::to_string(++count_));
  }

  std::string_view constant(const std::vector<std::int64_t>& values, Shape shape) {
    std::string bytes(values.size() * sizeof(std::int64_t), '\0');
    std::memcpy(bytes.data(), values.data(), bytes.size());
    made_.push_back({.name = keep_name(),
                     .data_type = element::int64,
                     .dims = std::move(shape),
                     .raw_data = model_.made_names.emplace_back(std::move(bytes))});
    return made_.back().name;
  }

  /// Nodes that make sequences which nothing reads any more.
  void drop_unread() {
    std::unordered_map<std::string_view, std::size_t> readers;
    count_readers(*graph_, readers);
    std::vector<NodeProto> kept;
    for (NodeProto& node : std::views::reverse(graph_->node)) {
      if (node.output.size() == 1 && known_.sequences.contains(node.output[0]) &&
          readers[node.output[0]] == 0) {
        for (const std::string_view input : node.input) --readers[input];
      } else {
        kept.push_back(std::move(node));
      }
    }
    std::ranges::reverse(kept);
    graph_->node = std::move(kept);
  }

  static void count_readers(const wire::GraphProto& graph,
                            std::unordered_map<std::string_view, std::size_t>& readers) {
    for (const wire::ValueInfoProto& output : graph.output) ++readers[output.name];
    for (const NodeProto& node : graph.node) {
      for (const std::string_view input : node.input) ++readers[input];
      for (const AttributeProto& attribute : node.attribute) {
        if (const auto* const body = attribute.get<AttributeProto::Graph>()) count_readers(**body, readers);
        if (const auto* const bodies = attribute.get<std::vector<AttributeProto::Graph>>())
          for (const AttributeProto::Graph& body : *bodies) count_readers(*body, readers);
      }
    }
  }

  static constexpr std::size_t most_copied = 4'000'000;         ///< Names, in sequences that grow one by one.
  static constexpr std::int64_t first_with_axes_as_input = 13;  ///< Of Unsqueeze, and lengths of Split.

  wire::ModelProto& model_;
  wire::GraphProto* graph_ = nullptr;  ///< At which it is.
  std::int64_t version_;
  NearbyFiles& files_;
  Known known_{};
  std::vector<wire::TensorProto> made_{};
  std::size_t count_ = 0;
  std::size_t copied_ = 0;
};

constexpr std::string_view operators_of_maps = "ai.onnx.ml";

}  // namespace

std::string leave_out_maps(wire::GraphProto& graph) {
  std::string note;
  std::erase_if(graph.node, [&](const NodeProto& node) {
    if (node.op_type != "ZipMap" || node.domain != operators_of_maps || node.input.size() != 1 ||
        node.output.size() != 1)
      return false;
    const auto output = std::ranges::find(graph.output, node.output[0], &wire::ValueInfoProto::name);
    const bool is_read = std::ranges::any_of(graph.node, [&](const NodeProto& other) {
      return std::ranges::find(other.input, node.output[0]) != other.input.end();
    });
    if (output == graph.output.end() || is_read) return false;
    note += fmt::format("{}output {}, a sequence of maps, is taken as the numbers in them, tensor {}",
                        note.empty() ? "" : "; ", base::quoted(output->name), base::quoted(node.input[0]));
    *output = {.name = node.input[0], .type = {}};
    return true;
  });
  return note;
}

void resolve_sequences(wire::ModelProto& model, NearbyFiles& files) {
  if (!has_sequences(*model.graph)) return;
  for (const wire::OperatorSetIdProto& set : model.opset_import)
    if (set.domain.empty() || set.domain == "ai.onnx")
      return SequenceResolver(model, set.version, files).run();
}

}  // namespace stowage::import
