// Small data of ONNX models in files beside them, on which shapes and operators depend.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "onnx_models.h"
#include "stowage/error.h"
#include "stowage/import.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::TemporaryDirectory;

/// Whole numbers as a file has them.
std::string file_of(const std::vector<std::int64_t>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::int64_t)};
}

onnx::TensorProto integers_outside(const std::string& name, std::int64_t count) {
  onnx::TensorProto tensor = testing::external(name, {count}, "");
  tensor.set_data_type(onnx::TensorProto::INT64);
  return tensor;
}

/// y is x of shape [2,3,4] in another shape, which is in "weights.bin": that of an initializer or of a Constant. A
/// weight before it is in a file that is never there.
std::string reshaping_model(bool is_initializer) {
  onnx::TensorProto weight = testing::external("w", {4}, "16");
  weight.mutable_external_data(0)->set_value("elsewhere.bin");
  testing::OnnxParts parts{
      .nodes = {testing::node("Mul", {"x", "w"}, {"h"}), testing::node("Reshape", {"h", "shape"}, {"y"})},
      .inputs = {testing::tensor_value("x", {2, 3, 4})},
      .outputs = {testing::untyped_value("y")},
      .initializers = {weight}};
  const onnx::TensorProto shape = integers_outside("shape", 2);
  if (is_initializer) {
    parts.initializers.push_back(shape);
  } else {
    parts.nodes.insert(parts.nodes.begin(),
                       testing::node("Constant", {}, {"shape"}, {testing::attribute("value", shape)}));
  }
  return testing::onnx_model(parts).SerializeAsString();
}

/// What reading the file says; empty if nothing.
std::string fault_of(const std::string& file, const ImportOptions& options = {}) {
  try {
    static_cast<void>(read_input(file, options));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Some exporters write all data beside the model, also what shapes depend on.
TEST(ExternalData, MayBeShapes) {
  for (const bool is_initializer : {true, false}) {
    const TemporaryDirectory directory;
    directory.write("m.onnx", reshaping_model(is_initializer));
    directory.write("weights.bin", file_of({6, -1}));
    const Input input = read_input(directory / "m.onnx");
    EXPECT_EQ(testing::tensor_named(std::get<Graph>(input.content), "y").shape, (Shape{6, 4}));
  }
}

TEST(ExternalData, OfShapesIsNamedIfItIsMissingOrShort) {
  for (const bool is_initializer : {true, false}) {
    const TemporaryDirectory directory;
    const std::string file = (directory / "m.onnx").string();
    directory.write("m.onnx", reshaping_model(is_initializer));
    testing::expect_message(
        fault_of(file),
        {"m.onnx: tensor 'y'", "--shape y=",
         "; this may be why: tensor 'shape': has its data in 'weights.bin', which cannot be read"});
    EXPECT_EQ(fault_of(file, {.shapes = {{"y", {6, 4}}}}), "") << "a shape is there, and no weight is needed";
    directory.write("weights.bin", file_of({6}));
    testing::expect_message(
        fault_of(file), {"tensor 'shape': has 16 bytes of data at 0 of 'weights.bin', which has 8 bytes"});
  }
}

/// Zero does not stand for the element of a ConstantOfShape, and sizes may be made of it.
TEST(ExternalData, MayBeTheElementOfAConstant) {
  const TemporaryDirectory directory;
  const auto filled =
      testing::node("ConstantOfShape", {"n"}, {"f"}, {testing::attribute("value", integers_outside("", 1))});
  directory.write("m.onnx",
                  testing::onnx_model({.nodes = {filled, testing::node("Expand", {"x", "f"}, {"y"})},
                                       .inputs = {testing::tensor_value("x", {1, 1})},
                                       .outputs = {testing::untyped_value("y")},
                                       .initializers = {testing::vector_of("n", {2})}})
                      .SerializeAsString());
  directory.write("weights.bin", file_of({5}));
  const Input input = read_input(directory / "m.onnx", {.constants = true});
  const Graph& graph = std::get<Graph>(input.content);
  EXPECT_EQ(testing::tensor_named(graph, "y").shape, (Shape{5, 5}));
  const auto f = static_cast<TensorId>(&testing::tensor_named(graph, "f") - graph.tensors.data());
  const auto element = input.constants.element_of(f);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(element.data()), element.size()), file_of({5}));
}

}  // namespace
}  // namespace stowage
