// The work that strategies count is what they do: more where more buffers are alive at once, nothing for passes
// that do not run, and not much more than the effort.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "oracle/random_problem.h"
#include "pack/placing.h"
#include "pack/portfolio.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

/// As many buffers and positions whatever the length of lives.
Problem lives_of(Position longest) {
  return oracle::random_problem(
      3, {.buffers = 3000, .positions = 4000, .longest_life = longest, .largest_size = 1000});
}

std::int64_t spent_on(const pack::Control& control) {
  return control.deadline.now().time_since_epoch().count();
}

/// By a strategy alone.
std::int64_t spent_by(const pack::Strategy& strategy, const Problem& problem, std::int64_t effort) {
  const SolveOptions options{.effort = effort, .threads = 1};
  const pack::Control control{.options = options, .deadline = pack::deadline_of(options), .rounds = 0};
  static_cast<void>(pack::run(strategy, problem, control));
  return spent_on(control);
}

std::int64_t spent_by_auto(const Problem& problem, std::int64_t effort, std::size_t threads) {
  std::vector<const pack::Strategy*> all;
  for (const pack::Strategy& strategy : pack::packers()) all.push_back(&strategy);
  const SolveOptions options{.effort = effort, .threads = threads};
  const pack::Control control{.options = options, .deadline = pack::deadline_of(options)};
  static_cast<void>(pack::best_of(problem, all, control));
  return spent_on(control);
}

TEST(Work, PlacingAmongManyCountsMore) {
  const Problem few = lives_of(10);
  const Problem many = lives_of(1000);
  for (const pack::Strategy& strategy : pack::packers()) {
    const std::string name(strategy.info.name);
    if (!name.starts_with("greedy") && name != "from-peak") continue;
    EXPECT_GT(spent_by(strategy, many, 100'000), 3 * spent_by(strategy, few, 100'000)) << name;
  }
}

TEST(Work, EachStrategyCountsWhatItDoes) {
  constexpr std::int64_t least_of_buffer = 30;  // nanoseconds
  const Problem problem = lives_of(100);
  for (const pack::Strategy& strategy : pack::packers()) {
    if (strategy.obstacle(problem)) continue;
    EXPECT_GT(spent_by(strategy, problem, 1000), least_of_buffer * std::ssize(problem.buffers))
        << strategy.info.name;
  }
}

TEST(Work, IsNotMuchMoreThanTheEffort) {
  constexpr std::int64_t millisecond = 1'000'000;
  for (const Position longest : {10, 300}) {
    const Problem problem = lives_of(longest);
    for (const std::int64_t effort : {150, 600}) {
      SCOPED_TRACE(std::to_string(longest) + " with " + std::to_string(effort));
      for (const pack::Strategy& strategy : pack::packers()) {
        if (strategy.obstacle(problem)) continue;
        const SolveOptions options{
            .strategy = std::string(strategy.info.name), .effort = effort, .threads = 1};
        const pack::Control control{.options = options, .deadline = pack::deadline_of(options)};
        const pack::Strategy* const alone = &strategy;
        static_cast<void>(pack::best_of(problem, {&alone, 1}, control));
        EXPECT_LE(spent_on(control), effort * millisecond * 3 / 2) << strategy.info.name;
      }
      EXPECT_LE(spent_by_auto(problem, effort, 1), effort * millisecond * 3 / 2);
    }
  }
}

/// Passes for which no time is left do not count.
TEST(Work, OfHardlyAnyEffortIsThatOfTheFirstPass) {
  const Problem problem = lives_of(100);
  const std::int64_t spent = spent_by_auto(problem, 0, 1);
  EXPECT_LT(spent, 2000 * std::ssize(problem.buffers));
  EXPECT_EQ(spent_by_auto(problem, 0, 3), spent);
}

TEST(Work, IsTheSameOnAnyNumberOfThreads) {
  const Problem problem = lives_of(200);
  for (const std::int64_t effort : {5, 60, 200})
    EXPECT_EQ(spent_by_auto(problem, effort, 3), spent_by_auto(problem, effort, 1)) << effort;
}

}  // namespace
}  // namespace stowage
