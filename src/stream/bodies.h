#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::stream {

/// One run of an operator of the main subgraph with all its bodies, from position 0: that of the operator itself.
struct BodyRun {
  std::vector<Step> steps{};                          ///< Of the bodies, from position 1 on.
  std::map<TensorId, std::vector<Lifetime>> lives{};  ///< Of tensors of the bodies that have bytes.
  Bytes load = 0;                                     ///< The most of these bytes at any position.
};

/// The bodies (If, Loop) of a network's operators. They run as wholes.
class Bodies {
 public:
  explicit Bodies(const Graph& graph);

  /// Of an operator that has bodies.
  [[nodiscard]] const BodyRun& run_of(std::size_t op) const { return runs_.at(op); }
  /// The tensors of the main subgraph that its bodies read, each once.
  [[nodiscard]] std::vector<TensorId> read_by(std::size_t op) const;

 private:
  void add_reads(std::size_t subgraph, std::vector<TensorId>& reads) const;

  const Graph& graph_;
  std::vector<std::optional<std::size_t>> owners_{};
  std::map<std::size_t, BodyRun> runs_{};
};

}  // namespace stowage::stream
