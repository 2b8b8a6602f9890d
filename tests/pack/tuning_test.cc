// What `rectangle` says of its tuning: goal, round and risks, by hand and against a naive recount.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <sstream>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "long_tests.h"
#include "oracle/random_problem.h"
#include "pack/patents/rectangle_tuner.h"
#include "pack/sort_order.h"
#include "problems.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/planner.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {
namespace {

using testing::pinned;
using testing::problem_of;
using testing::whole;

Solution rectangle_of(const Problem& problem, SolveOptions options = {}) {
  options.strategy = "rectangle";
  return solve(problem, options);
}

Tuning tuning_by(const Problem& problem, const SolveOptions& options) {
  const auto tuning = rectangle_of(problem, options).tuning;
  EXPECT_TRUE(tuning.has_value());
  return tuning.value_or(Tuning{});
}

/// By size: a at 0, c above it at 3, e at 0, and f, which meets c and e, at 5. It ends at 7, and max load
/// is 6, which c, e and f reach if they are placed first. So f, c and e are high, m is medium, a and l meet
/// high ones, g is alone.
Problem one_that_sticks_out() {
  return problem_of({whole("a", 3, 0, 2), whole("c", 2, 1, 4), whole("e", 2, 3, 6), whole("f", 2, 3, 4),
                     whole("l", 1, 5, 7), whole("g", 1, 10, 12), whole("m", 6, 20, 21)});
}

/// a does not fit below p, which is pinned, and ends at 5, above max load; b and c are far away. By rising
/// size the order is b, a, c. Round 1 puts the high a first, round 2 the groups that reach highest: a, c, b.
Problem one_above_a_pin() {
  return problem_of({pinned(whole("p", 2, 0, 4), 1), whole("b", 1, 10, 11), whole("a", 2, 1, 3),
                     whole("c", 2, 20, 21), whole("never alive", 4, 9, 9)});
}

// The goals, by hand.

TEST(Tuning, TheSortedPlacingMayReachTheThreshold) {
  // b reaches max load, which a, b and c share; d meets c only.
  const Problem problem = problem_of({whole("a", 4, 0, 4), whole("b", 2, 2, 6), whole("c", 1, 5, 9),
                                      whole("d", 1, 8, 9), whole("e", 1, 20, 21)});
  const Tuning expected{.sort = "size", .end = TuningEnd::threshold, .medium = 3, .low = 1, .none = 1};
  EXPECT_EQ(tuning_by(problem, {.sort = "size"}), expected);
  EXPECT_EQ(tuning_by(problem, {.sort = "size", .rounds = 0}), expected);
  EXPECT_EQ(tuning_by(problem, {.sort = "size", .rounds = 7}), expected);
}

TEST(Tuning, OneRoundReachesTheThreshold) {
  Tuning expected{.sort = "size",
                  .end = TuningEnd::threshold,
                  .round = 1,
                  .lowest_round = 1,
                  .high = 3,
                  .medium = 1,
                  .low = 2,
                  .none = 1};
  EXPECT_EQ(tuning_by(one_that_sticks_out(), {.sort = "size", .rounds = 3}), expected);
  expected.all_high = true;  // as in the first start without rounds
  EXPECT_EQ(tuning_by(one_that_sticks_out(), {.sort = " size "}), expected);
}

TEST(Tuning, WithoutRoundsTheSetNumberIsReachedAtOnce) {
  const Tuning expected{
      .sort = "size", .end = TuningEnd::rounds, .high = 3, .medium = 1, .low = 2, .none = 1};
  EXPECT_EQ(tuning_by(one_that_sticks_out(), {.sort = "size", .rounds = 0}), expected);
}

TEST(Tuning, EachGoalThatGainsNothing) {
  const Problem problem = one_above_a_pin();
  Tuning expected{.sort = "-size", .end = TuningEnd::rounds, .round = 1, .high = 1, .none = 2};
  EXPECT_EQ(tuning_by(problem, {.sort = "-size", .rounds = 1}), expected);
  expected.round = 2;
  EXPECT_EQ(tuning_by(problem, {.sort = "-size", .rounds = 2}), expected);
  expected.end = TuningEnd::repeated;
  expected.round = 3;
  EXPECT_EQ(tuning_by(problem, {.sort = "-size", .rounds = 3}), expected);
  expected.round = 2;
  expected.all_high = true;
  EXPECT_EQ(tuning_by(problem, {.sort = "-size"}), expected);
}

TEST(Tuning, TwoRoundsWithoutGainMeetNoGoal) {
  const Problem problem = one_above_a_pin();
  const Rectangles rectangles = *prepare(problem.buffers, [] { return false; });
  Start start;
  start.sort = parse_sort_order("-size");
  const Stops unstopped{[] { return false; }, [] { return false; }};
  const Tuned tuned = tune(rectangles, start, unstopped);
  EXPECT_FALSE(tuned.was_stopped);
  EXPECT_EQ(tuned.tuning,
            (Tuning{.sort = "-size", .end = TuningEnd::no_gain, .round = 2, .high = 1, .none = 2}));
}

TEST(Tuning, StoppedItMeetsNoGoal) {
  const Solution solution = rectangle_of(one_that_sticks_out(), {.effort = 0, .sort = "size"});
  EXPECT_TRUE(solution.interrupted);
  ASSERT_TRUE(solution.tuning.has_value());
  EXPECT_EQ(*solution.tuning,
            (Tuning{.sort = "size", .end = TuningEnd::stopped, .high = 3, .medium = 1, .low = 2, .none = 1}));
}

/// A round that a stop cuts short may repeat an order; that is no goal.
TEST(Tuning, AStopAtAnyTimeIsSaid) {
  int stopped = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Problem problem = oracle::random_problem(seed, {.buffers = 12, .positions = 14, .longest_life = 9});
    const Rectangles rectangles = *prepare(problem.buffers, [] { return false; });
    Start start;
    start.sort = parse_sort_order("size");
    start.manner = {.seed = seed, .budget = 4000};
    for (int last = 0; last < 12; ++last) {
      int asked = 0;
      const Tuned tuned = tune(rectangles, start, {[&] { return asked++ >= last; }, [] { return false; }});
      EXPECT_EQ(tuned.was_stopped, tuned.tuning.end == TuningEnd::stopped);
      if (asked > last && tuned.tuning.end != TuningEnd::threshold) {
        ASSERT_EQ(tuned.tuning.end, TuningEnd::stopped) << seed << " " << last;
        ++stopped;
      }
    }
  }
  EXPECT_GT(stopped, 100);
}

