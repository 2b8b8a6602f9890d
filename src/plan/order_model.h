#pragma once

#include <optional>
#include <set>
#include <vector>

#include "lifetime/lives.h"
#include "plan/order_parts.h"
#include "schedule/storage.h"
#include "stowage/graph.h"

namespace stowage::plan {

struct OrderModelOptions {
  Bytes alignment = 1;
  bool may_overwrite = false;  ///< Operators may write over what they read.
  bool keeps_state = true;     ///< As in alias::BufferOptions.
};

/// The memory that the operators of one subgraph need.
struct OrderModel {
  schedule::Storage storage{};           ///< Normalized.
  std::vector<std::size_t> operators{};  ///< Those that run, by index in the subgraph.
  schedule::Order own{};                 ///< The graph's own order, as numbers of the storage.
};

/// Makes a model of each subgraph to search orders in; see order_model.cc.
class OrderModels {
 public:
  OrderModels(const Graph& graph, std::vector<lifetime::Residence> residences, const Parts& parts,
              const OrderModelOptions& options);

  /// `peaks` has the needs of bodies, by subgraph. Ask for bodies before the subgraphs that run them.
  [[nodiscard]] OrderModel model_of(std::size_t subgraph, const std::vector<Bytes>& peaks);

 private:
  class Maker;

  [[nodiscard]] bool is_state(TensorId tensor) const;
  /// State that an operator or its bodies touch. An index after all tensors stands for effects outside.
  [[nodiscard]] std::set<TensorId> touched_by(const Operator& op) const;
  [[nodiscard]] Bytes need_of_bodies(const Operator& op, const std::vector<Bytes>& peaks) const;
  [[nodiscard]] Bytes planned_inputs_of(std::size_t subgraph) const;

  const Graph& graph_;
  std::vector<lifetime::Residence> residences_;
  const Parts& parts_;
  OrderModelOptions options_;
  std::vector<std::vector<std::size_t>> orders_;    ///< Per subgraph: the graph's own.
  std::vector<std::vector<TensorId>> captures_;     ///< Per subgraph.
  std::vector<std::optional<std::size_t>> owners_;  ///< Per tensor.
  std::vector<bool> is_repeated_;                   ///< Per subgraph: a loop runs it.
  std::vector<bool> outlives_readers_;              ///< Per tensor.
  std::vector<std::vector<std::size_t>> parts_of_subgraph_;
  std::vector<std::set<TensorId>> states_;  ///< Per subgraph: touched by its operators.
};

}  // namespace stowage::plan
