// A limit in work instead of time: the same plan with any number of threads, also on a busy machine, byte by
// byte; a plan with no work at all; and limits that mean what they say.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/deadline.h"
#include "image_networks.h"
#include "long_tests.h"
#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "problems.h"
#include "row_sketch.h"
#include "stowage/export.h"
#include "stowage/planner.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using base::Deadline;
using Seconds = Deadline::Seconds;
using testing::offsets_of;

TEST(Deadline, CountsWorkInsteadOfTime) {
  const Deadline deadline = Deadline::after_work(Seconds(1));
  const Deadline half = deadline.part(0.5);
  deadline.spend(400'000'000);
  EXPECT_DOUBLE_EQ(half.left().count(), 0.1) << "copies share the clock";
  EXPECT_FALSE(half.is_over());
  half.spend(100'000'000);
  EXPECT_TRUE(half.is_over());
  EXPECT_FALSE(deadline.is_over());
  EXPECT_DOUBLE_EQ(deadline.within(Seconds(0.2)).left().count(), 0.2);
  EXPECT_DOUBLE_EQ(deadline.within(Seconds(2)).left().count(), 0.5);
  EXPECT_DOUBLE_EQ(half.later_by(Seconds(0.3)).left().count(), 0.3);
  const Deadline apart = deadline.apart();
  apart.spend(1'000'000'000);
  EXPECT_TRUE(apart.is_over());
  EXPECT_DOUBLE_EQ(deadline.left().count(), 0.5);
  std::stop_source source;
  const Deadline stopped = Deadline::after_work(Seconds(1), source.get_token());
  source.request_stop();
  EXPECT_TRUE(stopped.is_over());
  EXPECT_TRUE(Deadline::after_work(Seconds(0)).is_over());
  EXPECT_FALSE(Deadline(Seconds(1000)).counts_work());
}

TEST(Deadline, ASliceDividesItsOwnTime) {
  const Deadline deadline = Deadline::after_work(Seconds(1));
  const Deadline slice = deadline.slice(Seconds(3));
  EXPECT_DOUBLE_EQ(slice.left().count(), 3);
  EXPECT_DOUBLE_EQ(slice.part(0.5).left().count(), 1.5);
  EXPECT_DOUBLE_EQ(slice.slice(Seconds(2)).left().count(), 2);
  deadline.spend(999'000'000);
  EXPECT_FALSE(slice.part(0.5).is_over());
  deadline.spend(1'000'000);
  EXPECT_TRUE(slice.is_over()) << "it ends with the deadline that it is from";
  EXPECT_TRUE(slice.part(0.5).is_over());
  EXPECT_TRUE(slice.slice(Seconds(2)).is_over());
  EXPECT_DOUBLE_EQ(slice.left().count(), 0);
  EXPECT_FALSE(slice.later_by(Seconds(0.1)).is_over());
  const Deadline other = Deadline::after_work(Seconds(1));
  const Deadline early = other.slice(Seconds(0.2));
  other.spend(200'000'000);
  EXPECT_TRUE(early.is_over());
  EXPECT_FALSE(other.is_over());
  EXPECT_NEAR(Deadline().slice(Seconds(200)).part(0.5).slice(Seconds(4000)).left().count(), 4000, 50)
      << "without a limit, real time counts";
}

/// Threads that keep all processors busy.
class Load {
 public:
  Load() {
    for (int t = 0; t < 3; ++t) {
      threads_.emplace_back([this] {
        while (!is_over_) ++turns_;
      });
    }
  }
  ~Load() { is_over_ = true; }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

 private:
  std::atomic<bool> is_over_ = false;
  std::atomic<std::uint64_t> turns_ = 0;
  std::vector<std::jthread> threads_;
};

/// Few of them are searched one after the other, many side by side; pieces and pins for some.
Problem tight_problem(std::size_t buffers, bool is_mixed) {
  return oracle::random_problem(7, {.buffers = buffers,
                                    .positions = static_cast<Position>(buffers / 2),
                                    .longest_life = 30,
                                    .largest_size = 100,
                                    .largest_alignment = is_mixed ? 8 : 1,
                                    .percent_with_pieces = is_mixed ? 10 : 0,
                                    .percent_pinned = is_mixed ? 1 : 0});
}

void expect_equal(const Solution& one, const Solution& other) {
  EXPECT_EQ(one.places, other.places);
  EXPECT_EQ(one.strategy, other.strategy);
  EXPECT_EQ(one.tuning, other.tuning);
  EXPECT_EQ(one.interrupted, other.interrupted);
  EXPECT_EQ(one.lower_bound, other.lower_bound);
}

TEST(Effort, ThreadsAndLoadDoNotChangeThePlan) {
  std::size_t interrupted = 0;
  for (const std::size_t buffers : {90U, 1200U}) {
    for (const bool is_mixed : {false, true}) {
      const Problem problem = tight_problem(buffers, is_mixed);
      for (const std::int64_t effort : {2, 20, 60}) {
        if (effort == 60 && testing::is_in_a_hurry()) continue;
        SCOPED_TRACE(std::to_string(buffers) + (is_mixed ? " mixed" : " plain") + " with " +
                     std::to_string(effort));
        const Solution first = solve(problem, {.effort = effort, .threads = 1});
        const auto fault = oracle::fault_of(problem, offsets_of(first.places));
        EXPECT_FALSE(fault) << *fault;
        interrupted += first.interrupted ? 1 : 0;
        expect_equal(first, solve(problem, {.effort = effort, .threads = 3}));
        const Load load;
        expect_equal(first, solve(problem, {.effort = effort, .threads = 2}));
      }
    }
  }
  EXPECT_GT(interrupted, testing::is_in_a_hurry() ? 4U : 6U) << "the efforts are too large to test anything";
}

TEST(Effort, EveryStrategyEndsTheSame) {
  for (const std::size_t buffers : {90U, 1200U}) {
    const Problem problem = tight_problem(buffers, false);
    for (const StrategyInfo& strategy : strategies()) {
      if (obstacle_to(strategy.name, problem)) continue;
      SCOPED_TRACE(strategy.name);
      const SolveOptions options{.strategy = std::string(strategy.name), .effort = 15, .threads = 1};
      SolveOptions with_threads = options;
      with_threads.threads = 4;
      expect_equal(solve(problem, options), solve(problem, with_threads));
    }
  }
}

TEST(Effort, SeveralMemoriesToo) {
  Problem problem = tight_problem(60, false);
  problem.memories = {{.name = "fast", .capacity = 600}, {.name = "slow", .cost = 10}};
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) problem.buffers[b].traffic = 10 + b % 7;
  const Solution first = solve(problem, {.effort = 20, .threads = 1});
  const Load load;
  expect_equal(first, solve(problem, {.effort = 20, .threads = 3}));
}

