// Runs of several models in one plan: one after the other, at the same time, and fed by one another.

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "run_sketch.h"
#include "stowage/error.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::adding;
using testing::output_alone;
using testing::PlanSketch;

constexpr std::uint64_t seeds = 16;

/// Has a model of two operators run at these positions of a clock, in 32 bytes.
void put_chain(PlanSketch& sketch, const std::string& model, std::size_t clock, Position at, Bytes offset) {
  sketch.put(model + ".x", {.clock = clock, .offset = offset, .life = {at, at + 1}});
  sketch.put(model + ".t1", {.clock = clock, .offset = offset + 16, .life = {at, at + 2}});
  sketch.put(model + ".y", {.clock = clock, .offset = offset, .life = {at + 1, at + 2}});
  sketch.run(clock, model, 0);
  sketch.run(clock, model, 1);
}

/// The models in the order in which they had their turns.
std::string turns_of(const RunResult& result) {
  std::string turns;
  for (const StepReport& step : result.steps) turns += step.what.at(step.what.find("'") + 1);
  return turns;
}

void expect_as_alone(PlanSketch& sketch, const RunResult& result, std::uint64_t seed) {
  ASSERT_FALSE(result.fault) << result.fault->what;
  ASSERT_EQ(result.outputs.size(), sketch.networks().size());
  for (std::size_t m = 0; m < result.outputs.size(); ++m) {
    EXPECT_EQ(result.outputs[m].model, m);
    EXPECT_EQ(result.outputs[m].array, output_alone(sketch.networks()[m], seed));
  }
}

TEST(RunClocks, ModelsOneAfterTheOtherShareAnArena) {
  PlanSketch sketch({adding("a", 2), adding("b", 2)});
  put_chain(sketch, "b", 0, 0, 0);
  put_chain(sketch, "a", 0, 2, 0);
  const RunResult result = sketch.result(3);
  expect_as_alone(sketch, result, 3);
  EXPECT_EQ(turns_of(result), "bbaa");
  EXPECT_EQ(result.touched, std::vector<Bytes>{32});
  EXPECT_EQ(result.steps[0].what, "operator 'b0' (Add, 0 of subgraph 0) of model 'b'");
}

TEST(RunOutputs, AreReadWhenEverythingHasRunUnlessTheyAreReleased) {
  PlanSketch sketch({adding("a", 2), adding("b", 2)});
  put_chain(sketch, "b", 0, 0, 0);
  put_chain(sketch, "a", 0, 2, 0);
  sketch.plan().released = {sketch.index_of("a.y")};
  EXPECT_NE(sketch.fault().find("tensor 'y' of model 'b' of the caller needs byte 0"), std::string::npos)
      << sketch.fault();
  sketch.buffer("b.y").pieces[0].life = {1, 4};
  EXPECT_NE(sketch.fault().find("'b.y'"), std::string::npos) << sketch.fault();  // a writes there
  sketch.plan().places[sketch.tensor("b.y").views[0].buffer].offset = 32;
  sketch.plan().memories[0].peak = 48;
  sketch.tensor("b.y").views[0].life = {1, 4};
  expect_as_alone(sketch, sketch.result(3), 3);
  // In one buffer a's output takes the bytes of b's.
  sketch.tensor("a.y").views.clear();
  sketch.view("a.y", "b.y", {3, 4});
  EXPECT_EQ(sketch.fault(0, RunCheck::none),
            "the caller reads tensor 'y' of model 'b', but byte 32 of memory 'm0', held by buffer 'b.y', is "
            "of tensor 'y' of model 'a', written by operator 'a1' (Add, 1 of subgraph 0) of model 'a' at "
            "position 3, where it should be");
}

/// a and b at the same time, then c.
PlanSketch two_at_one_time() {
  PlanSketch sketch({adding("a", 2), adding("b", 2), adding("c", 2)});
  sketch.fork(0, {1, 2});
  put_chain(sketch, "a", 1, 0, 0);
  put_chain(sketch, "b", 2, 0, 32);
  put_chain(sketch, "c", 0, 1, 16);
  return sketch;
}

TEST(RunClocks, BranchesTakeTurnsThatTheSeedDecides) {
  PlanSketch sketch = two_at_one_time();
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const RunResult result = sketch.result(seed);
    expect_as_alone(sketch, result, seed);
    orders.insert(turns_of(result));
    EXPECT_EQ(turns_of(sketch.result(seed)), turns_of(result));
  }
  EXPECT_GE(orders.size(), 4U);
  for (const std::string& order : orders) EXPECT_TRUE(order.ends_with("cc")) << order;
}

