// Plans near an earlier plan: what an unchanged list keeps, what a changed one keeps against brute force, and what
// cannot be near.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "problems.h"
#include "stowage/error.h"
#include "stowage/planner.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using testing::offsets_of;
using testing::pinned;
using testing::problem_of;
using testing::whole;

PlanResult plan_near(const Problem& problem, std::vector<NearPlace> near) {
  PlanOptions options{.near = std::move(near)};
  options.solve.time_limit = std::chrono::hours(1);
  options.solve.threads = 1;
  return make_plan(Input{.content = problem}, options);
}

TEST(Nearness, AnUnchangedListKeepsAllOffsets) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = oracle::random_problem(seed);
    PlanOptions options;
    options.solve.strategy = "greedy-by-breadth";  // another one than the second plan has
    const Plan before = make_plan(Input{.content = problem}, options).plan;
    std::vector<NearPlace> near = places_in(before);
    near.push_back({"arena", "nobody", 0});
    if (!before.buffers.empty()) near.push_back({"another memory", before.buffers[0].id, 1});
    const PlanResult after = plan_near(problem, near);
    ASSERT_TRUE(after.faults.empty()) << after.faults[0].what;
    ASSERT_TRUE(after.nearness);
    EXPECT_EQ(after.nearness->buffers, std::ssize(problem.buffers));
    if (after.plan.summary.peak < before.summary.peak) continue;
    EXPECT_EQ(after.plan.places, before.places);
    EXPECT_EQ(after.nearness->buffers_kept, after.nearness->buffers);
    EXPECT_EQ(after.nearness->bytes_kept, after.nearness->bytes);
    EXPECT_EQ(after.nearness->most_bytes_kept, after.nearness->bytes);
  }
}

/// A list that has been edited: a buffer lives longer, one is larger, one is gone.
Problem edited(Problem problem, oracle::Random& random) {
  const auto any = [&] {
    return static_cast<std::size_t>(random.between(0, std::ssize(problem.buffers) - 1));
  };
  if (random.chance(50)) problem.buffers.erase(problem.buffers.begin() + static_cast<std::ptrdiff_t>(any()));
  for (Piece& piece : problem.buffers[any()].pieces) piece.life.upper += 2;
  Buffer& grown = problem.buffers[any()];
  if (!grown.pinned) {
    grown.size += 1;
    for (Piece& piece : grown.pieces) piece.size += 1;
  }
  return problem;
}

/// The problem with these buffers pinned; none if two pins are in conflict.
bool can_stay(Problem problem, const std::vector<std::pair<std::size_t, Bytes>>& pins, Bytes peak) {
  for (const auto& [buffer, offset] : pins) problem.buffers[buffer].pinned = offset;
  try {
    validate(problem);
  } catch (const Error&) {
    return false;
  }
  return oracle::optimal_peak(problem) <= peak;
}

