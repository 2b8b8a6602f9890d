// Places that the user gives tensors of models.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "random_networks.h"
#include "row_sketch.h"
#include "stowage/error.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

/// x -> t1 -> t2 -> y, each of 64 bytes.
Input chain(const std::string& name) {
  cases::RowSketch sketch;
  TensorId at = sketch.input("x", {16, 4});
  for (int i = 0; i < 3; ++i) {
    sketch.elementwise("Relu", {at}, 0);
    at = sketch.last();
  }
  sketch.finish();
  Input input{.info = {name, name + ".json", ModelFormat::json}};
  input.content = std::move(sketch.graph);
  return input;
}

PlanOptions in_two(std::vector<TensorPlace> places, Bytes fast = 4096) {
  PlanOptions options;
  options.memories = {{.name = "fast", .capacity = fast}, {.name = "slow", .cost = 10}};
  options.alignment = 16;
  options.places = std::move(places);
  options.solve.effort = 200;
  return options;
}

Plan sound_plan(const std::vector<Input>& inputs, const PlanOptions& options) {
  PlanResult result = make_plan(inputs, options);
  for (const Fault& fault : result.faults) ADD_FAILURE() << fault.what;
  return std::move(result.plan);
}

struct Found {
  std::vector<std::size_t> memories{};  ///< Of all views.
  Bytes offset = 0;                     ///< Of the first.
};

Found place_in(const Plan& plan, const std::string& tensor) {
  Found found;
  for (const PlannedTensor& it : plan.tensors) {
    const std::string name =
        plan.models.size() == 1 ? it.tensor.name : plan.models[it.model].name + "." + it.tensor.name;
    if (name != tensor) continue;
    for (const View& view : it.views) found.memories.push_back(plan.places[view.buffer].memory);
    if (!it.views.empty()) found.offset = plan.places[it.views[0].buffer].offset + it.views[0].offset;
  }
  return found;
}

std::string name_of_tensor(const Input& input, TensorId tensor) {
  return std::get<Graph>(input.content).tensors[tensor].name;
}

TEST(Places, AreWhereTensorsAre) {
  const Input net = chain("net");
  for (TensorId t = 0; t < 4; ++t) {
    const std::string name = name_of_tensor(net, t);
    for (const Alias alias : {Alias::none, Alias::automatic, Alias::all}) {
      for (const Order order : {Order::keep, Order::search}) {
        for (const std::size_t memory : {0U, 1U}) {
          PlanOptions options = in_two({{name, memory == 0 ? "fast" : "slow", 512}});
          options.alias = alias;
          options.order = order;
          const Found found = place_in(sound_plan({net}, options), name);
          EXPECT_EQ(found.memories, std::vector{memory}) << name;
          EXPECT_EQ(found.offset, 512) << name;
          options.places[0].offset.reset();
          EXPECT_EQ(place_in(sound_plan({net}, options), name).memories, std::vector{memory}) << name;
        }
      }
    }
  }
}

/// In one memory, an offset may be above all else: the peak and its bound count that.
TEST(Places, CountInTheBound) {
  const Input net = chain("net");
  PlanOptions options;
  options.solve.effort = 100;
  options.places = {{name_of_tensor(net, 1), "arena", 6400}};
  const Plan plan = sound_plan({net}, options);
  EXPECT_EQ(plan.summary.peak, 6400 + 64);
  EXPECT_EQ(plan.summary.lower_bound, plan.summary.peak);
}

TEST(Places, HoldForRows) {
  const Input net = chain("net");
  const std::string name = name_of_tensor(net, 1);
  PlanOptions options = in_two({{name, "slow", {}}}, 48);
  options.stream.emplace();
  options.io = Io::rows;
  const Plan plan = sound_plan({net}, options);
  ASSERT_TRUE(plan.streaming);
  const Found found = place_in(plan, name);
  EXPECT_FALSE(found.memories.empty());
  EXPECT_EQ(std::ranges::count(found.memories, 1U), std::ssize(found.memories));
  options.places[0].offset = 64;
  EXPECT_THROW((void)make_plan(net, options), UsageError);
}

TEST(Places, HoldForSeveralModels) {
  const std::vector<Input> nets{chain("a"), chain("b")};
  const std::string name = name_of_tensor(nets[0], 2);
  for (const char* const run : {"a; b", "a | b"}) {
    PlanOptions options = in_two({{"b." + name, "slow", {}}});
    options.run = run;
    EXPECT_EQ(place_in(sound_plan(nets, options), "b." + name).memories, std::vector<std::size_t>{1});
  }
  PlanOptions branches = in_two({{"b." + name, "slow", 64}});
  branches.run = "a | b";
  EXPECT_THROW((void)make_plan(nets, branches), UsageError);
  EXPECT_THROW((void)make_plan(nets, in_two({{name, "slow", {}}})), UsageError);
}

/// What moves between memories leaves tensors with places where they are.
TEST(Places, HoldWithMoves) {
  const Input net = chain("net");
  const std::string name = name_of_tensor(net, 1);
  PlanOptions options = in_two({{name, "slow", {}}}, 512);
  options.moves = Moves::allowed;
  const Found found = place_in(sound_plan({net}, options), name);
  EXPECT_EQ(std::ranges::count(found.memories, 1U), std::ssize(found.memories));
}

TEST(Places, ThatAreImpossibleAreRefused) {
  const Input net = chain("net");
  const std::string name = name_of_tensor(net, 1);
  const auto message_of = [&](const PlanOptions& options) -> std::string {
    try {
      (void)make_plan(net, options);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message_of(in_two({{name, "middle", {}}})).find("expected one of fast, slow"), std::string::npos);
  EXPECT_NE(message_of(in_two({{"nothing", "slow", {}}})).find("no tensor 'nothing'"), std::string::npos);
  EXPECT_NE(message_of(in_two({{name, "slow", 8}})).find("multiple of 16"), std::string::npos);
  EXPECT_NE(message_of(in_two({{name, "slow", {}}, {name, "fast", {}}})).find("twice"), std::string::npos);
  PlanOptions outside = in_two({{name_of_tensor(net, 0), "slow", {}}});
  outside.io = Io::external;
  EXPECT_NE(message_of(outside).find("has no bytes in the plan"), std::string::npos);
  EXPECT_EQ(make_plan(net, in_two({{name, "fast", 4096}})).outcome, Outcome::exceeds_capacity);
}

}  // namespace
}  // namespace stowage
