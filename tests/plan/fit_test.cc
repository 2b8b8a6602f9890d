// The largest size that fits: what the search says equals a search over all sizes.

#include "stowage/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "onnx_models.h"
#include "stowage/error.h"
#include "stowage/frontier.h"
#include "stowage/network.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::node;
using testing::onnx_model;
using testing::tensor_value;
using testing::untyped_value;

/// One and eight channels, one after the other: that needs no copy where n is a multiple of 16.
onnx::ModelProto joined_channels() {
  const auto axis = [](std::int64_t number) { return attribute("axis", number); };
  return onnx_model(
      {.nodes = {node("Softmax", {"x"}, {"a"}, {axis(2)}), node("MatMul", {"w", "x"}, {"b"}),
                 node("Concat", {"a", "b"}, {"c"}, {axis(1)}), node("ReduceMean", {"c"}, {"y"})},
       .inputs = {tensor_value("x", {1, 1, "n"})},
       .outputs = {untyped_value("y")},
       .initializers = {testing::zeros("w", {8, 1})}});
}

ReadWithSize reader_of(const onnx::ModelProto& model) {
  return [content = model.SerializeAsString()](const GivenSize& size) {
    return parse_input(content, "net.onnx", {.dims = {{"n", size}}});
  };
}

PlanOptions within(Bytes capacity) {
  PlanOptions options;
  options.memories[0].capacity = capacity;
  options.solve.effort = 60;
  return options;
}

bool fits(const ReadWithSize& read, const GivenSize& size, const PlanOptions& options) {
  return make_plan(read(size), options).outcome == Outcome::fits;
}

TEST(FitSize, EqualsASearchOverAllSizes) {
  const ReadWithSize read = reader_of(joined_channels());
  for (const std::int64_t step : {1, 3}) {
    for (Bytes capacity = 600; capacity <= 6000; capacity += 450) {
      const PlanOptions options = within(capacity);
      const GivenSize range(1, 1 + 120 * step, step);
      std::int64_t largest = 0;
      for (std::int64_t n = 1; n <= range.most; n += step) {
        if (fits(read, {1, n, step}, options)) largest = n;
      }
      const SizeFit fit = fit_size(read, range, options);
      EXPECT_EQ(fit.largest.value_or(0), largest) << capacity << " bytes, steps of " << step;
      EXPECT_LE(fit.plans, 15);
      for (const std::int64_t n : fit.larger) {
        EXPECT_GT(n, largest);
        EXPECT_TRUE(fits(read, {n, n}, options)) << n;
      }
      if (fit.next && !fit.next->fits && fit.next->lower_bound > capacity) {
        EXPECT_FALSE(fits(read, {largest + step, largest + step}, options));
      }
    }
  }
}

/// Peaks fall where a copy becomes free.
TEST(FitSize, NamesLargerSizesThatFitAlone) {
  const ReadWithSize read = reader_of(joined_channels());
  const Bytes at_48 = make_plan(read({48, 48}), within(1'000'000)).plan.summary.peak;
  const SizeFit fit = fit_size(read, {1, 4096}, within(at_48));
  ASSERT_TRUE(fit.largest);
  EXPECT_LT(*fit.largest, 48);  // 48 floats: the channels join without a copy
  EXPECT_NE(std::ranges::find(fit.larger, 48), fit.larger.end());
  EXPECT_GE(fit.last_single, 48);
}

TEST(FitSize, EndsWithTheRange) {
  const ReadWithSize read = reader_of(joined_channels());
  const SizeFit all = fit_size(read, {1, 64}, within(1'000'000));
  EXPECT_EQ(all.largest, 64);
  EXPECT_FALSE(all.next);
  const SizeFit none = fit_size(read, {1, 64}, within(1));
  EXPECT_FALSE(none.largest);
  ASSERT_TRUE(none.next);
  EXPECT_EQ(none.next->size, 1);
}

/// What the model rejects does not fit, and the reason is kept.
TEST(FitSize, EndsWhereTheModelRejects) {
  const onnx::ModelProto model =
      onnx_model({.nodes = {node("Slice", {"table", "zero", "m", "zero"}, {"rows"}),
                            node("Shape", {"x"}, {"m"}), node("Add", {"rows", "x"}, {"y"})},
                  .inputs = {tensor_value("x", {"n"})},
                  .outputs = {untyped_value("y")},
                  .initializers = {testing::zeros("table", {77}), testing::vector_of("zero", {0})}});
  const SizeFit fit = fit_size(reader_of(model), {1, 4096}, within(1'000'000));
  EXPECT_EQ(fit.largest, 77);
  ASSERT_TRUE(fit.next);
  EXPECT_NE(fit.next->rejected.find("cannot broadcast"), std::string::npos) << fit.next->rejected;
}

TEST(FitSize, ThrowsIfTheSmallestIsRejected) {
  const ReadWithSize read = [](const GivenSize&) -> Input { throw Error("tensor 'x'", "is wrong"); };
  EXPECT_THROW((void)fit_size(read, {1, 9}, within(64)), Error);
}

/// Two convolutions over n rows, of which the first widens the channels.
std::string widened_windows() {
  return onnx_model({.nodes = {node("Conv", {"x", "wide"}, {"a"}), node("Relu", {"a"}, {"b"}),
                               node("Conv", {"b", "narrow"}, {"c"}), node("GlobalAveragePool", {"c"}, {"y"})},
                     .inputs = {tensor_value("x", {1, 2, "n", 8})},
                     .outputs = {untyped_value("y")},
                     .initializers = {testing::zeros("wide", {16, 2, 3, 3}),
                                      testing::zeros("narrow", {2, 16, 3, 3})}})
      .SerializeAsString();
}

