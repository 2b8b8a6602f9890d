// Networks that share a device: what they share, and that they compute in it what each computes alone.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "flat_run.h"
#include "random_networks.h"
#include "stowage/error.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::lost_outputs;
using testing::NetworkMaker;
using testing::random_scenario;
using testing::Scenario;

const std::filesystem::path tflite = std::filesystem::path(STOWAGE_DATA_DIR) / "models/tflite";

/// Two dense layers' worth of weights, called a backbone, and a head of its own.
Network with_backbone(const std::string& name, const std::vector<float>& backbone,
                      const std::vector<float>& head) {
  NetworkMaker maker(name);
  const TensorId x = maker.input(static_cast<std::int64_t>(backbone.size()));
  const TensorId features = maker.apply("Relu", {maker.apply("Mul", {x, maker.weight(backbone)})});
  maker.output(maker.apply("Mul", {features, maker.weight(head)}));
  return maker.take();
}

std::vector<float> counting(std::size_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

std::vector<Input> inputs_of(const std::vector<Network>& networks) {
  std::vector<Input> inputs;
  for (const Network& network : networks) inputs.push_back(network.input);
  return inputs;
}

PlanResult planned(const std::vector<Network>& networks, const PlanOptions& options = PlanOptions()) {
  PlanResult result = make_plan(inputs_of(networks), options);
  for (const Fault& fault : result.faults) ADD_FAILURE() << fault.what;
  return result;
}

TEST(SeveralModels, CostWeightsOnceAndWorkingMemoryOnceInSequenceTwiceAtOneTime) {
  std::vector<Network> networks;
  for (const char* const name : {"a", "b"})
    networks.push_back(with_backbone(name, counting(64, 1), counting(64, 9)));
  const Plan alone = make_plan(networks[0].input).plan;
  const Plan serial = planned(networks, {.released = {"a.t5"}}).plan;
  EXPECT_EQ(serial.summary.peak, alone.summary.peak);
  EXPECT_EQ(serial.savings->weights, (Saving{1024, 512}));
  EXPECT_EQ(serial.savings->working, (Saving{2 * alone.summary.peak, alone.summary.peak}));
  const Plan concurrent = planned(networks, {.run = "a | b"}).plan;
  EXPECT_EQ(concurrent.summary.peak, 2 * alone.summary.peak);
  EXPECT_EQ(concurrent.savings->weights, (Saving{1024, 512}));
}

TEST(SeveralModels, KeepTheirOutputsUntilEverythingHasRun) {
  std::vector<Network> networks;
  for (const char* const name : {"a", "b", "c"})
    networks.push_back(with_backbone(name, counting(64, 1), counting(64, 9)));
  const Bytes alone = make_plan(networks[0].input).plan.summary.peak;
  const auto life_of = [](const Plan& plan, std::size_t model) {
    const View& view = plan.tensors[6 * model + 5].views.at(0);
    return std::pair(plan.buffers[view.buffer].clock, view.life);
  };
  const Plan serial = planned(networks).plan;
  EXPECT_EQ(serial.summary.peak, alone + 2 * 256);
  EXPECT_EQ(life_of(serial, 0), std::pair(std::size_t{0}, Lifetime{2, 9}));
  EXPECT_TRUE(serial.released.empty());
  const Plan taken = planned(networks, {.released = {"b.t5", "a.t5", "c.t5"}}).plan;
  EXPECT_EQ(taken.summary.peak, alone);
  EXPECT_EQ(taken.released, (std::vector<std::size_t>{5, 11, 17}));
  const Plan one_taken = planned(networks, {.released = {"b.t5"}}).plan;
  EXPECT_EQ(one_taken.summary.peak, alone + 256);
  // Nothing comes after the branches: outputs stay on their clocks. Else they are on the clock of the fork.
  const Plan at_one_time = planned(networks, {.run = "a | b | c"}).plan;
  EXPECT_EQ(at_one_time.summary.peak, 3 * alone);
  EXPECT_EQ(life_of(at_one_time, 1), std::pair(std::size_t{2}, Lifetime{2, 3}));
  const Plan then_c = planned(networks, {.run = "a | b; c"}).plan;
  EXPECT_EQ(life_of(then_c, 1), std::pair(std::size_t{0}, Lifetime{0, 4}));
  const Plan in_a_branch = planned(networks, {.run = "(a; b) | c"}).plan;
  EXPECT_EQ(life_of(in_a_branch, 0), std::pair(std::size_t{1}, Lifetime{2, 6}));
  EXPECT_EQ(in_a_branch.summary.peak, 2 * alone + 256);
}

TEST(SeveralModels, KeepFedOutputsForTheCallerToo) {
  std::vector<Network> networks;
  for (const char* const name : {"a", "b", "c"})
    networks.push_back(with_backbone(name, counting(64, 1), counting(64, 9)));
  PlanOptions options{.alias = Alias::none, .feeds = {{"a.t5", "b.in0"}}};
  const auto end_of_output = [&] {
    return planned(networks, options).plan.tensors[5].views.at(0).life.upper;
  };
  EXPECT_EQ(end_of_output(), 9);
  options.released = {"a.t5"};
  EXPECT_EQ(end_of_output(), 4);  // b's first operator reads it
  options.io = Io::external;      // what is passed on is in the plan's memory all the same
  EXPECT_EQ(end_of_output(), 4);
  options.released.clear();
  EXPECT_EQ(end_of_output(), 9);
}

TEST(SeveralModels, ReleaseOutputsOfTheirsOnce) {
  const std::vector<Network> networks{with_backbone("a", counting(4, 1), counting(4, 9)),
                                      with_backbone("b", counting(4, 1), counting(4, 9))};
  const auto message = [&](const std::vector<std::string>& released) -> std::string {
    try {
      (void)make_plan(inputs_of(networks), {.released = released});
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({"a.t5", "b.t5"}), "");
  EXPECT_EQ(message({"t5"}), "--release t5: 't5' is no output of a model, expected MODEL.TENSOR");
  EXPECT_EQ(message({"a.t3"}),
            "--release a.t3: 'a.t3' is no output of a model, expected MODEL.TENSOR; did you mean 'a.t5'?");
  EXPECT_EQ(message({"a.t5", "a.t5"}), "--release a.t5: the output is released twice");
  const Input list = parse_input("id,lower,upper,size\nx,0,1,4\n", "list.csv");
  EXPECT_THROW((void)make_plan(list, {.released = {"x"}}), UsageError);
}

TEST(SeveralModels, ShareJustTheBackbone) {
  std::vector<Network> networks{with_backbone("a", counting(64, 1), counting(64, 9)),
                                with_backbone("b", counting(64, 1), counting(64, 10))};
  EXPECT_EQ(planned(networks).plan.savings->weights, (Saving{1024, 768}));
  std::vector<float> changed = counting(64, 1);
  changed[63] += 1;
  networks[1] = with_backbone("b", changed, counting(64, 9));
  EXPECT_EQ(planned(networks).plan.savings->weights, (Saving{1024, 768}));  // now the heads
}

TEST(SeveralModels, PlanConstantsInAMemoryOfTheirOwn) {
  const std::vector<Network> networks{with_backbone("a", counting(60, 1), counting(60, 9)),
                                      with_backbone("b", counting(60, 1), counting(60, 10))};
  const Plan plan =
      planned(networks, {.memories = {{.name = "SRAM"}, {.name = "FLASH", .role = MemoryRole::weights}}})
          .plan;
  EXPECT_EQ(plan.memories[1].peak, 3 * 256);
  EXPECT_EQ(plan.memories[1].lower_bound, 3 * 256);
  EXPECT_EQ(plan.summary.peak, plan.memories[0].peak);
  const auto place_of = [&](std::size_t tensor) {
    const View& view = plan.tensors[tensor].views.at(0);
    return std::pair(plan.places[view.buffer].memory, plan.places[view.buffer].offset + view.offset);
  };
  const std::size_t second = plan.tensors.size() / 2;
  EXPECT_EQ(place_of(1), place_of(second + 1));  // the backbone
  EXPECT_NE(place_of(4), place_of(second + 4));  // the heads
  EXPECT_EQ(plan.tensors[4].tensor.kind, TensorKind::weight);
}

TEST(SeveralModels, MissAMemoryForWeightsThatIsTooSmall) {
  const std::vector<Network> networks{with_backbone("a", counting(64, 1), counting(64, 9))};
  const PlanResult result =
      planned(networks, {.memories = {{.name = "FLASH", .capacity = 511, .role = MemoryRole::weights}}});
  EXPECT_EQ(result.outcome, Outcome::exceeds_capacity);
  EXPECT_EQ(result.plan.memories.at(0).memory.name, "arena");
  EXPECT_EQ(result.plan.memories.at(1).peak, 512);
}

TEST(EnoughMemory, IsThePeakOfOneMemory) {
  const std::vector<Network> networks{with_backbone("a", counting(64, 1), counting(64, 9))};
  PlanOptions options{.memories = {{.name = "SRAM", .capacity = 200}}};
  const PlanResult missed = planned(networks, options);
  ASSERT_TRUE(missed.enough);
  EXPECT_EQ(missed.enough->name, "SRAM");
  EXPECT_EQ(missed.enough->capacity, missed.plan.summary.peak);
  options.memories[0].capacity = missed.enough->capacity;
  const PlanResult tried = planned(networks, options);
  EXPECT_EQ(tried.outcome, Outcome::fits);
  EXPECT_FALSE(tried.enough);
}

TEST(EnoughMemory, IsFoundForOneOfSeveral) {
  NetworkMaker maker("a");
  const TensorId x = maker.input(64);
  const TensorId y = maker.apply("Neg", {x});
  maker.output(maker.apply("Add", {maker.apply("Concat", {x, y}), maker.apply("Concat", {y, x})}));
  const std::vector<Network> networks{maker.take()};
  for (const Bytes fast : {0, 256, 600}) {
    PlanOptions options{
        .memories = {{.name = "SRAM", .capacity = fast}, {.name = "DRAM", .capacity = 100, .cost = 10}}};
    const PlanResult missed = planned(networks, options);
    ASSERT_TRUE(missed.enough) << fast;
    EXPECT_EQ(missed.enough->name, "DRAM");
    options.memories[1].capacity = missed.enough->capacity;
    EXPECT_EQ(planned(networks, options).outcome, Outcome::fits) << fast;
    *options.memories[1].capacity -= 64;
    EXPECT_EQ(planned(networks, options).outcome, Outcome::exceeds_capacity) << fast;
  }
}

TEST(SeveralModels, ReuseTheMemoryOfFedOutputs) {
  // b's input is a's output: 256 bytes that neither has twice.
  std::vector<Network> networks{with_backbone("a", counting(64, 1), counting(64, 9)),
                                with_backbone("b", counting(64, 1), counting(64, 9))};
  PlanOptions options{.alias = Alias::none, .feeds = {{"a.t5", "b.in0"}}};
  EXPECT_EQ(planned(networks, options).plan.summary.peak, 768);  // the caller wants it, too
  options.released = {"a.t5"};
  const Plan plan = planned(networks, options).plan;
  EXPECT_EQ(plan.summary.peak, 512);
  ASSERT_EQ(plan.feeds.size(), 1U);
  const View& output = plan.tensors[plan.feeds[0].output].views.at(0);
  const View& input = plan.tensors[plan.feeds[0].input].views.at(0);
  EXPECT_EQ(output.buffer, input.buffer);
  EXPECT_GE(output.life.upper, input.life.upper);
}

TEST(SeveralModels, HaveNamesOfTheirOwn) {
  const std::vector<Network> networks{with_backbone("a", counting(4, 1), counting(4, 9)),
                                      with_backbone("a", counting(4, 1), counting(4, 9))};
  EXPECT_THROW((void)make_plan(inputs_of(networks)), UsageError);
}

TEST(SeveralModels, GoWithNoList) {
  const std::vector<Input> inputs{with_backbone("a", counting(4, 1), counting(4, 9)).input,
                                  parse_input("id,lower,upper,size\nx,0,1,4\n", "list.csv")};
  EXPECT_THROW((void)make_plan(inputs), UsageError);
}

/// What a network gives alone, in memory of its own, when it is fed by others.
std::vector<NamedArray> outputs_alone(const Network& network, const std::map<std::string, Array>& fed) {
  const RunOptions options{.kernels = KernelSet::plain, .inputs = fed};
  return run_plan(network, make_plan(network.input, {.alias = Alias::none}).plan, options).outputs;
}

TEST(SeveralModels, ComputeTogetherWhatEachComputesAlone) {
  std::size_t feeds = 0;
  std::size_t forks = 0;
  std::size_t released = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Scenario scenario = random_scenario(seed);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ": " << scenario.options.run);
    const PlanResult result = planned(scenario.networks, scenario.options);
    const Plan& plan = result.plan;
    feeds += plan.feeds.size();
    forks += plan.clocks.size() > 1 ? 1 : 0;
    released += plan.released.size();
    for (std::uint64_t turns = 0; turns < 3; ++turns)
      EXPECT_EQ(lost_outputs(scenario.networks, plan, turns), std::vector<std::string>());
    const RunResult run = run_plan(scenario.networks, plan,
                                   {.kernels = KernelSet::plain, .check = RunCheck::tensors, .seed = seed});
    ASSERT_FALSE(run.fault) << run.fault->what;
    // Again with other turns: the same comes out.
    const RunResult again = run_plan(scenario.networks, plan, {.kernels = KernelSet::plain, .seed = seed});
    ASSERT_FALSE(again.fault) << again.fault->what;
    ASSERT_EQ(run.outputs.size(), again.outputs.size());
    for (std::size_t i = 0; i < run.outputs.size(); ++i)
      EXPECT_EQ(run.outputs[i].array, again.outputs[i].array) << run.outputs[i].name;
  }
  EXPECT_GT(feeds, 300U);
  EXPECT_GT(forks, 300U);
  EXPECT_GT(released, 300U);
}

