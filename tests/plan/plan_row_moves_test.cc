// Rows that move between memories: plans are right, run bit for bit, and cost no more than without moves; plans that were
// changed are refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "image_networks.h"
#include "long_tests.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::ImageMaker;
using testing::pick;
using testing::Random;

PlanOptions in_two_memories(Bytes fast, Io io, Moves moves = Moves::allowed) {
  PlanOptions options;
  options.io = io;
  options.stream.emplace();
  options.stream->layout = StreamLayout::granules;
  options.alignment = 1;
  options.memories = {{.name = "SRAM", .capacity = fast}, {.name = "PSRAM", .cost = 10}};
  options.moves = moves;
  options.solve.effort = 200;
  return options;
}

PlanResult planned(const std::vector<Network>& networks, const PlanOptions& options) {
  std::vector<Input> inputs;
  for (const Network& network : networks) inputs.push_back(network.input);
  PlanResult result = make_plan(inputs, options);
  for (const Fault& fault : result.faults) ADD_FAILURE() << fault.what;
  return result;
}

PlanResult planned(const Network& network, const PlanOptions& options) {
  return planned(std::vector{network}, options);
}

std::vector<Position> copy_steps_of(const Plan& plan) {
  std::vector<Position> copies;
  const std::vector<Step>& steps = plan.clocks[0].steps;
  for (std::size_t at = 0; at < steps.size(); ++at) {
    if (std::holds_alternative<Copy>(steps[at])) copies.push_back(static_cast<Position>(at));
  }
  return copies;
}

const Copy& copy_at(const Plan& plan, Position at) {
  return std::get<Copy>(plan.clocks[0].steps[static_cast<std::size_t>(at)]);
}

/// An image, a chain of convolutions on it, and their sum: rows of the image wait long.
Network with_a_skip(int count) {
  Random random(3);
  ImageMaker images(random);
  const TensorId image = images.add_tensor(TensorKind::input, {1, 2, 24, 8});
  const TensorId first = images.apply("Relu", {image}, {1, 2, 24, 8});
  TensorId x = first;
  for (int i = 0; i < count; ++i)
    x = images.apply("Conv", {x, images.weight({2, 2, 3, 1})}, {1, 2, 24, 8},
                     {{"pads", std::vector<std::int64_t>{1, 0, 1, 0}}});
  x = images.apply("Add", {x, first}, {1, 2, 24, 8});
  images.apply("Add", {x, first}, {1, 2, 24, 8});
  return images.take(0);
}

std::string json_of(const Plan& plan) {
  std::ostringstream out;
  write_json(plan, out);
  return out.str();
}

TEST(PlanRowMoves, FetchRowsThatWaitLong) {
  const Network network = with_a_skip(6);
  std::size_t copies = 0;
  for (const Bytes fast : {500, 700, 900, 1100}) {
    const Plan still = planned(network, in_two_memories(fast, Io::rows, Moves::none)).plan;
    const Plan moving = planned(network, in_two_memories(fast, Io::rows)).plan;
    ASSERT_TRUE(is_streamed(moving));
    EXPECT_TRUE(copy_steps_of(still).empty());
    EXPECT_LE(moving.summary.cost, still.summary.cost);
    EXPECT_LE(moving.summary.cost_bound, moving.summary.cost);
    EXPECT_EQ(parse_plan(json_of(moving)), moving);
    const RunResult run = run_plan(network, moving, {.check = RunCheck::tensors});
    EXPECT_FALSE(run.fault) << run.fault->what;
    copies += copy_steps_of(moving).size();
  }
  EXPECT_GT(copies, 0U);
}

std::vector<Network> named(Network a, Network b) {
  a.input.info.name = "a";
  b.input.info.name = "b";
  return {std::move(a), std::move(b)};
}

