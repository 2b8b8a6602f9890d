#include "onnx_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "import/onnx_types.h"
#include "stowage/error.h"

namespace stowage::testing {
namespace {

constexpr int ir_version = 8;
constexpr const char* function_domain = "local";

onnx::TensorProto constant(const std::string& name, const Shape& shape, int elem_type) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(elem_type);
  for (const std::int64_t dimension : shape) tensor.add_dims(dimension);
  return tensor;
}

void set_value(onnx::AttributeProto& attribute, std::int64_t value) {
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void set_value(onnx::AttributeProto& attribute, float value) {
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}

void set_value(onnx::AttributeProto& attribute, const std::string& value) {
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(value);
}

void set_value(onnx::AttributeProto& attribute, const std::vector<std::int64_t>& value) {
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t integer : value) attribute.add_ints(integer);
}

void set_value(onnx::AttributeProto& attribute, const onnx::TensorProto& value) {
  attribute.set_type(onnx::AttributeProto::TENSOR);
  *attribute.mutable_t() = value;
}

void set_value(onnx::AttributeProto& attribute, const onnx::GraphProto& value) {
  attribute.set_type(onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = value;
}

template <typename Exception>
std::string message_of(const onnx::ModelProto& model, const ImportOptions& options) {
  try {
    (void)read_model(model, options);
  } catch (const Exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

onnx::ValueInfoProto tensor_value(const std::string& name, const Dimensions& dimensions, int elem_type) {
  onnx::ValueInfoProto value = value_of_any_shape(name, elem_type);
  onnx::TensorShapeProto& shape = *value.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const Dimension& dimension : dimensions) {
    auto& added = *shape.add_dim();
    if (const auto* const size = std::get_if<std::int64_t>(&dimension.value)) {
      added.set_dim_value(*size);
    } else if (const auto& symbol = std::get<std::string>(dimension.value); symbol != "?") {
      added.set_dim_param(symbol);
    }
  }
  return value;
}

onnx::ValueInfoProto value_of_any_shape(const std::string& name, int elem_type) {
  onnx::ValueInfoProto value = untyped_value(name);
  value.mutable_type()->mutable_tensor_type()->set_elem_type(elem_type);
  return value;
}

onnx::ValueInfoProto untyped_value(const std::string& name) {
  onnx::ValueInfoProto value;
  value.set_name(name);
  return value;
}

onnx::TensorProto zeros(const std::string& name, const Shape& shape, int elem_type) {
  onnx::TensorProto tensor = constant(name, shape, elem_type);
  const Bytes bytes = bytes_of(import::dtype_of(elem_type, name), shape);
  tensor.set_raw_data(std::string(static_cast<std::size_t>(bytes), '\0'));
  return tensor;
}

onnx::TensorProto external(const std::string& name, const Shape& shape, const std::string& length) {
  onnx::TensorProto tensor = constant(name, shape, onnx::TensorProto::FLOAT);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&](const std::string& key, const std::string& value) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", "weights.bin");
  if (!length.empty()) add("length", length);
  return tensor;
}

onnx::TensorProto vector_of(const std::string& name, const std::vector<std::int64_t>& elements) {
  onnx::TensorProto tensor =
      constant(name, {static_cast<std::int64_t>(elements.size())}, onnx::TensorProto::INT64);
  for (const std::int64_t element : elements) tensor.add_int64_data(element);
  return tensor;
}

onnx::TensorProto scalar(const std::string& name, std::int64_t element) {
  onnx::TensorProto tensor = vector_of(name, {element});
  tensor.clear_dims();
  return tensor;
}

onnx::TensorProto reals(const std::string& name, const std::vector<float>& elements) {
  onnx::TensorProto tensor =
      constant(name, {static_cast<std::int64_t>(elements.size())}, onnx::TensorProto::FLOAT);
  for (const float element : elements) tensor.add_float_data(element);
  return tensor;
}

onnx::TensorProto truth(const std::string& name, bool element) {
  onnx::TensorProto tensor = constant(name, {}, onnx::TensorProto::BOOL);
  tensor.add_int32_data(element ? 1 : 0);
  return tensor;
}

onnx::AttributeProto attribute(const std::string& name, const AttributeValue& value) {
  onnx::AttributeProto result;
  result.set_name(name);
  std::visit([&](const auto& it) { set_value(result, it); }, value);
  return result;
}

onnx::AttributeProto attribute_reference(const std::string& name, const std::string& of) {
  onnx::AttributeProto result;
  result.set_name(name);
  result.set_ref_attr_name(of);
  return result;
}

onnx::NodeProto node(const std::string& type, const Names& inputs, const Names& outputs,
                     const NodeAttributes& attributes, const std::string& domain) {
  onnx::NodeProto result;
  result.set_name(outputs.empty() ? "" : outputs[0]);
  result.set_op_type(type);
  result.set_domain(domain);
  for (const std::string& input : inputs) result.add_input(input);
  for (const std::string& output : outputs) result.add_output(output);
  for (const onnx::AttributeProto& it : attributes) *result.add_attribute() = it;
  return result;
}

onnx::GraphProto onnx_graph(const OnnxParts& parts) {
  onnx::GraphProto graph;
  graph.set_name(parts.name);
  for (const auto& it : parts.nodes) *graph.add_node() = it;
  for (const auto& it : parts.inputs) *graph.add_input() = it;
  for (const auto& it : parts.outputs) *graph.add_output() = it;
  for (const auto& it : parts.initializers) *graph.add_initializer() = it;
  for (const auto& it : parts.declared) *graph.add_value_info() = it;
  return graph;
}

onnx::ModelProto onnx_model(const OnnxParts& parts, int operator_set) {
  onnx::ModelProto model;
  model.set_ir_version(ir_version);
  model.add_opset_import()->set_version(operator_set);
  *model.mutable_graph() = onnx_graph(parts);
  return model;
}

onnx::FunctionProto function(const std::string& name, const Names& inputs, const Names& outputs,
                             const std::vector<onnx::NodeProto>& nodes) {
  onnx::FunctionProto result;
  result.set_name(name);
  result.set_domain(function_domain);
  for (const std::string& input : inputs) result.add_input(input);
  for (const std::string& output : outputs) result.add_output(output);
  for (const onnx::NodeProto& it : nodes) *result.add_node() = it;
  return result;
}

onnx::NodeProto call(const std::string& name, const Names& inputs, const Names& outputs,
                     const NodeAttributes& attributes) {
  return node(name, inputs, outputs, attributes, function_domain);
}

onnx::ModelProto with_functions(onnx::ModelProto model, const std::vector<onnx::FunctionProto>& functions) {
  for (const onnx::FunctionProto& it : functions) *model.add_functions() = it;
  return model;
}

OnnxParts counting_loop() {
  const onnx::GraphProto body =
      onnx_graph({.nodes = {node("Mul", {"old", "scale"}, {"row"}), node("Relu", {"row"}, {"new"}),
                            node("Identity", {"go"}, {"go on"})},
                  .inputs = {tensor_value("round", {}, onnx::TensorProto::INT64),
                             tensor_value("go", {}, onnx::TensorProto::BOOL), untyped_value("old")},
                  .outputs = {untyped_value("go on"), untyped_value("new"), untyped_value("row")},
                  .name = "body"});
  return {.nodes = {node("Abs", {"x"}, {"scale"}),
                    node("Loop", {"rounds", "", "x"}, {"last", "rows"}, {attribute("body", body)})},
          .inputs = {tensor_value("x", {4})},
          .outputs = {untyped_value("last"), untyped_value("rows")},
          .initializers = {scalar("rounds", 3)}};
}

Graph read_model(const std::string& bytes, const ImportOptions& options) {
  return std::get<Graph>(parse_input(bytes, "x.onnx", options).content);
}

Graph read_model(const onnx::ModelProto& model, const ImportOptions& options) {
  return read_model(model.SerializeAsString(), options);
}

std::string error_of_model(const onnx::ModelProto& model, const ImportOptions& options) {
  return message_of<Error>(model, options);
}

std::string usage_error_of_model(const onnx::ModelProto& model, const ImportOptions& options) {
  return message_of<UsageError>(model, options);
}

const Tensor& tensor_named(const Graph& graph, const std::string& name) {
  const auto is_named = [&](const Tensor& tensor) { return tensor.name == name; };
  const auto it = std::find_if(graph.tensors.begin(), graph.tensors.end(), is_named);
  EXPECT_EQ(std::count_if(graph.tensors.begin(), graph.tensors.end(), is_named), 1) << name;
  if (it == graph.tensors.end()) throw std::out_of_range("no tensor " + name);
  return *it;
}

const Operator& writer_of(const Graph& graph, const std::string& name) {
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators) {
      for (const auto& output : op.outputs) {
        if (output && graph.tensors[*output].name == name) return op;
      }
    }
  }
  throw std::out_of_range("no operator writes " + name);
}

void expect_message(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << message << "' does not say '" << part << "'";
  }
}

}  // namespace stowage::testing
