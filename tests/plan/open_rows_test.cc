// Plans by rows for every length of an open axis: at each length against the checker and the runner, and their C.

#include "stowage/open_rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "c_packages.h"
#include "long_tests.h"
#include "networks_over_time.h"
#include "onnx_models.h"
#include "plan/step_counts.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "temporary.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::NetworkOverTime;
using testing::node;

PlanOptions by_rows() {
  PlanOptions options;
  options.solve.effort = 500;
  options.io = Io::rows;
  options.stream.emplace();
  return options;
}

ReadAtSize reader_of(const NetworkOverTime& network) {
  return [&network](std::int64_t length) { return network.at(length).input; };
}

/// A network of these operators over x [1, 2, n].
ReadAtSize reader_of(const std::vector<onnx::NodeProto>& nodes,
                     const std::vector<onnx::TensorProto>& weights = {}) {
  const std::string model = testing::onnx_model({.nodes = nodes,
                                                 .inputs = {testing::tensor_value("x", {1, 2, "n"})},
                                                 .outputs = {testing::untyped_value("y")},
                                                 .initializers = weights})
                                .SerializeAsString();
  return [model](std::int64_t length) {
    return parse_network(model, "net.onnx", {.dims = {{"n", length}}}).input;
  };
}

TEST(StepCounts, AreQuotientsOfSizes) {
  const std::vector<StepCount> all{{1, 0, 1}, {1, -2, 1}, {1, 1, 2}, {1, -9, 2},
                                   {2, 2, 1}, {3, 5, 4},  {0, 7, 1}, {1, 3, 128}};
  for (const StepCount& count : all) {
    std::map<std::int64_t, std::int64_t> known;
    for (std::int64_t size = 9; size < 300; size += size < 40 ? 1 : 37) known[size] = steps_at(count, size);
    const auto found = plan::step_count_of(known);
    ASSERT_TRUE(found) << count.times << " " << count.plus << " " << count.over;
    for (const auto& [size, steps] : known) EXPECT_EQ(steps_at(*found, size), steps);
    EXPECT_LE(found->over, count.over);
  }
  // twice the half of an odd number is no quotient of it
  EXPECT_FALSE(plan::step_count_of({{4, 4}, {5, 4}, {6, 6}, {7, 6}, {8, 8}, {9, 8}}));
  EXPECT_EQ(plan::step_count_of({{4, 4}, {6, 6}, {8, 8}}), (StepCount{1, 0, 1}));
}

/// Each plan is checked at all lengths when it is found. Here it is run, and must be the plan itself at its own length.
TEST(OpenRows, RunAtEveryLength) {
  const std::uint64_t cases = testing::is_in_a_hurry() ? 12 : testing::has_time() ? 60 : 24;
  const std::int64_t most = 40;
  int found_ones = 0;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    const NetworkOverTime network(seed);
    const FoundOpenRows found = find_open_rows({"n", 1, most, 1}, reader_of(network), by_rows());
    if (!found.planned) continue;
    ++found_ones;
    const Plan& plan = found.planned->plan;
    EXPECT_TRUE(found.report.is_every_size) << seed;
    EXPECT_EQ(found.rows.at, most);
    Plan own = plan_at(plan, found.rows, most, network.at(most).graph());
    EXPECT_EQ(own.clocks, plan.clocks) << seed;
    EXPECT_EQ(own.places, plan.places) << seed;
    EXPECT_EQ(own.tensors, plan.tensors) << seed;
    for (std::int64_t length = 1; length <= most; length += length < 12 ? 1 : 7) {
      std::vector<Network> at;
      try {
        at.push_back(network.at(length));
      } catch (const Error&) {  // too short for its windows
        continue;
      }
      const Plan there = plan_at(plan, found.rows, length, at[0].graph());
      EXPECT_LE(there.summary.peak, plan.summary.peak) << seed << " at " << length;
      const RunResult run =
          run_plan(at, there, {.kernels = KernelSet::plain, .check = RunCheck::tensors, .seed = seed});
      EXPECT_FALSE(run.fault) << seed << " at " << length << ": " << (run.fault ? run.fault->what : "");
      const bool has_sums = network.model().find("GlobalAveragePool") != std::string::npos;
      EXPECT_TRUE(!run.largest_difference || (has_sums && *run.largest_difference < 1e-5))
          << seed << " at " << length;
    }
  }
  EXPECT_GT(found_ones, static_cast<int>(cases) * 3 / 4);
}

/// The peak does not grow with the range, and a length of a day of audio is as cheap as one of a second.
TEST(OpenRows, NeedNoMoreForLongerRanges) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    const NetworkOverTime network(seed);
    const auto peak_up_to = [&](std::int64_t most) {
      const FoundOpenRows found = find_open_rows({"n", 64, most, 1}, reader_of(network), by_rows());
      EXPECT_TRUE(found.planned) << found.why_not;
      EXPECT_EQ(found.report.is_every_size, most < 300);
      return found.planned ? found.planned->plan.summary.peak : 0;
    };
    const Bytes peak = peak_up_to(200);
    EXPECT_EQ(peak_up_to(100'000'000), peak) << seed;
  }
}

