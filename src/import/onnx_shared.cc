// A model with ranges of sizes is read at some twenty of them, and the layers of a network are alike. So what was found
// for an operator is kept, by what decides it, all as numbers:
//
//     kind of the operator: type, version, attributes, which operands it has, whether it always runs
//     type and value of each input
//
// Two operators with equal numbers have equal results. Types that the file declares come on top of that.

#include "import/onnx_shared.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>

#include "import/onnx_attributes.h"
#include "import/onnx_constants.h"
#include "import/onnx_copies.h"
#include "import/onnx_types.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

/// Empty for a type that is made of others.
std::string words_of(const wire::TypeProto& type) {
  if (type.element != nullptr) return "";
  std::string words =
      fmt::format("{} {} {}", static_cast<int>(type.kind), type.elem_type, type.shape.has_value());
  if (!type.shape) return words;
  for (const wire::Dimension& it : *type.shape) {
    words += it.size ? fmt::format(" {}", *it.size) : " ?";
    words += fmt::format(" {}:{}", it.name.size(), it.name);
  }
  return words;
}

/// Gives another result in each run. Dropout does so only in training mode.
bool is_random_type(const Operator& op) {
  const bool trains = op.type == "Dropout" && op.inputs.size() > 2;
  return trains || op.type.find("Random") != std::string::npos || op.type == "Multinomial" ||
         op.type == "Bernoulli";
}

/// Appends numbers or texts so that others are appended otherwise. False for a value of another sort.
template <typename Held>
bool append_value(const Held& value, std::string& words) {
  if constexpr (std::is_same_v<Held, std::int64_t>) {
    words += fmt::format("{}", value);
  } else if constexpr (std::is_same_v<Held, float>) {
    words += fmt::format("{:a}", value);
  } else if constexpr (std::is_same_v<Held, std::string_view>) {
    words += fmt::format("{}:{}", value.size(), value);
  } else if constexpr (std::is_same_v<Held, Shape> || std::is_same_v<Held, std::vector<float>> ||
                       std::is_same_v<Held, std::vector<std::string_view>>) {
    for (const auto& element : value) {
      append_value(element, words);
      words += ",";
    }
  } else {
    return false;
  }
  return true;
}

/// What decides the results of an operator besides its inputs; empty if that is too much to compare.
std::string kind_of(const Operator& op, const wire::NodeProto& node, std::int64_t version, bool always_runs) {
  if (!op.bodies.empty()) return "";
  std::string words =
      fmt::format("{}\n{}\n{}\n{}{}\n", op.type, node.domain, node.op_type, version, always_runs ? "" : "?");
  for (const auto* const operands : {&op.inputs, &op.outputs}) {
    for (const auto& operand : *operands) words += operand ? "x" : "-";
    words += "\n";
  }
  for (const wire::AttributeProto& attribute : node.attribute) {
    words += fmt::format("{}:{} {} ", attribute.name.size(), attribute.name, attribute.value.index());
    if (!std::visit([&](const auto& value) { return append_value(value, words); }, attribute.value))
      return "";
    words += "\n";
  }
  return words;
}

SizeOfType measured(const Type& type) {
  SizeOfType result;
  if (!has_element_type(type)) {
    result.size.emplace();
    return result;
  }
  const auto dtype = known_dtype(type.elem_type);
  if (!dtype) return result;
  result.dtype = *dtype;
  TensorSize size{.shape = concrete_shape(type.dims)};
  const bool has_bits = bits_of(*dtype).has_value();
  result.is_settled = size.shape && has_bits;
  result.is_plain = size.shape && std::ranges::all_of(*size.shape, [](std::int64_t extent) {
                      return extent >= 0 && extent <= largest_value;
                    });
  try {
    if (result.is_settled) size.bytes = bytes_of(*dtype, *size.shape);
  } catch (const Error&) {
    return result;  // who settles the tensor says so
  }
  result.size = std::move(size);
  return result;
}

}  // namespace

