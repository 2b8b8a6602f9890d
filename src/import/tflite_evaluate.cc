// Shapes are computed by small graphs of SHAPE, STRIDED_SLICE, PACK, MUL, ... Many of these operators are
// ONNX's under other names, so ONNX's rules compute them (onnx_evaluate.cc). Those that only pick elements are
// computed here: each element of the result is one of an input. Cost: linear in elements, of which there are at
// most `most_elements`. Source: the kernels of TFLite.

#include "import/tflite_evaluate.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "import/onnx_evaluate.h"
#include "operators/slices.h"

namespace stowage::import {
namespace {

using tflite::BuiltinOperator;

/// An operator under evaluation.
struct Picking {
  const operators::NodeContext& node;
  std::size_t output;
  Value result;
  std::size_t count = 0;

  /// Appends elements of an input. False if it has no such element, or elements of another kind.
  bool take(const Value* from, std::size_t first, std::size_t number = 1) {
    if (from == nullptr || from->is_real() != result.is_real() || first + number > from->size()) return false;
    const auto append = [&](const auto& source, auto& target) {
      const auto begin = source.begin() + static_cast<std::ptrdiff_t>(first);
      target.insert(target.end(), begin, begin + static_cast<std::ptrdiff_t>(number));
    };
    if (result.is_real()) {
      append(from->reals, result.reals);
    } else {
      append(from->integers, result.integers);
    }
    return true;
  }
};

/// Distances between neighbours along each axis, in elements.
std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// The result has so many elements along each of its axes, so far apart in an input.
struct Walk {
  std::int64_t first = 0;
  std::vector<std::int64_t> steps{};
};

bool walk(Picking& it, const Value* from, const Walk& way) {
  const Shape& extents = it.result.shape;
  if (from == nullptr || way.steps.size() != extents.size()) return false;
  for (std::size_t i = 0; i < it.count; ++i) {
    std::int64_t at = way.first;
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t d = extents.size(); d-- > 0; rest /= extents[d]) at += rest % extents[d] * way.steps[d];
    if (at < 0 || !it.take(from, static_cast<std::size_t>(at))) return false;
  }
  return true;
}

bool pick_slice(Picking& it, const std::optional<std::vector<operators::SlicedAxis>>& axes) {
  const Value* const from = it.node.value(0);
  if (from == nullptr || !axes) return false;
  const std::vector<std::int64_t> strides = strides_of(from->shape);
  Walk way;
  std::size_t next = 0;
  for (const operators::SlicedAxis& axis : *axes) {
    const std::int64_t stride = axis.is_new ? 0 : strides[next++];
    const bool moves = axis.extent && *axis.extent > 1;  // a step may be any number if it is never taken
    if (!axis.is_shrunk) way.steps.push_back(moves ? axis.step * stride : 0);
    way.first += axis.start * stride;
  }
  return walk(it, from, way);
}

bool pick_part(Picking& it, std::size_t input, const std::optional<operators::SplitAxis>& split) {
  const Value* const from = it.node.value(input);
  if (from == nullptr || !split) return false;
  Walk way{.steps = strides_of(from->shape)};
  for (std::size_t i = 0; i < it.output; ++i) way.first += split->extents[i] * way.steps[split->axis];
  return walk(it, from, way);
}

bool pick_unpacked(Picking& it) {
  const Value* const from = it.node.value(0);
  if (from == nullptr || !it.node.has_attribute("num")) return false;
  const std::size_t axis = axis_in(it.node.integer("axis", 0), from->shape.size());
  Walk way{.steps = strides_of(from->shape)};
  way.first = static_cast<std::int64_t>(it.output) * way.steps[axis];
  way.steps.erase(way.steps.begin() + static_cast<std::ptrdiff_t>(axis));
  return walk(it, from, way);
}

/// Of numbers and lists, which are all that shapes are packed of: numbers become a list.
bool pick_packed(Picking& it) {
  for (std::size_t i = 0; i < it.node.inputs(); ++i) {
    const Value* const from = it.node.value(i);
    if (from == nullptr || !from->shape.empty() || !it.take(from, 0)) return false;
  }
  return true;
}

bool pick_transposed(Picking& it) {
  const auto order = it.node.integers(1);
  const Value* const from = it.node.value(0);
  if (from == nullptr || !order) return false;
  const std::vector<std::int64_t> strides = strides_of(from->shape);
  Walk way;
  for (const std::size_t axis : axes_in(*order, from->shape.size())) way.steps.push_back(strides[axis]);
  return walk(it, from, way);
}

bool pick_reversed(Picking& it) {
  const auto axes = it.node.integers(1);
  const Value* const from = it.node.value(0);
  if (from == nullptr || !axes) return false;
  Walk way{.steps = strides_of(from->shape)};
  for (const std::size_t axis : axes_in(*axes, from->shape.size())) {
    way.first += (from->shape[axis] - 1) * way.steps[axis];
    way.steps[axis] = -way.steps[axis];
  }
  return walk(it, from, way);
}

/// Of a list.
bool pick_tiled(Picking& it) {
  const Value* const from = it.node.value(0);
  if (from == nullptr || from->shape.size() != 1 || from->size() == 0) return false;
  for (std::size_t i = 0; i < it.count; ++i) {
    if (!it.take(from, i % from->size())) return false;
  }
  return true;
}

bool pick_same(Picking& it) {
  for (std::size_t i = 0; i < it.count; ++i) {
    if (!it.take(it.node.value(1), 0)) return false;
  }
  return true;
}

bool all_zero(Picking& it) {
  it.result.integers.resize(it.result.is_real() ? 0 : it.count);
  it.result.reals.resize(it.result.is_real() ? it.count : 0);
  return true;
}

bool pick_dimensions(Picking& it) {
  const auto shape = it.node.shape(0);
  if (!shape || it.result.is_real()) return false;
  it.result.integers = *shape;
  return true;
}

bool pick_rank(Picking& it) {
  const Dims* const dims = it.node.dims(0);
  if (dims == nullptr || it.result.is_real()) return false;
  it.result.integers = {std::ssize(*dims)};
  return true;
}

/// The shape that two shapes broadcast to.
bool broadcast_shapes(Picking& it) {
  const auto a = it.node.integers(0);
  const auto b = it.node.integers(1);
  if (!a || !b) return false;
  const Dims first(a->begin(), a->end());
  const Dims second(b->begin(), b->end());
  const auto shape = concrete_shape(broadcast_dims(&first, &second));
  it.result.integers = shape.value_or(Shape());
  return shape.has_value();
}

/// Operators that only pick elements, and others that ONNX does not have. None: it is no such operator.
std::optional<bool> pick(BuiltinOperator builtin, Picking& it) {
  switch (builtin) {
    case BuiltinOperator::SHAPE:
      return pick_dimensions(it);
    case BuiltinOperator::RANK:
      return pick_rank(it);
    case BuiltinOperator::BROADCAST_ARGS:
      return broadcast_shapes(it);
    case BuiltinOperator::SLICE:
      return pick_slice(it, operators::slice_of(it.node));
    case BuiltinOperator::STRIDED_SLICE:
      return pick_slice(it, operators::strided_slice_of(it.node));
    case BuiltinOperator::SPLIT:
      return pick_part(it, 1, operators::split_of(it.node));
    case BuiltinOperator::SPLIT_V:
      return pick_part(it, 0, operators::split_v_of(it.node));
    case BuiltinOperator::UNPACK:
      return pick_unpacked(it);
    case BuiltinOperator::PACK:
      return pick_packed(it);
    case BuiltinOperator::TRANSPOSE:
      return pick_transposed(it);
    case BuiltinOperator::REVERSE_V2:
      return pick_reversed(it);
    case BuiltinOperator::TILE:
      return pick_tiled(it);
    case BuiltinOperator::FILL:
      return pick_same(it);
    case BuiltinOperator::ZEROS_LIKE:
      return all_zero(it);
    default:
      return std::nullopt;
  }
}

/// The operator of ONNX that computes the same of the first `inputs` inputs.
struct Equivalent {
  std::string_view name{};
  std::size_t inputs = 2;
};

Equivalent equivalent_of(BuiltinOperator builtin) {
  switch (builtin) {
    case BuiltinOperator::RESHAPE:
    case BuiltinOperator::SQUEEZE:
    case BuiltinOperator::EXPAND_DIMS:
      return {"Reshape", 1};
    case BuiltinOperator::CAST:
      return {"Cast", 1};
    case BuiltinOperator::NEG:
      return {"Neg", 1};
    case BuiltinOperator::FLOOR:
      return {"Floor", 1};
    case BuiltinOperator::CEIL:
      return {"Ceil", 1};
    case BuiltinOperator::SQRT:
      return {"Sqrt", 1};
    case BuiltinOperator::LOGICAL_NOT:
      return {"Not", 1};
    case BuiltinOperator::ADD:
      return {"Add"};
    case BuiltinOperator::SUB:
      return {"Sub"};
    case BuiltinOperator::MUL:
      return {"Mul"};
    case BuiltinOperator::DIV:
      return {"Div"};
    case BuiltinOperator::MINIMUM:
      return {"Min"};
    case BuiltinOperator::MAXIMUM:
      return {"Max"};
    case BuiltinOperator::EQUAL:
      return {"Equal"};
    case BuiltinOperator::LESS:
      return {"Less"};
    case BuiltinOperator::GREATER:
      return {"Greater"};
    case BuiltinOperator::LESS_EQUAL:
      return {"LessOrEqual"};
    case BuiltinOperator::GREATER_EQUAL:
      return {"GreaterOrEqual"};
    case BuiltinOperator::LOGICAL_AND:
      return {"And"};
    case BuiltinOperator::LOGICAL_OR:
      return {"Or"};
    case BuiltinOperator::BROADCAST_TO:
      return {"Expand"};
    case BuiltinOperator::RANGE:
      return {"Range", 3};
    case BuiltinOperator::SELECT:
    case BuiltinOperator::SELECT_V2:
      return {"Where", 3};
    case BuiltinOperator::REDUCE_PROD:
      return {"ReduceProd", 1};
    case BuiltinOperator::SUM:
      return {"ReduceSum", 1};
    case BuiltinOperator::REDUCE_MIN:
    case BuiltinOperator::REDUCE_ALL:
      return {"ReduceMin", 1};
    case BuiltinOperator::REDUCE_MAX:
    case BuiltinOperator::REDUCE_ANY:
      return {"ReduceMax", 1};
    default:
      return {"", 0};
  }
}

/// ONNX's operator of this name on these values. It computes reals in double precision.
std::optional<Value> computed(std::string_view name, std::span<const Value* const> inputs,
                              const Value& like) {
  NearbyFiles none("");  // the node has no attributes
  auto result = evaluate(wire::NodeProto{.op_type = name}, inputs, like.shape, like.elem_type, none);
  if (result) {
    for (double& real : result->reals) real = static_cast<float>(real);
  }
  return result;
}

std::optional<Value> computed(std::string_view name, const std::optional<Value>& a,
                              const std::optional<Value>& b, const Value& like) {
  const std::array<const Value*, 2> inputs{a ? &*a : nullptr, b ? &*b : nullptr};
  return computed(name, inputs, like);
}

/// Rounds downwards: to a multiple for integers.
std::optional<Value> floor_quotient(const operators::NodeContext& node, const Value& like) {
  const std::array inputs{node.value(0), node.value(1)};
  if (like.is_real()) {
    const auto quotient = computed("Div", inputs, like);
    const std::array<const Value*, 1> whole{quotient ? &*quotient : nullptr};
    return computed("Floor", whole, like);
  }
  if (inputs[0] == nullptr || inputs[1] == nullptr) return std::nullopt;
  const auto multiple = computed("Sub", *inputs[0], computed("Mod", inputs, like), like);
  return computed("Div", multiple, *inputs[1], like);
}

/// A condition of one dimension chooses whole rows in SELECT, but elements in ONNX's Where.
bool chooses_rows(BuiltinOperator builtin, const operators::NodeContext& node) {
  const Value* const condition = node.value(0);
  const Value* const chosen = node.value(1);
  return builtin == BuiltinOperator::SELECT && condition != nullptr && chosen != nullptr &&
         condition->shape.size() == 1 && chosen->shape.size() > 1;
}

bool has_activation(const operators::NodeContext& node) {
  return node.integer("fused_activation_function", 0) != 0;
}

/// Joins lists, or picks from a list, as ONNX does: only without other axes.
std::optional<Value> computed_of_lists(BuiltinOperator builtin, const operators::NodeContext& node,
                                       const Value& like) {
  std::vector<const Value*> inputs;
  for (std::size_t i = 0; i < node.inputs(); ++i) inputs.push_back(node.value(i));
  const bool is_list = !inputs.empty() && inputs[0] != nullptr && inputs[0]->shape.size() == 1;
  if (!is_list) return std::nullopt;
  if (builtin == BuiltinOperator::CONCATENATION) return computed("Concat", inputs, like);
  if (node.integer("batch_dims", 0) != 0) return std::nullopt;
  return computed("Gather", inputs, like);
}

}  // namespace