TEST(RunOutputs, OfBranchesAreThereUntilTheClockGoesOn) {
  PlanSketch sketch({adding("a", 2), adding("b", 2)});
  sketch.fork(0, {1, 2});
  put_chain(sketch, "a", 1, 0, 0);
  sketch.fork(2, {3});
  put_chain(sketch, "b", 3, 0, 32);
  sketch.plan().released.clear();
  for (std::uint64_t seed = 0; seed < seeds; ++seed) expect_as_alone(sketch, sketch.result(seed), seed);
  PlanSketch goes_on = two_at_one_time();
  goes_on.plan().released = {goes_on.index_of("c.y")};
  for (std::uint64_t seed = 0; seed < seeds; ++seed)
    EXPECT_NE(goes_on.fault(seed).find("'y' of model 'a'"), std::string::npos) << goes_on.fault(seed);
}

TEST(RunClocks, StepsSayTheirClocks) {
  PlanSketch sketch = two_at_one_time();
  const RunResult result = sketch.result();
  std::multiset<std::size_t> clocks;
  for (const StepReport& step : result.steps) clocks.insert(step.clock);
  EXPECT_EQ(clocks, (std::multiset<std::size_t>{0, 0, 1, 1, 2, 2}));
  std::ostringstream table;
  write_run(result, sketch.plan(), table);
  write_steps(result, sketch.plan(), table);
  for (const std::string word : {"b.y float32[4]", "   clock  "})
    EXPECT_NE(table.str().find(word), std::string::npos) << word << " in " << table.str();
  std::ostringstream json;
  write_run_json(result, sketch.plan(), json);
  for (const std::string word : {R"("name":"b.y")", R"("clock":2)"})
    EXPECT_NE(json.str().find(word), std::string::npos) << word << " in " << json.str();
}

TEST(RunClocks, BranchesThatOverlapAreFoundWhateverTheirTurns) {
  PlanSketch sketch = two_at_one_time();
  const std::size_t moved = sketch.tensor("b.y").views[0].buffer;
  sketch.plan().places[moved].offset = 12;  // a.y ends there, and a.t1 begins
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const std::string fault = sketch.fault(seed, RunCheck::none);
    EXPECT_NE(fault.find("'b.y'"), std::string::npos) << fault;
    EXPECT_NE(fault.find("'a."), std::string::npos) << fault;
    EXPECT_NE(fault.find("of memory 'm0'"), std::string::npos) << fault;
  }
}

TEST(RunClocks, WhatIsHeldAtAForkIsHeldDuringIt) {
  PlanSketch sketch = two_at_one_time();
  sketch.buffer("c.x").pieces[0].life = {0, 2};
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const std::string fault = sketch.fault(seed);
    EXPECT_NE(fault.find("'c.x'"), std::string::npos) << fault;
    EXPECT_NE(fault.find("'a."), std::string::npos) << fault;
  }
}

TEST(RunClocks, ForksNestAndFollowEachOther) {
  PlanSketch sketch({adding("a", 2), adding("b", 2), adding("c", 2), adding("d", 2), adding("e", 2)});
  sketch.fork(0, {1, 2});
  put_chain(sketch, "a", 1, 0, 0);
  put_chain(sketch, "b", 2, 0, 32);
  sketch.fork(2, {3, 4});
  put_chain(sketch, "c", 3, 0, 32);
  put_chain(sketch, "d", 4, 0, 64);
  sketch.fork(0, {5});
  put_chain(sketch, "e", 5, 0, 0);
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const RunResult result = sketch.result(seed);
    expect_as_alone(sketch, result, seed);
    const std::string turns = turns_of(result);
    EXPECT_LT(turns.find_last_of('b'), turns.find_first_of("cd")) << turns;
    EXPECT_TRUE(turns.ends_with("ee")) << turns;
    orders.insert(turns);
  }
  EXPECT_GE(orders.size(), 8U);
  // What b gave back is c's, but not a's.
  sketch.plan().places[sketch.tensor("a.y").views[0].buffer].offset = 48;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const std::string fault = sketch.fault(seed, RunCheck::none);
    EXPECT_NE(fault.find("'a.y'"), std::string::npos) << fault;
  }
}

