// Products of quantized inputs as C, and constants without elements.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "c_packages.h"
#include "onnx_models.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::node;

/// A quantized network of `parts`, with scales s and t, and zero points u of uint8 and i of int8.
Network quantized_network(testing::OnnxParts parts) {
  const auto number = [&](const std::string& name, int type, float value) {
    onnx::TensorProto& tensor = parts.initializers.emplace_back();
    tensor.set_name(name);
    tensor.set_data_type(type);
    if (type == onnx::TensorProto::FLOAT) {
      tensor.add_float_data(value);
    } else {
      tensor.add_int32_data(static_cast<std::int32_t>(value));
    }
  };
  number("s", onnx::TensorProto::FLOAT, 0.0078F);
  number("t", onnx::TensorProto::FLOAT, 0.02F);
  number("u", onnx::TensorProto::UINT8, 120);
  number("i", onnx::TensorProto::INT8, -7);
  return parse_network(testing::onnx_model(parts).SerializeAsString(), "m.onnx", {.constants = true});
}

/// Attention in integers: products of what is computed, a matrix for each head, and one for all.
Network quantized_heads() {
  return quantized_network(
      {.nodes = {node("QuantizeLinear", {"x", "s", "u"}, {"a"}),
                 node("QuantizeLinear", {"z", "s", "i"}, {"b"}),
                 node("QLinearMatMul", {"a", "s", "u", "b", "s", "i", "t", "u"}, {"heads"}),
                 node("Transpose", {"heads"}, {"turned"}, {attribute("perm", Shape{2, 0, 1})}),
                 node("Reshape", {"turned", "shape"}, {"one"}),
                 node("QLinearMatMul", {"b", "s", "i", "one", "t", "u", "t", "i"}, {"y"})},
       .inputs = {testing::tensor_value("x", {2, 3, 4}), testing::tensor_value("z", {2, 4, 5})},
       .outputs = {testing::tensor_value("heads", {2, 3, 5}, onnx::TensorProto::UINT8),
                   testing::tensor_value("y", {2, 4, 6}, onnx::TensorProto::INT8)},
       .initializers = {testing::vector_of("shape", {5, 6})}});
}

/// Rows times weights, and times another input.
Network quantized_rows() {
  onnx::TensorProto weights = testing::zeros("w", {16, 20}, onnx::TensorProto::INT8);
  std::string* const data = weights.mutable_raw_data();
  for (std::size_t i = 0; i < data->size(); ++i)
    (*data)[i] = static_cast<char>(static_cast<int>(i * 37 % 199) - 99);
  return quantized_network({.nodes = {node("QuantizeLinear", {"x", "s", "u"}, {"a"}),
                                      node("QLinearMatMul", {"a", "s", "u", "w", "s", "i", "t", "u"}, {"b"}),
                                      node("QLinearMatMul", {"b", "t", "u", "z", "s", "i", "t", "u"}, {"y"})},
                            .inputs = {testing::tensor_value("x", {1, 24, 16}),
                                       testing::tensor_value("z", {1, 20, 3}, onnx::TensorProto::INT8)},
                            .outputs = {testing::tensor_value("y", {1, 24, 3}, onnx::TensorProto::UINT8)},
                            .initializers = {weights}});
}

TEST(GenerateProducts, ProductsOfQuantizedInputs) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  const Network heads = quantized_heads();
  packages.add("heads", generate_package(heads, make_plan(heads.input).plan, {.name = "heads", .cases = 9}));
  const Network rows = quantized_rows();
  PlanOptions by_rows;
  by_rows.stream = StreamOptions{.axes = StreamAxes::natural};
  by_rows.solve.effort = 100;
  const Package package =
      generate_package(rows, make_plan(rows.input, by_rows).plan, {.name = "rows", .cases = 9});
  packages.add("rows", package);
  const auto file = std::ranges::find(package.files, "rows.c", &GeneratedFile::path);
  for (const std::string op : {"1", "2"})
    EXPECT_NE(file->content.find("qlinearmatmul_" + op + "(uint8_t *const *memory, int32_t"),
              std::string::npos)
        << file->content;
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

TEST(GenerateProducts, ConstantsWithoutElements) {
  testing::OnnxParts parts;
  parts.inputs = {testing::tensor_value("x", {2, 3, 4})};
  parts.initializers = {testing::zeros("none", {2, 0, 4})};
  parts.nodes = {node("Concat", {"none", "x"}, {"y"}, {attribute("axis", std::int64_t{1})})};
  parts.outputs = {testing::tensor_value("y", {2, 3, 4})};
  const Network network =
      parse_network(testing::onnx_model(parts).SerializeAsString(), "m.onnx", {.constants = true});
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  packages.add("none", generate_package(network, make_plan(network.input).plan, {.name = "none"}));
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace stowage
