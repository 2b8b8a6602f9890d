// What plans say of traffic, costs and savings.

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "check_cases.h"
#include "plan_sketch.h"
#include "stowage/plan.h"

namespace stowage {
namespace {

using namespace cases;
using enum FaultKind;

struct WrongClaim {
  std::function<void(Plan&)> spoil;
  std::vector<std::string> names;
};

void expect_wrong_claims(const Plan& plan, const std::vector<WrongClaim>& wrongs) {
  ASSERT_TRUE(check_plan(plan).empty()) << text_of(check_plan(plan));
  for (const WrongClaim& wrong : wrongs) {
    Plan spoilt = plan;
    wrong.spoil(spoilt);
    EXPECT_TRUE(has(check_plan(spoilt), claim, wrong.names)) << ::testing::PrintToString(wrong.names) << "\n"
                                                             << text_of(check_plan(spoilt));
  }
}

/// Two memories of costs 1 and 10, with traffic 32 and 16, and one for weights, of 100 and 64.
Plan with_traffic() {
  PlanSketch it;
  it.add_memory("slow");
  it.add_memory("flash", MemoryRole::weights);
  it.plan.memories[1].memory.cost = 10;
  it.plan.memories[2].memory.cost = 100;
  it.add_buffer("a", 0, 0, {0, 1}).traffic = 32;
  it.add_buffer("b", 0, 0, {0, 1}, 1).traffic = 16;
  Buffer& weight = it.add_buffer("w", 0, 0, {0, 1}, 2);
  weight.kind = TensorKind::weight;
  weight.traffic = 64;
  correct_claims(it.plan);
  it.plan.summary.cost = 32 + 160 + 6400;
  it.plan.summary.cost_bound = 100;
  return it.plan;
}

TEST(CheckClaims, TrafficIsThatOfTheBuffers) {
  expect_wrong_claims(
      with_traffic(),
      {{[](Plan& plan) { plan.memories[1].traffic = 17; }, {"'slow'", "17", "16"}},
       {[](Plan& plan) { plan.memories[0].traffic = 0; }, {"'arena'", "32"}},
       {[](Plan& plan) { plan.buffers[0].traffic = 0; }, {"'arena'", "32"}},
       {[](Plan& plan) { plan.summary.cost = 6593; }, {"6593", "6592"}},
       {[](Plan& plan) { plan.memories[1].memory.cost = 11; }, {"6592", "6608"}},
       {[](Plan& plan) { plan.memories[2].memory.cost = 0; }, {"6592", "192"}},
       {[](Plan& plan) { plan.summary.cost_bound = 6593; }, {"6593", "6592"}},
       {[](Plan& plan) { plan.memories[0].memory.cost = std::numeric_limits<std::int64_t>::max(); },
        {"cost", "overflows"}}});
  Plan unknown = with_traffic();
  unknown.summary.cost = unknown.summary.cost_bound = 0;
  EXPECT_TRUE(check_plan(unknown).empty()) << text_of(check_plan(unknown));
}

/// Two weights of one buffer, one instruction.
Plan with_savings() {
  oracle::Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Conv", {"x", "v", "w", "i"}, {"y"});
  for (const char* const name : {"v", "w"}) sketch.tensor(name).kind = TensorKind::weight;
  sketch.tensor("i").kind = TensorKind::instruction;
  PlanSketch it;
  it.add_memory("flash", MemoryRole::weights);
  it.add_model("m", sketch.graph());
  it.run_all(0, 0);
  it.put("x", 0, 0, {0, 1});
  it.put("y", 0, 16, {0, 1});
  it.put("v", 0, 0, {0, 1}, 1);
  it.add_view("w", "v", {0, 1});
  it.put("i", 0, 16, {0, 1}, 1);
  correct_claims(it.plan);
  it.plan.savings = {.weights = {32, 16}, .instructions = {16, 16}, .working = {40, 32}};
  return it.plan;
}

TEST(CheckClaims, SavingsAreThoseOfThePlan) {
  expect_wrong_claims(
      with_savings(),
      {{[](Plan& plan) { plan.savings->weights.separate = 33; }, {"weights", "33", "32"}},
       {[](Plan& plan) { plan.savings->weights.shared = 15; }, {"weights", "15", "16"}},
       {[](Plan& plan) { plan.savings->instructions.separate = 17; }, {"instructions", "17"}},
       {[](Plan& plan) { plan.savings->instructions.shared = 8; }, {"instructions", "8"}},
       {[](Plan& plan) { plan.savings->working.shared = 31; }, {"working memory", "31", "32"}}});
  Plan elsewhere = with_savings();  // where weights have no place only their data tells what is shared
  elsewhere.memories.pop_back();
  elsewhere.buffers.resize(2);
  elsewhere.places.resize(2);
  for (PlannedTensor& tensor : elsewhere.tensors) {
    if (tensor.tensor.kind == TensorKind::weight || tensor.tensor.kind == TensorKind::instruction)
      tensor.views.clear();
  }
  elsewhere.savings->weights.shared = 20;
  expect_wrong_claims(elsewhere,
                      {{[](Plan& plan) { plan.savings->weights.shared = 33; }, {"weights", "33", "32"}},
                       {[](Plan& plan) { plan.savings->weights.shared = -1; }, {"weights", "-1"}}});
}

}  // namespace
}  // namespace stowage
