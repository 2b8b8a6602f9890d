// Networks by rows that pass tensors to each other, or leave outputs behind their branch: all is right, and runs.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "image_networks.h"
#include "long_tests.h"
#include "rows_of_models.h"
#include "stowage/error.h"
#include "stowage/import.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::by_rows;
using testing::convolutions;
using testing::expect_runs;
using testing::name_of_input;
using testing::name_of_output;
using testing::pick;
using testing::planned;
using testing::Random;
using testing::runs_by_rows;

const PlannedTensor& tensor_of(const Plan& plan, std::size_t model, TensorKind kind) {
  return *std::ranges::find_if(
      plan.tensors, [&](const PlannedTensor& it) { return it.model == model && it.tensor.kind == kind; });
}

/// A network of 32 rows, and one that reads its output of 24 rows.
std::vector<Network> writer_and_reader() { return {convolutions("a", 32, 4), convolutions("b", 24, 3)}; }

PlanOptions fed(const std::vector<Network>& networks, Io io) {
  PlanOptions options = by_rows(io);
  options.feeds = {{name_of_output(networks[0]), name_of_input(networks[1])}};
  options.solve.effort = 1000;
  return options;
}

TEST(PlanRowsPassing, BothNetworksRunByRows) {
  const std::vector<Network> networks = writer_and_reader();
  for (const Io io : {Io::arena, Io::external, Io::rows}) {
    for (const bool is_released : {false, true}) {
      PlanOptions options = fed(networks, io);
      if (is_released) options.released = {name_of_output(networks[0])};
      const Plan plan = planned(networks, options).plan;
      EXPECT_TRUE(runs_by_rows(plan, 0));
      EXPECT_TRUE(runs_by_rows(plan, 1));
      const PlannedTensor& output = tensor_of(plan, 0, TensorKind::output);
      const PlannedTensor& input = tensor_of(plan, 1, TensorKind::input);
      ASSERT_EQ(output.views.size(), 1);
      ASSERT_EQ(input.views.size(), 1);
      EXPECT_EQ(output.views[0].buffer, input.views[0].buffer);
      EXPECT_EQ(output.views[0].offset, input.views[0].offset);
      expect_runs(networks, plan);
    }
  }
}

/// The fed tensor comes as it is written and goes as it is read, so it needs no more than itself and a few rows.
TEST(PlanRowsPassing, RowsGoAsTheyAreRead) {
  const std::vector<Network> networks = writer_and_reader();
  PlanOptions options = fed(networks, Io::rows);
  options.released = {name_of_output(networks[0])};
  const Plan plan = planned(networks, options).plan;
  const View& view = tensor_of(plan, 0, TensorKind::output).views[0];
  const std::vector<Piece>& pieces = plan.buffers[view.buffer].pieces;
  const auto begins = std::ranges::minmax(pieces, {}, [](const Piece& it) { return it.life.lower; });
  const auto ends = std::ranges::minmax(pieces, {}, [](const Piece& it) { return it.life.upper; });
  EXPECT_LT(begins.min.life.lower, begins.max.life.lower);
  EXPECT_LT(ends.min.life.upper, ends.max.life.upper);
  PlanOptions whole = options;
  whole.stream.reset();
  whole.io = Io::arena;
  const Bytes bytes = plan.tensors[0].tensor.bytes;
  EXPECT_LT(3 * plan.summary.peak, 2 * planned(networks, whole).plan.summary.peak) << bytes;
}

TEST(PlanRowsPassing, OneOfBothMayRunWholeOperators) {
  std::vector<Network> networks = writer_and_reader();
  int mixed = 0;  // where rows of one of them lower the peak of both
  for (const std::size_t by_row : {0U, 1U}) {
    PlanOptions options = fed(networks, Io::arena);
    auto& other = std::get<Graph>(networks[1 - by_row].input.content);
    const Graph saved = other;
    for (Operator& op : other.subgraphs[0].operators) op.row_axes.clear();
    const Plan plan = planned(networks, options).plan;
    mixed += runs_by_rows(plan, by_row) ? 1 : 0;
    EXPECT_FALSE(runs_by_rows(plan, 1 - by_row));
    expect_runs(networks, plan);
    other = saved;
  }
  EXPECT_GT(mixed, 0);
}

