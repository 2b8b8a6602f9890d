// Plans that compute rows again: of int8 and padded images, and what more multiplies save.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include "image_networks.h"
#include "long_tests.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "stream_run_networks.h"

namespace stowage {
namespace {

PlanOptions by_rows(double recompute, std::chrono::milliseconds limit) {
  PlanOptions options;
  options.io = Io::rows;
  options.stream.emplace();
  options.stream->recompute = recompute;
  options.solve.time_limit = limit;
  return options;
}

/// Runs as planned: all bytes are those of an unstreamed run, and the multiplies are as many as the plan says.
void expect_runs(const Network& network, const PlanResult& result, const std::string& name) {
  ASSERT_TRUE(result.faults.empty()) << name << ": " << result.faults[0].what;
  const RunResult run = run_plan(network, result.plan, {.check = RunCheck::tensors});
  ASSERT_FALSE(run.fault) << name << ": " << run.fault->what;
  if (!result.plan.streaming) return;
  EXPECT_NEAR(static_cast<double>(run.multiplies),
              result.plan.streaming->recomputed * static_cast<double>(run.multiplies_of_network),
              1e-6 * static_cast<double>(run.multiplies))
      << name;
}

TEST(PlanStreamRecompute, NetworksOfInt8RunInTheirPlans) {
  std::uint64_t again = 0;
  const std::uint64_t cases = testing::cases_of(120);
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    const Network network = testing::random_image_network(seed, testing::ImageNetwork::tflite_int8);
    const PlanResult result =
        make_plan(network.input, by_rows(seed % 2 == 0 ? 1.5 : 4, std::chrono::milliseconds(100)));
    expect_runs(network, result, std::to_string(seed));
    if (result.plan.streaming && result.plan.streaming->recomputed > 1) ++again;
  }
  EXPECT_GE(again, cases / 60);
}

struct Target {
  const char* model;
  double factor;
  Bytes once;  ///< No order has fewer live bytes if all is computed once.
  Bytes most;
};

TEST(PlanStreamRecompute, RealNetworksOfInt8NeedLess) {
  if (!testing::has_time()) GTEST_SKIP() << "takes seconds; STOWAGE_LONG=1 runs it";
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "models" / "tflite";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  for (const Target& target :
       {Target{"person_detect", 1.05, 9696, 9600}, Target{"mobilenet_v2_int8_224", 1.12, 96326, 80000}}) {
    const Network network = read_network(folder / (target.model + std::string(".tflite")));
    PlanOptions options = by_rows(target.factor, std::chrono::seconds(40));
    options.memories[0].capacity = target.most;  // ends the search
    const PlanResult result = make_plan(network.input, options);
    expect_runs(network, result, target.model);
    ASSERT_TRUE(is_streamed(result.plan));
    EXPECT_LT(result.plan.streaming->load, target.once) << target.model;
    EXPECT_LE(result.plan.summary.peak, target.most) << target.model;
  }
}

TEST(PlanStreamRecompute, MoreMultipliesNeverNeedMore) {
  testing::Random random(3);
  std::uint64_t falls = 0;
  const std::uint64_t cases = testing::has_time() ? 10 : 5;  // 2 and 4 fall
  for (std::uint64_t i = 0; i < cases; ++i) {
    const Network network = i % 2 == 0 ? testing::random_images(random)
                                       : testing::random_image_network(i, testing::ImageNetwork::tflite_int8);
    PlanOptions options = by_rows(3, std::chrono::seconds(60));
    options.solve.effort = 100;  // the same on a busy machine
    options.stream->recompute_from = 1;
    const PlanResult result = make_plan(network.input, options);
    ASSERT_TRUE(result.faults.empty()) << i << ": " << result.faults[0].what;
    if (!result.plan.streaming) continue;
    const std::vector<RecomputePoint>& curve = result.plan.streaming->curve;
    ASSERT_EQ(curve.size(), 6U);
    EXPECT_EQ(curve.front().limit, 1);
    EXPECT_EQ(curve.front().recomputed, 1);
    EXPECT_EQ(curve.back().limit, 3);
    EXPECT_EQ(curve.back().peak, result.plan.summary.peak);
    for (std::size_t k = 1; k < curve.size(); ++k) EXPECT_LE(curve[k].peak, curve[k - 1].peak) << i;
    falls += curve.back().peak < curve.front().peak ? 1 : 0;
    expect_runs(network, result, std::to_string(i));
  }
  EXPECT_GT(falls, 0U);
}

/// An attention of several heads, each an operator of its own, as exporters write it that unroll them.
Network heads(std::int64_t count, std::int64_t tokens) {
  testing::Random random(6);
  testing::ImageMaker maker(random);
  const std::int64_t width = 12;
  const Shape narrow{tokens, 4};
  const TensorId x = maker.add_tensor(TensorKind::input, {tokens, width});
  const auto product = [&](TensorId from, const Shape& shape) {
    return maker.apply("MatMul", {from, maker.weight({maker.shape(from)[1], shape[1]})}, shape);
  };
  std::optional<TensorId> sum;
  for (std::int64_t head = 0; head < count; ++head) {
    const TensorId q = product(x, narrow);
    const TensorId k = maker.apply("Transpose", {product(x, narrow)}, {4, tokens}, {{"perm", Shape{1, 0}}});
    const TensorId scores = maker.apply("MatMul", {q, k}, {tokens, tokens});
    const TensorId shares = maker.apply("Softmax", {scores}, {tokens, tokens});
    const TensorId mixed = maker.apply("MatMul", {shares, product(x, narrow)}, narrow);
    const TensorId part = product(mixed, {tokens, width});
    sum = sum ? maker.apply("Add", {*sum, part}, {tokens, width}) : part;
  }
  return maker.take(0);
}

TEST(PlanStreamRecompute, KeysAndValuesAreComputedAgainForTilesOfQueries) {
  const Network network = heads(4, 30);
  for (const std::int64_t granule : {1, 5}) {
    PlanOptions options = by_rows(1, testing::time_of(std::chrono::milliseconds(1000)));
    options.stream->granule = granule;
    options.stream->blocks = StreamBlocks::none;
    const PlanResult once = make_plan(network.input, options);
    expect_runs(network, once, std::to_string(granule));
    options.stream->recompute = 1.5;
    options.solve.time_limit = std::chrono::seconds(20);
    options.memories[0].capacity = once.plan.summary.peak - 1;  // ends the search
    const PlanResult again = make_plan(network.input, options);
    expect_runs(network, again, std::to_string(granule));
    EXPECT_LT(again.plan.summary.peak, once.plan.summary.peak) << granule;
    ASSERT_TRUE(is_streamed(again.plan)) << granule;
    EXPECT_GT(again.plan.streaming->recomputed, 1) << granule;
  }
}

PlanOptions with_effort(double recompute, double effort) {
  PlanOptions options = by_rows(recompute, {});
  options.solve.effort = effort;
  return options;
}

TEST(PlanStreamRecompute, EachFactorOfARangeHasTheWholeEffort) {
  testing::Random random(3);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const Network network = i % 2 == 0 ? testing::random_images(random)
                                       : testing::random_image_network(i, testing::ImageNetwork::tflite_int8);
    PlanOptions options = with_effort(2, 60);
    options.stream->recompute_from = 1;
    const Plan all = make_plan(network.input, options).plan;
    if (!all.streaming) continue;
    for (const RecomputePoint& point : all.streaming->curve) {
      const Plan alone = make_plan(network.input, with_effort(point.limit, 60)).plan;
      EXPECT_LE(point.peak, alone.summary.peak) << i << ", " << point.limit;
      EXPECT_LE(point.recomputed, point.limit);
    }
  }
}

