// Operators that onnxruntime has joined become those of the standard again. That they compute the same was compared with
// onnxruntime 1.32.0.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "onnx_models.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::node;
using Types = std::vector<std::string>;

Types types_of(const Subgraph& subgraph) {
  Types types;
  for (const Operator& op : subgraph.operators) types.push_back(op.type);
  return types;
}

Types types_of(const testing::OnnxParts& parts, int operator_set = 17) {
  return types_of(testing::read_model(testing::onnx_model(parts, operator_set)).subgraphs[0]);
}

testing::OnnxParts fused(const std::string& type, const std::vector<std::string>& inputs,
                         const std::vector<onnx::AttributeProto>& attributes) {
  testing::OnnxParts parts{.nodes = {node(type, inputs, {"y"}, attributes, "com.microsoft")}};
  parts.inputs = {testing::tensor_value("x", {1, 2, 4, 4}), testing::tensor_value("z", {1, 2, 4, 4}),
                  testing::tensor_value("a", {3, 4})};
  parts.outputs = {testing::value_of_any_shape("y")};
  parts.initializers = {testing::zeros("w", {2, 2, 1, 1}), testing::zeros("b", {2}),
                        testing::zeros("m", {4, 5}, onnx::TensorProto::INT8), testing::zeros("scale", {5}),
                        testing::zeros("bias", {5})};
  return parts;
}

onnx::AttributeProto reals(const std::string& name, const std::vector<float>& values) {
  onnx::AttributeProto made;
  made.set_name(name);
  made.set_type(onnx::AttributeProto::FLOATS);
  for (const float value : values) made.add_floats(value);
  return made;
}

TEST(OnnxFused, ConvolutionsAndProducts) {
  const auto activation = [](const char* type) { return attribute("activation", std::string(type)); };
  EXPECT_EQ(types_of(fused("FusedConv", {"x", "w", "b"}, {activation("Relu")})), (Types{"Conv", "Relu"}));
  EXPECT_EQ(types_of(fused("FusedConv", {"x", "w", "", "z"}, {})), (Types{"Conv", "Add"}));
  const auto limited =
      fused("FusedConv", {"x", "w", "b", "z"}, {activation("Clip"), reals("activation_params", {-1, 6})});
  EXPECT_EQ(types_of(limited), (Types{"Conv", "Add", "Clip"}));
  EXPECT_EQ(types_of(limited, 10), (Types{"Conv", "Add", "Clip"}));  // limits are attributes
  auto product =
      fused("FusedGemm", {"a", "w2"}, {activation("LeakyRelu"), attribute("activation_alpha", 0.5F)});
  product.initializers.push_back(testing::zeros("w2", {4, 2}));
  EXPECT_EQ(types_of(product), (Types{"Gemm", "LeakyRelu"}));
  for (const char* const type : {"Elu", "Selu", "Softplus", "Softsign", "ThresholdedRelu"}) {
    auto own = fused("FusedGemm", {"a", "w2"}, {activation(type)});
    own.initializers.push_back(testing::zeros("w2", {4, 2}));
    EXPECT_EQ(types_of(own), (Types{"Gemm", type}));
  }
  const auto swish = fused("FusedConv", {"x", "w"}, {activation("HardSwish")});
  EXPECT_EQ(types_of(swish, 14), (Types{"Conv", "HardSwish"}));
  EXPECT_EQ(types_of(swish, 13), (Types{"com.microsoft.FusedConv"}));
  EXPECT_EQ(types_of(fused("FusedConv", {"x", "w"}, {activation("Softplus")})),
            (Types{"com.microsoft.FusedConv"}));
}

TEST(OnnxFused, DynamicProducts) {
  EXPECT_EQ(types_of(fused("DynamicQuantizeMatMul", {"a", "m", "scale", "", "bias"}, {})),
            (Types{"DynamicQuantizeLinear", "MatMulInteger", "Cast", "Mul", "Mul", "Add"}));
  auto product = fused("MatMulIntegerToFloat", {"q", "m", "scale", "scale"}, {});
  product.inputs[2] = testing::tensor_value("q", {3, 4}, onnx::TensorProto::UINT8);
  product.initializers[3] = testing::zeros("scale", {1});
  EXPECT_EQ(types_of(product), (Types{"MatMulInteger", "Cast", "Mul", "Mul"}));
}

TEST(OnnxFused, InBodies) {
  testing::OnnxParts body = fused("FusedConv", {"x", "w"}, {attribute("activation", std::string("Relu"))});
  body.inputs.clear();
  const onnx::GraphProto graph = testing::onnx_graph(body);
  testing::OnnxParts parts = fused("FusedConv", {"x", "w"}, {});
  parts.inputs.push_back(testing::tensor_value("c", {}, onnx::TensorProto::BOOL));
  parts.nodes = {
      node("If", {"c"}, {"y"}, {attribute("then_branch", graph), attribute("else_branch", graph)})};
  const Graph read = testing::read_model(testing::onnx_model(parts, 17));
  ASSERT_EQ(read.subgraphs.size(), 3U);
  EXPECT_EQ(types_of(read.subgraphs[1]), (Types{"Conv", "Relu"}));
  EXPECT_EQ(types_of(read.subgraphs[2]), (Types{"Conv", "Relu"}));
}

}  // namespace
}  // namespace stowage
