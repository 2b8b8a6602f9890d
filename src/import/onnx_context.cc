#include "import/onnx_context.h"

#include <onnx/defs/tensor_proto_util.h>

#include "base/checked.h"

namespace stowage::import {

NodeContext::NodeContext(const onnx::NodeProto& node, int version, std::vector<const onnx::TypeProto*> inputs,
                         std::vector<std::optional<onnx::TensorProto>> values)
    : node_(node),
      version_(version),
      inputs_(std::move(inputs)),
      values_(std::move(values)),
      outputs_(static_cast<std::size_t>(node.output_size())) {}

const onnx::AttributeProto* NodeContext::getAttribute(const std::string& name) const {
  for (const onnx::AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

const onnx::TypeProto* NodeContext::getInputType(size_t index) const {
  if (index >= inputs_.size()) fail_type_inference("Input ", index, " is out of bounds.");
  return inputs_[index];
}

const onnx::TensorProto* NodeContext::getInputData(size_t index) const {
  if (index >= values_.size()) fail_type_inference("Input ", index, " is out of bounds.");
  return values_[index] ? &*values_[index] : nullptr;
}

onnx::TypeProto* NodeContext::getOutputType(size_t index) {
  if (index >= outputs_.size()) fail_type_inference("Output ", index, " is out of bounds.");
  return &outputs_[index];
}

/// Operators with bodies have rules of our own; libonnx's rules are never called for them.
onnx::GraphInferencer* NodeContext::getGraphAttributeInferencer(const std::string& name) {
  fail_type_inference("Attribute ", name, " is a graph, which is not inferred here.");
}

const onnx::SparseTensorProto* NodeContext::getInputSparseData(size_t) const { return nullptr; }

const onnx::TensorShapeProto* NodeContext::getSymbolicInput(size_t) const { return nullptr; }

std::optional<Shape> NodeContext::shape(size_t input) const {
  if (!has(input) || !inputs_[input]->has_tensor_type() || !inputs_[input]->tensor_type().has_shape())
    return std::nullopt;
  Shape shape;
  for (const auto& dimension : inputs_[input]->tensor_type().shape().dim()) {
    if (!dimension.has_dim_value()) return std::nullopt;
    shape.push_back(dimension.dim_value());
  }
  return shape;
}

int NodeContext::elem_type(size_t input) const {
  return has(input) ? inputs_[input]->tensor_type().elem_type() : 0;
}

std::optional<Shape> NodeContext::integers(size_t input) const {
  if (input >= values_.size() || !values_[input]) return std::nullopt;
  const onnx::TensorProto& value = *values_[input];
  if (value.data_type() == onnx::TensorProto::INT64)
    return Shape(value.int64_data().begin(), value.int64_data().end());
  if (value.data_type() == onnx::TensorProto::INT32)
    return Shape(value.int32_data().begin(), value.int32_data().end());
  return std::nullopt;
}

std::int64_t NodeContext::integer(const std::string& attribute, std::int64_t otherwise) const {
  const onnx::AttributeProto* const it = getAttribute(attribute);
  return it != nullptr && it->has_i() ? it->i() : otherwise;
}

std::optional<Shape> NodeContext::integer_list(const std::string& attribute) const {
  const onnx::AttributeProto* const it = getAttribute(attribute);
  if (it == nullptr) return std::nullopt;
  return Shape(it->ints().begin(), it->ints().end());
}

void NodeContext::set_output(size_t index, int elem_type, const std::optional<Shape>& shape) {
  if (index >= outputs_.size()) return;
  onnx::TypeProto_Tensor& tensor = *outputs_[index].mutable_tensor_type();
  tensor.set_elem_type(elem_type);
  if (!shape) return;
  tensor.mutable_shape()->Clear();
  for (const std::int64_t dimension : *shape) tensor.mutable_shape()->add_dim()->set_dim_value(dimension);
}

void expect_sane_ranks(const NodeContext& node) {
  constexpr std::int64_t most_dimensions = 1024;
  const std::string& type = node.node().op_type();
  const bool is_recurrent = type == "RNN" || type == "GRU" || type == "LSTM";
  if (is_recurrent && node.has(0) && node.getInputType(0)->tensor_type().has_shape() &&
      node.getInputType(0)->tensor_type().shape().dim_size() != 3)
    fail_shape_inference("the input is not of rank 3");
  if (type != "Expand" && type != "ConstantOfShape") return;
  const auto rank = node.shape(type == "Expand" ? 1 : 0);
  if (rank && (rank->size() != 1 || rank->front() > most_dimensions))
    fail_shape_inference("the shape is not a vector of at most ", most_dimensions, " dimensions");
}

std::int64_t sum_or_fail(std::int64_t a, std::int64_t b) {
  const auto sum = base::checked_add(a, b);
  if (!sum) fail_shape_inference("dimension ", a, " + ", b, " overflows");
  return *sum;
}

std::int64_t product_or_fail(std::int64_t a, std::int64_t b) {
  const auto product = base::checked_multiply(a, b);
  if (!product) fail_shape_inference("dimension ", a, " * ", b, " overflows");
  return *product;
}

}  // namespace stowage::import