TEST(RunClocks, BranchesMayUseBuffersOfTheClocksThatForkedThemOnly) {
  PlanSketch sketch({adding("a", 1), adding("b", 1)});
  sketch.fork(0, {1, 2});
  sketch.put("a.x", {.life = {0, 1}});
  sketch.put("a.y", {.clock = 1, .offset = 16, .life = {0, 1}});
  sketch.put("b.x", {.clock = 2, .offset = 32, .life = {0, 1}});
  sketch.put("b.y", {.clock = 2, .offset = 48, .life = {0, 1}});
  sketch.run(1, "a", 0);
  sketch.run(2, "b", 0);
  expect_as_alone(sketch, sketch.result(), 0);
  sketch.buffer("b.x").clock = 1;
  EXPECT_EQ(sketch.fault(),
            "tensor 'x' of model 'b' of the caller has no place in the plan at position 0 of clock 2");
}

/// a, then b, which a feeds, in one buffer, then c, which b feeds.
PlanSketch fed_one_after_the_other() {
  PlanSketch sketch({adding("a", 1), adding("b", 1), adding("c", 1)});
  sketch.put("a.x", {.life = {0, 1}});
  sketch.put("a.y", {.offset = 16, .life = {0, 2}});
  sketch.view("b.x", "a.y", {1, 2});
  sketch.put("b.y", {.offset = 0, .life = {1, 3}});
  sketch.view("c.x", "b.y", {2, 3});
  sketch.put("c.y", {.offset = 16, .life = {2, 3}});
  sketch.feed("a.y", "b.x");
  sketch.feed("b.y", "c.x");
  for (const std::string model : {"a", "b", "c"}) sketch.run(0, model, 0);
  return sketch;
}

void expect_fed_on(PlanSketch& sketch, std::uint64_t seed) {
  const RunResult result = sketch.result(seed);
  ASSERT_FALSE(result.fault) << result.fault->what;
  const Array a = output_alone(sketch.networks()[0], seed);
  const Array b = output_alone(sketch.networks()[1], a);
  EXPECT_EQ(result.outputs.at(0).array, a);
  EXPECT_EQ(result.outputs.at(1).array, b);
  EXPECT_EQ(result.outputs.at(2).array, output_alone(sketch.networks()[2], b));
}

TEST(RunFeeds, AreReadWhereTheyWereWritten) {
  PlanSketch sketch = fed_one_after_the_other();
  expect_fed_on(sketch, 5);
}

TEST(RunFeeds, MayNotLieElsewhere) {
  PlanSketch sketch = fed_one_after_the_other();
  sketch.tensor("b.x").views.clear();
  sketch.put("b.x", {.offset = 32, .life = {1, 2}});
  EXPECT_EQ(sketch.fault(), "tensor 'x' of model 'b' is fed by tensor 'y' of model 'a', but lies elsewhere");
}

TEST(RunFeeds, MustStillBeThere) {
  PlanSketch sketch = fed_one_after_the_other();
  sketch.buffer("a.y").pieces[0].life = {0, 1};
  EXPECT_NE(
      sketch.fault().find("tensor 'y' of model 'a' of the feed of tensor 'x' of model 'b' needs byte 16"),
      std::string::npos)
      << sketch.fault();
  PlanSketch early = fed_one_after_the_other();
  std::swap(early.plan().clocks[0].steps[0], early.plan().clocks[0].steps[1]);
  EXPECT_EQ(early.fault(),
            "tensor 'y' of model 'a' is read by the feed of tensor 'x' of model 'b' before it is written");
}

TEST(RunFeeds, AreNotWrittenOverBeforeTheyAreRead) {
  PlanSketch sketch = fed_one_after_the_other();
  sketch.feed("a.y", "c.x");
  sketch.plan().feeds.erase(sketch.plan().feeds.begin() + 1);
  sketch.buffer("a.y").pieces[0].life = {0, 3};
  sketch.tensor("c.x").views.clear();
  sketch.view("c.x", "a.y", {2, 3});
  sketch.plan().places[sketch.tensor("c.y").views[0].buffer].offset = 0;
  sketch.buffer("b.y").pieces[0].life = {1, 2};
  EXPECT_EQ(sketch.fault(), "");  // one output feeds two
  sketch.tensor("b.y").views.clear();
  sketch.view("b.y", "a.y", {1, 2});  // in place, as b alone may
  EXPECT_EQ(sketch.fault(0, RunCheck::none),
            "the feed of tensor 'x' of model 'c' reads tensor 'y' of model 'a', but byte 16 of memory 'm0', "
            "held by buffer 'a.y', is of tensor 'y' of model 'b', written by operator 'b0' (Add, 0 of "
            "subgraph 0) of model 'b' at position 1, where it should be");
}