TEST(Effort, NoneIsEnoughForAPlan) {
  for (const std::size_t buffers : {40U, 1500U}) {
    const Problem problem = tight_problem(buffers, true);
    const Solution solution = solve(problem, {.effort = 0});
    const auto fault = oracle::fault_of(problem, offsets_of(solution.places));
    EXPECT_FALSE(fault) << *fault;
    EXPECT_TRUE(solution.interrupted);
  }
}

/// Chains side by side, so that their order matters.
std::string network() {
  std::ostringstream text;
  text << R"({"format":"stowage-graph","version":1,"name":"chains","tensors":[{"name":"in","bytes":4096})";
  for (int chain = 0; chain < 6; ++chain) {
    for (int op = 0; op < 6; ++op)
      text << R"(,{"name":"t)" << chain << op << R"(","bytes":)" << 64 * (1 + (chain * 7 + op * 5) % 11)
           << "}";
  }
  text
      << R"(,{"name":"out","bytes":64}],"subgraphs":[{"name":"main","inputs":["in"],"outputs":["out"],"operators":[)";
  for (int chain = 0; chain < 6; ++chain) {
    for (int op = 0; op < 6; ++op) {
      text << R"({"name":"o)" << chain << op << R"(","type":"Op","inputs":[")";
      text << (op == 0 ? std::string("in") : "t" + std::to_string(chain) + std::to_string(op - 1));
      text << R"("],"outputs":["t)" << chain << op << R"("]},)";
    }
  }
  text
      << R"({"name":"last","type":"Op","inputs":["t05","t15","t25","t35","t45","t55"],"outputs":["out"]}]}]})";
  return text.str();
}

std::string plan_of(const Input& input, const SolveOptions& solve) {
  PlanOptions options;
  options.solve = solve;
  PlanResult result = make_plan(input, options);
  EXPECT_TRUE(result.faults.empty());
  std::ostringstream out;
  write_json(result.plan, out);
  return out.str();
}

TEST(Effort, PlansOfNetworksAreEqualByteByByte) {
  const Input input = parse_input(network(), "network.json");
  for (const std::int64_t effort : {0, 1, 30}) {
    const std::string first = plan_of(input, {.effort = effort, .threads = 1});
    EXPECT_EQ(first, plan_of(input, {.effort = effort, .threads = 4}));
    const Load load;
    EXPECT_EQ(first, plan_of(input, {.effort = effort, .threads = 2}));
  }
}

