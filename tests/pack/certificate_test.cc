// Lower bounds above loads: what the checker finds of their certificates, against brute force.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "check/exhaust.h"
#include "check_cases.h"
#include "long_tests.h"
#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "pack/bounds.h"
#include "problems.h"
#include "stowage/import.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using namespace cases;
using testing::aligned;
using testing::problem_of;
using testing::whole;

/// Up to 8 buffers with gaps, slots, alignments, pins and equals.
Problem small_problem(std::uint64_t seed) {
  oracle::Random random(seed);
  return oracle::random_problem(seed, {.buffers = static_cast<std::size_t>(random.between(3, 8)),
                                       .positions = random.between(3, 10),
                                       .longest_life = random.between(2, 10),
                                       .largest_size = random.between(2, 9),
                                       .largest_alignment = random.chance(50) ? 1 : 4,
                                       .percent_with_pieces = random.chance(50) ? 0 : 60,
                                       .percent_pinned = random.chance(50) ? 0 : 25,
                                       .percent_like_the_last = random.chance(50) ? 0 : 40});
}

/// What is alive at the positions, each of which is a time of its own.
Problem restricted_to(const Problem& problem, const std::vector<Position>& positions) {
  Problem restricted{{}, problem.memories};
  for (const Buffer& buffer : problem.buffers) {
    Buffer rest = buffer;
    rest.pieces.clear();
    for (std::size_t p = 0; p < positions.size(); ++p) {
      const auto at = static_cast<Position>(p);
      for (const Piece& piece : buffer.pieces) {
        if (piece.size > 0 && piece.life.lower <= positions[p] && positions[p] < piece.life.upper)
          rest.pieces.push_back({piece.offset, piece.size, {at, at + 1}});
      }
    }
    if (!rest.pieces.empty()) restricted.buffers.push_back(std::move(rest));
  }
  return restricted;
}

TEST(Certificate, ExhaustedAsByBruteForce) {
  std::size_t above_load = 0;
  const std::uint64_t problems = testing::cases_of(20000);
  for (std::uint64_t seed = 0; seed < problems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = small_problem(seed);
    oracle::Random random(seed + 1);
    std::vector<Position> positions;
    for (Position at = 0; at < 10; ++at) {
      if (random.chance(70)) positions.push_back(at);
    }
    const Problem rest = restricted_to(problem, positions);
    const Bytes least = oracle::optimal_peak(rest);
    EXPECT_EQ(check::exhaust(problem.buffers, positions, least), check::Verdict::fits);
    if (least == 0) continue;
    EXPECT_EQ(check::exhaust(problem.buffers, positions, least - 1), check::Verdict::does_not_fit);
    above_load += least > pack::lower_bound_of(rest.buffers) ? 1 : 0;
  }
  EXPECT_GT(above_load, problems / 50) << "the problems are too easy to tell";
}

Plan plan_of(const Problem& problem) {
  PlanResult result =
      make_plan({{"list", "list.csv", ModelFormat::csv}, problem},
                {.solve = {.strategy = "exact", .time_limit = std::chrono::hours(1), .threads = 1}});
  EXPECT_TRUE(result.faults.empty()) << result.faults.front().what;
  return std::move(result.plan);
}

TEST(Certificate, BoundsAreNeverAboveTheOptimumAndSmallProblemsAreProven) {
  std::size_t certified = 0;
  std::size_t unproven = 0;
  const std::uint64_t problems = testing::cases_of(20000);
  for (std::uint64_t seed = 0; seed < problems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = small_problem(seed);
    const Plan plan = plan_of(problem);
    const Bytes optimum = oracle::optimal_peak(problem);
    EXPECT_EQ(plan.summary.peak, optimum);
    EXPECT_LE(plan.summary.lower_bound, optimum);
    certified += plan.memories[0].certificate.empty() ? 0 : 1;
    unproven += plan.summary.lower_bound < optimum ? 1 : 0;
  }
  EXPECT_GT(certified, problems / 50);
  EXPECT_LE(unproven, problems / 1000);  // more than a few thousand nodes
}

/// Plans with certificates, of small problems.
std::vector<std::pair<Problem, Plan>> certified_plans(std::size_t count) {
  std::vector<std::pair<Problem, Plan>> plans;
  for (std::uint64_t seed = 0; plans.size() < count; ++seed) {
    const Problem problem = small_problem(seed);
    Plan plan = plan_of(problem);
    if (!plan.memories[0].certificate.empty()) plans.emplace_back(problem, std::move(plan));
  }
  return plans;
}

bool is_refused(const Plan& plan) {
  const Faults faults = check_plan(plan);
  return std::any_of(faults.begin(), faults.end(),
                     [](const Fault& it) { return it.kind == FaultKind::claim; });
}

