#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "import/given_values.h"
#include "import/onnx_given.h"
#include "import/onnx_graph.h"
#include "import/onnx_known.h"
#include "import/onnx_shapes.h"
#include "import/onnx_shared.h"
#include "import/onnx_types.h"
#include "import/onnx_values.h"
#include "import/readers.h"
#include "operators/context.h"
#include "stowage/import.h"

namespace stowage::import {

/// Infers the shapes of one model; see onnx_shapes.cc.
class Inference {
 public:
  Inference(SharedReading& shared, const ImportOptions& options, const Reading& reading);

  /// See Inferred::are_rounds_unlike.
  struct RoundsUnlike {};

  Inferred run();

 private:
  [[nodiscard]] const Graph& graph() const { return model_.graph; }
  [[nodiscard]] std::string place(TensorId t) const { return describe(model_.graph, t); }
  [[nodiscard]] bool is_given(TensorId t) const;

  // Operators, in onnx_shapes.cc

  void know_weight(TensorId t);
  void apply_given_shape(TensorId t);
  void fill_given_shape(TensorId t);
  void know_values();
  [[nodiscard]] bool is_decided_by_user(TensorId t, std::size_t axis, std::size_t rank) const;
  void infer(std::size_t subgraph);
  void infer_operator(std::size_t subgraph, std::size_t o);
  void infer_call(const Operator& op, const wire::NodeProto& node, std::size_t subgraph, std::size_t o);
  [[nodiscard]] KnownCall inferred_types(const Operator& op, const wire::NodeProto& node,
                                         std::size_t subgraph, std::size_t o);
  [[nodiscard]] std::optional<operators::NodeContext> context_of(const Operator& op,
                                                                 const wire::NodeProto& node,
                                                                 std::vector<const Type*> inputs) const;
  [[nodiscard]] std::vector<const Value*> values_of(const Operator& op) const;
  void apply_rule(const Operator& op, const wire::NodeProto& node, operators::NodeContext& context,
                  std::size_t subgraph, std::size_t o);
  void learn(TensorId t, const Type& inferred);
  void learn(TensorId t, Id inferred);
  void merge(const Type& found, TensorId t, std::string_view source);
  void declare(TensorId t);
  void drop_wrong_declaration(TensorId t, const Type& inferred);
  [[nodiscard]] bool is_declared_by_inputs(TensorId t, const Type& inferred) const;
  void compute(const Operator& op, const wire::NodeProto& node);
  void compute_parts(const Operator& op, const wire::NodeProto& node);
  const SizeOfType& expect_size(TensorId t) const;

  // Operators with bodies, in onnx_bodies.cc

  void infer_if(const Operator& op, std::size_t subgraph, std::size_t o);
  [[nodiscard]] std::optional<std::size_t> known_branch(const Operator& op) const;
  void infer_loop(const Operator& op, std::size_t subgraph, std::size_t o);
  void infer_scan(const Operator& op, const wire::NodeProto& node, std::size_t subgraph, std::size_t o);
  [[noreturn]] void reject(std::size_t subgraph, std::size_t o, const std::string& problem);
  void enter_body(TensorId from, TensorId to);
  void expect_same_after_round(TensorId initial, TensorId before, TensorId after);
  void infer_rounds(const Operator& op, std::span<const TensorId> before, std::span<const TensorId> after);
  [[nodiscard]] Type carried_type(TensorId initial, TensorId before, TensorId after);
  [[nodiscard]] bool runs_all_rounds(const Operator& op) const;
  [[nodiscard]] std::optional<std::int64_t> counted_rounds(const Operator& op);
  void expect_at_least(TensorId t, const Type& known, const std::string& what);

  // Sizes that are open, in onnx_open.cc

  /// A tensor without a size, and the operator that writes it.
  struct OpenTensor {
    TensorId tensor = 0;
    std::size_t subgraph = 0;
    std::optional<std::size_t> writer{};  ///< In the subgraph; none for its inputs.
  };

  void expect_inputs_settled();
  void expect_settled();
  [[nodiscard]] std::string origin(const OpenTensor& it) const;
  [[nodiscard]] bool is_settled(const OpenTensor& it);
  void collect_open(std::size_t subgraph, std::vector<OpenTensor>& open);
  [[nodiscard]] bool depends_on_data(const OpenTensor& it) const;
  [[nodiscard]] Deciding what_may_decide() const;
  [[nodiscard]] std::string undecided_branch(std::size_t subgraph) const;
  [[noreturn]] void ask_for(const std::vector<OpenTensor>& open);

  SharedReading& shared_;
  const OnnxGraph& model_;
  const ImportOptions& options_;
  const Reading& reading_;
  bool are_sizes_given_;
  std::optional<GivenSizes> given_{};  ///< In reading 0.
  Types types_;
  Values values_;
  std::vector<std::optional<Id>> declared_{};  ///< Types by declaration.
  Folding folding_{};
  std::map<TensorId, Bytes> bounded_{};
  std::map<TensorId, std::vector<Number>> elements_{};
  bool is_drawn_ = false;
  std::vector<GivenRound> given_rounds_;
  std::size_t rounds_ = 0;  ///< Operators around the present one in whose bodies no branch is taken.
  std::vector<DecidedIf> decided_{};
  std::map<TensorId, std::string> contradicted_{};  ///< Declarations that do not count, and why.
};

}  // namespace stowage::import
