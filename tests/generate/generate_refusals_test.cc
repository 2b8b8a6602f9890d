// What `generate_package` refuses, and what it says.

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "layer_networks.h"
#include "pool_network.h"
#include "stowage/error.h"
#include "stowage/generate.h"
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
  Network network = testing::pool_and("RFFT2D");
  std::get<Graph>(network.input.content).subgraphs[0].operators[0].type = "mystery";
  const std::string what = refusal_of(network, make_plan(network.input).plan);
  EXPECT_NE(what.find("has 2 operators for which no C is generated"), std::string::npos) << what;
  EXPECT_NE(what.find("there is no generated kernel for RFFT2D"), std::string::npos) << what;
  EXPECT_NE(what.find("to write their functions yourself: --extern RFFT2D --extern mystery"),
            std::string::npos)
      << what;
}

TEST(GenerateRefusals, SayTheSameReasonOnce) {
  Network network = testing::pool_and("RFFT2D");
  std::get<Graph>(network.input.content).subgraphs[0].operators[0].type = "RFFT2D";
  const std::string what = refusal_of(network, make_plan(network.input).plan);
  EXPECT_NE(what.find("has 2 operators for which no C is generated"), std::string::npos) << what;
  const std::string reason = " and another one of its type: there is no generated kernel for RFFT2D";
  ASSERT_NE(what.find(reason), std::string::npos) << what;
  EXPECT_EQ(what.find("no generated kernel", what.find(reason) + reason.size()), std::string::npos) << what;
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
