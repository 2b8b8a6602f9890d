// Streamed plans of many networks with all options: all are right, and run.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "image_networks.h"
#include "long_tests.h"
#include "stowage/error.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "stream_run_networks.h"

namespace stowage {
namespace {

using testing::ImageMaker;
using testing::pick;
using testing::Random;

PlanOptions streaming(Io io, std::int64_t granule, double recompute, Alias alias = Alias::automatic) {
  PlanOptions options;
  options.io = io;
  options.stream.emplace();
  options.stream->granule = granule;
  options.stream->recompute = recompute;
  options.alias = alias;
  options.alignment = 1;
  options.solve.time_limit = testing::time_of(std::chrono::milliseconds(100));
  return options;
}

std::string text_of(const PlanOptions& options) {
  return "io " + std::to_string(static_cast<int>(options.io)) + ", alias " +
         std::to_string(static_cast<int>(options.alias)) + ", granule " +
         std::to_string(options.stream->granule.value_or(0)) + ", recompute " +
         std::to_string(options.stream->recompute);
}

PlanOptions random_options(Random& random) {
  const double factors[] = {1.2, 1.5, 2, 3};
  return streaming(static_cast<Io>(pick(random, 0, 2)), pick(random, 1, 8),
                   factors[static_cast<std::size_t>(pick(random, 0, 3))],
                   static_cast<Alias>(pick(random, 0, 2)));
}

TEST(PlanStreamAtRandom, PlansAreRightWhateverTheOptions) {
  Random random(11);
  std::uint64_t again = 0;
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 4000 : 160);
  for (std::uint64_t i = 0; i < cases; ++i) {
    const Network network =
        i % 4 != 0 ? testing::random_images(random)
                   : testing::random_image_network(i, static_cast<testing::ImageNetwork>(i / 4 % 3));
    const PlanOptions options = random_options(random);
    const PlanResult result = make_plan(network.input, options);
    ASSERT_TRUE(result.faults.empty()) << i << ", " << text_of(options) << ": " << result.faults[0].what;
    if (result.plan.streaming && result.plan.streaming->recomputed > 1) ++again;
    if (i % 3 != 0) continue;
    const RunResult run = run_plan(network, result.plan, {.check = RunCheck::tensors});
    ASSERT_FALSE(run.fault) << i << ", " << text_of(options) << ": " << run.fault->what;
  }
  EXPECT_GT(again, cases / 12);
}

/// A pad makes every row larger; if rows wait for it, they rather wait as they are.
Network late_pads(Random& random) {
  ImageMaker images(random);
  TensorId x = images.add_tensor(TensorKind::input, {1, 2, 8, 2});
  std::vector<TensorId> values{x};
  for (std::int64_t i = 0; i < pick(random, 2, 4); ++i) {
    values.push_back(images.apply("Relu", {values.back()}, images.shape(values.back())));
    if (pick(random, 0, 1) == 0) values.push_back(images.pad(values.back(), 0, pick(random, 0, 2)));
    if (pick(random, 0, 1) == 0) values.push_back(images.any(values));
  }
  return images.take(0);
}

TEST(PlanStreamAtRandom, InPlaceNeverNeedsMore) {
  Random random(12);
  std::uint64_t better = 0;
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 400 : 40);
  for (std::uint64_t i = 0; i < cases; ++i) {
    const Network network = i % 2 == 0 ? late_pads(random) : testing::random_images(random);
    PlanOptions options = streaming(i % 4 < 2 ? Io::rows : Io::arena, pick(random, 1, 2), 1);
    options.solve.time_limit = std::chrono::milliseconds(300);
    const Plan in_place = make_plan(network.input, options).plan;
    options.alias = Alias::none;
    const Plan apart = make_plan(network.input, options).plan;
    better += in_place.summary.peak < apart.summary.peak ? 1 : 0;
    if (in_place.interrupted) continue;  // rows apart have not had their turn
    EXPECT_LE(in_place.summary.peak, apart.summary.peak) << i << ", " << text_of(options);
  }
  EXPECT_GT(better, cases / 10);
}

/// Narrow rows are made and wait until all of the other branch has been summed up; then each is made wider.
TEST(PlanStreamAtRandom, WidensRowsLate) {
  Random random(13);
  ImageMaker images(random);
  const TensorId x = images.add_tensor(TensorKind::input, {1, 4, 12, 2});
  const TensorId narrow = images.apply("Conv", {x, images.weight({1, 4, 1, 1})}, {1, 1, 12, 2});
  const TensorId wide = images.pad(narrow, 0, 3);
  const TensorId mean = images.apply("GlobalAveragePool", {x}, {1, 4, 1, 1});
  const TensorId gate = images.apply("Conv", {mean, images.weight({1, 4, 1, 1})}, {1, 1, 1, 1});
  (void)images.apply("Mul", {wide, gate}, images.shape(wide));
  const Network network = images.take(0);
  PlanOptions options = streaming(Io::rows, 1, 1);
  options.solve.time_limit = std::chrono::seconds(4);
  const Plan in_place = make_plan(network.input, options).plan;
  options.alias = Alias::none;
  const Plan apart = make_plan(network.input, options).plan;
  EXPECT_LE(in_place.summary.peak, apart.summary.peak);
  options.alias = Alias::all;  // as many as may, however large
  EXPECT_GT(make_plan(network.input, options).plan.summary.peak, apart.summary.peak);
}

