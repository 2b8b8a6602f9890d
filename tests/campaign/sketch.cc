#include "sketch.h"

#include <algorithm>
#include <utility>

namespace stowage::campaign {

Sketch::Sketch(std::string name) {
  graph_.name = std::move(name);
  graph_.subgraphs = {{.name = "main"}};
}

TensorId Sketch::tensor(const std::string& prefix, DType dtype, Shape shape, TensorKind kind) {
  const Bytes bytes = bytes_of(dtype, shape);
  graph_.tensors.push_back({.name = prefix + std::to_string(graph_.tensors.size()),
                            .kind = kind,
                            .dtype = dtype,
                            .shape = std::move(shape),
                            .bytes = bytes});
  return graph_.tensors.size() - 1;
}

TensorId Sketch::scratch(Bytes bytes) {
  graph_.tensors.push_back({.name = "scratch" + std::to_string(graph_.tensors.size()),
                            .kind = TensorKind::scratch,
                            .bytes = bytes});
  return graph_.tensors.size() - 1;
}

TensorId Sketch::input(DType dtype, Shape shape) {
  const TensorId made = tensor("x", dtype, std::move(shape), TensorKind::input);
  graph_.subgraphs[0].inputs.push_back(made);
  return made;
}

TensorId Sketch::weight(DType dtype, Shape shape) {
  return tensor("w", dtype, std::move(shape), TensorKind::weight);
}

Operator& Sketch::add(const std::string& type, std::vector<std::optional<TensorId>> inputs,
                      std::vector<std::optional<TensorId>> outputs) {
  std::vector<Operator>& operators = graph_.subgraphs[0].operators;
  operators.push_back({.name = "op" + std::to_string(operators.size()),
                       .type = type,
                       .inputs = std::move(inputs),
                       .outputs = std::move(outputs),
                       .multiplies = 0});
  return operators.back();
}

bool Sketch::is_read(TensorId tensor) const {
  for (const Operator& op : graph_.subgraphs[0].operators)
    for (const auto& input : op.inputs)
      if (input == tensor) return true;
  return false;
}

void Sketch::choose_outputs(Random& random, const std::vector<TensorId>& candidates) {
  std::vector<TensorId>& outputs = graph_.subgraphs[0].outputs;
  for (const TensorId candidate : candidates) {
    const bool read = is_read(candidate);
    if (read ? !random.chance(6) : random.chance(5)) continue;
    outputs.push_back(candidate);
    if (at(candidate).kind == TensorKind::temporary) graph_.tensors[candidate].kind = TensorKind::output;
  }
  if (!outputs.empty() || candidates.empty()) return;
  outputs.push_back(candidates.back());
  if (at(candidates.back()).kind == TensorKind::temporary)
    graph_.tensors[candidates.back()].kind = TensorKind::output;
}

const std::vector<std::string>& unary_types() {
  static const std::vector<std::string> types{"Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Clip", "LeakyRelu"};
  return types;
}

const std::vector<std::string>& binary_types() {
  static const std::vector<std::string> types{"Add", "Mul", "Sub", "Div"};
  return types;
}

void shuffle_operators(Graph& graph, Random& random) {
  std::vector<Operator>& operators = graph.subgraphs[0].operators;
  std::vector<std::size_t> from(operators.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = i;
  for (std::size_t i = from.size(); i > 1; --i) std::swap(from[i - 1], from[random.index(i)]);
  std::vector<std::size_t> to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[from[i]] = i;
  std::vector<Operator> shuffled;
  shuffled.reserve(from.size());
  for (const std::size_t old : from) {
    shuffled.push_back(operators[old]);
    for (std::size_t& before : shuffled.back().after) before = to[before];
  }
  operators = std::move(shuffled);
}

}  // namespace stowage::campaign