TEST(PlanRowMoves, OfNetworksOneAfterTheOther) {
  const std::vector<Network> networks = named(with_a_skip(6), with_a_skip(4));
  PlanOptions options = in_two_memories(420, Io::rows);
  options.solve.effort = 1000;
  for (const char* const run : {"a; b", "b; a", "a | b"}) {
    options.run = run;
    options.moves = Moves::allowed;
    const Plan plan = planned(networks, options).plan;
    std::set<std::size_t> moved;
    for (const Clock& clock : plan.clocks) {
      for (const Step& step : clock.steps) {
        if (const auto* const copy = std::get_if<Copy>(&step)) moved.insert(plan.tensors[copy->tensor].model);
      }
    }
    EXPECT_EQ(moved.size(), plan.clocks.size() == 1 ? 2U : 0U) << run;
    EXPECT_EQ(parse_plan(json_of(plan)), plan);
    const RunResult result = run_plan(networks, plan, {.check = RunCheck::tensors});
    EXPECT_FALSE(result.fault) << result.fault->what;
    options.moves = Moves::none;
    EXPECT_LE(plan.summary.cost, planned(networks, options).plan.summary.cost) << run;
  }
}

/// A whole operator that writes over its input keeps the view of it, though that ends where it begins.
TEST(PlanRowMoves, KeepViewsOfWholeOperatorsBesideRows) {
  Random random(3);
  ImageMaker images(random);
  const TensorId input = images.add_tensor(TensorKind::input, {1, 2, 1, 4});
  images.apply("Relu", {input}, {1, 2, 1, 4});
  const std::vector<Network> networks = named(images.take(0), with_a_skip(6));
  PlanOptions options = in_two_memories(420, Io::arena);
  options.solve.effort = 1000;
  const Plan plan = planned(networks, options).plan;
  EXPECT_FALSE(is_streamed(plan, 0));
  EXPECT_TRUE(is_streamed(plan, 1));
  for (const PlannedTensor& tensor : plan.tensors) {
    if (tensor.tensor.kind != TensorKind::input) continue;
    EXPECT_FALSE(tensor.views.empty()) << tensor.tensor.name;
  }
}

/// The plan without that step: all that follows comes one position earlier.
Plan without_step(Plan plan, Position at) {
  auto& steps = plan.clocks[0].steps;
  steps.erase(steps.begin() + at);
  const auto shift = [&](Lifetime& life) {
    if (life.lower > at) --life.lower;
    if (life.upper > at) --life.upper;
  };
  for (Buffer& buffer : plan.buffers) {
    for (Piece& piece : buffer.pieces) shift(piece.life);
  }
  for (PlannedTensor& tensor : plan.tensors) {
    for (View& view : tensor.views) shift(view.life);
  }
  return plan;
}

/// The copy comes after the next step that is none.
Plan with_late_copy(Plan plan, Position at) {
  auto& steps = plan.clocks[0].steps;
  const auto copy = steps.begin() + at;
  const auto next =
      std::find_if(copy, steps.end(), [](const Step& it) { return !std::holds_alternative<Copy>(it); });
  if (next != steps.end()) std::rotate(copy, copy + 1, next + 1);
  return plan;
}

/// The copy comes before the last step that is none.
Plan with_early_copy(Plan plan, Position at) {
  auto& steps = plan.clocks[0].steps;
  auto before = steps.begin() + at;
  while (before != steps.begin() && std::holds_alternative<Copy>(*std::prev(before))) --before;
  if (before != steps.begin()) std::rotate(std::prev(before), steps.begin() + at, steps.begin() + at + 1);
  return plan;
}

bool is_fetch(const Plan& plan, const Copy& copy) {
  return plan.places[copy.to].memory < plan.places[copy.from].memory;
}

struct Seen {
  std::uint64_t moved = 0;      ///< Plans with copies.
  std::uint64_t in_turn = 0;    ///< Copies of buffers that rows of several tensors have in turn.
  std::uint64_t of_blocks = 0;  ///< Plans with copies of blocks.
  std::uint64_t mutants = 0;
};

void expect_refused(const Plan& plan, std::span<const Graph> graphs, const std::string& what, Seen& seen) {
  ++seen.mutants;
  EXPECT_FALSE(check_plan(plan, graphs).empty()) << what;
}

