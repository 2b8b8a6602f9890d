// Rows of a network in several memories: they are right, they run, and they cost no more than whole operators.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "image_networks.h"
#include "long_tests.h"
#include "stowage/error.h"
#include "stowage/import.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "stream_run_networks.h"

namespace stowage {
namespace {

using testing::ImageMaker;
using testing::pick;
using testing::Random;

PlanOptions in_two_memories(Bytes fast, Io io = Io::arena) {
  PlanOptions options;
  options.io = io;
  options.stream.emplace();
  options.alignment = 1;
  options.memories = {{.name = "SRAM", .capacity = fast}, {.name = "PSRAM", .cost = 10}};
  options.solve.effort = 150;
  return options;
}

PlanResult planned(const Network& network, const PlanOptions& options) {
  PlanResult result = make_plan(network.input, options);
  for (const Fault& fault : result.faults) ADD_FAILURE() << fault.what;
  return result;
}

/// Convolutions of 3 rows, one after the other, on an image of 1 x 2 x `rows` x 8 floats.
Network convolutions(std::int64_t rows, int count) {
  Random random(3);
  ImageMaker images(random);
  TensorId x = images.add_tensor(TensorKind::input, {1, 2, rows, 8});
  for (int i = 0; i < count; ++i)
    x = images.apply("Conv", {x, images.weight({2, 2, 3, 1})}, {1, 2, images.shape(x)[2] - 2, 8});
  return images.take(0);
}

std::set<std::size_t> used_memories(const Plan& plan) {
  std::set<std::size_t> used;
  for (const Place& place : plan.places) used.insert(place.memory);
  return used;
}

TEST(PlanRowsInMemories, RowsThatFitTheFastMemoryCostNoMoreThanWholeOperators) {
  const Network network = convolutions(32, 4);
  PlanOptions options = in_two_memories(1536, Io::rows);
  const Plan rows = planned(network, options).plan;
  options.stream.reset();
  options.io = Io::arena;
  const Plan whole = planned(network, options).plan;
  EXPECT_TRUE(is_streamed(rows));
  EXPECT_EQ(used_memories(rows), std::set<std::size_t>{0});
  EXPECT_EQ(used_memories(whole), (std::set<std::size_t>{0, 1}));
  EXPECT_LT(rows.summary.cost * 4, whole.summary.cost);
}

TEST(PlanRowsInMemories, RowsThatDoNotFitAreInBoth) {
  const Network network = convolutions(32, 4);
  const Plan plan = planned(network, in_two_memories(512)).plan;
  EXPECT_TRUE(is_streamed(plan));
  EXPECT_EQ(used_memories(plan), (std::set<std::size_t>{0, 1}));
  EXPECT_LE(plan.memories[0].peak, 512);
  EXPECT_LE(plan.summary.cost_bound, plan.summary.cost);
  const RunResult run = run_plan(network, plan, {.check = RunCheck::tensors});
  EXPECT_FALSE(run.fault) << run.fault->what;
}

/// Rows of three tensors: two that one input fills, and their concatenation.
constexpr const char* joined_rows = R"({"format":"stowage-graph",
    "version":1,
    "name":"rows",
    "tensors":[
    {"name":"x0","kind":"input","dtype":"float32","shape":[1,2,2],"bytes":16},
    {"name":"t1","kind":"temporary","dtype":"float32","shape":[1,6,2],"bytes":48},
    {"name":"t2","kind":"temporary","dtype":"float32","shape":[1,6,2],"bytes":48},
    {"name":"t3","kind":"output","dtype":"float32","shape":[1,6,4],"bytes":96}],
    "subgraphs":[
    {"name":"main","inputs":["x0"],"outputs":["t3"],"operators":[{"name":"op0","type":"Tile","inputs":["x0"],"outputs":["t1"],"row_axes":[{"axis":1,"reads":[{"input":0,"axis":1,"offset":-4,"taps":3,"dilation":2}]}],"multiplies":0},{"name":"op1","type":"Pad","inputs":["x0"],"outputs":["t2"],"row_axes":[{"axis":1,"reads":[{"input":0,"axis":1,"offset":-2,"kept_at":0}]}],"multiplies":0},{"name":"op2","type":"Concat","inputs":["t2","t1"],"outputs":["t3"],"row_axes":[{"axis":1,"reads":[{"input":0,"axis":1,"kept_at":0},{"input":1,"axis":1,"kept_at":8}]}],"multiplies":0}]}],
    "state":[]})";

TEST(PlanRowsInMemories, TheDefaultStrategyCostsNoMoreThanFreeList) {
  PlanOptions options = in_two_memories(109);
  options.alias = Alias::none;
  options.alignment = 16;
  options.stream->granule = 1;
  options.stream->recompute = 1.6;
  options.solve.effort = 1000;
  const auto cost_with = [&](const std::string& strategy) {
    options.solve.strategy = strategy;
    const PlanResult result = make_plan(parse_input(joined_rows, "net.json"), options);
    EXPECT_TRUE(result.faults.empty());
    return result.plan.summary.cost;
  };
  EXPECT_LE(cost_with("auto"), cost_with("free-list"));
}

