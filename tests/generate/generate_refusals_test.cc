// What `generate_package` refuses, and what it says.

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "layer_networks.h"
#include "onnx_models.h"
#include "pool_network.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

std::string refusal_of(const Network& network, const Plan& plan, const std::string& name = "net") {
  try {
    static_cast<void>(generate_package(network, plan, {.name = name}));
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(GenerateRefusals, ListAllOperatorsWithoutAKernel) {
  Network network = testing::pool_and("CUMSUM");
  std::get<Graph>(network.input.content).subgraphs[0].operators[0].type = "mystery";
  const std::string what = refusal_of(network, make_plan(network.input).plan);
  EXPECT_NE(what.find("has 2 operators for which no C is generated"), std::string::npos) << what;
  EXPECT_NE(what.find("there is no generated kernel for CUMSUM"), std::string::npos) << what;
  EXPECT_NE(what.find("to write their functions yourself: --extern CUMSUM --extern mystery"),
            std::string::npos)
      << what;
}

TEST(GenerateRefusals, SayTheSameReasonOnce) {
  Network network = testing::pool_and("CUMSUM");
  std::get<Graph>(network.input.content).subgraphs[0].operators[0].type = "CUMSUM";
  const std::string what = refusal_of(network, make_plan(network.input).plan);
  EXPECT_NE(what.find("has 2 operators for which no C is generated"), std::string::npos) << what;
  const std::string reason = " and another one of its type: there is no generated kernel for CUMSUM";
  ASSERT_NE(what.find(reason), std::string::npos) << what;
  EXPECT_EQ(what.find("no generated kernel", what.find(reason) + reason.size()), std::string::npos) << what;
}

/// A pool of bytes of onnxruntime's: from x with these attributes to y.
Network byte_pool(const std::string& type, const Shape& x, const Shape& y,
                  const testing::NodeAttributes& attributes) {
  onnx::TensorProto scale = testing::reals("s", {0.5F});
  scale.clear_dims();
  const onnx::TensorProto zero = testing::zeros("z", {}, onnx::TensorProto::UINT8);
  onnx::ModelProto model = testing::onnx_model(
      {.nodes = {testing::node(type, {"x", "s", "z", "s", "z"}, {"y"}, attributes, "com.microsoft")},
       .inputs = {testing::tensor_value("x", {x.begin(), x.end()}, onnx::TensorProto::UINT8)},
       .outputs = {testing::tensor_value("y", {y.begin(), y.end()}, onnx::TensorProto::UINT8)},
       .initializers = {scale, zero}});
  auto& set = *model.add_opset_import();
  set.set_domain("com.microsoft");
  set.set_version(1);
  return parse_network(model.SerializeAsString(), "m.onnx", {.constants = true});
}

TEST(GenerateRefusals, MeansOfNoElements) {
  const auto refusal = [](const Shape& x, const Shape& y) {
    const Network network = byte_pool("QLinearGlobalAveragePool", x, y, {});
    return refusal_of(network, make_plan(network.input).plan);
  };
  EXPECT_NE(refusal({1, 0, 3, 3}, {1, 0, 1, 1}).find("it has no elements"), std::string::npos)
      << refusal({1, 0, 3, 3}, {1, 0, 1, 1});
  EXPECT_EQ(refusal({1, 1, 3, 3}, {1, 1, 1, 1}), "");
}

/// It is asked for scratch memory before anything else looks at its weights.
TEST(GenerateRefusals, RecurrentWeightsWithoutDimensions) {
  onnx::TensorProto weights = testing::reals("w", {1});
  weights.clear_dims();
  const onnx::ModelProto model =
      testing::onnx_model({.nodes = {testing::node("GRU", {"x", "w", "r"}, {"y"},
                                                   {testing::attribute("hidden_size", std::int64_t{2})})},
                           .inputs = {testing::tensor_value("x", {5, 1, 3})},
                           .outputs = {testing::tensor_value("y", {5, 1, 1, 2})},
                           .initializers = {weights, testing::zeros("r", {1, 6, 2})}});
  Network network = parse_network(model.SerializeAsString(), "m.onnx", {.constants = true});
  add_scratch_of_kernels(network, CKernels::portable, false);
  const std::string what = refusal_of(network, make_plan(network.input).plan);
  EXPECT_NE(what.find("(GRU, 0 of subgraph 0): the weights"), std::string::npos) << what;
}

TEST(GenerateRefusals, WindowsThatTablesDoNotHold) {
  const auto refusal = [](std::int64_t height) {
    const Network network = byte_pool("QLinearAveragePool", {1, 1, height, 64}, {1, 1, 1, 1},
                                      {testing::attribute("kernel_shape", Shape{height, 64})});
    return refusal_of(network, make_plan(network.input).plan);
  };
  EXPECT_EQ(refusal(64), "");
  EXPECT_NE(refusal(65).find("its windows have 4160 elements, expected at most 4096"), std::string::npos)
      << refusal(65);
}

TEST(GenerateRefusals, NameIsAnIdentifierInLowerCase) {
  const Network network = testing::random_layer_network(1, DType::int8);
  const Plan plan = make_plan(network.input).plan;
  for (const char* const name : {"", "Net", "1net", "a-b", "a b"})
    EXPECT_NE(refusal_of(network, plan, name).find("is not a C identifier"), std::string::npos) << name;
}

TEST(GenerateRefusals, PlansOfOtherNetworks) {
  const Network network = testing::random_layer_network(1, DType::int8);
  const Plan other = make_plan(testing::random_layer_network(3, DType::int8).input).plan;
  EXPECT_NE(refusal_of(network, other).find("tensors"), std::string::npos);
}

TEST(GenerateRefusals, TheSameInputsGiveTheSameFiles) {
  const Network network = testing::random_layer_network(5, DType::int8);
  const Plan plan = make_plan(network.input).plan;
  const Package first = generate_package(network, plan, {.name = "net"});
  const Package second = generate_package(network, plan, {.name = "net"});
  ASSERT_EQ(first.files.size(), second.files.size());
  for (std::size_t i = 0; i < first.files.size(); ++i) {
    EXPECT_EQ(first.files[i].path, second.files[i].path);
    EXPECT_EQ(first.files[i].content, second.files[i].content);
  }
}

}  // namespace
}  // namespace stowage