TEST(Tuning, OnlyOfThisStrategy) {
  const Problem problem = one_that_sticks_out();
  EXPECT_FALSE(solve(problem, {.strategy = "greedy-by-size"}).tuning.has_value());
  EXPECT_FALSE(solve(problem, {.strategy = "exact"}).tuning.has_value());
  const Solution solution = solve(problem);
  EXPECT_EQ(solution.tuning.has_value(), solution.strategy == "rectangle");
}

TEST(Tuning, TheTextOfAnOrderIsReadAsTheSameOrder) {
  for (const char* const text :
       {"size", "-size,duration", "size*duration*overlap", "-overlap+size", "duration/size,-overlap"})
    EXPECT_EQ(text_of(parse_sort_order(text)), text);
  EXPECT_EQ(text_of(parse_sort_order(" overlap , - size*duration")), "overlap,-size*duration");
}

// Against a naive recount.

bool meet(const Buffer& a, const Buffer& b) {
  for (const Piece& p : a.pieces) {
    for (const Piece& q : b.pieces) {
      if (p.is_ever_alive() && q.is_ever_alive() && p.life.lower < q.life.upper &&
          q.life.lower < p.life.upper)
        return true;
    }
  }
  return false;
}

/// The table of docs/rectangle.md, word by word.
Tuning counted(const Problem& problem, std::span<const Place> places, Bytes threshold) {
  const auto& buffers = problem.buffers;
  const auto meets_one = [&](std::size_t b, const auto& is_one) {
    for (std::size_t other = 0; other < buffers.size(); ++other) {
      if (is_one(other) && meet(buffers[b], buffers[other])) return true;
    }
    return false;
  };
  const auto top = [&](std::size_t b) { return places[b].offset + buffers[b].size; };
  const auto is_high = [&](std::size_t b) {
    return meets_one(b, [&](std::size_t other) { return top(other) > threshold; });
  };
  const auto is_medium = [&](std::size_t b) {
    return meets_one(b, [&](std::size_t other) { return top(other) == threshold; });
  };
  Tuning result;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    const bool is_alive =
        std::ranges::any_of(buffers[b].pieces, [](const Piece& piece) { return piece.is_ever_alive(); });
    if (buffers[b].pinned || !is_alive) continue;
    if (is_high(b))
      ++result.high;
    else if (is_medium(b))
      ++result.medium;
    else if (meets_one(b, [&](std::size_t other) { return is_high(other) || is_medium(other); }))
      ++result.low;
    else
      ++result.none;
  }
  return result;
}