TEST(OpenRows, SayWhichOperatorNeedsAllRows) {
  struct Case {
    ReadAtSize read;
    std::string says;
  };
  const auto axis = [](std::int64_t it) { return testing::NodeAttributes{attribute("axis", it)}; };
  const std::vector<Case> cases{
      {reader_of({node("Softmax", {"x"}, {"y"}, axis(2))}), "Softmax"},
      {reader_of({node("GlobalAveragePool", {"x"}, {"m"}), node("Mul", {"x", "m"}, {"y"})}), "(Mul"},
      {reader_of({node("Transpose", {"x"}, {"t"}, {attribute("perm", std::vector<std::int64_t>{0, 2, 1})}),
                  node("MatMul", {"t", "x"}, {"y"})}),
       "several axes"}};
  for (const Case& it : cases) {
    const FoundOpenRows found = find_open_rows({"n", 1, 50, 1}, it.read, by_rows());
    EXPECT_FALSE(found.planned);
    EXPECT_NE(found.why_not.find(it.says), std::string::npos) << found.why_not;
  }
}

/// Twice the half of a length is no quotient of it, but steps of two leave nothing to round.
TEST(OpenRows, AskForStepsWhereRowsAreRounded) {
  std::vector<onnx::TensorProto> weights{testing::zeros("v", {2, 2, 2}), testing::zeros("w", {2, 2, 2})};
  const auto strides = [] { return attribute("strides", std::vector<std::int64_t>{2}); };
  const ReadAtSize read = reader_of(
      {node("Conv", {"x", "v"}, {"h"}, {strides()}), node("ConvTranspose", {"h", "w"}, {"y"}, {strides()})},
      weights);
  const FoundOpenRows any = find_open_rows({"n", 2, 60, 1}, read, by_rows());
  EXPECT_FALSE(any.planned);
  EXPECT_NE(any.why_not.find("a range in steps may help"), std::string::npos) << any.why_not;
  const FoundOpenRows even = find_open_rows({"n", 2, 60, 2}, read, by_rows());
  EXPECT_TRUE(even.planned) << even.why_not;
}

TEST(OpenRows, AreReadAsTheyAreWritten) {
  const NetworkOverTime network(1);
  const FoundOpenRows found = find_open_rows({"n", 8, 48, 1}, reader_of(network), by_rows());
  ASSERT_TRUE(found.planned) << found.why_not;
  std::ostringstream out;
  write_json(found.planned->plan, found.rows, out);
  EXPECT_EQ(parse_open_rows(out.str()), found.rows);
  EXPECT_EQ(parse_plan(out.str()), found.planned->plan);
  std::ostringstream without;
  write_json(found.planned->plan, without);
  EXPECT_FALSE(parse_open_rows(without.str()));
  EXPECT_THROW((void)plan_at(found.planned->plan, found.rows, 49, network.at(49).graph()), UsageError);
}

/// What is wrong with a plan at other lengths is found there.
TEST(OpenRows, AreCheckedAtOtherLengths) {
  const NetworkOverTime network(1);
  const FoundOpenRows found = find_open_rows({"n", 8, 48, 1}, reader_of(network), by_rows());
  ASSERT_TRUE(found.planned) << found.why_not;
  OpenRowsReport report;
  EXPECT_TRUE(check_open_rows(found.planned->plan, found.rows, reader_of(network), report).empty());
  EXPECT_EQ(report.checked, 41);
  for (std::size_t i = 0; i < found.rows.steps.size(); ++i) {
    if (!found.rows.steps[i]) continue;
    OpenRows wrong = found.rows;
    wrong.steps[i]->plus += wrong.steps[i]->over;
    EXPECT_FALSE(check_open_rows(found.planned->plan, wrong, reader_of(network), report).empty()) << i;
  }
  for (std::size_t b = 0; b < found.planned->plan.buffers.size(); ++b) {
    Plan less = found.planned->plan;
    less.buffers[b].size -= less.buffers[b].alignment;
    EXPECT_FALSE(check_open_rows(less, found.rows, reader_of(network), report).empty()) << b;
  }
}

TEST(OpenRows, AreTheSameInC) {
  const std::uint64_t cases = testing::is_in_a_hurry() ? 6 : testing::has_time() ? 24 : 8;
  const testing::TemporaryDirectory directory;
  testing::Packages packages(directory.path());
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    const NetworkOverTime network(seed);
    const auto read = [&](std::int64_t length) {
      Network at = network.at(length);
      add_scratch_of_kernels(at, CKernels::portable, true);
      run_carriers_whole(at);
      return at;
    };
    const FoundOpenRows found = find_open_rows(
        {"n", 1, 1000, 1}, [&](std::int64_t length) { return read(length).input; }, by_rows());
    if (!found.planned) continue;
    const std::string name = "net" + std::to_string(seed);
    packages.add(name, generate_package(found.planned->plan, found.rows, read, {.name = name, .seed = seed}));
  }
  EXPECT_GT(packages.count(), cases / 2);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace stowage