TEST(Effort, IsSpentAndNotMuchMore) {
  const Problem problem = tight_problem(1200, true);
  Input input{.info = {.name = "list", .source = "list.csv", .format = ModelFormat::csv}, .content = problem};
  PlanOptions options;
  options.solve.effort = 200;
  const PlanResult result = make_plan(input, options);
  EXPECT_TRUE(result.plan.interrupted);
  EXPECT_GE(result.plan.summary.seconds, 0.19);
  EXPECT_LE(result.plan.summary.seconds, 0.4);
}

/// The searches of streams count their work, too: axes, blocks, regions, bounds, detours, recomputed rows.
TEST(Effort, PlansOfRowsAreEqualByteByByte) {
  testing::Random random(3);
  int streamed = 0;
  for (int i = 0; i < 6; ++i) {
    const Network network = testing::random_images(random);
    for (const std::int64_t effort : {5, 80}) {
      PlanOptions options;
      options.io = i % 2 == 0 ? Io::rows : Io::arena;
      options.stream = StreamOptions{.recompute = i % 3 == 0 ? 1.3 : 1.0};
      options.solve = {.effort = effort, .threads = 1};
      const auto text = [&] {
        const PlanResult result = make_plan(network.input, options);
        EXPECT_TRUE(result.faults.empty()) << result.faults[0].what;
        streamed += result.plan.streaming ? 1 : 0;
        std::ostringstream out;
        write_json(result.plan, out);
        return out.str();
      };
      const std::string first = text();
      options.solve.threads = 3;
      const Load load;
      EXPECT_EQ(first, text()) << i << " with " << effort;
    }
  }
  EXPECT_GT(streamed, 6);
}

/// Networks of so many rows that a search takes seconds have rows at once, several to a step.
TEST(Effort, ALittleOfItIsEnoughForRows) {
  cases::RowSketch sketch;
  TensorId x = sketch.input("x", {6000, 8});
  for (int i = 0; i < 40; ++i) {
    sketch.add("Conv", {x}, {6000, 8}).row_axes = {
        {.axis = 0, .reads = {{.rows = {.offset = -1, .taps = 3}}}, .is_windows = true}};
    x = sketch.last();
  }
  sketch.finish();
  const Input input{.info = {.name = "net", .source = "net.json", .format = ModelFormat::json},
                    .content = sketch.graph};
  PlanOptions options;
  options.stream.emplace();
  Bytes before = 0;
  for (const std::int64_t effort : {150, 2000}) {
    options.solve = {.effort = effort, .threads = 1};
    const PlanResult result = make_plan(input, options);
    EXPECT_TRUE(result.faults.empty()) << result.faults[0].what;
    ASSERT_TRUE(is_streamed(result.plan));
    EXPECT_GT(result.plan.streaming->granule, 1);
    std::int64_t most = 0;
    for (const Step& step : result.plan.clocks[0].steps) {
      const auto* const run = std::get_if<stowage::Run>(&step);
      if (run != nullptr && run->rows && run->rows->end - run->rows->begin < 6000)
        most = std::max(most, run->rows->end - run->rows->begin);
    }
    EXPECT_EQ(most, result.plan.streaming->granule);
    const bool says_so = left_out(result.plan, Wish::granule) != nullptr;
    EXPECT_TRUE(says_so) << "it may be lower with fewer rows in a step";
    EXPECT_TRUE(before == 0 || result.plan.summary.peak < before) << before;
    before = result.plan.summary.peak;
  }
}

/// Searches say what they have found themselves; in front of that is the peak of the plan so far.
TEST(Progress, SaysTheBestPlanByRowsSoFar) {
  testing::Random random(5);
  const Network network = testing::random_images(random);
  PlanOptions options;
  options.io = Io::rows;
  options.stream.emplace();
  options.solve.effort = 2000;
  std::mutex mutex;
  std::vector<Bytes> peaks;
  options.solve.progress = [&](std::string_view what, double /*fraction*/) {
    const std::scoped_lock lock(mutex);
    if (what.starts_with("so far ")) peaks.push_back(std::stoll(std::string(what.substr(7))));
  };
  const Plan plan = make_plan(network.input, options).plan;
  ASSERT_FALSE(peaks.empty());
  EXPECT_TRUE(std::ranges::is_sorted(peaks, std::greater()));
  EXPECT_LT(peaks.back(), peaks.front());
  EXPECT_GE(peaks.back(), plan.summary.peak);
}

}  // namespace
}  // namespace stowage
