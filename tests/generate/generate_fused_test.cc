// What onnxruntime's optimiser writes, as C: gives what the interpreter gives, bit for bit.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "c_packages.h"
#include "onnx_models.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::NodeAttributes;
using testing::tensor_value;

onnx::NodeProto fused(const std::string& type, const testing::Names& inputs, const testing::Names& outputs,
                      const NodeAttributes& attributes = {}) {
  return testing::node(type, inputs, outputs, attributes, "com.microsoft");
}

onnx::AttributeProto number(const std::string& name, std::int64_t value) { return attribute(name, value); }

/// A constant of `columns` numbers in each row, of different sizes and signs.
onnx::TensorProto matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < rows * columns; ++i)
    numbers.push_back(static_cast<float>(i * 37 % 19 - 9) / 7);
  onnx::TensorProto tensor = testing::reals(name, numbers);
  tensor.clear_dims();
  tensor.add_dims(rows);
  tensor.add_dims(columns);
  return tensor;
}

/// Faults of the network as C, as a whole and by rows.
std::vector<std::string> faults_of(const testing::OnnxParts& parts) {
  const Network network =
      parse_network(testing::onnx_model(parts).SerializeAsString(), "m.onnx", {.constants = true});
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  PlanOptions options;
  options.solve.effort = 1;
  packages.add("whole", generate_package(network, make_plan(network.input, options).plan, {.name = "whole"}));
  options.stream = StreamOptions{};
  packages.add("rows", generate_package(network, make_plan(network.input, options).plan, {.name = "rows"}));
  return packages.run();
}

/// Matrices that are transposed, or between whose rows and columns the batch is, and constant ones.
TEST(GenerateFused, Products) {
  const auto alpha = attribute("alpha", 0.35F);
  const testing::OnnxParts parts{
      .nodes = {fused("FusedMatMul", {"x", "w"}, {"p"}, {alpha}),
                fused("FusedMatMul", {"x", "v"}, {"q"}, {alpha, number("transB", 1)}),
                fused("FusedMatMul", {"p", "q"}, {"r"}, {alpha, number("transA", 1)}),
                fused("FusedMatMul", {"x", "z"}, {"s"}, {number("transBatchB", 1)}),
                fused("TransposeMatMul", {"z", "x"}, {"t"},
                      {alpha, number("transBatchA", 1), number("transA", 1), number("transB", 1)})},
      .inputs = {tensor_value("x", {2, 3, 4}), tensor_value("z", {4, 2, 6})},
      .outputs = {tensor_value("r", {2, 5, 5}), tensor_value("s", {2, 3, 6}), tensor_value("t", {2, 6, 3})},
      .initializers = {matrix("w", 4, 5), matrix("v", 5, 4)}};
  for (const std::string& fault : faults_of(parts)) ADD_FAILURE() << fault;
}

TEST(GenerateFused, FunctionsOfSums) {
  const testing::OnnxParts parts{
      .nodes = {fused("BiasGelu", {"x", "b"}, {"y"}), fused("FastGelu", {"x"}, {"z"}),
                fused("FastGelu", {"z", "b"}, {"u"}), fused("QuickGelu", {"u"}, {"v"})},
      .inputs = {tensor_value("x", {2, 5, 3})},
      .outputs = {tensor_value("y", {2, 5, 3}), tensor_value("v", {2, 5, 3})},
      .initializers = {testing::reals("b", {-1, 0.3F, 2})}};
  for (const std::string& fault : faults_of(parts)) ADD_FAILURE() << fault;
}

/// Along different axes, of both types, with steps of which a whole has few and many.
TEST(GenerateFused, SharesOfBytes) {
  testing::OnnxParts parts{.inputs = {tensor_value("x", {2, 7, 3})}};
  const auto constant = [&](const std::string& name, int type) -> onnx::TensorProto& {
    onnx::TensorProto& tensor = parts.initializers.emplace_back();
    tensor.set_name(name);
    tensor.set_data_type(type);
    return tensor;
  };
  constant("small", onnx::TensorProto::FLOAT).add_float_data(0.002F);
  constant("step", onnx::TensorProto::FLOAT).add_float_data(0.03F);
  constant("u", onnx::TensorProto::UINT8).add_int32_data(7);
  constant("i", onnx::TensorProto::INT8).add_int32_data(-100);
  for (const std::string zero : {"u", "i"}) {
    parts.nodes.push_back(testing::node("QuantizeLinear", {"x", "step", zero}, {"x" + zero}));
    for (const std::int64_t axis : {1, 2})
      for (const std::int64_t set : {12, 13})
        for (const std::string step : {"step", "small"}) {
          const std::string name = zero + std::to_string(axis) + std::to_string(set) + step;
          parts.nodes.push_back(fused("QLinearSoftmax", {"x" + zero, "step", zero, step, zero}, {name},
                                      {number("axis", axis), number("opset", set)}));
          parts.outputs.push_back(tensor_value(
              name, {2, 7, 3}, zero == "u" ? onnx::TensorProto::UINT8 : onnx::TensorProto::INT8));
        }
  }
  for (const std::string& fault : faults_of(parts)) ADD_FAILURE() << fault;
}

/// Their sums are outputs, too, and inputs of the next one.
TEST(GenerateFused, NormsOfSums) {
  const testing::OnnxParts parts{
      .nodes = {fused("SkipSimplifiedLayerNormalization", {"x", "s", "g"}, {"y", "", "", "z"}),
                fused("SkipLayerNormalization", {"y", "z", "g", "b", "c"}, {"u", "", "", "v"}),
                fused("SkipLayerNormalization", {"u", "v", "g"}, {"w"}),
                testing::node("SimplifiedLayerNormalization", {"w", "g"}, {"r"})},
      .inputs = {tensor_value("x", {2, 5, 3}), tensor_value("s", {2, 5, 3})},
      .outputs = {tensor_value("r", {2, 5, 3}), tensor_value("v", {2, 5, 3})},
      .initializers = {testing::reals("g", {1, 0.3F, 2}), testing::reals("b", {1, -0.5F, 0}),
                       testing::reals("c", {0, 3, -0.1F})}};
  for (const std::string& fault : faults_of(parts)) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace stowage
