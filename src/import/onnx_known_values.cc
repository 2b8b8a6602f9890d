// What a file itself says of types, before shapes are inferred: enough to tell which form of attention a node has.
//
// Declared values and initializers come first; then, in the file's order, a few operators that stand around attention
// pass on what is known of their inputs. A body falls back on the graph around it for names that it does not define.
//
// Cost: linear in values and operands, with a look-up by name for each.

#include "import/onnx_known_values.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "operators/shapes.h"

namespace stowage::import {
namespace {

using wire::NodeProto;

/// Their first output is like the first input.
constexpr std::array<std::string_view, 12> like_first{"BiasGelu",
                                                      "Dropout",
                                                      "FastGelu",
                                                      "Gelu",
                                                      "Identity",
                                                      "LayerNormalization",
                                                      "QuickGelu",
                                                      "Relu",
                                                      "SkipLayerNormalization",
                                                      "Tanh",
                                                      "SimplifiedLayerNormalization",
                                                      "Softmax"};
constexpr std::array<std::string_view, 4> element_by_element{"Add", "Div", "Mul", "Sub"};

bool is_one_of(std::string_view type, const auto& types) {
  return std::ranges::find(types, type) != types.end();
}

/// The shape with more dimensions; sizes that it leaves open are those of the other, unless that is 1.
KnownValue broadcast(const KnownValue& a, const KnownValue& b) {
  const bool is_first = a.dims.size() >= b.dims.size();
  KnownValue result = is_first ? a : b;
  const KnownValue& other = is_first ? b : a;
  const std::size_t more = result.dims.size() - other.dims.size();
  for (std::size_t d = 0; d < other.dims.size(); ++d) {
    wire::Dimension& own = result.dims[more + d];
    if (other.dims[d].size.value_or(1) != 1 && own.size.value_or(1) == 1)
      own = other.dims[d];
    else if (own.size == 1)
      own = other.dims[d];
  }
  return result;
}

}  // namespace

bool are_same(const wire::Dimension& a, const wire::Dimension& b) {
  return (a.size && a.size == b.size) || (!a.name.empty() && a.name == b.name);
}

KnownValues::KnownValues(const wire::GraphProto& graph, const KnownValues* around) : around_(around) {
  for (const wire::ValueInfoProto& input : graph.input) own_.insert(input.name);
  for (const wire::TensorProto& tensor : graph.initializer) own_.insert(tensor.name);
  for (const NodeProto& node : graph.node) own_.insert(node.output.begin(), node.output.end());
  for (const auto* const list : {&graph.input, &graph.value_info, &graph.output})
    for (const wire::ValueInfoProto& value : *list) declare(value);
  for (const wire::TensorProto& tensor : graph.initializer) declare(tensor);
  for (const NodeProto& node : graph.node) pass_on(node);
}

const KnownValue* KnownValues::of(std::string_view name) const {
  if (name.empty()) return nullptr;
  if (const auto found = values_.find(name); found != values_.end()) return &found->second;
  return around_ == nullptr || own_.contains(name) ? nullptr : around_->of(name);
}

void KnownValues::declare(const wire::ValueInfoProto& value) {
  if (value.type && value.type->kind == wire::TypeProto::Kind::tensor && value.type->shape)
    values_.emplace(value.name, KnownValue{value.type->elem_type, *value.type->shape});
}

void KnownValues::declare(const wire::TensorProto& tensor) {
  KnownValue& known = values_[tensor.name];
  known = {.elem_type = tensor.data_type};
  for (const std::int64_t size : tensor.dims) known.dims.push_back({.size = size});
}

void KnownValues::pass_on(const NodeProto& node) {
  if (node.output.empty() || node.output[0].empty() || values_.contains(node.output[0])) return;
  const auto input = [&](std::size_t i) { return i < node.input.size() ? of(node.input[i]) : nullptr; };
  const KnownValue* const a = input(0);
  const KnownValue* const b = input(1);
  KnownValue result;
  if (a != nullptr && is_one_of(node.op_type, like_first)) {
    result = *a;
  } else if (a != nullptr && node.op_type == "Cast") {
    const auto* const to = wire::attribute_of<std::int64_t>(node, "to");
    result = {to == nullptr ? 0 : static_cast<int>(*to), a->dims};
  } else if (a != nullptr && b != nullptr && is_one_of(node.op_type, element_by_element)) {
    result = broadcast(*a, *b);
  } else if (a != nullptr && b != nullptr && node.op_type == "MatMul" && a->dims.size() >= 2 &&
             b->dims.size() == 2) {
    result = *a;
    result.dims.back() = b->dims[1];
  } else {
    return;
  }
  values_.emplace(node.output[0], std::move(result));
}

}  // namespace stowage::import