/// Plans for callers who take everything at once, said to be for one who takes nothing: whenever an output is
/// lost in that, the checker and the runner say so.
TEST(SeveralModels, LoseNoOutputUnseen) {
  std::size_t lost = 0;
  std::size_t kept = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Scenario scenario = random_scenario(seed);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ": " << scenario.options.run);
    scenario.options.released.clear();
    for (const Network& network : scenario.networks) {
      for (const TensorId output : network.graph().subgraphs[0].outputs)
        scenario.options.released.push_back(network.input.info.name + "." +
                                            network.graph().tensors[output].name);
    }
    Plan plan = planned(scenario.networks, scenario.options).plan;
    plan.released.clear();
    const Faults faults = check_plan(plan, inputs_of(scenario.networks));
    if (lost_outputs(scenario.networks, plan, seed).empty()) {
      ++kept;
      continue;
    }
    ++lost;
    EXPECT_FALSE(faults.empty());
    const RunResult run = run_plan(scenario.networks, plan, {.kernels = KernelSet::plain, .seed = seed});
    EXPECT_TRUE(run.fault);
  }
  EXPECT_GT(lost, 100U);
  EXPECT_GT(kept, 20U);
}

TEST(SeveralModels, GiveTheOutputsOfTheChainThatFeedsThem) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<Network> networks{with_backbone("a", counting(16, 1), counting(16, 9)),
                                  with_backbone("b", counting(16, 3), counting(16, 2)),
                                  with_backbone("c", counting(16, -5), counting(16, 2))};
    const PlanOptions options{.run = seed % 2 == 0 ? "a; b; c" : "a; b | c",
                              .feeds = {{"a.t5", "b.in0"}, {seed % 2 == 0 ? "b.t5" : "a.t5", "c.in0"}}};
    const Plan plan = planned(networks, options).plan;
    const RunOptions run_options{.kernels = KernelSet::plain, .seed = seed};
    const RunResult together = run_plan(networks, plan, run_options);
    ASSERT_FALSE(together.fault) << together.fault->what;
    ASSERT_EQ(together.outputs.size(), 3U);
    const auto b = outputs_alone(networks[1], {{"in0", together.outputs[0].array}});
    EXPECT_EQ(together.outputs[1].array, b.at(0).array);
    const std::size_t feeder = seed % 2 == 0 ? 1 : 0;
    const auto c = outputs_alone(networks[2], {{"in0", together.outputs[feeder].array}});
    EXPECT_EQ(together.outputs[2].array, c.at(0).array);
  }
}