/// A search that ends by itself without rows computed again is also part of one with them.
TEST(PlanStreamRecompute, MultipliesThatThePeakDoesNotNeedAreNotRun) {
  testing::Random random(3);
  std::uint64_t equal = 0;
  for (std::uint64_t i = 0; i < testing::cases_of(5); ++i) {
    const Network network = i % 2 == 0 ? testing::random_images(random)
                                       : testing::random_image_network(i, testing::ImageNetwork::tflite_int8);
    const Plan once = make_plan(network.input, with_effort(1, 1000)).plan;
    const Plan again = make_plan(network.input, with_effort(1.5, 3000)).plan;
    if (once.interrupted) continue;
    EXPECT_LE(again.summary.peak, once.summary.peak) << i;
    if (again.summary.peak < once.summary.peak || !again.streaming) continue;
    EXPECT_EQ(again.streaming->recomputed, 1) << i;
    ++equal;
  }
  EXPECT_GT(equal, 0U);
}

TEST(PlanStreamRecompute, ARangeOfFactorsIsInOrder) {
  testing::Random random(4);
  const Network network = testing::random_images(random);
  PlanOptions options = by_rows(1.5, std::chrono::milliseconds(100));
  options.stream->recompute_from = 1.6;
  EXPECT_THROW((void)make_plan(network.input, options), UsageError);
  options.stream->recompute_from = 0.5;
  EXPECT_THROW((void)make_plan(network.input, options), UsageError);
}

}  // namespace
}  // namespace stowage
