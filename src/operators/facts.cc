// The tables of all families, by name. Where a list of an operator of ONNX became an input, its rules take the
// attribute if there is one, so that one row serves all operator sets. Source: ONNX's Operators.md and
// Operators-ml.md with their older versions (Changelog.md), ContribOperators.md of onnxruntime, and the kernels
// of TFLite.

#include "operators/facts.h"

#include <unordered_map>

#include "operators/families.h"

namespace stowage::operators {
namespace {

using Names = std::unordered_map<std::string_view, const Facts*>;

struct Tables {
  std::vector<const Facts*> all{};
  Names onnx{};
  Names tflite{};

  void add(std::span<const Facts> family) {
    for (const Facts& row : family) {
      all.push_back(&row);
      if (!row.onnx.empty()) onnx.emplace(row.onnx, &row);
      if (!row.tflite.empty()) tflite.emplace(row.tflite, &row);
    }
  }
};

const Tables& tables() {
  static const Tables all = [] {
    Tables made;
    for (const auto family :
         {contrib_family, control_family, elementwise_family, image_family, index_family, ml_family,
          move_family, norm_family, product_family, reduce_family, sequence_family, window_family})
      made.add(family());
    return made;
  }();
  return all;
}

const Facts* find(const Names& names, std::string_view type) {
  const auto it = names.find(type);
  return it == names.end() ? nullptr : it->second;
}

}  // namespace

const Facts* find_facts(Format format, std::string_view type) {
  return find(format == Format::onnx ? tables().onnx : tables().tflite, type);
}

Named facts_of(std::string_view type) {
  static const Facts none;
  if (const Facts* const it = find_facts(Format::onnx, type)) return {*it, Format::onnx};
  if (const Facts* const it = find_facts(Format::tflite, type)) return {*it, Format::tflite};
  return {none, Format::onnx};
}

void infer_types(Format format, std::string_view type, NodeContext& node) {
  const Facts* const facts = find_facts(format, type);
  if (facts == nullptr || facts->shape == nullptr || node.outputs().empty()) return;
  for (std::size_t i = 0; format == Format::onnx && i < facts->inputs; ++i) {
    if (!node.has(i)) misfit("input ", i, " is missing");
  }
  facts->shape(node);
}

std::span<const Facts* const> all_facts() { return tables().all; }

bool is_left_alone(const Operator& op) { return facts_of(op.type).facts.is_left_alone; }

bool may_write_over(const Graph& graph, const Operator& op, TensorId input, TensorId output) {
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] == input && in_place_output(graph, op, i) != output) return false;
  }
  return true;
}

}  // namespace stowage::operators

namespace stowage {

bool updates_in_place(const Operator& op, std::size_t input) {
  using operators::InPlace;
  const InPlace in_place = operators::facts_of(op.type).facts.in_place;
  return in_place == InPlace::any || (input < 2 && in_place == InPlace::first_two) ||
         (input < 1 && in_place == InPlace::first);
}

std::optional<TensorId> in_place_output(const Graph& graph, const Operator& op, std::size_t input) {
  if (!op.bodies.empty() || op.outputs.size() != 1 || !op.outputs[0] || !op.inputs[input])
    return std::nullopt;
  if (!updates_in_place(op, input)) return std::nullopt;
  const Tensor& read = graph.tensors[*op.inputs[input]];
  const Tensor& written = graph.tensors[*op.outputs[0]];
  const auto bits = bits_of(read.dtype);
  const bool is_alike =
      read.bytes == written.bytes && bits && bits == bits_of(written.dtype) && are_open_alike(read, written);
  return is_alike && read.shape && written.shape ? op.outputs[0] : std::nullopt;
}

}  // namespace stowage