/// Breaks a right plan in several ways.
TEST(PlanRowsPassing, TheCheckerSeesWhatIsLost) {
  const std::vector<Network> networks = writer_and_reader();
  const std::vector<Input> inputs{networks[0].input, networks[1].input};
  PlanOptions options = fed(networks, Io::arena);
  options.released = {name_of_output(networks[0])};
  const Plan plan = planned(networks, options).plan;
  ASSERT_TRUE(runs_by_rows(plan, 0));
  ASSERT_TRUE(runs_by_rows(plan, 1));
  const auto output = static_cast<std::size_t>(&tensor_of(plan, 0, TensorKind::output) - plan.tensors.data());
  const auto input = static_cast<std::size_t>(&tensor_of(plan, 1, TensorKind::input) - plan.tensors.data());
  const std::size_t buffer = plan.tensors[output].views[0].buffer;
  const auto steps_of_first = static_cast<Position>(std::ranges::count_if(
      plan.clocks[0].steps, [](const Step& step) { return std::get<stowage::Run>(step).model == 0; }));
  const auto refused = [&](const char* what, const std::function<void(Plan&)>& spoil) {
    Plan broken = plan;
    spoil(broken);
    EXPECT_FALSE(check_plan(broken, inputs).empty()) << what;
  };
  EXPECT_TRUE(check_plan(plan, inputs).empty());
  refused("rows are given back before they are read", [&](Plan& it) {
    for (Piece& piece : it.buffers[buffer].pieces)
      piece.life.upper = std::min<Position>(piece.life.upper, steps_of_first + 1);
  });
  refused("rows are not reserved between the networks", [&](Plan& it) {
    for (Piece& piece : it.buffers[buffer].pieces)
      piece.life.upper = std::min<Position>(piece.life.upper, steps_of_first - 1);
  });
  refused("the view of the reader ends early",
          [&](Plan& it) { it.tensors[input].views[0].life.upper = steps_of_first + 1; });
  refused("the view of the writer ends early",
          [&](Plan& it) { it.tensors[output].views[0].life.upper = steps_of_first - 1; });
  refused("the reader looks elsewhere", [&](Plan& it) { it.tensors[input].views[0].offset += 4; });
  refused("the tensor lies in a ring", [&](Plan& it) {
    const Ring ring{2, 1, (*it.tensors[output].tensor.shape)[2]};
    it.tensors[output].views[0].ring = ring;
    it.tensors[input].views[0].ring = ring;
  });
  refused("it arrives", [&](Plan& it) {
    it.clocks[0].steps.insert(it.clocks[0].steps.begin() + steps_of_first, Arrive{input, std::nullopt});
  });
  refused("it leaves", [&](Plan& it) {
    it.clocks[0].steps.insert(it.clocks[0].steps.begin() + steps_of_first, Leave{output, std::nullopt});
  });
  refused("another tensor of the reader lies on it", [&](Plan& it) {
    for (PlannedTensor& tensor : it.tensors) {
      if (tensor.model != 1 || tensor.tensor.kind != TensorKind::output) continue;
      tensor.views[0].buffer = buffer;
      tensor.views[0].offset = 0;
    }
  });
}

TEST(PlanRowsPassing, OutputsBehindABranchAreOnTheClockAroundIt) {
  const std::vector<Network> networks{convolutions("a", 32, 4), convolutions("b", 24, 3),
                                      convolutions("c", 28, 2)};
  PlanOptions options = by_rows();
  options.run = "a | b; c";
  options.solve.effort = 1000;
  const Plan plan = planned(networks, options).plan;
  for (const std::size_t model : {0U, 1U, 2U}) EXPECT_TRUE(runs_by_rows(plan, model)) << model;
  for (const std::size_t model : {0U, 1U}) {
    const PlannedTensor& output = tensor_of(plan, model, TensorKind::output);
    ASSERT_EQ(output.views.size(), 1);
    EXPECT_EQ(plan.buffers[output.views[0].buffer].clock, 0);
    EXPECT_EQ(output.views[0].life.upper, static_cast<Position>(plan.clocks[0].steps.size()));
  }
  expect_runs(networks, plan);
  options.io = Io::rows;  // nothing is left behind
  const Plan leaving = planned(networks, options).plan;
  EXPECT_TRUE(tensor_of(leaving, 0, TensorKind::output).views.empty() ||
              leaving.buffers[tensor_of(leaving, 0, TensorKind::output).views[0].buffer].clock != 0);
  EXPECT_LT(leaving.summary.peak, plan.summary.peak);
  expect_runs(networks, leaving);
}

