#include "net_maker.h"

namespace stowage::campaign {
namespace {

void declare(onnx::ValueInfoProto& value, const std::string& name, const Shape* shape) {
  value.set_name(name);
  auto* type = value.mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  if (shape == nullptr) return;
  for (const std::int64_t extent : *shape) type->mutable_shape()->add_dim()->set_dim_value(extent);
}

}  // namespace

std::string NetMaker::input(const Shape& shape) {
  const std::string name = "x" + std::to_string(names_++);
  declare(*graph_.add_input(), name, &shape);
  return name;
}

std::string NetMaker::weights(const Shape& shape) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name("w" + std::to_string(names_++));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    tensor.add_dims(extent);
    count *= extent;
  }
  for (std::int64_t i = 0; i < count; ++i)
    tensor.add_float_data(static_cast<float>(random_.between(-1000, 1000)) / 1000.0F);
  return tensor.name();
}

std::string NetMaker::reals(const std::vector<float>& values) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name("r" + std::to_string(names_++));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  for (const float value : values) tensor.add_float_data(value);
  return tensor.name();
}

std::string NetMaker::integers(const std::vector<std::int64_t>& values) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name("i" + std::to_string(names_++));
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) tensor.add_int64_data(value);
  return tensor.name();
}

onnx::AttributeProto& NetMaker::Node::attribute(const std::string& name) {
  onnx::AttributeProto& made = *proto_.add_attribute();
  made.set_name(name);
  return made;
}

NetMaker::Node& NetMaker::Node::with(const std::string& name, std::int64_t value) {
  onnx::AttributeProto& made = attribute(name);
  made.set_type(onnx::AttributeProto::INT);
  made.set_i(value);
  return *this;
}

NetMaker::Node& NetMaker::Node::with(const std::string& name, float value) {
  onnx::AttributeProto& made = attribute(name);
  made.set_type(onnx::AttributeProto::FLOAT);
  made.set_f(value);
  return *this;
}

NetMaker::Node& NetMaker::Node::with(const std::string& name, const std::string& value) {
  onnx::AttributeProto& made = attribute(name);
  made.set_type(onnx::AttributeProto::STRING);
  made.set_s(value);
  return *this;
}

NetMaker::Node& NetMaker::Node::with(const std::string& name, const std::vector<std::int64_t>& values) {
  onnx::AttributeProto& made = attribute(name);
  made.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) made.add_ints(value);
  return *this;
}

NetMaker::Node NetMaker::add(const std::string& type, const Names& inputs, const Names& outputs) {
  onnx::NodeProto& node = *graph_.add_node();
  node.set_op_type(type);
  node.set_name("n" + std::to_string(graph_.node_size()));
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return Node(node);
}

void NetMaker::output(const std::string& name) { declare(*graph_.add_output(), name, nullptr); }

std::string NetMaker::bytes() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  auto* set = model.add_opset_import();
  set->set_domain("");
  set->set_version(17);
  graph_.set_name("main");
  *model.mutable_graph() = graph_;
  return model.SerializeAsString();
}

}  // namespace stowage::campaign