void expect_counts(const Problem& problem, const Solution& solution) {
  ASSERT_TRUE(solution.tuning.has_value());
  const Tuning& tuning = *solution.tuning;
  const Solution sorted = rectangle_of(problem, {.sort = tuning.sort, .rounds = 0});
  const Tuning expected = counted(problem, sorted.places, solution.lower_bound);
  EXPECT_EQ(tuning.high, expected.high);
  EXPECT_EQ(tuning.medium, expected.medium);
  EXPECT_EQ(tuning.low, expected.low);
  EXPECT_EQ(tuning.none, expected.none);
  const Bytes peak = peak_of(problem, solution, 0);
  EXPECT_EQ(tuning.end == TuningEnd::threshold, peak == solution.lower_bound);
  EXPECT_EQ(tuning.lowest_round > 0, peak < peak_of(problem, sorted, 0));
  EXPECT_LE(tuning.lowest_round, tuning.round);
  if (tuning.end == TuningEnd::threshold) {
    EXPECT_EQ(tuning.lowest_round, tuning.round);
  }
}

Problem some_mixed_problem(std::uint64_t seed) {
  return oracle::random_mixed_problem(
      seed, {.buffers = 4 + seed % 24, .positions = 20, .longest_life = 9, .largest_size = 12});
}

TEST(Tuning, CountsAreThoseOfANaiveRecount) {
  std::vector<int> ends(5);
  int tuned = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = some_mixed_problem(seed);
    SolveOptions options{.seed = seed};
    if (seed % 3 == 0) options.sort = "-size,duration";
    if (seed % 4 == 0) options.rounds = static_cast<std::int64_t>(seed % 5);
    const Solution solution = rectangle_of(problem, options);
    expect_counts(problem, solution);
    EXPECT_LE(solution.tuning->round, options.rounds.value_or(largest_value));
    ++ends[static_cast<std::size_t>(solution.tuning->end)];
    tuned += solution.tuning->lowest_round > 0 ? 1 : 0;
  }
  EXPECT_GT(tuned, 20);
  EXPECT_GT(ends[static_cast<std::size_t>(TuningEnd::repeated)], 5);
  EXPECT_GT(ends[static_cast<std::size_t>(TuningEnd::rounds)], 5);
}