TEST(PlanRowsPassing, RealModelsNeedTheSumOfTheirWindows) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "models" / "tflite";
  std::vector<Network> networks;
  for (const char* const name : {"person_detect", "kws_ref_model", "micro_speech_quantized"}) {
    const std::filesystem::path file = folder / (std::string(name) + ".tflite");
    if (!std::filesystem::exists(file)) GTEST_SKIP() << "no " << file;
    networks.push_back(read_network(file));
    networks.back().input.info.name = std::string(1, static_cast<char>('a' + networks.size() - 1));
  }
  PlanOptions options;
  options.io = Io::rows;
  options.stream.emplace();
  options.run = "a | b | c";
  options.solve.effort = 8000;
  const Plan plan = planned(networks, options).plan;
  EXPECT_LE(plan.summary.peak, 17488);
}

/// Networks in a random expression, of which some feed others.
struct Case {
  std::vector<Network> networks{};
  PlanOptions options{};
};

Case random_case(Random& random) {
  Case it{.options = by_rows(static_cast<Io>(pick(random, 0, 2)))};
  const char* const runs[] = {"a; b; c", "a | b; c", "a; b | c", "a | (b; c)", "(a; b) | c", "a | b | c"};
  it.options.run = runs[pick(random, 0, 5)];
  const bool may_feed_b = it.options.run != "a | b; c" && it.options.run.find("a |") == std::string::npos;
  const bool may_feed_c = it.options.run == "a; b; c" || it.options.run == "a | b; c";
  it.networks.reserve(3);  // so that references stay
  for (const char* const name : {"a", "b", "c"}) {
    const bool may_be_fed = (name[0] == 'b' && may_feed_b) || (name[0] == 'c' && may_feed_c);
    constexpr std::size_t rank_of_images = 4;
    Shape shape;
    const Network* from = nullptr;
    if (may_be_fed && pick(random, 0, 4) > 0) {
      from = &it.networks[static_cast<std::size_t>(pick(random, 0, std::ssize(it.networks) - 1))];
      const Graph& graph = from->graph();
      shape = *graph.tensors[graph.subgraphs[0].outputs[0]].shape;
    }
    if (shape.size() == rank_of_images) {
      it.networks.push_back(testing::random_images(random, shape));
      it.networks.back().input.info.name = name;
      it.options.feeds.push_back({name_of_output(*from), name_of_input(it.networks.back())});
    } else {
      it.networks.push_back(testing::random_images(random));
      it.networks.back().input.info.name = name;
    }
  }
  for (const Network& network : it.networks) {
    if (pick(random, 0, 2) == 0) it.options.released.push_back(name_of_output(network));
  }
  if (pick(random, 0, 3) == 0) it.options.stream->recompute = 2;
  if (pick(random, 0, 3) == 0) it.options.alias = static_cast<Alias>(pick(random, 0, 2));
  if (pick(random, 0, 3) == 0) it.options.stream->granule = pick(random, 1, 3);
  if (pick(random, 0, 3) == 0)
    it.options.memories = {{.name = "SRAM", .capacity = 256}, {.name = "PSRAM", .cost = 10}};
  return it;
}

TEST(PlanRowsPassing, OfManyNetworksAreRightAndRun) {
  Random random(23);
  std::uint64_t fed_by_rows = 0;
  std::uint64_t reads_by_rows = 0;
  std::uint64_t behind_branch = 0;
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 2000 : 40);
  for (std::uint64_t i = 0; i < cases; ++i) {
    const Case it = random_case(random);
    const PlanResult result = planned(it.networks, it.options);
    ASSERT_TRUE(result.faults.empty()) << i << ", " << it.options.run;
    const Plan& plan = result.plan;
    for (const Feed& feed : plan.feeds) {
      fed_by_rows += runs_by_rows(plan, plan.tensors[feed.output].model) ? 1 : 0;
      reads_by_rows += runs_by_rows(plan, plan.tensors[feed.input].model) ? 1 : 0;
    }
    behind_branch += it.options.run == "a | b; c" && (runs_by_rows(plan, 0) || runs_by_rows(plan, 1)) ? 1 : 0;
    if (!is_streamed(plan)) continue;
    const RunResult run = run_plan(it.networks, plan, {.check = RunCheck::tensors, .seed = i});
    ASSERT_FALSE(run.fault) << i << ", " << it.options.run << ": " << run.fault->what;
  }
  EXPECT_GT(fed_by_rows, cases / 10);
  EXPECT_GT(reads_by_rows, cases / 10);
  EXPECT_GT(behind_branch, cases / 20);
}

}  // namespace
}  // namespace stowage
