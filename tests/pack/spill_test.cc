// The cheapest buffers to spill, against all sets of buffers.

#include "stowage/spill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "stowage/error.h"

namespace stowage {
namespace {

Problem random_problem(unsigned seed, int count, Bytes capacity) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned most) { return static_cast<std::int64_t>(random() % most); };
  Problem problem;
  for (int i = 0; i < count; ++i) {
    const Position lower = below(8);
    const Bytes size = 1 + below(20);
    problem.buffers.push_back(
        {.id = std::to_string(i), .size = size, .pieces = {{0, size, {lower, lower + 1 + below(5)}}}});
  }
  problem.memories = {{.name = "arena", .capacity = capacity}};
  return problem;
}

Bytes load_without(const Problem& problem, unsigned gone) {
  std::vector<Bytes> load(20, 0);
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    if ((gone >> b & 1U) != 0) continue;
    const Lifetime life = problem.buffers[b].pieces[0].life;
    for (Position t = life.lower; t < life.upper; ++t)
      load[static_cast<std::size_t>(t)] += problem.buffers[b].size;
  }
  return *std::ranges::max_element(load);
}

/// The fewest bytes of a set after which the live bytes are within the capacity.
Bytes least_of_all_sets(const Problem& problem) {
  Bytes least = largest_value;
  for (unsigned gone = 0; gone < 1U << problem.buffers.size(); ++gone) {
    if (load_without(problem, gone) > *problem.memories[0].capacity) continue;
    Bytes bytes = 0;
    for (std::size_t b = 0; b < problem.buffers.size(); ++b)
      if ((gone >> b & 1U) != 0) bytes += problem.buffers[b].size;
    least = std::min(least, bytes);
  }
  return least;
}

TEST(Spill, IsTheLeastOfAllSets) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Problem problem = random_problem(seed, 9, 10 + seed % 40);
    const SpillAdvice advice = least_spill(problem, {.time_limit = std::chrono::milliseconds(200)});
    EXPECT_EQ(advice.least, least_of_all_sets(problem)) << seed;
    ASSERT_TRUE(advice.fits) << seed;
    EXPECT_GE(advice.bytes, advice.least) << seed;
    const Solution solution = solve(without_spilled(problem, advice.spills), {});
    EXPECT_EQ(solution.outcome, Outcome::fits) << seed;
  }
}

TEST(Spill, ShortensWhereThatIsEnough) {
  Problem problem;
  problem.buffers = {{.id = "kept", .size = 60, .pieces = {{0, 60, {0, 10}}}},
                     {.id = "burst", .size = 60, .pieces = {{0, 60, {4, 5}}}}};
  problem.memories = {{.name = "arena", .capacity = 100}};
  problem.buffers[1].pinned = 0;
  const SpillAdvice advice = least_spill(problem, {});
  ASSERT_EQ(advice.spills.size(), 1U);
  EXPECT_EQ(advice.spills[0], (Spill{.buffer = 0, .lower = 4, .upper = 5, .is_whole = false}));
  EXPECT_TRUE(advice.fits);
  EXPECT_EQ(without_spilled(problem, advice.spills).buffers[0].pieces.size(), 2U);
}

TEST(Spill, BoundsWhatItCannotExhaust) {
  const Problem problem = random_problem(7, 400, 600);
  const SpillAdvice advice = least_spill(problem, {.time_limit = std::chrono::milliseconds(500)});
  EXPECT_TRUE(advice.fits);
  EXPECT_GT(advice.least, 0);
  EXPECT_LE(advice.least, advice.bytes);
}

TEST(Spill, NeedsNothingWhereAllFits) {
  const SpillAdvice advice = least_spill(random_problem(1, 5, 1000), {});
  EXPECT_TRUE(advice.fits);
  EXPECT_TRUE(advice.spills.empty());
  EXPECT_EQ(advice.bytes, 0);
}

TEST(Spill, SaysNothingWherePinnedBuffersAreTooLarge) {
  Problem problem = random_problem(1, 3, 5);
  for (Buffer& buffer : problem.buffers) buffer.pinned = 0;
  problem.buffers.resize(1);
  problem.buffers[0].size = problem.buffers[0].pieces[0].size = 9;
  const SpillAdvice advice = least_spill(problem, {});
  EXPECT_FALSE(advice.fits);
  EXPECT_TRUE(advice.spills.empty());
}

TEST(Spill, RefusesOtherProblems) {
  Problem problem = random_problem(1, 3, 5);
  problem.memories[0].capacity.reset();
  EXPECT_THROW((void)least_spill(problem, {}), UsageError);
}

}  // namespace
}  // namespace stowage