/// Alone a and c need less if x and t, and x2 and t4, are in one place; together they pack worse then.
TEST(SeveralModels, ShareOnlyWhereThatIsNoWorseForAll) {
  const auto input = [](const std::string& name, const std::string& tensors, const std::string& main) {
    return parse_input(R"({"format": "stowage-graph", "version": 1, "name": ")" + name +
                           R"(", "tensors": [)" + tensors + R"(], "subgraphs": [{"name": "main", )" + main +
                           "}]}",
                       name + ".json");
  };
  const std::vector<Input> inputs{
      input("a",
            R"({"name": "x0", "kind": "input", "bytes": 24}, {"name": "t1", "kind": "temporary", "bytes": 24},
                    {"name": "t2", "kind": "output", "dtype": "int8", "shape": [3, 8], "bytes": 24},
                    {"name": "s", "kind": "scratch", "bytes": 34})",
            R"("inputs": ["x0"], "outputs": ["t2"], "operators": [
               {"name": "0", "type": "Sub", "inputs": ["x0", "x0"], "outputs": ["t1"], "scratch": ["s"]},
               {"name": "1", "type": "Sigmoid", "inputs": ["t1"], "outputs": ["t2"], "stateful": true}])"),
      input("b",
            R"({"name": "x1", "kind": "input", "bytes": 16}, {"name": "t2", "kind": "output", "bytes": 48})",
            R"("inputs": ["x1"], "outputs": ["t2"], "operators": [
               {"name": "0", "type": "Concat", "inputs": ["x1", "x1", "x1"], "outputs": ["t2"], "copies": [
                {"input": 0, "output": 0, "from": 0, "to": 0, "size": 16},
                {"input": 1, "output": 0, "from": 0, "to": 16, "size": 16},
                {"input": 2, "output": 0, "from": 0, "to": 32, "size": 16}]}])"),
      input("c",
            R"({"name": "x0", "kind": "input", "bytes": 12}, {"name": "x1", "kind": "input", "bytes": 12},
                    {"name": "x2", "kind": "input", "dtype": "int8", "shape": [3, 8], "bytes": 24},
                    {"name": "t3", "kind": "output", "bytes": 128}, {"name": "t4", "kind": "temporary", "bytes": 24},
                    {"name": "t5", "kind": "output", "bytes": 16})",
            R"("inputs": ["x0", "x1", "x2"], "outputs": ["x0", "x1", "t3", "t5"], "operators": [
               {"name": "0", "type": "Custom", "inputs": ["x2"], "outputs": ["t3"]},
               {"name": "1", "type": "Sigmoid", "inputs": ["x2"], "outputs": ["t4"]},
               {"name": "2", "type": "Conv", "inputs": ["t4"], "outputs": ["t5"]}])")};
  PlanOptions options{.alignment = 16, .run = "a; b | c", .feeds = {{"a.t2", "c.x2"}}};
  const PlanResult may_share = make_plan(inputs, options);
  options.alias = Alias::none;
  EXPECT_LE(may_share.plan.summary.peak, make_plan(inputs, options).plan.summary.peak);
  EXPECT_TRUE(may_share.faults.empty());
}

