// Plans whose tensors move between memories, from networks to runs; and what no plan of them avoids.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "long_tests.h"
#include "oracle/random_graph.h"
#include "plan/least_cost.h"
#include "random_networks.h"
#include "stowage/error.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "stowage/sweep.h"

namespace stowage {
namespace {

using testing::NetworkMaker;
using testing::random_scenario;
using testing::Scenario;

const std::uint64_t cases = testing::is_in_a_hurry() ? 60 : testing::cases_of(300);

std::vector<Input> inputs_of(const std::vector<Network>& networks) {
  std::vector<Input> inputs;
  for (const Network& network : networks) inputs.push_back(network.input);
  return inputs;
}

PlanResult planned(const std::vector<Input>& inputs, const PlanOptions& options) {
  PlanResult result = make_plan(inputs, options);
  for (const Fault& fault : result.faults) ADD_FAILURE() << fault.what;
  return result;
}

std::size_t copies_in(const Plan& plan) {
  std::size_t copies = 0;
  for (const Clock& clock : plan.clocks)
    copies +=
        static_cast<std::size_t>(std::count_if(clock.steps.begin(), clock.steps.end(), [](const auto& it) {
          return std::holds_alternative<Copy>(it);
        }));
  return copies;
}

/// x is read at once and long after, while there is no room for it in between.
Network with_a_rest() {
  NetworkMaker maker("a");
  const TensorId x = maker.input(32);
  TensorId wide = maker.apply("Neg", {x});
  for (int i = 0; i < 2; ++i) wide = maker.apply("Concat", {wide, wide});
  maker.output(maker.apply("Neg", {wide}));
  TensorId late = maker.apply("Neg", {x});
  for (int i = 0; i < 4; ++i) late = maker.apply("Add", {late, x});
  maker.output(late);
  return maker.take();
}

PlanOptions in_two(Bytes fast, Moves moves) {
  return {.memories = {{.name = "fast", .capacity = fast}, {.name = "slow", .cost = 10}},
          .alias = Alias::none,
          .moves = moves};
}

TEST(PlanMoves, FetchWhatIsReadOftenAfterARest) {
  const std::vector<Network> networks{with_a_rest()};
  const Plan still = planned(inputs_of(networks), in_two(1024, Moves::none)).plan;
  const Plan moving = planned(inputs_of(networks), in_two(1024, Moves::allowed)).plan;
  EXPECT_EQ(copies_in(still), 0U);
  EXPECT_GT(copies_in(moving), 0U);
  EXPECT_LT(moving.summary.cost, still.summary.cost);
  EXPECT_LE(moving.summary.cost_bound, moving.summary.cost);
  const RunResult run = run_plan(networks, moving, {.kernels = KernelSet::plain, .check = RunCheck::tensors});
  EXPECT_FALSE(run.fault) << run.fault->what;
}

/// x is fetched between the last step that needs t3 and the one that writes over t2, which is half of t3's buffer.
TEST(PlanMoves, GoBetweenAViewThatEndsAndWhatIsWrittenOverThere) {
  const std::vector<Input> inputs{parse_input(
      R"({"format": "stowage-graph", "version": 1, "name": "net", "tensors": [
          {"name": "x", "kind": "input", "bytes": 12}, {"name": "t2", "kind": "temporary", "bytes": 12},
          {"name": "t3", "kind": "temporary", "bytes": 24}, {"name": "y", "kind": "output", "bytes": 24},
          {"name": "z", "kind": "output", "bytes": 12}],
        "subgraphs": [{"name": "main", "inputs": ["x"], "outputs": ["y", "z"], "operators": [
          {"name": "a", "type": "LeakyRelu", "inputs": ["x"], "outputs": ["t2"]},
          {"name": "b", "type": "Concat", "inputs": ["t2", "t2"], "outputs": ["t3"], "copies": [
            {"input": 0, "output": 0, "from": 0, "to": 0, "size": 12},
            {"input": 1, "output": 0, "from": 0, "to": 12, "size": 12}]},
          {"name": "c", "type": "Neg", "inputs": ["t3"], "outputs": ["y"]},
          {"name": "d", "type": "Sum", "inputs": ["t2", "x", "x", "x"], "outputs": ["z"]}]}]})",
      "net.json")};
  PlanOptions options = in_two(24, Moves::allowed);
  options.alias = Alias::all;
  options.alignment = 1;
  options.order = Order::keep;
  EXPECT_EQ(copies_in(planned(inputs, options).plan), 1U);
}

