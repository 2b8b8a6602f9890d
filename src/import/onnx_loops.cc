// Loops that count. Exporters of TensorFlow write a loop over time without a number of rounds: its condition compares a
// carried counter with a length, of which both are known.
//
//     time = 0, length = 80 (a size)
//     while (time < length) { .. ; time = time + 1 }        80 rounds
//
// What the condition depends on is computed round by round, as far as it is made of small numbers. Where it depends on
// data, the number of rounds stays unknown.
//
// Cost: rounds times the operators that the condition depends on, of which there are at most `most_steps` together.

#include <algorithm>
#include <map>
#include <set>

#include "import/onnx_evaluate.h"
#include "import/onnx_inference.h"

namespace stowage::import {
namespace {

constexpr std::size_t most_steps = 100'000;
constexpr std::size_t first_carried =
    2;  // of inputs: behind the most rounds, or the round, and the condition

/// What the condition of a loop depends on.
struct Dependence {
  std::vector<std::size_t> operators{};  ///< Of the body, in their order.
  std::set<std::size_t> carried{};       ///< Numbers of carried values.
};

/// None if an operator with a body decides.
std::optional<Dependence> dependence_of(const Subgraph& body, const std::vector<std::size_t>& order) {
  std::map<TensorId, std::size_t> writers;
  for (std::size_t o = 0; o < body.operators.size(); ++o)
    for (const auto& output : body.operators[o].outputs)
      if (output) writers.emplace(*output, o);
  Dependence result;
  std::set<std::size_t> needed;
  std::set<TensorId> seen;
  std::vector<TensorId> open{body.outputs[0]};
  while (!open.empty()) {
    const TensorId tensor = open.back();
    open.pop_back();
    if (!seen.insert(tensor).second) continue;
    const auto input = std::ranges::find(body.inputs, tensor);
    const auto number = static_cast<std::size_t>(input - body.inputs.begin());
    if (input != body.inputs.end() && number >= first_carried) {
      result.carried.insert(number - first_carried);
      open.push_back(body.outputs[number - 1]);
    }
    const auto writer = writers.find(tensor);
    if (writer == writers.end() || !needed.insert(writer->second).second) continue;
    const Operator& op = body.operators[writer->second];
    if (!op.bodies.empty()) return std::nullopt;
    for (const auto& operand : op.inputs)
      if (operand) open.push_back(*operand);
  }
  for (const std::size_t o : order)
    if (needed.contains(o)) result.operators.push_back(o);
  return result;
}

Value scalar_of(int elem_type, std::int64_t number) {
  return {.elem_type = elem_type, .shape = {}, .integers = {number}, .reals = {}};
}

}  // namespace

/// The rounds that a Loop runs, whose body has types; none if data decides.
std::optional<std::int64_t> Inference::counted_rounds(const Operator& op) {
  const Subgraph& body = graph().subgraphs[op.bodies[0]];
  const auto number_of = [](const Value* value) -> std::optional<std::int64_t> {
    if (value == nullptr || value->integers.size() != 1) return std::nullopt;
    return value->integers[0];
  };
  const auto known = [&](const std::optional<TensorId>& tensor) -> const Value* {
    return tensor && values_[*tensor] ? &*values_[*tensor] : nullptr;
  };
  const std::optional<std::int64_t> most = op.inputs[0] ? number_of(known(op.inputs[0])) : std::nullopt;
  std::optional<std::int64_t> goes_on = op.inputs[1] ? number_of(known(op.inputs[1])) : 1;
  const auto dependence = dependence_of(body, shared_.orders[op.bodies[0]]);
  if ((op.inputs[0] && !most) || !goes_on || !dependence) return std::nullopt;
  std::map<TensorId, Value> now;
  for (const std::size_t i : dependence->carried) {
    const Value* const initial = known(op.inputs[i + first_carried]);
    if (initial == nullptr) return std::nullopt;
    now[body.inputs[i + first_carried]] = *initial;
  }
  const auto value_now = [&](TensorId tensor) -> const Value* {
    const auto own = now.find(tensor);
    return own != now.end() ? &own->second : known(tensor);
  };
  std::int64_t round = 0;
  std::size_t steps = 0;
  for (; (!most || round < *most) && *goes_on != 0; ++round) {
    now[body.inputs[0]] = scalar_of(element::int64, round);
    now[body.inputs[1]] = scalar_of(element::boolean, 1);
    for (const std::size_t o : dependence->operators) {
      const Operator& own = body.operators[o];
      if (++steps > most_steps || own.outputs.size() != 1 || !own.outputs[0]) return std::nullopt;
      const TensorId output = *own.outputs[0];
      const wire::NodeProto& node = *model_.nodes[op.bodies[0]][o];
      const auto shape = concrete_shape(types_[output].dims);
      if (known(output) != nullptr) continue;  // the same in all rounds
      std::vector<const Value*> operands;
      for (const auto& input : own.inputs) operands.push_back(input ? value_now(*input) : nullptr);
      auto value = shape && own.type == node.op_type
                       ? evaluate(node, operands, *shape, types_[output].elem_type, shared_.files)
                       : std::nullopt;
      if (!value) return std::nullopt;
      now[output] = *std::move(value);
    }
    goes_on = number_of(value_now(body.outputs[0]));
    std::map<TensorId, Value> next;
    for (const std::size_t i : dependence->carried) {
      const Value* const value = value_now(body.outputs[i + 1]);
      if (value == nullptr) return std::nullopt;
      next[body.inputs[i + first_carried]] = *value;
    }
    if (!goes_on || ++steps > most_steps) return std::nullopt;
    now = std::move(next);
  }
  return round;
}

}  // namespace stowage::import