TEST(RunFeeds, GoFromBranchToBranch) {
  PlanSketch sketch({adding("a", 1), adding("b", 1), adding("c", 1)});
  sketch.fork(0, {1});
  sketch.fork(0, {2, 3});
  sketch.put("a.x", {.clock = 1, .life = {0, 1}});
  sketch.put("a.y", {.clock = 0, .offset = 16, .life = {0, 2}});
  sketch.run(1, "a", 0);
  for (const auto& [model, clock, offset] :
       {std::tuple<std::string, std::size_t, Bytes>{"b", 2, 0}, {"c", 3, 32}}) {
    sketch.view(model + ".x", "a.y", {1, 2});
    sketch.put(model + ".y", {.clock = clock, .offset = offset, .life = {0, 1}});
    sketch.run(clock, model, 0);
    sketch.feed("a.y", model + ".x");
  }
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const RunResult result = sketch.result(seed);
    ASSERT_FALSE(result.fault) << result.fault->what;
    const Array fed = output_alone(sketch.networks()[0], seed);
    EXPECT_EQ(result.outputs.at(1).array, output_alone(sketch.networks()[1], fed));
    EXPECT_EQ(result.outputs.at(2).array, output_alone(sketch.networks()[2], fed));
  }
}

TEST(RunFeeds, PassThroughModelsWithoutSteps) {
  PlanSketch sketch({adding("c", 1), adding("pass", 0), adding("a", 1)});
  sketch.put("a.x", {.life = {0, 1}});
  sketch.put("a.y", {.offset = 16, .life = {0, 2}});
  sketch.view("pass.x", "a.y", {1, 2});
  sketch.view("c.x", "a.y", {1, 2});
  sketch.put("c.y", {.life = {1, 2}});
  sketch.feed("a.y", "pass.x");
  sketch.feed("pass.x", "c.x");
  sketch.run(0, "a", 0);
  sketch.run(0, "c", 0);
  const RunResult result = sketch.result(2);
  ASSERT_FALSE(result.fault) << result.fault->what;
  const Array fed = output_alone(sketch.networks()[2], 2);
  EXPECT_EQ(result.outputs.at(1).array, fed);
  EXPECT_EQ(result.outputs.at(0).array, output_alone(sketch.networks()[0], fed));
}

TEST(RunClocks, ModelsWithoutStepsHappenWhereTheirTensorsLie) {
  PlanSketch sketch({adding("pass", 0), adding("a", 1)});
  sketch.put("a.x", {.life = {0, 1}});
  sketch.put("a.y", {.offset = 16, .life = {0, 1}});
  sketch.put("pass.x", {.life = {1, 2}});
  sketch.run(0, "a", 0);
  const RunResult result = sketch.result(4);
  ASSERT_FALSE(result.fault) << result.fault->what;
  EXPECT_EQ(result.outputs.at(0).array.data.size(), 16U);
  sketch.tensor("pass.x").views.clear();  // the caller's memory
  EXPECT_EQ(sketch.result(4).outputs.at(0).array, result.outputs[0].array);
}

