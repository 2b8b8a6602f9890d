// Networks by rows whose outputs are inputs of their next run: the new state is written over the old one.

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
using testing::ImageMaker;
using testing::pick;
using testing::planned;
using testing::Random;
using testing::runs_by_rows;

/// What the writer of the new state does.
enum class Update { in_place, behind, beside };

/// Convolutions of 3 rows, and a state of as many bytes as what they give.
Network with_state(Random& random, std::int64_t rows, std::int64_t count, Update update) {
  ImageMaker images(random);
  const TensorId input = images.add_tensor(TensorKind::input, {1, 2, rows, 8});
  TensorId x = input;
  for (std::int64_t i = 0; i < count; ++i)
    x = images.apply("Conv", {x, images.weight({2, 2, 3, 1})}, {1, 2, images.shape(x)[2] - 2, 8});
  const TensorId old_state = images.add_tensor(TensorKind::input, images.shape(x));
  const TensorId sum = images.apply("Add", {x, old_state}, images.shape(x));
  TensorId new_state = sum;
  if (update == Update::behind) new_state = images.apply("Relu", {sum}, images.shape(x));
  if (update == Update::beside) new_state = images.apply("Relu", {x}, images.shape(x));
  Network network = images.take(0);
  network.input.info.name = "a";
  auto& graph = std::get<Graph>(network.input.content);
  graph.ties.push_back({.output = new_state, .input = old_state});
  validate(graph);
  return network;
}

TEST(PlanRowsState, IsWrittenBehindItsReaders) {
  Random random(5);
  for (const Update update : {Update::in_place, Update::behind, Update::beside}) {
    for (const Io io : {Io::arena, Io::external, Io::rows}) {
      const Network network = with_state(random, 40, 4, update);
      PlanOptions options = by_rows(io);
      options.solve.effort = 400;
      const PlanResult result = planned({network}, options);
      EXPECT_TRUE(runs_by_rows(result.plan, 0));
      options.stream.reset();
      if (io == Io::rows) options.io = Io::arena;
      EXPECT_LT(result.plan.summary.peak, planned({network}, options).plan.summary.peak);
      expect_runs({network}, result.plan);
    }
  }
}

TEST(PlanRowsState, TheCheckerSeesWhatIsLost) {
  Random random(6);
  const Network network = with_state(random, 40, 4, Update::behind);
  const Plan plan = planned({network}, by_rows()).plan;
  ASSERT_TRUE(runs_by_rows(plan, 0));
  const StateTie tie = network.graph().ties[0];
  const std::size_t buffer = plan.tensors[tie.input].views[0].buffer;
  const auto refused = [&](const char* what, const std::function<void(Plan&)>& spoil) {
    Plan broken = plan;
    spoil(broken);
    EXPECT_FALSE(check_plan(broken, {&network.input, 1}).empty()) << what;
  };
  refused("the buffer begins late", [&](Plan& it) { it.buffers[buffer].pieces[0].life.lower = 1; });
  refused("the buffer ends early", [&](Plan& it) { --it.buffers[buffer].pieces[0].life.upper; });
  refused("the old state begins late", [&](Plan& it) { it.tensors[tie.input].views[0].life.lower = 1; });
  refused("the new state ends early", [&](Plan& it) { --it.tensors[tie.output].views[0].life.upper; });
  refused("they are apart", [&](Plan& it) { it.tensors[tie.output].views[0].offset += 4; });
  refused("the new state is written before the old one is read", [&](Plan& it) {
    std::vector<Step>& steps = it.clocks[0].steps;
    const auto writes = [&](const Step& step) {
      return network.graph().subgraphs[0].operators[std::get<stowage::Run>(step).path[1]].type == "Relu";
    };
    const auto first = std::ranges::find_if(steps, writes);
    ASSERT_NE(first, steps.end());
    std::rotate(first - 1, first, first + 1);
    it.tensors[tie.output].views[0].life.lower -= 1;
  });
}

TEST(PlanRowsState, OfManyNetworksIsRightAndRuns) {
  Random random(24);
  std::uint64_t by_row = 0;
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 600 : 40);
  for (std::uint64_t i = 0; i < cases; ++i) {
    std::vector<Network> networks{
        with_state(random, pick(random, 9, 20), pick(random, 1, 3), static_cast<Update>(pick(random, 0, 2)))};
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
