// Several networks, of which some run by rows: all is right, and runs.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "image_networks.h"
#include "long_tests.h"
#include "model/plan_blocks.h"
#include "rows_of_models.h"
#include "stowage/error.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "stream_run_networks.h"

namespace stowage {
namespace {

using testing::by_rows;
using testing::convolutions;
using testing::ImageMaker;
using testing::pick;
using testing::planned;
using testing::Random;
using testing::runs_by_rows;

Network relus(const std::string& name) {
  Random random(4);
  ImageMaker images(random);
  TensorId x = images.add_tensor(TensorKind::input, {1, 2, 8, 8});
  for (int i = 0; i < 2; ++i) x = images.apply("Relu", {x}, images.shape(x));
  Network network = images.take(0);
  network.input.info.name = name;
  return network;
}

TEST(PlanRowsOfModels, NeedNoMoreThanTheLargestOfThem) {
  const std::vector<Network> networks{convolutions("a", 32, 4), convolutions("b", 24, 3)};
  PlanOptions together = by_rows(Io::rows);
  together.solve.effort = 1000;
  const Plan plan = planned(networks, together).plan;
  EXPECT_TRUE(runs_by_rows(plan, 0));
  EXPECT_TRUE(runs_by_rows(plan, 1));
  ASSERT_TRUE(plan.streaming);
  EXPECT_EQ(plan.summary.peak, plan.streaming->load);
  PlanOptions alone = by_rows(Io::rows);
  alone.stream->blocks = StreamBlocks::none;
  EXPECT_EQ(plan.summary.peak, planned({networks[0]}, alone).plan.summary.peak);
  const RunResult run = run_plan(networks, plan, {.check = RunCheck::tensors});
  EXPECT_FALSE(run.fault) << run.fault->what;
}

TEST(PlanRowsOfModels, RunInBlocks) {
  Random random(2);
  std::vector<Network> networks;
  for (const char* const name : {"a", "b"}) {
    ImageMaker images(random);
    TensorId x = images.add_tensor(TensorKind::input, {1, 2, 24, 4});
    for (int i = 0; i < 2; ++i) x = images.expand(x);
    networks.push_back(images.take(0));
    networks.back().input.info.name = name;
  }
  for (const auto& [run, has_flash] :
       {std::pair("a; b", false), std::pair("a | b", false), std::pair("a; b", true)}) {
    PlanOptions options = by_rows(Io::rows);
    options.run = run;
    if (has_flash) options.memories = {{.name = "SRAM"}, {.name = "FLASH", .role = MemoryRole::weights}};
    options.solve.effort = 2000;
    options.stream->granule = 2;
    options.stream->axes = StreamAxes::natural;
    const Plan plan = planned(networks, options).plan;
    EXPECT_TRUE(model::has_blocks(plan, 0) && model::has_blocks(plan, 1)) << run;
    options.stream->blocks = StreamBlocks::none;
    EXPECT_LT(plan.summary.peak, planned(networks, options).plan.summary.peak) << run;
    const RunResult result = run_plan(networks, plan, {.check = RunCheck::tensors});
    EXPECT_FALSE(result.fault) << result.fault->what;
  }
}

TEST(PlanRowsOfModels, OutputsOfRowsStayForTheCaller) {
  const std::vector<Network> networks{convolutions("a", 32, 4), convolutions("b", 24, 3)};
  const Plan plan = planned(networks, by_rows()).plan;
  ASSERT_TRUE(runs_by_rows(plan, 0));
  const auto end = static_cast<Position>(plan.clocks[0].steps.size());
  for (const PlannedTensor& tensor : plan.tensors) {
    if (tensor.tensor.kind != TensorKind::output) continue;
    for (const View& view : tensor.views) EXPECT_EQ(view.life.upper, end) << tensor.tensor.name;
  }
  const RunResult run = run_plan(networks, plan, {.check = RunCheck::tensors});
  EXPECT_FALSE(run.fault) << run.fault->what;
}

/// Two networks of which the second writes where the outputs of the first must stay.
TEST(PlanRowsOfModels, TheCheckerSeesOutputsThatAreLost) {
  for (const bool is_second_whole : {false, true}) {
    const std::vector<Network> networks{convolutions("a", 32, 4),
                                        is_second_whole ? relus("b") : convolutions("b", 24, 3)};
    PlanOptions options = by_rows();
    options.stream->operators = {"Conv"};
    const std::vector<Input> inputs{networks[0].input, networks[1].input};
    const Plan plan = planned(networks, options).plan;
    ASSERT_NE(runs_by_rows(plan, 1), is_second_whole);
    ASSERT_TRUE(runs_by_rows(plan, 0));
    const auto is_output_of = [&](const PlannedTensor& it, std::size_t model) {
      return it.model == model && it.tensor.kind == TensorKind::output;
    };
    const auto output =
        std::ranges::find_if(plan.tensors, [&](const auto& it) { return is_output_of(it, 0); });
    const auto other =
        std::ranges::find_if(plan.tensors, [&](const auto& it) { return is_output_of(it, 1); });
    const auto steps_of_first = std::ranges::count_if(
        plan.clocks[0].steps, [](const Step& step) { return std::get<stowage::Run>(step).model == 0; });
    Plan shortened = plan;
    for (Piece& piece : shortened.buffers[output->views[0].buffer].pieces)
      piece.life.upper = std::min<Position>(piece.life.upper, steps_of_first);
    EXPECT_FALSE(check_plan(shortened, inputs).empty()) << "bytes given back";
    Plan ended = plan;
    ended.tensors[static_cast<std::size_t>(output - plan.tensors.begin())].views[0].life.upper =
        static_cast<Position>(steps_of_first);
    EXPECT_FALSE(check_plan(ended, inputs).empty()) << "view ended";
    Plan over = plan;
    View& view = over.tensors[static_cast<std::size_t>(other - plan.tensors.begin())].views[0];
    view.buffer = output->views[0].buffer;
    view.offset = output->views[0].offset;
    EXPECT_FALSE(check_plan(over, inputs).empty()) << "written over";
  }
}

TEST(PlanRowsOfModels, OfManyNetworksAreRightAndRun) {
  Random random(22);
  std::uint64_t both = 0;
  std::uint64_t one = 0;
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 1000 : 40);
  for (std::uint64_t i = 0; i < cases; ++i) {
    std::vector<Network> networks;
    for (const char* const name : {"a", "b"}) {
      networks.push_back(testing::random_images(random));
      networks.back().input.info.name = name;
    }
    PlanOptions options = by_rows(static_cast<Io>(pick(random, 0, 2)));
    if (pick(random, 0, 2) == 0) options.stream->recompute = 2;
    if (pick(random, 0, 3) == 0) options.run = "a | b";
    if (pick(random, 0, 3) == 0) options.run = "b; a";
    if (pick(random, 0, 2) == 0)
      options.memories = {{.name = "SRAM", .capacity = 128}, {.name = "PSRAM", .cost = 10}};
    const PlanResult result = planned(networks, options);
    ASSERT_TRUE(result.faults.empty()) << i;
    const auto count =
        static_cast<int>(runs_by_rows(result.plan, 0)) + static_cast<int>(runs_by_rows(result.plan, 1));
    both += count == 2 ? 1 : 0;
    one += count == 1 ? 1 : 0;
    if (!is_streamed(result.plan)) continue;
    const RunResult run = run_plan(networks, result.plan, {.check = RunCheck::tensors});
    ASSERT_FALSE(run.fault) << i << ": " << run.fault->what;
  }
  EXPECT_GT(both, cases / 8);
  EXPECT_GT(one, cases / 40);
}

}  // namespace
}  // namespace stowage
