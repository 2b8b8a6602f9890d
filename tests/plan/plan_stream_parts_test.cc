// Which operators stream, along which axis, and what runs as a whole beside them.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <variant>

#include "image_networks.h"
#include "long_tests.h"
#include "stowage/error.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "stream/axes.h"
#include "stream/choose.h"

namespace stowage {
namespace {

using testing::ImageMaker;
using testing::Random;
using RunStep = Run;  // a test has a Run of its own

PlanOptions streaming(Io io) {
  PlanOptions options;
  options.io = io;
  options.alignment = 4;
  options.stream.emplace();
  options.solve.time_limit = testing::time_of(std::chrono::milliseconds(300));
  return options;
}

/// Plans and runs it; every row must equal that of an unstreamed run.
Plan planned(const Network& network, const PlanOptions& options) {
  PlanResult result = make_plan(network.input, options);
  for (const Fault& fault : result.faults) ADD_FAILURE() << fault.what;
  const RunResult run = run_plan(network, result.plan, {.check = RunCheck::tensors});
  if (run.fault) ADD_FAILURE() << run.fault->what;
  return std::move(result.plan);
}

std::set<std::size_t> axes_run(const Plan& plan) {
  std::set<std::size_t> axes;
  for (const Step& step : plan.clocks[0].steps) {
    const auto* const run = std::get_if<RunStep>(&step);
    if (run != nullptr && run->rows) axes.insert(run->rows->axis);
  }
  return axes;
}

/// Numbers of the operators that run row by row.
std::set<std::size_t> streamed_operators(const Plan& plan) {
  std::set<std::size_t> operators;
  for (const Step& step : plan.clocks[0].steps) {
    const auto* const run = std::get_if<RunStep>(&step);
    if (run != nullptr && run->rows) operators.insert(run->path[1]);
  }
  return operators;
}

/// Three convolutions with windows of 3 x 3, or of 1 x 3 if there is one row only.
Network convolutions(std::int64_t height, std::int64_t width) {
  Random random(3);
  ImageMaker images(random);
  const std::int64_t window = height == 1 ? 1 : 3;
  const std::int64_t above = window / 2;
  TensorId x = images.add_tensor(TensorKind::input, {1, 2, height, width});
  for (int i = 0; i < 3; ++i) {
    x = images.apply("Conv", {x, images.weight({2, 2, window, 3})}, {1, 2, height, width},
                     {{"pads", Shape{above, 1, above, 1}}});
  }
  return images.take(0);
}

TEST(PlanStreamParts, ASignalOfOneRowStreamsByColumns) {
  const Plan plan = planned(convolutions(1, 64), streaming(Io::rows));
  EXPECT_EQ(axes_run(plan), std::set<std::size_t>{3});
  constexpr Bytes column = 2 * 4;
  EXPECT_LE(plan.summary.peak, 12 * column);
  EXPECT_GE(plan.summary.peak, 3 * column);
}

TEST(PlanStreamParts, AWideImageStreamsByColumns) {
  EXPECT_EQ(axes_run(planned(convolutions(6, 40), streaming(Io::rows))), std::set<std::size_t>{3});
  EXPECT_EQ(axes_run(planned(convolutions(40, 6), streaming(Io::rows))), std::set<std::size_t>{2});
  EXPECT_EQ(axes_run(planned(convolutions(12, 12), streaming(Io::rows))), std::set<std::size_t>{2});
}

TEST(PlanStreamParts, ChosenAxesSpreadInBothDirections) {
  Random random(3);
  ImageMaker images(random);
  const TensorId x = images.add_tensor(TensorKind::input, {1, 2, 5, 7});
  const TensorId a = images.apply("Relu", {x}, {1, 2, 5, 7});
  const TensorId turned = images.apply("Transpose", {a}, {1, 7, 5, 2}, {{"perm", Shape{0, 3, 2, 1}}});
  const TensorId y = images.apply("Relu", {turned}, {1, 7, 5, 2});
  const Network network = images.take(0);
  const std::vector<TensorId> on_the_way{x, a, turned, y};
  for (const TensorId chosen : on_the_way) {
    for (std::size_t axis = 0; axis < 4; ++axis) {
      const stream::Axes axes = stream::axes_of(network.graph(), {{chosen, axis}});
      const bool is_behind = chosen == turned || chosen == y;
      const std::size_t behind = is_behind ? axis : std::vector<std::size_t>{0, 3, 2, 1}[axis];
      const std::size_t before = is_behind ? std::vector<std::size_t>{0, 3, 2, 1}[axis] : axis;
      EXPECT_EQ(axes[x], before) << chosen << " " << axis;
      EXPECT_EQ(axes[a], before) << chosen << " " << axis;
      EXPECT_EQ(axes[turned], behind) << chosen << " " << axis;
      EXPECT_EQ(axes[y], behind) << chosen << " " << axis;
    }
  }
  EXPECT_EQ(stream::axes_of(network.graph(), {{x, 9}})[x], 2U) << "no such axis";
}

/// Words are looked up in a table: the one row of a batch says nothing about the rows behind it.
TEST(PlanStreamParts, ABatchOfOneIsNoAxisForWhatFollows) {
  Random random(3);
  ImageMaker words(random);
  const TensorId x = words.add_tensor(TensorKind::input, {1, 7}, DType::int64);
  const TensorId table = words.weight({2, 3});
  const TensorId found = words.apply("Gather", {table, x}, {1, 7, 3});
  const TensorId y = words.apply("Relu", {found}, {1, 7, 3});
  const Network network = words.take(0);
  const stream::Axes axes = stream::axes_of(network.graph(), {});
  EXPECT_EQ(axes[found], 1U);
  EXPECT_EQ(axes[y], 1U);
}

/// The search turns axes only if the order by regions gains, and tries all axes of the input.
TEST(PlanStreamParts, SearchedAxesNeedNoMoreThanAnyAxisOfTheInput) {
  Random random(8);
  int better = 0;
  for (int i = 0; i < 60; ++i) {
    const Network network = testing::random_images(random);
    const stream::InstanceOptions options{.io = Io::rows};
    const stream::TrialEffort effort{.work = 1'000'000};
    const auto peak_with = [&](const stream::ChosenAxes& axes) {
      stream::InstanceOptions with = options;
      with.axes = axes;
      return stream::least_peak_of(stream::instances_of(network.graph(), with), effort);
    };
    const Bytes found = peak_with(stream::axes_where_it_helps(network.graph(), options, effort));
    const TensorId input = network.graph().subgraphs[0].inputs[0];
    EXPECT_LE(found, peak_with({})) << i;
    for (std::size_t axis = 0; axis < 4; ++axis) EXPECT_LE(found, peak_with({{input, axis}})) << i;
    better += found < peak_with({}) ? 1 : 0;
  }
  EXPECT_GT(better, 5);
}

TEST(PlanStreamParts, OnlyNamedOperatorsStream) {
  const Network network = convolutions(40, 6);
  PlanOptions options = streaming(Io::rows);
  options.stream->operators = {"0-1"};
  const Plan some = planned(network, options);
  EXPECT_EQ(streamed_operators(some), (std::set<std::size_t>{0, 1}));
  options.stream->operators = {"Conv"};
  EXPECT_EQ(streamed_operators(planned(network, options)), (std::set<std::size_t>{0, 1, 2}));
  options.stream->operators = {network.graph().subgraphs[0].operators[2].name, "1"};
  if (!options.stream->operators[0].empty()) {
    EXPECT_EQ(streamed_operators(planned(network, options)), (std::set<std::size_t>{1, 2}));
  }
  for (const char* wrong : {"3", "7-9", "Relu", "", "1-", "-"}) {
    options.stream->operators = {wrong};
    EXPECT_THROW((void)make_plan(network.input, options), UsageError) << wrong;
  }
}

/// Operators with state run as a whole; those around them stream, also with scratch memory.
TEST(PlanStreamParts, StateAndScratchRunBesideRows) {
  Network network = convolutions(40, 6);
  auto& graph = std::get<Graph>(network.input.content);
  graph.tensors.push_back({.name = "scratch", .kind = TensorKind::scratch, .bytes = 100});
  auto& operators = graph.subgraphs[0].operators;
  operators[1].scratch = {graph.tensors.size() - 1};
  for (std::size_t stateful : {std::size_t{0}, std::size_t{2}}) {
    operators[stateful].stateful = true;
    operators[stateful].row_axes.clear();
  }
  const Plan plan = planned(network, streaming(Io::rows));
  EXPECT_EQ(streamed_operators(plan), std::set<std::size_t>{1});
  EXPECT_TRUE(plan.streaming);
  operators[0].stateful = false;
  add_rows(network);
  operators[2].row_axes.clear();
  const Plan first = planned(network, streaming(Io::rows));
  EXPECT_EQ(streamed_operators(first), (std::set<std::size_t>{0, 1}));
  constexpr Bytes tensor = 2 * 40 * 6 * 4;
  EXPECT_GE(first.summary.peak, tensor + 100) << "scratch memory is beside an output";
}

/// It is free between the steps of its operator, and each step of more than one row runs all rows.
TEST(PlanStreamParts, ScratchIsLiveInEachStep) {
  Network network = convolutions(40, 6);
  const Bytes without = planned(network, streaming(Io::rows)).summary.peak;
  auto& graph = std::get<Graph>(network.input.content);
  auto& operators = graph.subgraphs[0].operators;
  for (Operator& op : operators) {
    op.scratch = {graph.tensors.size()};
    graph.tensors.push_back({.name = "scratch of " + op.name,
                             .kind = TensorKind::scratch,
                             .dtype = DType::uint8,
                             .shape = Shape{100},
                             .bytes = 100});
  }
  PlanOptions options = streaming(Io::rows);
  const Plan plan = planned(network, options);
  EXPECT_EQ(streamed_operators(plan).size(), operators.size());
  EXPECT_GE(plan.summary.peak, without);
  EXPECT_LE(plan.summary.peak, without + 112) << "operators use it one after the other";
  for (const PlannedTensor& tensor : plan.tensors) {
    if (tensor.tensor.kind != TensorKind::scratch) continue;
    ASSERT_EQ(tensor.views.size(), 1U);
    EXPECT_GT(plan.buffers[tensor.views[0].buffer].pieces.size(), 1U) << "it is free between steps";
  }
  options.stream->granule = 2;
  EXPECT_EQ(streamed_operators(planned(network, options)), std::set<std::size_t>{});
}

TEST(PlanStreamParts, RealNetworksWithStateStream) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "models" / "tflite";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  for (const char* model : {"keyword_scrambled_8bit", "trained_lstm_int8"}) {
    SCOPED_TRACE(model);
    const Network network = read_network(folder / (std::string(model) + ".tflite"));
    const Plan plan = planned(network, streaming(Io::rows));
    EXPECT_TRUE(plan.streaming);
  }
}

}  // namespace
}  // namespace stowage
