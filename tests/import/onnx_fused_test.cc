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

/// Two texts of five words, for three heads of four numbers.
testing::OnnxParts attending(const std::string& type, const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs,
                             std::vector<onnx::AttributeProto> attributes = {}) {
  attributes.push_back(attribute("num_heads", std::int64_t{3}));
  testing::OnnxParts parts{.nodes = {node(type, inputs, outputs, attributes, "com.microsoft")}};
  constexpr int int32 = onnx::TensorProto::INT32;
  parts.inputs = {testing::tensor_value("x", {2, 5, 7}),
                  testing::tensor_value("q", {2, 5, 12}),
                  testing::tensor_value("k", {2, 8, 12}),
                  testing::tensor_value("m", {2, 5}, int32),
                  testing::tensor_value("lengths", {2}, int32),
                  testing::tensor_value("both", {4}, int32),
                  testing::tensor_value("p", {2, 2, 3, 6, 4}),
                  testing::tensor_value("heads", {2, 3, 8, 4}),
                  testing::tensor_value("past", {2, 3, 6, 4}),
                  testing::tensor_value("bytes", {2, 5, 7}, onnx::TensorProto::UINT8)};
  for (const std::string& output : outputs) parts.outputs.push_back(testing::value_of_any_shape(output));
  parts.initializers = {testing::zeros("w", {7, 36}), testing::zeros("b", {36}), testing::zeros("one", {}),
                        testing::zeros("wq", {7, 36}, onnx::TensorProto::INT8)};
  return parts;
}

/// The shapes of the outputs; none if the operator stays as it is.
std::vector<Shape> shapes_of(const testing::OnnxParts& parts, int operator_set = 17) {
  const Graph graph = testing::read_model(testing::onnx_model(parts, operator_set));
  const Subgraph& main = graph.subgraphs[0];
  std::vector<Shape> shapes;
  for (const Operator& op : main.operators)
    if (op.type.starts_with("com.microsoft.")) return shapes;
  for (const TensorId output : main.outputs) shapes.push_back(*graph.tensors[output].shape);
  return shapes;
}

TEST(OnnxFused, Attention) {
  const auto causal = attribute("unidirectional", std::int64_t{1});
  for (const int set : {11, 13, 17}) {
    EXPECT_EQ(shapes_of(attending("Attention", {"x", "w", "b"}, {"y"}), set),
              (std::vector<Shape>{{2, 5, 12}}));
    EXPECT_EQ(shapes_of(attending("Attention", {"x", "w", "", "m"}, {"y"}, {causal}), set),
              (std::vector<Shape>{{2, 5, 12}}));
    EXPECT_EQ(shapes_of(attending("Attention", {"x", "w", "b", "lengths"}, {"y", "present"}), set),
              (std::vector<Shape>{{2, 5, 12}, {2, 2, 3, 5, 4}}));
    EXPECT_EQ(shapes_of(attending("Attention", {"x", "w", "b", "", "p"}, {"y", "present"}, {causal}), set),
              (std::vector<Shape>{{2, 5, 12}, {2, 2, 3, 11, 4}}));
    EXPECT_EQ(shapes_of(attending("QAttention", {"bytes", "wq", "b", "one", "one"}, {"y"}), set),
              (std::vector<Shape>{{2, 5, 12}}));
    EXPECT_EQ(shapes_of(attending("MultiHeadAttention", {"q", "q", "q", "b"}, {"y"}, {causal}), set),
              (std::vector<Shape>{{2, 5, 12}}));
    EXPECT_EQ(shapes_of(attending("MultiHeadAttention", {"q", "k", "k", "b"}, {"y"}), set),
              (std::vector<Shape>{{2, 5, 12}}));
    EXPECT_EQ(shapes_of(attending("MultiHeadAttention", {"q", "heads", "heads"}, {"y"}), set),
              (std::vector<Shape>{{2, 5, 12}}));
    EXPECT_EQ(shapes_of(attending("MultiHeadAttention", {"q", "k", "k", "", "", "", "past", "past"},
                                  {"y", "keys", "values"}),
                        set),
              (std::vector<Shape>{{2, 5, 12}, {2, 3, 14, 4}, {2, 3, 14, 4}}));
  }
}

/// What is not surely one of these forms keeps the rules of its own operator.
TEST(OnnxFused, AttentionOfOtherForms) {
  using Shapes = std::vector<Shape>;
  EXPECT_EQ(shapes_of(attending("Attention", {"x", "w", "b", "both"}, {"y"})), Shapes());
  EXPECT_EQ(
      shapes_of(attending("Attention", {"x", "w", "b"}, {"y"}, {attribute("do_rotary", std::int64_t{1})})),
      Shapes());
  EXPECT_EQ(shapes_of(attending("Attention", {"x", "w", "b"}, {"y"}), 10), Shapes());
  EXPECT_EQ(shapes_of(attending("MultiHeadAttention", {"q", "heads", "heads", "b"}, {"y"})), Shapes());
  EXPECT_EQ(shapes_of(attending("MultiHeadAttention", {"q", "k", "k"}, {"y"},
                                {attribute("unidirectional", std::int64_t{1})})),
            Shapes());
  testing::OnnxParts unknown = attending("Attention", {"x", "w", "b", "n"}, {"y"});
  unknown.nodes.insert(unknown.nodes.begin(), node("Squeeze", {"m"}, {"n"}));
  EXPECT_EQ(shapes_of(unknown), Shapes());
}

/// Their types follow from those of values around them.
TEST(OnnxFused, AttentionOfComputedValues) {
  testing::OnnxParts parts = attending("MultiHeadAttention", {"r", "t", "t", "", "n"}, {"y"});
  parts.initializers.push_back(testing::zeros("v", {7, 12}));
  parts.inputs.push_back(testing::tensor_value("wide", {2, 5}, onnx::TensorProto::INT64));
  parts.nodes.insert(parts.nodes.begin(),
                     {node("MatMul", {"x", "v"}, {"r"}), node("Add", {"q", "r"}, {"t"}),
                      node("Cast", {"wide"}, {"n"}, {attribute("to", std::int64_t{6})})});
  EXPECT_EQ(shapes_of(parts), (std::vector<Shape>{{2, 5, 12}}));
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
