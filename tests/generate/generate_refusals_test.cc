// What `generate_package` refuses, and what it says.

#include <gtest/gtest.h>

#include <string>

#include "layer_networks.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/planner.h"
#include "stream_run_networks.h"

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
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Network network = testing::random_image_network(seed, testing::ImageNetwork::tflite_int8);
    std::size_t resizing = 0;
    for (const Operator& op : network.graph().subgraphs[0].operators)
      resizing += op.type.starts_with("RESIZE") ? 1 : 0;
    if (resizing < 2) continue;
    const std::string what = refusal_of(network, make_plan(network.input).plan);
    EXPECT_NE(what.find("has " + std::to_string(resizing) + " operators for which no C is generated"),
              std::string::npos)
        << what;
    EXPECT_NE(what.find("there is no generated kernel for RESIZE"), std::string::npos) << what;
    return;
  }
  FAIL() << "no network resizes twice";
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