void expect_mutants_refused(const Plan& plan, std::span<const Graph> graphs, Random& random, Seen& seen) {
  const std::vector<Position> copies = copy_steps_of(plan);
  for (int i = 0; i < 3; ++i) {
    const Position at = copies[static_cast<std::size_t>(pick(random, 0, std::ssize(copies) - 1))];
    const Copy& copy = copy_at(plan, at);
    const std::string where = " of step " + std::to_string(at);
    expect_refused(without_step(plan, at), graphs, "a copy left out" + where, seen);
    if (is_fetch(plan, copy)) expect_refused(with_late_copy(plan, at), graphs, "a late fetch" + where, seen);
    if (!is_fetch(plan, copy))
      expect_refused(with_early_copy(plan, at), graphs, "an early spill" + where, seen);
    Plan turned = plan;
    std::swap(std::get<Copy>(turned.clocks[0].steps[static_cast<std::size_t>(at)]).from,
              std::get<Copy>(turned.clocks[0].steps[static_cast<std::size_t>(at)]).to);
    expect_refused(turned, graphs, "a copy back" + where, seen);
    if (copy.rows) {
      Plan other = plan;
      Copy& of_others = std::get<Copy>(other.clocks[0].steps[static_cast<std::size_t>(at)]);
      const std::int64_t by = of_others.rows->begin > 0 ? -1 : 1;
      of_others.rows->begin += by;
      of_others.rows->end += by;
      expect_refused(other, graphs, "a copy of other rows" + where, seen);
    }
    if (!is_fetch(plan, copy)) continue;
    Plan stale =
        plan;  // the fast view is there before the fetch, so that steps read it, or others need its bytes
    for (View& view : stale.tensors[copy.tensor].views) {
      if (view.buffer != copy.to) continue;
      view.life.lower = 0;
    }
    stale.buffers[copy.to].pieces[0].life.lower = 0;
    expect_refused(stale, graphs, "a stale view" + where, seen);
  }
}

void note(const Plan& plan, Seen& seen) {
  const std::vector<Position> copies = copy_steps_of(plan);
  seen.moved += copies.empty() ? 0 : 1;
  std::map<std::size_t, std::set<std::size_t>> held;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    for (const View& view : plan.tensors[t].views) held[view.buffer].insert(t);
  }
  bool has_block = false;
  for (const Position at : copies) {
    seen.in_turn += held[copy_at(plan, at).from].size() > 1 || held[copy_at(plan, at).to].size() > 1 ? 1 : 0;
    has_block = has_block || copy_at(plan, at).block;
  }
  seen.of_blocks += has_block ? 1 : 0;
}

TEST(PlanRowMoves, OfManyNetworksAreRightAndRun) {
  Random random(5);
  Seen seen;
  std::uint64_t dearer = 0;
  const std::uint64_t drawn = testing::cases_of(testing::has_time() ? 2000 : 40);
  for (std::uint64_t i = 0; i < drawn; ++i) {
    const Network network = testing::random_images(random);
    PlanOptions options = in_two_memories(1, static_cast<Io>(pick(random, 0, 2)));
    options.alias = static_cast<Alias>(pick(random, 0, 2));
    options.stream->recompute = pick(random, 0, 3) == 0 ? 1.5 : 1;
    if (pick(random, 0, 4) == 0) options.stream->granule = 2;
    if (pick(random, 0, 3) == 0) options.memories.push_back({.name = "DRAM", .cost = 30});
    PlanOptions one = options;
    one.memories = {{.name = "arena"}};
    one.moves = Moves::none;
    const Bytes peak = planned(network, one).plan.summary.peak;
    options.memories[0].capacity = std::max<Bytes>(1, peak * pick(random, 3, 9) / 10);
    const PlanResult result = planned(network, options);
    ASSERT_TRUE(result.faults.empty()) << i;
    const Plan& plan = result.plan;
    EXPECT_LE(plan.summary.cost_bound, plan.summary.cost);
    EXPECT_LE(plan.memories[0].peak, *options.memories[0].capacity);
    EXPECT_EQ(parse_plan(json_of(plan)), plan);
    options.moves = Moves::none;
    const std::int64_t cost_of_still = planned(network, options).plan.summary.cost;
    dearer += plan.summary.cost > cost_of_still ? 1 : 0;
    EXPECT_TRUE(plan.interrupted || plan.summary.cost <= cost_of_still);
    if (!is_streamed(plan) || copy_steps_of(plan).empty()) continue;
    note(plan, seen);
    const RunResult run = run_plan(network, plan, {.check = RunCheck::tensors});
    ASSERT_FALSE(run.fault) << i << ": " << run.fault->what;
    expect_mutants_refused(plan, {&network.graph(), 1}, random, seen);
    ASSERT_FALSE(::testing::Test::HasFailure()) << i;
  }
  EXPECT_LE(dearer, drawn / 50);
  EXPECT_GT(seen.moved, drawn / 5);
  EXPECT_GT(seen.in_turn, 0U);
  EXPECT_GT(seen.mutants, drawn);
  std::cout << seen.moved << " plans with moves, " << seen.in_turn << " copies of rows in turn, "
            << seen.of_blocks << " plans with copies of blocks, " << seen.mutants << " mutants\n";
}

