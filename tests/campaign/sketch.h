#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "random.h"
#include "stowage/graph.h"

namespace stowage::campaign {

/// A graph that grows operator by operator.
class Sketch {
 public:
  explicit Sketch(std::string name);

  TensorId tensor(const std::string& prefix, DType dtype, Shape shape,
                  TensorKind kind = TensorKind::temporary);
  TensorId scratch(Bytes bytes);
  TensorId input(DType dtype, Shape shape);
  TensorId weight(DType dtype, Shape shape);

  /// A new operator of the main subgraph; what it points to is good until the next one.
  Operator& add(const std::string& type, std::vector<std::optional<TensorId>> inputs,
                std::vector<std::optional<TensorId>> outputs);

  [[nodiscard]] const Tensor& at(TensorId tensor) const { return graph_.tensors[tensor]; }
  [[nodiscard]] const Shape& shape(TensorId tensor) const { return *graph_.tensors[tensor].shape; }
  [[nodiscard]] std::vector<Operator>& operators() { return graph_.subgraphs[0].operators; }
  [[nodiscard]] Graph& graph() { return graph_; }
  [[nodiscard]] bool is_read(TensorId tensor) const;

  /// Makes outputs of all tensors that nobody reads, of some more by chance, and leaves a few unread.
  void choose_outputs(Random& random, const std::vector<TensorId>& candidates);

 private:
  Graph graph_;
};

/// Names of elementwise operators of one and of two inputs.
[[nodiscard]] const std::vector<std::string>& unary_types();
[[nodiscard]] const std::vector<std::string>& binary_types();

/// The graph's operators in another order; `after` and paths follow.
void shuffle_operators(Graph& graph, Random& random);

}  // namespace stowage::campaign