TEST(Certificate, IsRefusedWhereItProvesNothing) {
  std::size_t refused = 0;
  std::size_t accepted = 0;
  for (const auto& [problem, plan] : certified_plans(testing::cases_of(300))) {
    ASSERT_FALSE(is_refused(plan));
    Plan without = plan;
    without.memories[0].certificate.clear();
    EXPECT_TRUE(is_refused(without));
    Plan higher = plan;
    ++higher.memories[0].lower_bound;
    EXPECT_TRUE(is_refused(higher));
    oracle::Random random(static_cast<std::uint64_t>(plan.summary.peak));
    for (int mutation = 0; mutation < 10; ++mutation) {
      Plan spoilt = plan;
      std::vector<Position>& positions = spoilt.memories[0].certificate;
      const auto changed = static_cast<std::size_t>(random.between(0, std::ssize(positions) - 1));
      if (random.chance(50)) {
        positions[changed] = random.between(0, 12);
      } else {
        positions.erase(positions.begin() + static_cast<std::ptrdiff_t>(changed));
      }
      const Bytes proven = std::max(oracle::optimal_peak(restricted_to(problem, positions)),
                                    pack::lower_bound_of(problem.buffers));
      EXPECT_EQ(is_refused(spoilt), proven < spoilt.memories[0].lower_bound);
      ++(is_refused(spoilt) ? refused : accepted);
    }
  }
  EXPECT_GT(refused, accepted);
  EXPECT_GT(accepted, 0U);
}

TEST(Certificate, SaysWhyItProvesNothing) {
  const auto [problem, plan] = std::move(certified_plans(1).front());
  Plan higher = plan;
  ++higher.memories[0].lower_bound;
  EXPECT_TRUE(has_fault(check_plan(higher), {{FaultKind::claim}, {"fits below it"}}));
  Plan heavy;
  heavy.clocks.emplace_back();
  heavy.memories = {{.memory = {.name = "arena"}}};
  for (Bytes b = 0; b < 400; ++b) {
    heavy.buffers.push_back(whole(std::to_string(b), 1000 + 7 * b, b, b + 40));
    heavy.places.push_back({0, heavy.memories[0].peak});
    heavy.memories[0].peak += 1000 + 7 * b;
  }
  heavy.summary.peak = heavy.memories[0].peak;
  heavy.memories[0].lower_bound = max_load(heavy.buffers) + 1;
  for (Position at = 100; at < 140; ++at) heavy.memories[0].certificate.push_back(at);
  EXPECT_TRUE(has_fault(check_plan(heavy), {{FaultKind::claim}, {"takes too long"}}));
  heavy.memories[0].certificate.assign(1'000'000, 7);
  EXPECT_TRUE(has_fault(check_plan(heavy), {{FaultKind::claim}, {"takes too long"}}));
}

TEST(Certificate, PiecesThatOverlapOrAreInterlockedAreUnderstood) {
  const Buffer comb{.id = "comb", .size = 6, .pieces = {{0, 2, {0, 1}}, {4, 2, {0, 1}}}};
  Buffer twin = comb;
  twin.id = "twin";
  const std::vector<Position> all{0};
  EXPECT_EQ(check::exhaust(std::vector<Buffer>{comb, twin}, all, 8), check::Verdict::fits);
  EXPECT_EQ(check::exhaust(std::vector<Buffer>{comb, twin}, all, 7), check::Verdict::does_not_fit);
  const Buffer folded{.id = "folded", .size = 6, .pieces = {{0, 4, {0, 1}}, {2, 4, {0, 1}}}};
  EXPECT_EQ(check::exhaust(std::vector<Buffer>{folded, whole("on top", 2, 0, 1)}, all, 8),
            check::Verdict::fits);
  EXPECT_EQ(check::exhaust(std::vector<Buffer>{folded, whole("on top", 2, 0, 1)}, all, 7),
            check::Verdict::does_not_fit);
}

TEST(Certificate, PaddingNeedsNone) {
  const Problem problem = problem_of(
      {aligned(whole("a", 5, 0, 2), 8), aligned(whole("b", 7, 0, 2), 8), aligned(whole("c", 3, 1, 2), 8)});
  EXPECT_EQ(pack::lower_bound_of(problem.buffers), 19);  // c, which would lose most, on top
  const Plan plan = plan_of(problem);
  EXPECT_EQ(plan.summary.peak, 19);
  EXPECT_EQ(plan.summary.lower_bound, 19);
  EXPECT_TRUE(plan.memories[0].certificate.empty());
}

}  // namespace
}  // namespace stowage