/// Two in a row, of which one may run as whole operators.
TEST(PlanRowMoves, OfManyPairsOfNetworksAreRightAndRun) {
  Random random(8);
  Seen seen;
  const std::uint64_t drawn = testing::cases_of(testing::has_time() ? 250 : 25);
  for (std::uint64_t i = 0; i < drawn; ++i) {
    const std::vector<Network> networks =
        named(testing::random_images(random), testing::random_images(random));
    PlanOptions options = in_two_memories(1, pick(random, 0, 1) == 0 ? Io::rows : Io::arena);
    if (pick(random, 0, 1) == 0) options.run = "b; a";
    if (pick(random, 0, 3) == 0) options.memories.push_back({.name = "DRAM", .cost = 30});
    if (pick(random, 0, 1) == 0) {
      options.memories.push_back({.name = "FLASH", .cost = 10, .role = MemoryRole::weights});
      options.alias = static_cast<Alias>(pick(random, 0, 2));
    }
    PlanOptions one = options;
    one.memories = {{.name = "arena"}};
    one.moves = Moves::none;
    options.memories[0].capacity =
        std::max<Bytes>(1, planned(networks, one).plan.summary.peak * pick(random, 3, 7) / 10);
    const Plan plan = planned(networks, options).plan;
    EXPECT_LE(plan.summary.cost_bound, plan.summary.cost);
    EXPECT_EQ(parse_plan(json_of(plan)), plan);
    ASSERT_FALSE(::testing::Test::HasFailure()) << i;
    if (!is_streamed(plan) || copy_steps_of(plan).empty()) continue;
    note(plan, seen);
    const RunResult run = run_plan(networks, plan, {.check = RunCheck::tensors});
    ASSERT_FALSE(run.fault) << i << ": " << run.fault->what;
    expect_mutants_refused(plan, std::vector{networks[0].graph(), networks[1].graph()}, random, seen);
    ASSERT_FALSE(::testing::Test::HasFailure()) << i;
  }
  EXPECT_GT(seen.moved, drawn / 5);
  EXPECT_GT(seen.mutants, drawn);
}