/// Rows need less, but windows that are read again cost more traffic, and that comes first.
TEST(PlanRowsInMemories, WholeOperatorsThatCostLessSayWhatRowsCost) {
  const Network network = convolutions(32, 4);
  PlanOptions options = in_two_memories(3000);
  options.memories[0].cost = 1;
  options.memories[1].cost = 2;
  options.solve.effort = 1000;
  const Plan whole = planned(network, options).plan;
  ASSERT_FALSE(is_streamed(whole));
  ASSERT_NE(left_out(whole, Wish::rows), nullptr);
  const std::string& why = left_out(whole, Wish::rows)->why;
  EXPECT_TRUE(why.starts_with("no rows with a lower traffic cost were found: those found cost ")) << why;
  EXPECT_NE(why.find("whole operators cost " + std::to_string(whole.summary.cost)), std::string::npos) << why;
}

/// A step reads 3 rows of 64 bytes and writes one. Every output row is read by up to 3 steps.
TEST(PlanRowsInMemories, TrafficCountsRowsThatAreReadAgain) {
  const Network network = convolutions(10, 2);
  PlanOptions options = in_two_memories(256, Io::rows);
  options.stream->granule = 1;
  options.stream->axes = StreamAxes::natural;
  const Plan plan = planned(network, options).plan;
  ASSERT_TRUE(is_streamed(plan));
  Bytes traffic = 0;
  for (const PlannedMemory& memory : plan.memories) traffic += memory.traffic;
  const Bytes row = 64;
  const std::int64_t of_first = 8 * 3 + 8;   // reads and writes of 8 rows
  const std::int64_t of_second = 6 * 3 + 6;  // the same of 6
  EXPECT_EQ(traffic, row * (of_first + of_second));
}

TEST(PlanRowsInMemories, OfManyNetworksAreRightAndRun) {
  Random random(21);
  std::uint64_t in_both = 0;
  std::uint64_t by_rows = 0;
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 2000 : 30);
  for (std::uint64_t i = 0; i < cases; ++i) {
    const Network network = testing::random_images(random);
    PlanOptions options = in_two_memories(1, static_cast<Io>(pick(random, 0, 2)));
    options.alias = static_cast<Alias>(pick(random, 0, 2));
    options.stream->recompute = pick(random, 0, 2) == 0 ? 1.5 : 1;
    options.stream->layout = pick(random, 0, 2) == 0 ? StreamLayout::ring : StreamLayout::automatic;
    PlanOptions one = options;
    one.memories = {{.name = "arena"}};
    const Bytes peak = planned(network, one).plan.summary.peak;
    options.memories[0].capacity = peak * pick(random, 1, 5) / 4;
    const PlanResult result = planned(network, options);
    ASSERT_TRUE(result.faults.empty()) << i;
    PlanOptions whole = options;
    whole.stream.reset();
    if (whole.io == Io::rows) whole.io = Io::arena;
    const PlanResult of_whole = planned(network, whole);
    if (!result.plan.interrupted) {
      EXPECT_LE(result.plan.summary.cost, of_whole.plan.summary.cost) << i;
    }
    if (!is_streamed(result.plan)) continue;
    ++by_rows;
    in_both += used_memories(result.plan).size() == 2 ? 1 : 0;
    const RunResult run = run_plan(network, result.plan, {.check = RunCheck::tensors});
    ASSERT_FALSE(run.fault) << i << ": " << run.fault->what;
  }
  EXPECT_GT(by_rows, cases / 4);
  EXPECT_GT(in_both, cases / 10);
}

TEST(PlanRowsInMemories, WeightsHaveAMemoryOfTheirOwn) {
  const Network network = convolutions(32, 4);
  PlanOptions options = in_two_memories(512);
  options.memories.push_back({.name = "flash", .cost = 1, .role = MemoryRole::weights});
  const Plan plan = planned(network, options).plan;
  EXPECT_TRUE(is_streamed(plan));
  EXPECT_EQ(plan.memories[2].peak, 4 * 48);
}

/// The capacity of a memory for weights says nothing about rows.
TEST(PlanRowsInMemories, AMemoryForWeightsAloneLeavesRowsTheArena) {
  const Network network = convolutions(32, 4);
  PlanOptions options = in_two_memories(512);
  options.memories = {{.name = "flash", .capacity = 1 << 20, .role = MemoryRole::weights}};
  const Plan plan = planned(network, options).plan;
  options.memories = {{.name = "arena"}};
  EXPECT_TRUE(is_streamed(plan));
  EXPECT_EQ(plan.summary.peak, planned(network, options).plan.summary.peak);
}

TEST(PlanRowsInMemories, CurvesAreOfOneMemory) {
  PlanOptions options = in_two_memories(512);
  options.stream->recompute = 2;
  options.stream->recompute_from = 1;
  EXPECT_THROW((void)make_plan(convolutions(8, 2).input, options), UsageError);
}

}  // namespace
}  // namespace stowage