SharedReading::SharedReading(const OnnxGraph& of, const Versions& versions_of_it,
                             const std::filesystem::path& folder)
    : model(of),
      versions(versions_of_it),
      files(folder),
      orders(topological_orders(of.graph)),
      captures(captures_of(of.graph)),
      is_weight(of.graph.tensors.size(), false),
      is_result(of.graph.tensors.size(), false),
      is_passed(of.graph.tensors.size(), false),
      declarations(of.graph.tensors.size(), 0),
      weights(of.graph.tensors.size()),
      types_(std::make_shared<TypeTable>()),
      values_(std::make_shared<ValueTable>()) {
  static_cast<void>(types_->of(Type()));
  static_cast<void>(values_->of(std::nullopt));
  for (TensorId t = 0; t < is_weight.size(); ++t)
    is_weight[t] = of.graph.tensors[t].kind == TensorKind::weight;
  for (const Subgraph& subgraph : of.graph.subgraphs) {
    auto& random = is_random.emplace_back();
    for (const Operator& op : subgraph.operators) {
      random.push_back(is_random_type(op));
      for (const auto& output : op.outputs)
        if (output) is_result[*output] = true;
    }
    if (&subgraph == &of.graph.subgraphs[0]) continue;
    for (const TensorId input : subgraph.inputs) is_passed[input] = true;
  }
  for (const TensorId input : of.graph.subgraphs[0].inputs) {
    const wire::TypeProto* const type = of.declared[input];
    if (type == nullptr || !type->shape) continue;
    for (const wire::Dimension& dimension : *type->shape) dims_of_caller.insert(dimension.name);
  }
  number_declarations();
  number_kinds();
}

void SharedReading::number_declarations() {
  std::unordered_map<std::string, Id> known;
  Id next = 1;
  for (TensorId t = 0; t < declarations.size(); ++t) {
    if (model.declared[t] == nullptr) continue;
    std::string words = words_of(*model.declared[t]);
    declarations[t] = words.empty() ? next : known.try_emplace(std::move(words), next).first->second;
    if (declarations[t] == next) ++next;
  }
}

void SharedReading::number_kinds() {
  std::unordered_map<std::string, Id> known;
  Id next = 0;
  for (std::size_t s = 0; s < model.nodes.size(); ++s) {
    auto& kinds = kinds_.emplace_back();
    for (std::size_t o = 0; o < model.nodes[s].size(); ++o) {
      const wire::NodeProto& node = *model.nodes[s][o];
      std::string words =
          kind_of(model.graph.subgraphs[s].operators[o], node, version_of(node, versions), s == 0);
      const bool is_alone = words.empty();
      kinds.push_back(is_alone ? next : known.try_emplace(std::move(words), next).first->second);
      if (kinds.back() == next) ++next;
    }
  }
}

const SizeOfType& SharedReading::size_of(Id type) {
  while (sizes_.size() <= type) sizes_.push_back(measured((*types_)[static_cast<Id>(sizes_.size())]));
  return sizes_[type];
}

std::size_t SharedReading::HashOfKey::operator()(const Key& key) const {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15ULL;
  constexpr int half = 32;
  std::uint64_t mixed = key.size();
  for (const Id number : key) {
    mixed = (mixed ^ number) * odd;
    mixed ^= mixed >> half;
  }
  return mixed;
}

void SharedReading::set_key(std::size_t subgraph, std::size_t o, const Types& types, const Values& values) {
  key_.clear();
  key_.push_back(kinds_[subgraph][o]);
  for (const auto& input : model.graph.subgraphs[subgraph].operators[o].inputs) {
    if (!input) continue;
    key_.push_back(types.number(*input));
    key_.push_back(values.number(*input));
  }
}

const KnownCall* SharedReading::known_call(std::size_t subgraph, std::size_t o, const Types& types,
                                           const Values& values) {
  set_key(subgraph, o, types, values);
  const auto number = calls_.find(key_);
  return number ? &known_calls_[*number] : nullptr;
}

void SharedReading::note_call(KnownCall call) {
  static_cast<void>(calls_.of(key_));
  known_calls_.push_back(std::move(call));
}

const std::vector<ByteCopy>* SharedReading::copies_of(std::size_t subgraph, std::size_t o,
                                                      const std::vector<const TensorSize*>& sizes,
                                                      const Types& types, const Values& values) {
  set_key(subgraph, o, types, values);
  const Operator& op = model.graph.subgraphs[subgraph].operators[o];
  for (const auto* const operands : {&op.inputs, &op.outputs}) {
    for (const auto& operand : *operands) {
      if (!operand) continue;
      key_.push_back(types.number(*operand));
      if (size_of(types.number(*operand)).is_settled) continue;
      key_.push_back(static_cast<Id>(*operand));  // a bound is that of a tensor
      key_.push_back(sizes[*operand]->bytes > 0 ? 1 : 0);
    }
  }
  const Id number = copied_.of(key_);
  if (number == copies_.size()) copies_.push_back(find_copies_of(subgraph, o, sizes, types, values));
  return &copies_[number];
}

