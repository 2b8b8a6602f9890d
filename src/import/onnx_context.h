#pragma once

#include <onnx/defs/shape_inference.h>
#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "stowage/graph.h"

namespace stowage::import {

/// A node as inference rules see it: attributes, types and known values of its inputs, and storage for the
/// types of its outputs. Serves both libonnx's rules and our own.
class NodeContext : public onnx::InferenceContext {
 public:
  /// `version` is that of the node's operator set. `inputs` and `values` have an entry per input; null:
  /// omitted or unknown.
  NodeContext(const onnx::NodeProto& node, int version, std::vector<const onnx::TypeProto*> inputs,
              std::vector<std::optional<onnx::TensorProto>> values);

  [[nodiscard]] const onnx::AttributeProto* getAttribute(const std::string& name) const override;
  [[nodiscard]] size_t getNumInputs() const override { return inputs_.size(); }
  [[nodiscard]] const onnx::TypeProto* getInputType(size_t index) const override;
  [[nodiscard]] const onnx::TensorProto* getInputData(size_t index) const override;
  [[nodiscard]] size_t getNumOutputs() const override { return outputs_.size(); }
  onnx::TypeProto* getOutputType(size_t index) override;
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override;
  [[nodiscard]] const onnx::SparseTensorProto* getInputSparseData(size_t index) const override;
  [[nodiscard]] const onnx::TensorShapeProto* getSymbolicInput(size_t index) const override;

  [[nodiscard]] const onnx::NodeProto& node() const { return node_; }
  [[nodiscard]] int version() const { return version_; }
  [[nodiscard]] std::vector<onnx::TypeProto>& outputs() { return outputs_; }

  /// The dimensions of an input if all are known.
  [[nodiscard]] std::optional<Shape> shape(size_t input) const;
  /// The element type of an input; 0 if it is omitted.
  [[nodiscard]] int elem_type(size_t input) const;
  /// The known integers of an input; none if it is omitted or unknown.
  [[nodiscard]] std::optional<Shape> integers(size_t input) const;
  [[nodiscard]] std::int64_t integer(const std::string& attribute, std::int64_t otherwise) const;
  [[nodiscard]] std::optional<Shape> integer_list(const std::string& attribute) const;
  [[nodiscard]] bool has(size_t input) const { return input < inputs_.size() && inputs_[input] != nullptr; }

  void set_output(size_t index, int elem_type, const std::optional<Shape>& shape);

 private:
  const onnx::NodeProto& node_;
  int version_;
  std::vector<const onnx::TypeProto*> inputs_;
  std::vector<std::optional<onnx::TensorProto>> values_;
  std::vector<onnx::TypeProto> outputs_;
};

/// Throws InferenceError for ranks that libonnx's rules assume, or iterate up to, without a check.
void expect_sane_ranks(const NodeContext& node);

/// Sums and products of dimensions; throw InferenceError on overflow.
[[nodiscard]] std::int64_t sum_or_fail(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t product_or_fail(std::int64_t a, std::int64_t b);

}  // namespace stowage::import