TEST(RunClocks, PlansThatCannotBeRunAreFaults) {
  const auto fault_with = [](const auto& harm) {
    PlanSketch sketch = two_at_one_time();
    harm(sketch.plan());
    return sketch.fault();
  };
  EXPECT_EQ(fault_with([](Plan& plan) {
              plan.clocks[0].steps[0] = Fork{{1, 2, 9}};
            }),
            "step 0 of clock 0 forks clock 9, there are 3");
  EXPECT_EQ(fault_with([](Plan& plan) {
              plan.clocks[0].steps[0] = Fork{{1, 2, 1}};
            }),
            "step 0 of clock 0 forks clock 1, which has been forked before");
  EXPECT_EQ(fault_with([](Plan& plan) { plan.clocks[1].steps.emplace_back(Fork{{0}}); }),
            "step 2 of clock 1 forks clock 0, which is the root");
  EXPECT_EQ(fault_with([](Plan& plan) { plan.clocks[1].steps.emplace_back(Fork{{1}}); }),
            "step 2 of clock 1 forks clock 1, which has been forked before");
  EXPECT_EQ(fault_with([](Plan& plan) { plan.clocks[0].steps[0] = Fork{{1}}; }),
            "clock 2 is not forked by any step");
  EXPECT_EQ(fault_with([](Plan& plan) {
              plan.clocks.push_back({{Fork{{4}}}});
              plan.clocks.push_back({{Fork{{3}}}});
            }),
            "clock 3 is forked by itself, or by clocks that it forks");
  EXPECT_EQ(fault_with([](Plan& plan) { std::get<stowage::Run>(plan.clocks[1].steps[0]).model = 3; }),
            "step 0 of clock 1 is of model 3, there are 3");
  EXPECT_EQ(fault_with([](Plan& plan) { std::get<stowage::Run>(plan.clocks[1].steps[1]).model = 1; }),
            "step 0 of clock 2 is of model 1 ('b'), whose other steps are not next to it");
  EXPECT_EQ(fault_with([](Plan& plan) {
              plan.clocks[1].steps.emplace_back(Copy{99, 0, 0});
            }),
            "step 2 of clock 1 copies tensor 99, there are 9");
  EXPECT_EQ(fault_with([](Plan& plan) { plan.clocks.clear(); }),
            "the plan has 0 clocks, expected at least the root");
  EXPECT_EQ(fault_with([](Plan& plan) { plan.models.pop_back(); }),
            "step 1 of clock 0 is of model 2, there are 2");
  EXPECT_EQ(fault_with([](Plan& plan) { plan.tensors.pop_back(); }), "tensor 8 is released, there are 8");
  EXPECT_NE(fault_with([](Plan& plan) { std::swap(plan.tensors[0], plan.tensors[3]); }), "");
  EXPECT_NE(fault_with([](Plan& plan) { plan.tensors[0].views[0].buffer = 99; }), "");
  EXPECT_NE(fault_with([](Plan& plan) { plan.places.pop_back(); }), "");
  EXPECT_NE(fault_with([](Plan& plan) { plan.memories[0].peak = -1; }), "");
  EXPECT_NE(fault_with([](Plan& plan) { plan.feeds = {{0, 99}}; }), "");
  EXPECT_NE(fault_with([](Plan& plan) { plan.feeds = {{0, 3}}; }), "");
  EXPECT_NE(fault_with([](Plan& plan) { plan.feeds = {{2, 3}, {2, 3}}; }), "");
}

TEST(RunClocks, EmptyBranchesEnd) {
  PlanSketch sketch = two_at_one_time();
  sketch.fork(1, {3, 4});
  expect_as_alone(sketch, sketch.result(), 0);
}

TEST(RunInputs, AreFoundByTheirNamesAndThoseOfTheirModels) {
  PlanSketch sketch = two_at_one_time();
  Array ones{.dtype = DType::float32, .shape = {4}, .data = std::vector<std::byte>(16, std::byte{1})};
  const RunResult result = run_plan(sketch.networks(), sketch.plan(), {.inputs = {{"b.x", ones}}});
  ASSERT_FALSE(result.fault) << result.fault->what;
  EXPECT_EQ(result.outputs.at(1).array, output_alone(sketch.networks()[1], ones));
  EXPECT_NE(result.outputs.at(0).array, result.outputs.at(1).array);
  const auto refusal = [&](PlanSketch& of, const std::map<std::string, Array>& inputs) -> std::string {
    try {
      static_cast<void>(run_plan(of.networks(), of.plan(), {.inputs = inputs}));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(sketch, {{"x", ones}}),
            "--input 'x': several models have it, expected one of a.x, b.x, c.x");
  EXPECT_EQ(
      refusal(sketch, {{"b.z", ones}}),
      "--input 'b.z': the networks have no such input, expected one of a.x, b.x, c.x; did you mean 'b.x'?");
  PlanSketch fed = fed_one_after_the_other();
  EXPECT_EQ(refusal(fed, {{"b.x", ones}}),
            "--input 'b.x': another model feeds it, or has the state that it reads");
  EXPECT_EQ(refusal(fed, {{"a.x", ones}}), "");
}

}  // namespace
}  // namespace stowage