/// In a graph of its own, of nothing but the operator and its operands.
std::vector<ByteCopy> SharedReading::find_copies_of(std::size_t subgraph, std::size_t o,
                                                    const std::vector<const TensorSize*>& sizes,
                                                    const Types& types, const Values& values) {
  Operator op = model.graph.subgraphs[subgraph].operators[o];
  Graph alone;
  std::vector<const Value*> known;
  for (auto* const operands : {&op.inputs, &op.outputs}) {
    for (auto& operand : *operands) {
      if (operands == &op.inputs) known.push_back(operand && values[*operand] ? &*values[*operand] : nullptr);
      if (!operand) continue;
      const DType dtype = size_of(types.number(*operand)).dtype;
      const TensorSize& size = *sizes[*operand];
      operand = alone.tensors.size();
      alone.tensors.push_back({.dtype = dtype, .shape = size.shape, .bytes = size.bytes});
    }
  }
  op.copies.clear();
  find_copies(alone, op, *model.nodes[subgraph][o], versions, std::move(known));
  return std::move(op.copies);
}

SharedReading::Extent SharedReading::extent() const {
  return {types_->size(), values_->size(), calls_.size(), copied_.size()};
}

void SharedReading::forget_after(const Extent& extent) {
  types_->keep(extent.types);
  values_->keep(extent.values);
  calls_.keep(extent.calls);
  copied_.keep(extent.copies);
  sizes_.resize(std::min(sizes_.size(), extent.types));
  known_calls_.resize(extent.calls);
  copies_.resize(extent.copies);
}

namespace {

/// Folds the operators of one reading.
class Folder {
 public:
  Folder(const SharedReading& shared, const Values& values, const std::vector<bool>& varying)
      : shared_(shared), values_(values), varying_(varying) {
    result_.constants = shared.is_weight;
    for (const Subgraph& subgraph : shared.model.graph.subgraphs)
      result_.operators.emplace_back(subgraph.operators.size(), false);
  }

  Folding run() {
    fold(0);
    return std::move(result_);
  }

 private:
  void fold(std::size_t subgraph) {
    for (const std::size_t o : shared_.orders[subgraph]) {
      const Operator& op = shared_.model.graph.subgraphs[subgraph].operators[o];
      for (const std::size_t body : op.bodies) fold(body);
      if (!is_folded(op, shared_.is_random[subgraph][o])) continue;
      result_.operators[subgraph][o] = true;
      for (const auto& output : op.outputs)
        if (output) result_.constants[*output] = true;
    }
  }

  /// If all its inputs are constant, or if its only result follows from what is known of them. A result that is known from
  /// a given shape alone, as that of ConstantOfShape, is not folded: the run still has to compare this shape with the input.
  [[nodiscard]] bool is_folded(const Operator& op, bool is_random) const {
    const auto& constants = result_.constants;
    const bool is_known = op.outputs.size() == 1 && op.outputs[0] && values_[*op.outputs[0]] &&
                          (varying_.empty() || !varying_[*op.outputs[0]]);
    if (is_known &&
        (op.type == "Shape" || op.type == "Size" || std::ranges::all_of(op.inputs, [&](const auto& input) {
           return !input || constants[*input] || values_[*input];
         })))
      return true;
    if (is_random) return false;
    bool reads_something = op.type == "Constant";
    const auto is_constant = [&](TensorId tensor) {
      reads_something = true;
      return constants[tensor];
    };
    for (const auto& input : op.inputs)
      if (input && !is_constant(*input)) return false;
    for (const std::size_t body : op.bodies)
      if (!std::ranges::all_of(shared_.captures[body], is_constant) || !is_deterministic(body)) return false;
    return reads_something;
  }

  [[nodiscard]] bool is_deterministic(std::size_t subgraph) const {
    const auto& operators = shared_.model.graph.subgraphs[subgraph].operators;
    for (std::size_t o = 0; o < operators.size(); ++o) {
      if (shared_.is_random[subgraph][o]) return false;
      if (!std::ranges::all_of(operators[o].bodies, [&](std::size_t body) { return is_deterministic(body); }))
        return false;
    }
    return true;
  }

  const SharedReading& shared_;
  const Values& values_;
  const std::vector<bool>& varying_;
  Folding result_{};
};

}  // namespace

Folding fold(const SharedReading& shared, const Values& values, const std::vector<bool>& varying) {
  return Folder(shared, values, varying).run();
}

}  // namespace stowage::import
