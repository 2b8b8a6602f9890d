// Blocks of networks that have state, or bodies: what is split are operators beside them.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "image_networks.h"
#include "long_tests.h"
#include "model/blocks.h"
#include "model/plan_blocks.h"
#include "rows_of_models.h"
#include "stowage/error.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using testing::by_rows;
using testing::expect_runs;
using testing::ImageMaker;
using testing::pick;
using testing::planned;
using testing::Random;

enum class Beside { state, condition, loop };

/// Channels are widened and narrowed, twice; a state of the narrow image is updated, or bodies read it.
Network wide_network(Random& random, Beside beside) {
  ImageMaker images(random);
  TensorId x = images.add_tensor(TensorKind::input, {1, 2, 24, 4});
  for (int i = 0; i < 2; ++i) x = images.expand(x);
  StateTie tie;
  if (beside == Beside::state) {
    tie.input = images.add_tensor(TensorKind::input, images.shape(x));
    const TensorId sum = images.apply("Add", {x, tie.input}, images.shape(x));
    tie.output = images.apply("Relu", {sum}, images.shape(x));
  } else {
    x = images.apply("Relu", {x}, images.shape(x));
  }
  Network network = images.take(0);
  network.input.info.name = "a";
  if (beside == Beside::state) std::get<Graph>(network.input.content).ties.push_back(tie);
  if (beside == Beside::condition) static_cast<void>(testing::add_if(x, network));
  if (beside == Beside::loop) static_cast<void>(testing::add_loop(x, network));
  validate(network.graph());
  return network;
}

PlanOptions blocks_of_channels(Io io) {
  PlanOptions options = by_rows(io);
  options.solve.effort = 2000;
  options.stream->granule = 2;
  options.stream->axes = StreamAxes::natural;
  return options;
}

class PlanBlocksBeside : public ::testing::TestWithParam<Beside> {};

TEST_P(PlanBlocksBeside, NeedLessMemoryThanRowsAlone) {
  Random random(2);
  const Network network = wide_network(random, GetParam());
  PlanOptions options = blocks_of_channels(Io::rows);
  const Plan plan = planned({network}, options).plan;
  EXPECT_TRUE(model::has_blocks(plan));
  expect_runs({network}, plan);
  options.stream->blocks = StreamBlocks::none;
  EXPECT_LT(plan.summary.peak, planned({network}, options).plan.summary.peak);
}

TEST_P(PlanBlocksBeside, AreRightAndRun) {
  Random random(31);
  int in_blocks = 0;
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 200 : 12);
  for (std::uint64_t i = 0; i < cases; ++i) {
    std::vector<Network> networks{wide_network(random, GetParam())};
    PlanOptions options = blocks_of_channels(static_cast<Io>(pick(random, 0, 2)));
    options.stream->granule = pick(random, 1, 3);
    if (pick(random, 0, 2) == 0) {
      networks.push_back(testing::random_images(random));
      networks.back().input.info.name = "b";
      options.run = pick(random, 0, 1) == 0 ? "a | b" : "b; a";
    }
    if (pick(random, 0, 3) == 0) options.memories.push_back({.name = "FLASH", .role = MemoryRole::weights});
    const Plan plan = planned(networks, options).plan;
    in_blocks += model::has_blocks(plan) ? 1 : 0;
    expect_runs(networks, plan);
  }
  EXPECT_GT(in_blocks, static_cast<int>(cases) / 20);
}

TEST_P(PlanBlocksBeside, TheCheckerSeesWhatIsLost) {
  Random random(2);
  const Network network = wide_network(random, GetParam());
  const Plan plan = planned({network}, blocks_of_channels(Io::rows)).plan;
  ASSERT_TRUE(model::has_blocks(plan));
  const auto refused = [&](const std::string& what, const std::function<void(Plan&)>& spoil) {
    Plan broken = plan;
    spoil(broken);
    EXPECT_FALSE(check_plan(broken, {&network.input, 1}).empty()) << what;
  };
  constexpr std::size_t stride = 5;  // all of them take long
  for (TensorId t = 0; t < plan.tensors.size(); ++t) {
    for (std::size_t v = 0; v < plan.tensors[t].views.size(); v += stride) {
      refused(plan.tensors[t].tensor.name + " is lost",
              [&](Plan& it) { it.tensors[t].views[v].life.upper = it.tensors[t].views[v].life.lower; });
    }
  }
  for (std::size_t s = 0; s < plan.clocks[0].steps.size(); s += stride) {
    refused("step " + std::to_string(s) + " is missing", [&](Plan& it) {
      it.clocks[0].steps.erase(it.clocks[0].steps.begin() + static_cast<std::ptrdiff_t>(s));
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlanBlocksBeside,
                         ::testing::Values(Beside::state, Beside::condition, Beside::loop));

TEST(PlanBlocksBeside, WhatBodiesReadStaysWhole) {
  for (const bool is_loop : {false, true}) {
    Random random(7);
    ImageMaker images(random);
    const TensorId x = images.add_tensor(TensorKind::input, {1, 4, 8, 4});
    const TensorId y = images.apply("Relu", {x}, images.shape(x));
    const TensorId z = images.apply("Tanh", {y}, images.shape(x));
    static_cast<void>(images.apply("Relu", {z}, images.shape(x)));
    Network network = images.take(0);
    const model::Blocks halves{.axis = 1, .bounds = {0, 2, 4}};
    EXPECT_NO_THROW((void)model::split(network.graph(), {{0, halves}, {1, halves}}));
    if (is_loop) {
      static_cast<void>(testing::add_loop(z, network));
    } else {
      static_cast<void>(testing::add_if(z, network));
    }
    EXPECT_NO_THROW((void)model::split(network.graph(), {{0, halves}}));
    EXPECT_THROW((void)model::split(network.graph(), {{0, halves}, {1, halves}}), Error);
  }
}

}  // namespace
}  // namespace stowage