TEST(SeveralModels, RealNetworksNeedNoMoreThanTheLargestInSequenceAndTheSumAtOneTime) {
  if (!std::filesystem::exists(tflite)) GTEST_SKIP() << "there is no " << tflite;
  std::vector<Network> networks;
  std::vector<std::string> outputs;
  Bytes largest = 0;
  Bytes sum = 0;
  Bytes left = 0;  // outputs that stay
  for (const char* const name : {"person_detect", "vww_96_int8", "kws_ref_model", "ad01_int8"}) {
    networks.push_back(read_network(tflite / (std::string(name) + ".tflite")));
    const Bytes peak = make_plan(networks.back().input).plan.summary.peak;
    largest = std::max(largest, peak);
    sum += peak;
    networks.back().input.info.name = name;
    for (const TensorId output : networks.back().graph().subgraphs[0].outputs) {
      const Tensor& tensor = networks.back().graph().tensors[output];
      outputs.push_back(std::string(name) + "." + tensor.name);
      left += (tensor.bytes + 15) / 16 * 16;
    }
  }
  struct Way {
    std::string run{};
    std::vector<std::string> released{};
    Bytes most = 0;
  };
  for (const Way& way : {Way{"", outputs, largest}, Way{"", {}, largest + left},
                         Way{"person_detect | vww_96_int8 | kws_ref_model | ad01_int8", {}, sum}}) {
    SCOPED_TRACE(::testing::Message() << way.run << ", " << way.released.size() << " released");
    const Plan plan = planned(networks, {.run = way.run, .released = way.released}).plan;
    EXPECT_LE(plan.summary.peak, way.most);
    const RunResult run =
        run_plan(networks, plan, {.kernels = KernelSet::plain, .check = RunCheck::tensors, .seed = 3});
    EXPECT_FALSE(run.fault) << run.fault->what;
    ASSERT_EQ(run.touched.size(), 1U);  // but for what is left to the alignment
    EXPECT_EQ((run.touched[0] + 15) / 16 * 16, plan.memories[0].peak);
  }
}

}  // namespace
}  // namespace stowage