std::optional<Value> evaluate(BuiltinOperator builtin, const operators::NodeContext& node, std::size_t output,
                              const Shape& shape, int elem_type) {
  const auto count = small_count(elem_type, shape);
  if (!count || has_activation(node)) return std::nullopt;
  Picking it{node, output, {.elem_type = elem_type, .shape = shape, .integers = {}, .reals = {}}, *count};
  if (const auto is_picked = pick(builtin, it)) {
    if (!*is_picked || it.result.size() != *count) return std::nullopt;
    return std::move(it.result);
  }
  if (output > 0) return std::nullopt;
  const auto& like = it.result;
  switch (builtin) {
    case BuiltinOperator::FLOOR_DIV:
      return floor_quotient(node, like);
    case BuiltinOperator::SQUARE: {
      const std::array inputs{node.value(0), node.value(0)};
      return computed("Mul", inputs, like);
    }
    case BuiltinOperator::FLOOR_MOD: {
      const std::array inputs{node.value(0), node.value(1)};
      return like.is_real() ? std::nullopt : computed("Mod", inputs, like);
    }
    case BuiltinOperator::NOT_EQUAL: {
      const std::array inputs{node.value(0), node.value(1)};
      const auto equal = computed("Equal", inputs, like);
      const std::array<const Value*, 1> negated{equal ? &*equal : nullptr};
      return computed("Not", negated, like);
    }
    case BuiltinOperator::CONCATENATION:
    case BuiltinOperator::GATHER:
      return computed_of_lists(builtin, node, like);
    default:
      break;
  }
  const Equivalent equivalent = equivalent_of(builtin);
  if (equivalent.inputs == 0 || chooses_rows(builtin, node)) return std::nullopt;
  std::vector<const Value*> inputs;
  for (std::size_t i = 0; i < equivalent.inputs; ++i) inputs.push_back(node.value(i));
  return computed(equivalent.name, inputs, like);
}

}  // namespace stowage::import
