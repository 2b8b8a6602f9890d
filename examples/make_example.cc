// Writes the example model of the README: a small image classifier with a residual block and a
// concatenation. Its weights are ConstantOfShape nodes, so the file is a few kilobytes.
//
//     make_example examples/classifier.onnx

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <string>
#include <vector>

namespace {

using Dims = std::vector<std::int64_t>;

class ModelBuilder {
 public:
  ModelBuilder() {
    model_.set_ir_version(7);
    model_.set_producer_name("stowage");
    model_.add_opset_import()->set_version(13);
    model_.mutable_graph()->set_name("classifier");
  }

  void input(const std::string& name, const Dims& dims) {
    describe(*model_.mutable_graph()->add_input(), name, dims);
  }
  void output(const std::string& name, const Dims& dims) {
    describe(*model_.mutable_graph()->add_output(), name, dims);
  }

  onnx::NodeProto& node(const std::string& type, const std::vector<std::string>& inputs,
                        const std::string& output) {
    onnx::NodeProto& node = *model_.mutable_graph()->add_node();
    node.set_op_type(type);
    node.set_name(output);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }

  /// A weight of one repeated value: its shape is an initialiser, its elements are computed.
  std::string weight(const std::string& name, const Dims& dims) {
    onnx::TensorProto& shape = *model_.mutable_graph()->add_initializer();
    shape.set_name(name + ".shape");
    shape.set_data_type(onnx::TensorProto::INT64);
    shape.add_dims(static_cast<std::int64_t>(dims.size()));
    for (const std::int64_t dim : dims) shape.add_int64_data(dim);
    onnx::NodeProto& fill = node("ConstantOfShape", {name + ".shape"}, name);
    onnx::AttributeProto& value = *fill.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    value.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
    value.mutable_t()->add_dims(1);
    value.mutable_t()->add_float_data(0.01F);
    return name;
  }

  /// A square convolution that keeps the size, or halves it with stride 2, and a Relu.
  std::string conv(const std::string& input, const std::string& name, std::int64_t from, std::int64_t to,
                   std::int64_t kernel, std::int64_t stride = 1) {
    const std::string weights = weight(name + ".weight", {to, from, kernel, kernel});
    onnx::NodeProto& conv = node("Conv", {input, weights}, name + ".conv");
    integers(conv, "kernel_shape", {kernel, kernel});
    integers(conv, "strides", {stride, stride});
    integers(conv, "pads", {kernel / 2, kernel / 2, kernel / 2, kernel / 2});
    node("Relu", {name + ".conv"}, name);
    return name;
  }

  static void integers(onnx::NodeProto& node, const std::string& name,
                       std::initializer_list<std::int64_t> values) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute.add_ints(value);
  }

  static void integer(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }

  [[nodiscard]] const onnx::ModelProto& model() const { return model_; }

 private:
  static void describe(onnx::ValueInfoProto& value, const std::string& name, const Dims& dims) {
    value.set_name(name);
    onnx::TypeProto_Tensor& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t dim : dims) type.mutable_shape()->add_dim()->set_dim_value(dim);
  }

  onnx::ModelProto model_;
};

onnx::ModelProto classifier() {
  ModelBuilder build;
  build.input("image", {1, 3, 96, 96});
  build.conv("image", "stem", 3, 16, 3, 2);
  build.conv("stem", "left", 16, 16, 3);
  build.conv("left", "right", 16, 16, 3);
  build.node("Add", {"stem", "right"}, "residual");
  build.conv("residual", "squeeze", 16, 8, 1);
  build.conv("squeeze", "expand1", 8, 32, 1);
  build.conv("squeeze", "expand3", 8, 32, 3);
  ModelBuilder::integer(build.node("Concat", {"expand1", "expand3"}, "fire"), "axis", 1);
  onnx::NodeProto& pool = build.node("MaxPool", {"fire"}, "pool");
  ModelBuilder::integers(pool, "kernel_shape", {2, 2});
  ModelBuilder::integers(pool, "strides", {2, 2});
  build.conv("pool", "head", 64, 64, 3, 2);
  build.node("GlobalAveragePool", {"head"}, "mean");
  build.node("Flatten", {"mean"}, "features");
  const std::string weights = build.weight("classes.weight", {64, 10});
  build.node("MatMul", {"features", weights}, "logits");
  build.node("Softmax", {"logits"}, "probabilities");
  build.output("probabilities", {1, 10});
  return build.model();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_example FILE.onnx\n";
    return 2;
  }
  std::ofstream file(argv[1], std::ios::binary);
  return classifier().SerializeToOstream(&file) && file.flush() ? 0 : 1;
}