TEST(Nearness, NoMoreCouldStay) {
  std::int64_t kept = 0;
  std::int64_t moved = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    oracle::Random random(seed);
    const Problem problem =
        oracle::random_problem(seed, {.buffers = static_cast<std::size_t>(random.between(3, 6)),
                                      .positions = 6,
                                      .largest_size = 7,
                                      .largest_alignment = random.chance(60) ? 1 : 2,
                                      .percent_with_pieces = random.chance(50) ? 0 : 60,
                                      .percent_pinned = random.chance(70) ? 0 : 20});
    const Plan before = make_plan(Input{.content = problem}).plan;
    const Problem changed = edited(problem, random);
    try {
      validate(changed);
    } catch (const Error&) {
      continue;  // pinned buffers are now in conflict
    }
    const PlanResult result = plan_near(changed, places_in(before));
    ASSERT_TRUE(result.faults.empty()) << result.faults[0].what;
    const Bytes peak = result.plan.summary.peak;
    EXPECT_EQ(peak, oracle::optimal_peak(changed));
    std::vector<std::pair<std::size_t, Bytes>> pins;
    std::vector<std::pair<std::size_t, Bytes>> rest;
    for (std::size_t b = 0; b < changed.buffers.size(); ++b) {
      const auto old = std::ranges::find(before.buffers, changed.buffers[b].id, &Buffer::id);
      const Bytes offset = before.places[static_cast<std::size_t>(old - before.buffers.begin())].offset;
      (result.plan.places[b].offset == offset ? pins : rest).emplace_back(b, offset);
    }
    EXPECT_EQ(result.nearness->buffers, std::ssize(changed.buffers));
    EXPECT_EQ(result.nearness->buffers_kept, std::ssize(pins));
    EXPECT_LE(result.nearness->bytes_kept, result.nearness->most_bytes_kept);
    kept += std::ssize(pins);
    moved += std::ssize(rest);
    for (const auto& one : rest) {
      if (changed.buffers[one.first].pinned || one.second % changed.buffers[one.first].alignment != 0)
        continue;
      pins.push_back(one);
      EXPECT_FALSE(can_stay(changed, pins, peak)) << changed.buffers[one.first].id;
      pins.pop_back();
    }
  }
  EXPECT_GT(kept, 800);
  EXPECT_GT(moved, 100) << "the problems are too easy to tell";
}

TEST(Nearness, RaisesNoPeak) {
  // a wants to lie above b, where it would end at 6.
  const PlanResult result =
      plan_near(problem_of({whole("a", 4, 0, 2), whole("b", 2, 2, 4)}), {{"arena", "a", 2}});
  EXPECT_EQ(result.plan.summary.peak, 4);
  EXPECT_EQ(result.nearness->buffers_kept, 0);
  EXPECT_EQ(result.nearness->most_bytes_kept, 0);
}

TEST(Nearness, UsesTheCapacity) {
  PlanOptions options{.near = {{"arena", "a", 2}}};
  options.memories[0].capacity = 6;
  const PlanResult result =
      make_plan(Input{.content = problem_of({whole("a", 4, 0, 2), whole("b", 2, 2, 4)})}, options);
  EXPECT_EQ(result.plan.summary.peak, 6);
  EXPECT_FALSE(result.plan.claims[0].proven_optimal);
  EXPECT_EQ(result.nearness->buffers_kept, 1);
  EXPECT_TRUE(result.faults.empty());
}

TEST(Nearness, IsForAllStrategiesThatPlaceAnywhere) {
  const Input list{.content = problem_of({whole("a", 4, 0, 2), whole("b", 4, 1, 3), whole("c", 4, 2, 4)})};
  PlanOptions options{.near = {{"arena", "a", 4}}};  // b must move, too
  options.solve.time_limit = std::chrono::seconds(30);
  for (const Comparison& it : compare(list, options)) {
    SCOPED_TRACE(it.strategy);
    EXPECT_EQ(it.obstacle.empty(), it.strategy != "slots" && it.strategy != "levels") << it.obstacle;
    EXPECT_TRUE(it.faults.empty());
  }
  options.solve.strategy = "two-stack";  // which knows no pins
  const PlanResult result = make_plan(list, options);
  EXPECT_EQ(result.nearness->buffers_kept, 1);
  EXPECT_EQ(result.plan.summary.peak, 8);
}

TEST(Nearness, IsRefusedWithACurve) {
  PlanOptions options{.near = {{"arena", "a", 0}}};
  options.stream = {.recompute = 1.5, .recompute_from = 1};
  EXPECT_THROW((void)make_plan(Input{.content = problem_of({whole("a", 4, 0, 2)})}, options), UsageError);
}

TEST(Nearness, SaysIfTimeIsTooShort) {
  PlanOptions options{.near = {{"arena", "a", 4}}};
  options.solve.effort = 0;
  const Input list{.content = problem_of({whole("a", 4, 0, 2), whole("b", 4, 1, 3)})};
  const PlanResult result = make_plan(list, options);
  EXPECT_EQ(result.plan.interrupted, result.nearness->buffers_kept == 0);
}

}  // namespace
}  // namespace stowage
