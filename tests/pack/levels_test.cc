// What lives in which memory: against all assignments of small problems, never worse than free-list on larger
// ones, and the same for the same seed.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "long_tests.h"
#include "oracle/naive_levels.h"
#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "pack/memories/cost_bound.h"
#include "pack/memories/exact.h"
#include "problems.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using testing::pinned;
using testing::whole;

constexpr std::uint64_t small_problems = 400;

Buffer busy(Buffer buffer, Bytes traffic) {
  buffer.traffic = traffic;
  return buffer;
}

Buffer only_in(Buffer buffer, std::vector<std::size_t> memories) {
  buffer.memories = std::move(memories);
  return buffer;
}

Problem in_two(Bytes capacity, std::vector<Buffer> buffers) {
  return {.buffers = std::move(buffers),
          .memories = {{.name = "fast", .capacity = capacity}, {.name = "slow", .cost = 10}}};
}

std::vector<std::size_t> memories_of(const Solution& solution) {
  std::vector<std::size_t> memories;
  for (const Place& place : solution.places) memories.push_back(place.memory);
  return memories;
}

/// Memory by memory no fault, in allowed memories; and what is said of it is so.
void expect_valid(const Problem& problem, const Solution& solution) {
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    Problem inside{.memories = {problem.memories[m]}};
    std::vector<Bytes> offsets;
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
      const auto& allowed = problem.buffers[b].memories;
      if (solution.places[b].memory != m) continue;
      EXPECT_TRUE(allowed.empty() || std::count(allowed.begin(), allowed.end(), m) > 0);
      inside.buffers.push_back(problem.buffers[b]);
      offsets.push_back(solution.places[b].offset);
    }
    EXPECT_EQ(oracle::fault_of(inside, offsets), std::nullopt);
    if (solution.outcome == Outcome::fits) {
      EXPECT_LE(oracle::peak_of_offsets(inside, offsets),
                problem.memories[m].capacity.value_or(largest_value));
    }
  }
  const oracle::Objective objective = oracle::objective_of(problem, solution.places);
  EXPECT_EQ(solution.cost, objective.cost);
  EXPECT_EQ(solution.outcome == Outcome::fits, objective.excess == 0);
  EXPECT_LE(solution.cost_bound, solution.cost);
}

/// Every buffer that is ever alive has one piece, which is all of it.
bool is_served_exactly(const Problem& problem) {
  return std::all_of(problem.buffers.begin(), problem.buffers.end(), [](const Buffer& buffer) {
    const auto alive = std::count_if(buffer.pieces.begin(), buffer.pieces.end(),
                                     [](const Piece& it) { return it.is_ever_alive(); });
    return alive == 0 || (alive == 1 && buffer.pieces.size() == 1 && buffer.pieces[0].size == buffer.size);
  });
}

TEST(Levels, WhatIsReadOftenLivesInFastMemory) {
  const Problem problem = in_two(
      10, {busy(whole("a", 10, 0, 2), 20), busy(whole("b", 6, 1, 3), 60), busy(whole("c", 4, 1, 4), 8)});
  const Solution solution = solve(problem);
  expect_valid(problem, solution);
  EXPECT_EQ(memories_of(solution), (std::vector<std::size_t>{1, 0, 0}));
  EXPECT_EQ(solution.cost, 268);
  EXPECT_EQ(solution.strategy, "levels");
  EXPECT_EQ(solve(problem, {.strategy = "free-list"}).cost, 20 + 600 + 80);
}

TEST(Levels, OfEquallyGoodOnesFreeListIsSaid) {
  const Problem problem = in_two(10, {busy(whole("a", 10, 0, 2), 20), busy(whole("b", 10, 2, 3), 60)});
  const Solution solution = solve(problem);
  EXPECT_EQ(solution.strategy, "free-list");
  EXPECT_EQ(solution.cost, 80);
  EXPECT_FALSE(solution.interrupted);
  EXPECT_EQ(solve(problem, {.strategy = "levels"}).cost, 80);
}

