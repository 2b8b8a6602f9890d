// `stowage generate`, as a user runs it.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "onnx_models.h"
#include "process.h"
#include "temporary.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using testing::run_stowage;
using testing::TemporaryDirectory;

/// A network of one operator.
std::string model_of(const std::string& type) {
  return testing::tflite_model(
      {.subgraphs = {{.tensors = {{.name = "x", .shape = {1, 8}}, {.name = "y", .shape = {1, 8}}},
                      .operators = {{.type = type, .inputs = {0}, .outputs = {1}}},
                      .inputs = {0},
                      .outputs = {1}}}});
}

TEST(CliGenerate, WritesAPackageThatPassesItsOwnTest) {
  const TemporaryDirectory directory;
  directory.write("My-Net.tflite", model_of("RELU"));
  const auto result =
      run_stowage(directory.path(), {"generate", "My-Net.tflite", "-o", "out/c", "--cases", "3"});
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_NE(result.output.find("my_net in out/c\narena"), std::string::npos) << result.output;
  if (!std::filesystem::exists("/usr/bin/make")) GTEST_SKIP() << "/usr/bin/make is not installed";
  const auto made = testing::run_process("/usr/bin/make", {"test"}, {.directory = directory / "out/c"});
  EXPECT_EQ(made.status, 0) << made.errors;
  EXPECT_NE(made.output.find("my_net: 3 of 3 cases as expected"), std::string::npos) << made.output;
}

TEST(CliGenerate, TakesAPlan) {
  const TemporaryDirectory directory;
  directory.write("net.tflite", model_of("RELU"));
  ASSERT_EQ(run_stowage(directory.path(), {"plan", "net.tflite", "-o", "plan.json"}).status, 0);
  const auto result =
      run_stowage(directory.path(), {"generate", "net.tflite", "--plan", "plan.json", "-o", "c"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_TRUE(std::filesystem::exists(directory / "c/net.h"));
  const auto both =
      run_stowage(directory.path(), {"generate", "net.tflite", "--plan", "plan.json", "--stream", "-o", "c"});
  EXPECT_EQ(both.status, 2) << both.errors;
}

TEST(CliGenerate, RefusesWithoutWritingAnything) {
  const TemporaryDirectory directory;
  directory.write("net.tflite", model_of("FLOOR"));
  const auto result = run_stowage(directory.path(), {"generate", "net.tflite", "-o", "c"});
  EXPECT_EQ(result.status, 3);
  EXPECT_NE(result.errors.find("FLOOR"), std::string::npos) << result.errors;
  EXPECT_FALSE(std::filesystem::exists(directory / "c"));
  EXPECT_EQ(run_stowage(directory.path(), {"generate", "net.tflite", "-o", "c", "--cases", "-1"}).status, 2);
  EXPECT_EQ(run_stowage(directory.path(), {"generate", "net.tflite", "-o", "c", "--cases", "0"}).status, 3);
  EXPECT_EQ(run_stowage(directory.path(), {"generate", "net.tflite", "-o", "c", "--name", "A"}).status, 2);
  EXPECT_EQ(run_stowage(directory.path(), {"generate", "net.tflite", "-o", "c", "--kernels", "mve"}).status,
            2);
}

/// What carries a state from row to row, or sums rows up, is written by the user as a whole.
TEST(CliGenerate, ExternsKeepNothingFromRowToRow) {
  const TemporaryDirectory directory;
  for (const std::string type : {"InstanceNormalization", "GlobalAveragePool"}) {
    testing::OnnxParts parts{.nodes = {testing::node("Relu", {"x"}, {"a"})},
                             .inputs = {testing::tensor_value("x", {1, 2, 16, 16})},
                             .outputs = {testing::value_of_any_shape("y")}};
    std::vector<std::string> operands{"a"};
    if (type == "InstanceNormalization") {
      operands.insert(operands.end(), {"scale", "bias"});
      parts.initializers = {testing::reals("scale", {1, 2}), testing::reals("bias", {3, 4})};
    }
    parts.nodes.push_back(testing::node(type, operands, {"b"}));
    parts.nodes.push_back(testing::node("Relu", {"b"}, {"y"}));
    directory.write("net.onnx", testing::onnx_model(parts).SerializeAsString());
    const auto result = run_stowage(directory.path(), {"generate", "net.onnx", "--stream", "--io", "rows",
                                                       "--axes", "natural", "--extern", type, "-o", type});
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_NE(directory.read(type + "/net.h").find("'" + type + "': for you to write. Computes the whole"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace stowage