/// Operators with open sizes run as wholes, so a size that fits by rows has a plan for it alone.
TEST(FitSize, ByRowsIsOfPlansByRows) {
  const std::string content = widened_windows();
  const ReadWithSize read = [&](const GivenSize& size) {
    return parse_network(content, "net.onnx", {.dims = {{"n", size}}}).input;
  };
  const GivenSize range(5, 400);
  PlanOptions options = within(6000);
  const SizeFit whole = fit_size(read, range, options);
  ASSERT_TRUE(whole.largest);
  EXPECT_FALSE(whole.is_alone);
  EXPECT_FALSE(whole.by_rows);
  options.stream.emplace();
  const SizeFit rows = fit_size(read, range, options);
  ASSERT_TRUE(rows.largest);
  EXPECT_TRUE(rows.is_alone);
  EXPECT_TRUE(rows.by_rows);
  EXPECT_TRUE(rows.larger.empty());
  EXPECT_GT(*rows.largest, *whole.largest + 1);
  EXPECT_LT(*rows.largest, range.most);
  const PlanResult result = make_plan(read({*rows.largest, *rows.largest}), options);
  EXPECT_EQ(result.outcome, Outcome::fits);
  EXPECT_TRUE(is_streamed(result.plan));
  EXPECT_TRUE(rows.next || rows.is_cut_short);
}

/// All plans share the time: without any there is one plan, and what is missing is said.
TEST(FitSize, MakesOnePlanWithoutTime) {
  PlanOptions options = within(4000);
  options.solve.effort.reset();
  options.solve.time_limit = std::chrono::seconds(0);
  const ReadWithSize read = reader_of(joined_channels());
  EXPECT_GT(fit_size(read, {1, 4096}, within(4000)).plans, 1);
  for (const bool by_rows : {false, true}) {
    if (by_rows) options.stream.emplace();
    const SizeFit fit = fit_size(read, {1, 4096}, options);
    EXPECT_EQ(fit.plans, 1);
    EXPECT_EQ(fit.largest, 1);
    EXPECT_FALSE(fit.next);
    EXPECT_TRUE(fit.is_cut_short);
    EXPECT_FALSE(fit.interrupted);
  }
}

/// A reading takes longer than all the time: after the first plan there is no other.
TEST(FitSize, SharesTheTimeWithReading) {
  const ReadWithSize read_model = reader_of(joined_channels());
  int readings = 0;
  PlanOptions options = within(4000);
  options.solve.effort.reset();
  options.solve.time_limit = std::chrono::milliseconds(5);
  const ReadWithSize read = [&](const GivenSize& size) {
    ++readings;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return read_model(size);
  };
  EXPECT_TRUE(fit_size(read, {1, 4096}, options).is_cut_short);
  EXPECT_EQ(readings, 1);
}

/// The oracle: every pair of sizes of a small grid.
TEST(FitFrontier, EqualsASearchOverAllPairs) {
  const std::string content =
      onnx_model({.nodes = {node("Softmax", {"x"}, {"a"}), node("MatMul", {"a", "w"}, {"b"}),
                            node("Relu", {"b"}, {"y"})},
                  .inputs = {tensor_value("x", {"b", "n", 4})},
                  .outputs = {untyped_value("y")},
                  .initializers = {testing::zeros("w", {4, 12})}})
          .SerializeAsString();
  const ReadWithTwoSizes read = [&](std::int64_t first, const GivenSize& second) {
    return parse_input(content, "net.onnx", {.dims = {{"b", first}, {"n", second}}});
  };
  const PlanOptions options = within(4000);
  const std::vector<std::int64_t> firsts{1, 2, 3, 5, 8, 50, 63, 70};
  const std::vector<FrontierRow> rows = fit_frontier(read, firsts, {1, 64}, options);
  ASSERT_FALSE(rows.empty());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    EXPECT_EQ(rows[r].first, firsts[r]);
    std::int64_t largest = 0;
    for (std::int64_t n = 1; n <= 64; ++n)
      if (make_plan(read(firsts[r], {1, n}), options).outcome == Outcome::fits) largest = n;
    EXPECT_EQ(rows[r].fit.largest.value_or(0), largest) << "b=" << firsts[r];
    EXPECT_TRUE(rows[r].fit.larger.empty());
  }
  EXPECT_FALSE(rows.back().fit.largest) << "it ends at the first that does not fit";
  EXPECT_LT(rows.size(), firsts.size());
}

TEST(FitFrontier, EndsWithTheTime) {
  PlanOptions options = within(4000);
  options.solve.effort.reset();
  options.solve.time_limit = std::chrono::seconds(0);
  const ReadWithSize read = reader_of(joined_channels());
  const std::vector<std::int64_t> firsts{1, 2, 3};
  const std::vector<FrontierRow> rows =
      fit_frontier([&](std::int64_t, const GivenSize& size) { return read(size); }, firsts, {1, 64}, options);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_TRUE(rows[0].fit.is_cut_short);
}

TEST(PeaksAt, AreThoseOfPlans) {
  const ReadWithSize read = reader_of(joined_channels());
  const std::vector<std::int64_t> sizes{1, 16, 31, 32};
  const std::vector<SizedPeak> peaks = peaks_at(read, sizes, within(1'000'000));
  ASSERT_EQ(peaks.size(), sizes.size());
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    EXPECT_EQ(peaks[s].size, sizes[s]);
    EXPECT_EQ(peaks[s].peak, make_plan(read({sizes[s], sizes[s]}), within(1'000'000)).plan.summary.peak);
  }
}

}  // namespace
}  // namespace stowage
