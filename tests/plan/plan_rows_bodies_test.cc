// Networks with If and Loop whose other operators run by rows: the bodies run as wholes in between.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "image_networks.h"
#include "long_tests.h"
#include "rows_of_models.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::by_rows;
using testing::expect_runs;
using testing::pick;
using testing::planned;
using testing::Random;
using testing::runs_by_rows;

/// Convolutions, an If or a Loop on what they give, and operators behind it.
Network with_body(Random& random, bool is_loop, std::int64_t rows, std::int64_t count) {
  testing::ImageMaker images(random);
  TensorId x = images.add_tensor(TensorKind::input, {1, 2, rows, 8});
  for (std::int64_t i = 0; i < count; ++i)
    x = images.apply("Conv", {x, images.weight({2, 2, 3, 1})}, {1, 2, images.shape(x)[2] - 2, 8});
  x = images.apply("MaxPool", {x}, {1, 2, images.shape(x)[2] / 4, 2},
                   {{"kernel_shape", Shape{4, 4}}, {"strides", Shape{4, 4}}});
  Network network = images.take(0);
  network.input.info.name = "a";
  testing::Adding add(network);
  const TensorId made = is_loop ? testing::add_loop(x, network) : testing::add_if(x, network);
  const TensorId behind = add.add_like(made, TensorKind::output);
  add.add_operator(0, {.type = "Relu", .inputs = {made}, .outputs = {behind}});
  add.graph().subgraphs[0].outputs.push_back(behind);
  add_rows(network);
  validate(network.graph());
  return network;
}

bool has_bodies(const Plan& plan) {
  return std::ranges::any_of(plan.clocks[0].steps, [](const Step& step) {
    const auto* const run = std::get_if<stowage::Run>(&step);
    return run != nullptr && run->path.size() > 2;
  });
}

TEST(PlanRowsBodies, RunAsWholesBetweenRows) {
  Random random(8);
  for (const bool is_loop : {false, true}) {
    for (const Io io : {Io::arena, Io::external, Io::rows}) {
      const Network network = with_body(random, is_loop, 40, 4);
      PlanOptions options = by_rows(io);
      options.solve.effort = 1000;
      const Plan plan = planned({network}, options).plan;
      EXPECT_TRUE(runs_by_rows(plan, 0));
      EXPECT_TRUE(has_bodies(plan));
      options.stream.reset();
      if (io == Io::rows) options.io = Io::arena;
      EXPECT_LT(plan.summary.peak, planned({network}, options).plan.summary.peak);
      expect_runs({network}, plan);
    }
  }
}

TEST(PlanRowsBodies, TheCheckerSeesWhatIsLost) {
  Random random(9);
  for (const bool is_loop : {false, true}) {
    const Network network = with_body(random, is_loop, 40, 4);
    const Plan plan = planned({network}, by_rows()).plan;
    ASSERT_TRUE(runs_by_rows(plan, 0));
    const auto refused = [&](const std::string& what, const std::function<void(Plan&)>& spoil) {
      Plan broken = plan;
      spoil(broken);
      EXPECT_FALSE(check_plan(broken, {&network.input, 1}).empty()) << what;
    };
    const auto owners = owners_of(network.graph());
    for (TensorId t = 0; t < plan.tensors.size(); ++t) {
      if (owners[t].value_or(0) == 0 || plan.tensors[t].views.empty()) continue;
      const std::string& name = plan.tensors[t].tensor.name;
      const std::size_t buffer = plan.tensors[t].views[0].buffer;
      refused("the view of " + name + " ends early",
              [&](Plan& it) { it.tensors[t].views[0].life.upper = it.tensors[t].views[0].life.lower; });
      refused("the bytes of " + name + " are given back", [&](Plan& it) {
        for (Piece& piece : it.buffers[buffer].pieces) piece.life.upper = piece.life.lower;
      });
    }
    const auto is_inside = [](const Step& step) {
      const auto* const run = std::get_if<stowage::Run>(&step);
      return run != nullptr && run->path.size() > 2;
    };
    refused("a step of a body is missing", [&](Plan& it) {
      std::vector<Step>& steps = it.clocks[0].steps;
      steps.erase(std::ranges::find_if(steps, is_inside));
    });
    refused("a step of a body runs rows", [&](Plan& it) {
      std::get<stowage::Run>(*std::ranges::find_if(it.clocks[0].steps, is_inside)).rows = RowRange{2, 0, 1};
    });
  }
}

TEST(PlanRowsBodies, OfManyNetworksAreRightAndRun) {
  Random random(25);
  std::uint64_t by_row = 0;
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 600 : 40);
  for (std::uint64_t i = 0; i < cases; ++i) {
    std::vector<Network> networks{
        with_body(random, pick(random, 0, 1) == 0, pick(random, 12, 24), pick(random, 1, 3))};
    PlanOptions options = by_rows(static_cast<Io>(pick(random, 0, 2)));
    options.stream->granule = pick(random, 1, 3);
    if (pick(random, 0, 2) == 0) options.stream->recompute = 2;
    if (pick(random, 0, 2) == 0) options.alias = static_cast<Alias>(pick(random, 0, 2));
    if (pick(random, 0, 2) == 0) {
      networks.push_back(testing::random_images(random));
      networks.back().input.info.name = "b";
      options.run = pick(random, 0, 1) == 0 ? "a | b" : "b; a";
    }
    if (pick(random, 0, 2) == 0)
      options.memories = {{.name = "SRAM", .capacity = 512}, {.name = "PSRAM", .cost = 10}};
    const PlanResult result = planned(networks, options);
    ASSERT_TRUE(result.faults.empty()) << i;
    by_row += runs_by_rows(result.plan, 0) ? 1 : 0;
    if (!is_streamed(result.plan)) continue;
    const RunResult run = run_plan(networks, result.plan, {.check = RunCheck::tensors});
    ASSERT_FALSE(run.fault) << i << ": " << run.fault->what;
  }
  EXPECT_GT(by_row, cases / 3);
}

}  // namespace
}  // namespace stowage
