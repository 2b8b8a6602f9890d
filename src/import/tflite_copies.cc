// Scale and zero point define the meaning of a quantized tensor's bytes. An operator between tensors that
// differ in them computes new bytes, so each operand is compared: inputs of a concat that agree with the
// output still have copies. A fused activation computes, too.
//
// Cost: operands * scales. TFLite's kernels decide where the schema is silent: a tensor has a quantization
// only if it has scales and zero points.

#include "import/tflite_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "import/tflite_attributes.h"
#include "import/tflite_tables.h"
#include "operators/copy_rules.h"

namespace stowage::import {
namespace {

/// The quantization of a tensor; null if it has none.
const tflite::QuantizationParameters* quantization_of(const tflite::Tensor& tensor) {
  const tflite::QuantizationParameters* const it = tensor.quantization();
  if (it == nullptr) return nullptr;
  const bool has_parameters = count(it->scale()) > 0 && count(it->zero_point()) > 0;
  return has_parameters || it->details_type() != 0 ? it : nullptr;
}

bool is_same(const tflite::QuantizationParameters* a, const tflite::QuantizationParameters* b) {
  if (a == nullptr || b == nullptr) return a == b;
  if (a->details_type() != 0 || b->details_type() != 0) return false;
  const auto equal = [](const auto* x, const auto* y) {
    return std::equal(x->begin(), x->end(), y->begin(), y->end());
  };
  return equal(a->scale(), b->scale()) && equal(a->zero_point(), b->zero_point()) &&
         (count(a->scale()) == 1 || a->quantized_dimension() == b->quantized_dimension());
}

std::string show(const tflite::QuantizationParameters* it) {
  if (it == nullptr) return "no scale";
  if (it->details_type() != 0) return "a quantization of its own kind";
  if (count(it->scale()) > 1)
    return fmt::format("{} scales on dimension {}", count(it->scale()), it->quantized_dimension());
  return fmt::format("scale {} and zero point {}", it->scale()->Get(0), it->zero_point()->Get(0));
}

/// The difference between an input's quantization and an output's, in words.
std::string difference(const TfliteScope& scope, const Operator& op, std::size_t input, std::size_t output) {
  const auto quantization = [&](TensorId id) {
    return quantization_of(at(scope.subgraph.tensors(), id - scope.first_tensor));
  };
  const auto* const from = quantization(*op.inputs[input]);
  const auto* const to = quantization(*op.outputs[output]);
  for (const auto* const it : {from, to}) {
    if (it != nullptr)
      scope.spend(count(it->scale()) * sizeof(float) + count(it->zero_point()) * sizeof(std::int64_t));
  }
  if (is_same(from, to)) return "";
  const std::string target = op.outputs.size() == 1 ? "the output" : fmt::format("output {}", output);
  return fmt::format("input {} has {}, {} {}", input, show(from), target, show(to));
}

/// The value of an input whose data is in the file, as axes, sizes and orders have it.
std::optional<Value> value_in_file(const TfliteScope& scope, const Graph& graph, TensorId id) {
  const Tensor& it = graph.tensors[id];
  if (it.kind != TensorKind::weight || !it.shape) return std::nullopt;
  return value_of(scope.model, scope.file, at(scope.subgraph.tensors(), id - scope.first_tensor), *it.shape,
                  scope.spend);
}

}  // namespace

void find_copies(const TfliteScope& scope, const tflite::Operator& source, const Graph& graph, Operator& op) {
  const auto* const facts = operators::find_facts(operators::Format::tflite, op.type);
  if (facts == nullptr || facts->copies == nullptr) return;
  std::vector<std::optional<Value>> known;
  for (const auto& input : op.inputs)
    known.push_back(input ? value_in_file(scope, graph, *input) : std::nullopt);
  std::vector<const Value*> values;
  for (const auto& value : known) values.push_back(value ? &*value : nullptr);
  const operators::NodeContext node(views_of(source), operators::newest_version, op.outputs.size(), {},
                                    std::move(values));
  find_copies(*facts, graph, op, node,
              [&](std::size_t input, std::size_t output) { return difference(scope, op, input, output); });
}

}  // namespace stowage::import