/// Rows that are chosen to move cost more here than those that are chosen to stay: the plan is of these.
TEST(PlanRowMoves, CostNoMoreThanRowsThatStay) {
  const std::string again = R"({"format": "stowage-graph", "version": 1, "name": "again", "tensors": [
      {"name": "x", "dtype": "float32", "shape": [3, 10, 4]},
      {"name": "w", "kind": "weight", "dtype": "float32", "shape": [3, 2]},
      {"name": "t", "dtype": "float32", "shape": [3, 11, 3]},
      {"name": "y", "dtype": "float32", "shape": [3, 7, 3]}],
    "subgraphs": [{"name": "main", "inputs": ["x"], "outputs": ["y"], "operators": [
      {"type": "Conv", "inputs": ["x", "w"], "outputs": ["t"], "multiplies": 99, "row_axes": [{"axis": 1,
        "reads": [{"input": 0, "axis": 1, "offset": -2, "taps": 3}], "is_windows": true, "adds_rows": true}]},
      {"type": "Resize", "inputs": ["t"], "outputs": ["y"], "multiplies": 0, "row_axes": [{"axis": 1,
        "reads": [{"input": 0, "axis": 1, "scale": 3, "divisor": 2, "offset": -1, "taps": 2}]}]}]}]})";
  const std::string rings = R"({"format": "stowage-graph", "version": 1, "name": "rings", "tensors": [
      {"name": "x0", "dtype": "int8", "shape": [3, 10, 8]}, {"name": "x1", "dtype": "int8", "shape": [2, 3, 4]},
      {"name": "t2", "dtype": "int8", "shape": [1, 3, 3]}, {"name": "t3", "dtype": "int8", "shape": [1, 3, 3]},
      {"name": "t4", "dtype": "int8", "shape": [2, 2, 8]}, {"name": "t6", "dtype": "int8", "shape": [3, 1, 1]},
      {"name": "t7", "dtype": "int8", "shape": [6, 1, 1]}],
    "subgraphs": [{"name": "main", "inputs": ["x0", "x1"], "outputs": ["x0", "t3", "t7"], "operators": [
      {"type": "Conv", "inputs": ["x1"], "outputs": ["t2"], "multiplies": 36, "row_axes": [{"axis": 1,
        "reads": [{"input": 0, "axis": 1, "offset": -2, "taps": 3}], "is_windows": true}]},
      {"type": "Add", "inputs": ["t2", "t2"], "outputs": ["t3"], "multiplies": 0, "row_axes": [{"axis": 1,
        "reads": [{"input": 0, "axis": 1}, {"input": 1, "axis": 1}]}]},
      {"type": "Conv", "inputs": ["x1"], "outputs": ["t4"], "multiplies": 18, "row_axes": [{"axis": 1,
        "reads": [{"input": 0, "axis": 1, "offset": -2, "taps": 3, "dilation": 2}], "is_windows": true}]},
      {"type": "Conv", "inputs": ["t4"], "outputs": ["t6"], "multiplies": 6, "row_axes": [{"axis": 1,
        "reads": [{"input": 0, "axis": 1, "scale": 2, "offset": -1, "taps": 3}], "is_windows": true}]},
      {"type": "Concat", "inputs": ["t6", "t6"], "outputs": ["t7"], "multiplies": 0, "row_axes": [{"axis": 1,
        "reads": [{"input": 0, "axis": 1, "kept_at": 0}, {"input": 1, "axis": 1, "kept_at": 3}]}]}]}]})";
  PlanOptions of_again = in_two_memories(247, Io::external);
  of_again.stream->granule = 2;
  of_again.stream->recompute = 2.3;
  of_again.stream->layout = StreamLayout::automatic;
  of_again.alias = Alias::all;
  of_again.alignment = 32;
  of_again.memories.push_back({.name = "FLASH", .cost = 10, .role = MemoryRole::weights});
  PlanOptions of_rings = in_two_memories(57, Io::rows);
  of_rings.stream->granule = 2;
  of_rings.stream->layout = StreamLayout::automatic;
  of_rings.alias = Alias::none;
  of_rings.alignment = 3;
  for (auto& [text, options] : {std::pair(again, of_again), std::pair(rings, of_rings)}) {
    PlanOptions own = options;
    own.solve.effort = 3000;
    const Input input = parse_input(text, "net.json");
    const PlanResult moving = make_plan(input, own);
    EXPECT_TRUE(moving.faults.empty());
    EXPECT_FALSE(moving.plan.interrupted);
    own.moves = Moves::none;
    const PlanResult still = make_plan(input, own);
    EXPECT_TRUE(is_streamed(still.plan));
    EXPECT_FALSE(still.plan.interrupted);
    EXPECT_LE(moving.plan.summary.cost, still.plan.summary.cost) << text;
    EXPECT_LE(moving.plan.summary.cost_bound, moving.plan.summary.cost);
  }
}