TEST(PlanMoves, NeedSeveralMemoriesAndANetwork) {
  const std::vector<Network> networks{with_a_rest()};
  EXPECT_THROW((void)make_plan(inputs_of(networks), {.moves = Moves::allowed}), UsageError);
  const Input list = parse_input("id,lower,upper,size\nx,0,1,4\n", "list.csv");
  EXPECT_THROW((void)make_plan(list, in_two(256, Moves::allowed)), UsageError);
}

/// All outputs, as options name them.
std::vector<std::string> outputs_of(const std::vector<Input>& inputs) {
  std::vector<std::string> outputs;
  for (const Input& input : inputs) {
    const auto& graph = std::get<Graph>(input.content);
    for (const TensorId t : graph.subgraphs[0].outputs)
      outputs.push_back(input.info.name + "." + graph.tensors[t].name);
  }
  return outputs;
}

TEST(PlanMoves, NeverCostMoreAndComputeTheSame) {
  std::size_t moved = 0;
  std::size_t moved_in_branches = 0;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    Scenario scenario = random_scenario(seed, 20);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ": " << scenario.options.run);
    PlanOptions& options = scenario.options;
    options.solve.strategy = "auto";
    if (seed % 3 > 0) options.alias = Alias::none;
    options.memories = {{.name = "fast", .capacity = Bytes{64} << seed % 4},
                        {.name = "middle", .capacity = Bytes{256}, .cost = 10},
                        {.name = "slow", .cost = 100}};
    if (seed % 2 == 0) options.memories.erase(options.memories.begin() + 1);
    const std::vector<Input> inputs = inputs_of(scenario.networks);
    if (seed % 4 > 0) options.released = outputs_of(inputs);  // what is kept for the caller does not move
    const Plan still = planned(inputs, options).plan;
    options.moves = Moves::allowed;
    const Plan moving = planned(inputs, options).plan;
    EXPECT_LE(moving.summary.cost, still.summary.cost);
    EXPECT_LE(plan::least_cost(inputs, moving, options.memories), moving.summary.cost);
    EXPECT_EQ(plan::least_cost(inputs, moving, options.memories),
              plan::least_cost(inputs, still, options.memories));
    const std::size_t copies = copies_in(moving);
    moved += copies > 0 ? 1 : 0;
    if (moving.clocks.size() > 1 && copies > 0) ++moved_in_branches;
    const RunResult run = run_plan(scenario.networks, moving,
                                   {.kernels = KernelSet::plain, .check = RunCheck::tensors, .seed = seed});
    ASSERT_FALSE(run.fault) << run.fault->what;
  }
  EXPECT_GT(moved, cases / 10);
  EXPECT_GT(moved_in_branches, cases / 30);
}

/// Bodies, states, copies and unnamed tensors: the checker has nothing against what comes out.
TEST(PlanMoves, GoWithEverythingThatGraphsHave) {
  std::size_t moved = 0;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(seed);
    Input input{.info = {"a", "a.json", ModelFormat::json},
                .content = oracle::random_graph(
                    seed, {.depth = seed % 3, .repeats_names = true, .operators = 25, .copies = 30})};
    PlanOptions options{
        .memories = {{.name = "fast", .capacity = Bytes{64} << seed % 5}, {.name = "slow", .cost = 10}},
        .alignment = 16,
        .alias = static_cast<Alias>(seed % 3)};
    const Plan still = planned({input}, options).plan;
    options.moves = Moves::allowed;
    const Plan moving = planned({input}, options).plan;
    EXPECT_LE(moving.summary.cost, still.summary.cost);
    EXPECT_LE(moving.summary.cost_bound, moving.summary.cost);
    if (copies_in(moving) > 0) ++moved;
  }
  EXPECT_GT(moved, cases / 15);
}

/// One operator reads `inputs` and writes `outputs`, by bytes.
Input one_operator(const std::string& type, const std::vector<Bytes>& inputs,
                   const std::vector<Bytes>& outputs) {
  oracle::Sketch sketch;
  const auto named = [&](const std::string& letter, std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back(letter + std::to_string(i));
    return names;
  };
  const auto in = named("x", inputs.size());
  const auto out = named("y", outputs.size());
  sketch.subgraph(in, out);
  sketch.add(0, type, in, out);
  for (std::size_t i = 0; i < in.size(); ++i)
    sketch.tensor(in[i]) = {in[i], TensorKind::input, DType::int8, Shape{inputs[i]}, inputs[i]};
  for (std::size_t i = 0; i < out.size(); ++i)
    sketch.tensor(out[i]) = {out[i], TensorKind::output, DType::int8, Shape{outputs[i]}, outputs[i]};
  return {.info = {"a", "a.json", ModelFormat::json}, .content = sketch.graph()};
}