/// Rows of a channel shuffle come back from a reshape where they lie, but not where the image is whole.
TEST(PlanStreamAtRandom, ShufflesMayEndANetwork) {
  for (std::uint64_t seed = 0; seed < testing::cases_of(40); ++seed) {
    Random random(seed);
    ImageMaker images(random);
    const TensorId x = images.add_tensor(TensorKind::input, {1, 3, 7, 5});
    TensorId y = images.apply("Conv", {x, images.weight({4, 3, 1, 1})}, {1, 4, 7, 5});
    y = images.shuffle(y);
    if (seed % 2 == 0) (void)images.window("Conv", y);
    const Network network = images.take(0);
    PlanOptions options = random_options(random);
    options.stream->granule = seed % 4 < 2 ? 1 : pick(random, 7, 8);  // all rows at once, too
    const PlanResult result = make_plan(network.input, options);
    ASSERT_TRUE(result.faults.empty()) << seed << ", " << text_of(options) << ": " << result.faults[0].what;
    const RunResult run = run_plan(network, result.plan, {.check = RunCheck::tensors});
    ASSERT_FALSE(run.fault) << seed << ": " << run.fault->what;
  }
}

/// Networks of which nothing, or next to nothing, is left to run.
TEST(PlanStreamAtRandom, NothingMayBeLeftToRun) {
  const Tensor x{
      .name = "x", .kind = TensorKind::input, .dtype = DType::int8, .shape = Shape{8, 4}, .bytes = 32};
  const Tensor w{
      .name = "w", .kind = TensorKind::weight, .dtype = DType::int8, .shape = Shape{8, 4}, .bytes = 32};
  Graph empty{.name = "empty", .subgraphs = {{.name = "main"}}};
  Graph unused = empty;
  unused.tensors = {x};
  unused.subgraphs[0].inputs = {0};
  Graph passed = unused;
  passed.subgraphs[0].outputs = {0};
  Graph constant = empty;
  constant.tensors = {w};
  constant.subgraphs[0].outputs = {0};
  Graph folded = empty;
  folded.tensors = {w, w};
  folded.tensors[1].name = "y";
  folded.subgraphs[0] = {.name = "main", .outputs = {1}};
  folded.subgraphs[0].operators = {
      {.name = "relu", .type = "Relu", .inputs = {0}, .outputs = {1}, .folded = true}};
  Graph silent = passed;  // an operator without outputs
  silent.subgraphs[0].operators = {{.name = "print", .type = "Print", .inputs = {0}}};
  for (const Graph& graph : {empty, unused, passed, constant, folded, silent}) {
    for (const Io io : {Io::arena, Io::external, Io::rows}) {
      for (const Alias alias : {Alias::none, Alias::automatic, Alias::all}) {
        for (const std::int64_t granule : {1, 9}) {
          const Input input{.info = {graph.name, "x.json", ModelFormat::json}, .content = graph};
          const PlanOptions options = streaming(io, granule, granule == 1 ? 1 : 2, alias);
          const PlanResult result = make_plan(input, options);
          EXPECT_TRUE(result.faults.empty()) << text_of(options) << ": " << result.faults[0].what;
          EXPECT_LE(result.plan.summary.peak, 32) << text_of(options);
        }
      }
    }
  }
}

/// All networks with all options, or some that have windows with padding and rows that nobody reads.
TEST(PlanStreamAtRandom, PlansOfRealNetworksAreRight) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "models";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  const std::vector<std::string> some{"person_detect", "kws_ref_model", "mcunet_vww",
                                      "mobilenet_v2_int8_224"};
  const std::vector<std::int64_t> granules =
      testing::has_time() ? std::vector<std::int64_t>{1, 2, 3, 7} : std::vector<std::int64_t>{3, 7};
  int plans = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const auto& path = entry.path();
    const bool is_model = path.extension() == ".tflite" || path.extension() == ".onnx";
    const bool is_one = std::find(some.begin(), some.end(), path.stem().string()) != some.end();
    if (!is_model || (!is_one && !testing::has_time())) continue;
    const Network network = read_network(path);
    for (const std::int64_t granule : granules) {
      for (const double recompute : {1.12, 1.5}) {
        for (const Io io : {Io::arena, Io::rows}) {
          PlanOptions options = streaming(io, granule, recompute);
          options.solve.time_limit = std::chrono::milliseconds(300);
          try {
            const PlanResult result = make_plan(network.input, options);
            ++plans;
            EXPECT_TRUE(result.faults.empty())
                << path << ", " << text_of(options) << ": " << result.faults[0].what;
          } catch (const UsageError&) {  // it cannot be streamed
          }
        }
      }
    }
  }
  EXPECT_GE(plans, 32);
}

}  // namespace
}  // namespace stowage