TEST(Tuning, DoesNotDependOnTheThreads) {
  int stopped = 0;
  for (std::uint64_t seed = 0; seed < (testing::is_in_a_hurry() ? 6 : 30); ++seed) {
    const Problem problem = oracle::random_problem(
        seed, {.buffers = 30, .positions = 25, .longest_life = 12, .largest_size = 50});
    SolveOptions options{.time_limit = std::chrono::hours(1), .threads = 1, .seed = seed};
    if (seed % 3 == 0) options.rounds = 2;
    if (seed % 3 == 1) options.effort = static_cast<std::int64_t>(seed);
    const Tuning expected = tuning_by(problem, options);
    stopped += expected.end == TuningEnd::stopped ? 1 : 0;
    for (const std::size_t threads : {2U, 3U, 8U}) {
      options.threads = threads;
      ASSERT_EQ(tuning_by(problem, options), expected) << seed << " " << threads;
    }
  }
  EXPECT_GT(stopped, 0);
}

TEST(Tuning, OfARealListIsThatOfANaiveRecount) {
  const auto folder = std::filesystem::path(STOWAGE_DATA_DIR) / "packing" / "minimalloc";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "there is no folder " << folder;
  const Problem problem = std::get<Problem>(read_input(folder / "A.csv").content);
  const Solution solution = rectangle_of(problem, {.sort = "size*overlap", .rounds = 2});
  expect_counts(problem, solution);
  EXPECT_EQ(solution.tuning->sort, "size*overlap");
  EXPECT_GT(solution.tuning->high, 0);
}

// In plans.

std::string summary_of(const Plan& plan) {
  std::ostringstream out;
  write_summary(plan, out);
  return out.str();
}

void expect_in_summary(const Plan& plan, std::string_view text) {
  EXPECT_NE(summary_of(plan).find(text), std::string::npos) << summary_of(plan) << "lacks " << text;
}

Plan plan_by_rectangle(const Problem& problem, std::optional<std::int64_t> rounds) {
  PlanOptions options;
  options.solve.strategy = "rectangle";
  options.solve.sort = "size";
  options.solve.rounds = rounds;
  PlanResult result = make_plan(Input{{"list", "list.csv", ModelFormat::csv}, problem}, options);
  EXPECT_TRUE(result.faults.empty()) << result.faults.front().what;
  return std::move(result.plan);
}

TEST(Tuning, IsInPlansAndSaidInTheSummary) {
  const Plan plan = plan_by_rectangle(one_that_sticks_out(), 1);
  ASSERT_EQ(plan.tunings.size(), 1U);
  EXPECT_EQ(plan.tunings[0].high, 3);
  expect_in_summary(plan,
                    "strategy     rectangle\n"
                    "tuning       by size: nothing lies above the threshold in round 1\n"
                    "  risks      3 high, 1 medium, 2 low, 1 none in round 0\n");
  std::ostringstream json;
  write_json(plan, json);
  EXPECT_EQ(parse_plan(json.str()), plan);
  expect_in_summary(plan_by_rectangle(one_that_sticks_out(), 0), "by size: the set number of rounds, 0\n");
}

TEST(Tuning, EveryEndIsSaidInTheSummary) {
  Plan plan = plan_by_rectangle(one_that_sticks_out(), 1);
  plan.tunings[0].all_high = true;
  plan.tunings[0].round = 4;
  plan.tunings[0].end = TuningEnd::repeated;
  expect_in_summary(plan,
                    "by size: an order appears for the second time in round 4; lowest in round 1\n"
                    "  risks      3 high, 1 medium, 2 low, 1 none in round 0; then all count as high\n");
  plan.tunings[0].end = TuningEnd::no_gain;
  expect_in_summary(plan,
                    "by size: no goal; two rounds without gain, the last is round 4; lowest in round 1\n");
  plan.tunings[0].end = TuningEnd::stopped;
  expect_in_summary(plan, "by size: no goal; stopped in round 4; lowest in round 1\n");
  plan.tunings.resize(7, plan.tunings[0]);
  expect_in_summary(plan, "             and 2 more tunings\n");
}

}  // namespace
}  // namespace stowage::pack