std::int64_t least_slow_bytes(const Input& input, Bytes fast) {
  const std::vector<Memory> memories{{.name = "fast", .capacity = fast, .cost = 0}, {.name = "slow"}};
  const Plan plan = make_plan(input).plan;
  return plan::least_cost(std::span(&input, 1), plan, memories);
}

TEST(LeastCost, IsWhatDoesNotFitAtOnce) {
  const Input pool = one_operator("Pool", {8, 5}, {6});
  EXPECT_EQ(least_slow_bytes(pool, 19), 0);
  EXPECT_EQ(least_slow_bytes(pool, 18), 5);
  EXPECT_EQ(least_slow_bytes(pool, 13), 6);
  EXPECT_EQ(least_slow_bytes(pool, 10), 11);
  EXPECT_EQ(least_slow_bytes(pool, 4), 19);
}

TEST(LeastCost, CountsAnInputAndItsOverwriterOnce) {
  const Input relu = one_operator("Relu", {8}, {8});
  EXPECT_EQ(least_slow_bytes(relu, 8), 0);
  EXPECT_EQ(least_slow_bytes(relu, 7), 16);
  const Input add = one_operator("Add", {8, 8}, {8});
  EXPECT_EQ(least_slow_bytes(add, 16), 0);
  EXPECT_EQ(least_slow_bytes(add, 15), 8);  // the other input
}

TEST(Sweep, GoesUpByHalvesOfDoublings) {
  EXPECT_EQ(sizes_between(16, 64), (std::vector<Bytes>{16, 24, 32, 48, 64}));
  EXPECT_EQ(sizes_between(1, 3), (std::vector<Bytes>{1, 2, 3}));
  EXPECT_EQ(sizes_between(5, 5), (std::vector<Bytes>{5}));
}

TEST(Sweep, NeedsASlowerMemory) {
  const std::vector<Input> inputs{with_a_rest().input};
  SweepOptions options{.plan = in_two(0, Moves::none), .memory = 1, .sizes = {64}};
  EXPECT_THROW((void)sweep(inputs, options), UsageError);
  options.plan.memories.push_back({.name = "weights", .role = MemoryRole::weights});
  EXPECT_THROW((void)sweep(inputs, options), UsageError);
}

TEST(Sweep, ShowsAutoNoWorseThanTheFirstLevelFirstAndMovesNoWorseThanNone) {
  const std::filesystem::path models = std::filesystem::path(STOWAGE_DATA_DIR) / "models";
  if (!std::filesystem::exists(models)) GTEST_SKIP() << "there is no " << models;
  for (const char* const name :
       {"tflite/mobilenet_v2_int8_224.tflite", "onnx/light_densenet121.onnx", "onnx/light_resnet50.onnx"}) {
    if (!testing::has_time() && name == std::string_view("onnx/light_densenet121.onnx")) continue;
    const std::vector<Input> inputs{read_input(models / name)};
    const SweepOptions options{
        .plan = {.memories = {{.name = "SRAM"}, {.name = "DRAM", .cost = 10}}, .moves = Moves::allowed},
        .sizes = sizes_between((testing::is_in_a_hurry() ? 512
                                : testing::has_time()    ? 16
                                                         : 256) *
                                   1024,
                               4 * 1024 * 1024)};
    const auto rows = sweep(inputs, options);
    ASSERT_EQ(rows.size(), options.sizes.size());
    for (const SweepRow& row : rows) {
      SCOPED_TRACE(::testing::Message() << name << ", " << row.size);
      const SweepEntry& best = row.entries.front();
      const SweepEntry& with_moves = row.entries.back();
      ASSERT_EQ(best.strategy, "auto");
      ASSERT_EQ(with_moves.moves, Moves::allowed);
      EXPECT_LE(with_moves.cost, best.cost);
      EXPECT_LE(with_moves.slow_traffic, best.slow_traffic);
      EXPECT_LE(row.unavoidable, with_moves.slow_traffic);
      for (const SweepEntry& entry : row.entries) {
        EXPECT_TRUE(entry.faults.empty()) << entry.faults[0].what;
        if (!entry.obstacle.empty() || entry.moves == Moves::allowed) continue;
        EXPECT_LE(best.cost, entry.cost) << entry.strategy;
        EXPECT_LE(best.slow_traffic, entry.slow_traffic) << entry.strategy;
      }
    }
  }
}

}  // namespace
}  // namespace stowage