/// Of two ways to choose rows one was cut, the other was not: what the plan claims holds for what was tried.
TEST(PlanRowMoves, ClaimsHoldWhereAChoiceIsCut) {
  const std::filesystem::path file =
      std::filesystem::path(STOWAGE_DATA_DIR) / "models" / "tflite" / "mcunet_vww.tflite";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
  const Network network = read_network(file);
  for (const Moves moves : {Moves::none, Moves::allowed}) {
    if (!testing::has_time() && moves == Moves::none) continue;
    PlanOptions options = in_two_memories(12288, Io::arena, moves);
    options.stream->layout = StreamLayout::automatic;
    options.alignment = 16;
    options.solve.effort = 5000;
    planned(network, options);
  }
}

/// Of real models: no more than without moves, and they run.
TEST(PlanRowMoves, OfModels) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "models" / "tflite";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  for (const auto& [name, capacity] : {std::pair("person_detect", 5808), std::pair("mcunet_vww", 8512)}) {
    if (!testing::has_time() && name == std::string_view("mcunet_vww")) continue;
    const Network network = read_network(folder / (std::string(name) + ".tflite"));
    PlanOptions options = in_two_memories(capacity, Io::rows);
    options.stream->layout = StreamLayout::automatic;
    options.alignment = 16;
    options.solve.effort = 2000;
    const Plan moving = planned(network, options).plan;
    options.moves = Moves::none;
    const Plan still = planned(network, options).plan;
    EXPECT_LE(moving.summary.cost, still.summary.cost) << name;
    EXPECT_FALSE(copy_steps_of(moving).empty()) << name;
    const RunResult run = run_plan(network, moving, {.check = RunCheck::tensors});
    EXPECT_FALSE(run.fault) << name << ": " << run.fault->what;
  }
}

/// The cost of rows that move in two memories, or in three with one for weights.
std::int64_t cost_with(const Network& network, Bytes fast, bool has_weights) {
  PlanOptions options = in_two_memories(fast, Io::rows);
  options.stream->layout = StreamLayout::automatic;
  options.alignment = 16;
  options.solve.effort = 2000;
  if (has_weights) options.memories.push_back({.name = "FLASH", .cost = 10, .role = MemoryRole::weights});
  return planned(network, options).plan.summary.cost;
}

/// What fits a smaller memory fits a larger one, so that is never dearer. Searches within an effort are cut, so this shows
/// that they have enough in common.
TEST(PlanRowMoves, CostNoMoreInMoreMemory) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "models" / "tflite";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  struct Sweep {
    std::string name{};
    bool has_weights = false;
    std::vector<Bytes> sizes{};
  };
  const std::vector<Bytes> large{8192, 10240, 12288, 14336, 14848, 16384, 20480, 24576};
  const std::vector<Bytes> few = testing::has_time() ? large : std::vector<Bytes>{14336, 14848};
  std::vector<Sweep> sweeps{{"person_detect", true, few}};
  if (testing::has_time()) {
    sweeps.push_back({"person_detect", false, {3072, 4096, 5120, 6144, 7168, 8192, 9216, 10240}});
    sweeps.push_back({"mcunet_vww", true, {8192, 11360, 14336, 16384, 20480, 24576, 28672, 32768}});
    sweeps.push_back({"mcunet_vww", false, {5680, 7168, 8512, 9216, 10224, 11360, 12288, 16384}});
    sweeps.push_back({"kws_ref_model", true, {3072, 4096, 6144, 8192, 10240, 12288, 14336, 16384}});
    sweeps.push_back({"kws_ref_model", false, {1536, 1792, 2304, 2688, 3072, 3584, 4096, 5120}});
  }
  for (const Sweep& sweep : sweeps) {
    const Network network = read_network(folder / (sweep.name + ".tflite"));
    std::int64_t before = largest_value;
    for (const Bytes size : sweep.sizes) {
      const std::int64_t cost = cost_with(network, size, sweep.has_weights);
      EXPECT_LE(cost, before) << sweep.name << (sweep.has_weights ? " with weights " : " ") << size;
      before = cost;
    }
  }
}

}  // namespace
}  // namespace stowage