TEST(Levels, AFitGoesBeforeTheCost) {
  // The slow memory holds only one of them.
  Problem problem = in_two(4, {only_in(busy(whole("a", 4, 0, 2), 1), {0, 1}), busy(whole("b", 4, 0, 2), 90)});
  problem.memories[1].capacity = 4;
  problem.buffers[1].memories = {1};
  const Solution solution = solve(problem);
  EXPECT_EQ(solution.outcome, Outcome::fits);
  EXPECT_EQ(memories_of(solution), (std::vector<std::size_t>{0, 1}));
}

TEST(Levels, WithoutTrafficTheSlowPeakCounts) {
  const Problem problem = in_two(8, {whole("a", 4, 0, 2), whole("b", 8, 1, 3), whole("c", 4, 2, 4)});
  const Solution solution = solve(problem);
  expect_valid(problem, solution);
  EXPECT_EQ(peak_of(problem, solution, 1), 4);
}

TEST(Levels, OneMemoryLeavesNothingToChoose) {
  EXPECT_EQ(obstacle_to("levels", testing::problem_of({})), "chooses between memories, one is given");
  EXPECT_EQ(obstacle_to("levels", in_two(1, {})), std::nullopt);
  EXPECT_EQ(solve(in_two(1, {})).cost, 0);
}

TEST(Levels, WhatFitsNowhereIsSaidNotToFit) {
  Problem problem = in_two(4, {busy(whole("a", 9, 0, 2), 3), busy(whole("b", 4, 0, 2), 3)});
  problem.memories[1].capacity = 7;
  const Solution solution = solve(problem);
  EXPECT_EQ(solution.outcome, Outcome::exceeds_capacity);
  EXPECT_EQ(memories_of(solution), (std::vector<std::size_t>{1, 0}));
}

TEST(Levels, StopsWhenToldTo) {
  const Problem problem = oracle::random_levels(3, {.buffers = 500, .positions = 100, .largest_size = 30});
  std::stop_source source;
  source.request_stop();
  const Solution solution = solve(problem, {.strategy = "levels", .stop = source.get_token()});
  expect_valid(problem, solution);
  EXPECT_TRUE(solution.interrupted);
}

