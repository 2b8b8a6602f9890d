#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stowage/network.h"
#include "stowage/planner.h"

namespace stowage::testing {

/// A network of vectors of float32, operator by operator.
class NetworkMaker {
 public:
  explicit NetworkMaker(const std::string& name);

  TensorId input(std::int64_t count);
  TensorId weight(const std::vector<float>& values);
  /// Of an ONNX type that takes vectors, for instance "Relu", "Add" or "Concat".
  TensorId apply(const std::string& type, const std::vector<TensorId>& operands);
  void output(TensorId tensor);

  [[nodiscard]] std::int64_t count_of(TensorId tensor) const { return graph_.tensors[tensor].bytes / 4; }
  [[nodiscard]] const Graph& graph() const { return graph_; }

  Network take();

 private:
  Graph graph_;
  Network network_;
};

/// Networks, and how they run together: a random expression, feeds, released outputs and options.
struct Scenario {
  std::vector<Network> networks;
  PlanOptions options;
};

/// `operators` is how many a network has at most. With pauses, models also run between steps of others.
[[nodiscard]] Scenario random_scenario(std::uint64_t seed, std::size_t operators = 7,
                                       bool has_pauses = false);

}  // namespace stowage::testing
