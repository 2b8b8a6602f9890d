#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "import/known.h"
#include "import/tflite_shapes.h"
#include "stowage/graph.h"
#include "stowage/import.h"
#include "tflite_generated.h"

namespace stowage::import {

/// What is known of a tensor.
struct KnownTensor {
  std::optional<Dims> dims{};
  std::optional<Value> value{};  ///< Of small tensors that shapes may be computed from.
};

/// The dimensions that the file fixes; none if it leaves even the rank open.
[[nodiscard]] std::optional<Dims> fixed_dims(const tflite::Tensor& tensor);
/// An omitted vector is an empty one.
[[nodiscard]] Shape integers_in(const flatbuffers::Vector<std::int32_t>* numbers);

/// Infers the shapes of one reading. See tflite_shapes.cc for the operators, tflite_open.cc for what the user gives.
class TfliteInference {
 public:
  TfliteInference(const tflite::Model& model, std::string_view file, const Graph& graph,
                  const ImportOptions& options, std::size_t reading,
                  const std::function<void(std::size_t bytes)>& spend);

  InferredShapes run();

 private:
  // tflite_shapes.cc
  [[nodiscard]] const tflite::Tensor& source_of(TensorId t) const;
  void know_constants();
  void infer(std::size_t subgraph);
  void infer_operator(std::size_t subgraph, std::size_t o);
  void infer_plain(const Operator& op, const tflite::Operator& source, tflite::BuiltinOperator builtin);
  void infer_if(const Operator& op);
  void infer_while(const Operator& op);
  [[nodiscard]] std::optional<Dims> first_or_last(const std::optional<Dims>& first,
                                                  const std::optional<Dims>& last, TensorId t);
  void enter(std::size_t body, const std::vector<KnownTensor>& inputs);
  [[nodiscard]] bool changes_sizes(const Operator& op) const;
  void learn(TensorId t, std::optional<Dims> dims);
  [[nodiscard]] std::optional<Shape> shape_of(TensorId t) const;
  [[nodiscard]] std::map<TensorId, Value> known_results() const;

  // tflite_open.cc
  struct OpenTensor {
    TensorId tensor = 0;
    std::optional<Dims> dims{};
    std::string origin{};  ///< In words; empty for an input of the network.
  };

  [[nodiscard]] bool is_settled(TensorId t) const;
  std::string know_inputs();
  void know_values(InferredShapes& result);
  bool take_given(TensorId t, const Dims& fixed);
  void fill_given(TensorId t, std::optional<Dims>& dims);
  void expect_at_least(const std::optional<Dims>& dims, TensorId t) const;
  void collect_open();
  void collect_open(std::size_t subgraph, std::set<std::size_t>& seen);
  void collect_open(std::size_t subgraph, std::size_t o);
  [[noreturn]] void ask_for_inputs() const;
  [[noreturn]] void ask_for_open() const;
  [[nodiscard]] std::string option_for(const OpenTensor& it, std::string_view size) const;
  void expect_agreement() const;
  [[nodiscard]] ImportOptions ranges() const;

  const tflite::Model& model_;
  std::string_view file_;
  const Graph& graph_;
  const ImportOptions& options_;
  std::size_t reading_;  ///< 0: of the largest sizes.
  std::function<void(std::size_t bytes)> spend_;
  bool is_drawn_ = false;
  std::vector<std::vector<std::size_t>> orders_;
  std::vector<TensorId> first_tensor_{};    // of each subgraph
  std::vector<std::size_t> subgraph_of_{};  // by tensor
  std::vector<KnownTensor> known_;          // by tensor
  std::vector<std::optional<KnownTensor>>
      entered_;                    // by tensor: what a body is given, before --shape fills it
  std::vector<bool> is_inferred_;  // by subgraph
  std::vector<OpenTensor> open_{};
  std::map<std::string, std::set<std::size_t>>
      open_inputs_{};  // by name of --shape: axes that the caller decides
  std::map<std::string, std::set<std::size_t>> computed_{};  // the same: axes that the network computes
};

}  // namespace stowage::import