TEST(Levels, CutAtAnyMomentThereIsAValidPlan) {
  const Problem problem = oracle::random_levels(3, {.buffers = 500, .positions = 100, .largest_size = 30});
  const auto moments = static_cast<int>(testing::cases_of(100));
  for (int moment = 0; moment < moments && !HasFailure(); ++moment) {
    const std::chrono::microseconds limit(moment * 50'000 / moments);
    const Solution solution = solve(problem, {.time_limit = limit, .threads = 2});
    expect_valid(problem, solution);
    EXPECT_GE(solution.cost, solution.cost_bound);
    if (moment == 0) {
      EXPECT_TRUE(solution.interrupted);
    }
  }
}

TEST(Levels, AreTheBestThereIsOfSmallProblems) {
  std::size_t fitting = 0;
  for (std::uint64_t seed = 0; seed < small_problems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = oracle::random_levels(seed);
    const Solution solution = solve(problem, {.seed = seed});
    expect_valid(problem, solution);
    const std::optional<std::int64_t> best = oracle::least_cost(problem);
    EXPECT_EQ(solution.outcome == Outcome::fits, best.has_value());
    if (!best || solution.outcome != Outcome::fits) continue;
    ++fitting;
    EXPECT_EQ(solution.cost, *best);
    EXPECT_EQ(solution.cost_bound, is_served_exactly(problem) ? *best : solution.cost_bound);
    EXPECT_LE(memories::cost_bound(problem, {}), *best);
  }
  EXPECT_GT(fitting, small_problems / 2);
}

TEST(Levels, PackabilityIsTheTruth) {
  for (std::uint64_t seed = 0; seed < 3000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = oracle::random_problem(seed);
    std::erase_if(problem.buffers, [](const Buffer& buffer) {
      return buffer.pieces.size() != 1 || !buffer.pieces[0].is_ever_alive() ||
             buffer.pieces[0].size != buffer.size;
    });
    std::vector<const Buffer*> buffers;
    for (const Buffer& buffer : problem.buffers) buffers.push_back(&buffer);
    const Bytes optimum = oracle::optimal_peak(problem);
    std::int64_t budget = 1000000;
    const memories::Packability found = memories::packability(buffers, optimum, budget);
    EXPECT_EQ(found.answer, memories::Answer::yes);
    EXPECT_EQ(oracle::fault_of(problem, found.offsets), std::nullopt);
    EXPECT_LE(oracle::peak_of_offsets(problem, found.offsets), optimum);
    if (optimum == 0) continue;
    EXPECT_EQ(memories::packability(buffers, optimum - 1, budget).answer, memories::Answer::no);
  }
}

/// The bound without addresses, looked for by trying all sets: what a whole-buffer knapsack over time costs.
std::int64_t least_cost_by_load(const Problem& problem, Bytes capacity) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t set = 0; set < std::size_t{1} << problem.buffers.size(); ++set) {
    std::vector<Buffer> fast;
    std::int64_t cost = 0;
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
      const bool is_fast = (set >> b & 1) != 0;
      if (is_fast) fast.push_back(problem.buffers[b]);
      cost += problem.buffers[b].traffic * problem.memories[is_fast ? 0 : 1].cost;
    }
    if (oracle::max_load(fast) <= capacity) least = std::min(least, cost);
  }
  return least;
}

TEST(Levels, TheCostBoundIsExactWhereBuffersNeedNotBeSplit) {
  // All of one size, and a capacity that is a multiple of it: the relaxation has a whole solution.
  for (std::uint64_t seed = 0; seed < 500 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = oracle::random_problem(seed, {.buffers = 9, .positions = 12, .longest_life = 6});
    oracle::Random random(seed);
    for (Buffer& buffer : problem.buffers) {
      buffer.size = buffer.pieces[0].size = 4;
      buffer.traffic = 4 * random.between(0, 20);
    }
    const Bytes capacity = 4 * random.between(0, 4);
    problem.memories = {{.name = "fast", .capacity = capacity}, {.name = "slow", .cost = 10}};
    EXPECT_EQ(memories::cost_bound(problem, {}), least_cost_by_load(problem, capacity));
  }
}

TEST(Levels, AreNeverWorseThanFreeList) {
  const std::uint64_t problems = testing::is_in_a_hurry() ? 4 : testing::cases_of(16);
  std::size_t better = 0;
  for (std::uint64_t seed = 0; seed < problems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = oracle::random_levels(seed, {.buffers = 20 + 5 * static_cast<std::size_t>(seed),
                                                         .positions = 60,
                                                         .longest_life = 20,
                                                         .largest_size = 40,
                                                         .largest_alignment = 8,
                                                         .percent_with_pieces = 20,
                                                         .percent_pinned = 3});
    const Solution levels = solve(problem, {.strategy = "levels", .effort = 3000});
    const Solution baseline = solve(problem, {.strategy = "free-list"});
    expect_valid(problem, levels);
    const auto found = oracle::objective_of(problem, levels.places);
    EXPECT_LE(found, oracle::objective_of(problem, baseline.places));
    better += found < oracle::objective_of(problem, baseline.places) ? 1 : 0;
    EXPECT_EQ(solve(problem, {.strategy = "levels", .effort = 3000}).places, levels.places);
    EXPECT_EQ(oracle::objective_of(problem, solve(problem, {.effort = 3000}).places), found);
  }
  EXPECT_GT(better, problems / 2);
}

}  // namespace
}  // namespace stowage
