// Polyhedra against looking at every row.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "long_tests.h"
#include "stream/polyhedra.h"
#include "stream/replay.h"
#include "stream_cases.h"

namespace stowage::stream {
namespace {

using testing::naive_replay;
using testing::naive_steps;
using testing::random_model;

std::int64_t pick(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

/// Later operators start later, by no more than their rows; then it is legal about every other time.
std::vector<AffineTime> random_times(const RowModel& model, std::mt19937_64& random) {
  std::vector<AffineTime> times;
  std::int64_t shift = 0;
  for (std::size_t o = 0; o < model.operators.size(); ++o) {
    times.push_back({pick(random, 1, 2), shift, static_cast<std::int64_t>(o)});
    shift += pick(random, 0, 8);
  }
  if (pick(random, 0, 2) == 0) std::swap(times.front().position, times.back().position);
  return times;
}

TEST(StreamPolyhedra, AgreeWithLookingAtEveryRow) {
  std::mt19937_64 random(1);
  int legal = 0;
  int broken = 0;
  const int enough = testing::is_in_a_hurry() ? 100 : testing::has_time() ? 1000 : 400;
  for (int i = 0; i < 3000 && (legal < enough || broken < enough / 4); ++i) {
    const RowModel model = random_model(random, {.operators = 3, .rows = 6, .is_chain = i % 2 == 0});
    const auto times = random_times(model, random);
    const auto order = order_of(unroll(model), times);
    const auto expected = naive_replay(model, naive_steps(unroll(model), order));
    ASSERT_EQ(is_legal(model, times), std::optional(expected.is_legal)) << i;
    if (!expected.is_legal) {
      ++broken;
      continue;
    }
    ++legal;
    ASSERT_EQ(windows(model, times), std::optional(expected.windows)) << i;
  }
  EXPECT_GE(legal, enough);
  EXPECT_GE(broken, enough / 4);
}

/// A legal order in which an operator starts earlier, or changes its place among those that run at one time.
TEST(StreamPolyhedra, NoOrderSurvivesThatBreaksADependence) {
  std::mt19937_64 random(2);
  int broken = 0;
  for (int i = 0; i < 100; ++i) {
    const RowModel model = random_model(random, {.operators = 4, .rows = 6});
    const RowProgram program = unroll(model);
    std::vector<AffineTime> times(model.operators.size());
    for (std::size_t o = 0; o < times.size(); ++o)
      times[o] = {1, static_cast<std::int64_t>(o) * 10, static_cast<std::int64_t>(o)};
    ASSERT_EQ(is_legal(model, times), std::optional(true));
    times[static_cast<std::size_t>(pick(random, 1, static_cast<std::int64_t>(times.size()) - 1))].shift -=
        pick(random, 1, 15);
    const bool survives = !replay(program, order_of(program, times)).fault;
    ASSERT_EQ(is_legal(model, times), std::optional(survives)) << i;
    broken += survives ? 0 : 1;
  }
  EXPECT_GT(broken, 30);
}

TEST(StreamPolyhedra, SayWhenAQuestionTakesTooMuchEffort) {
  std::mt19937_64 random(3);
  const RowModel model = random_model(random, {});
  const std::vector<AffineTime> times = random_times(model, random);
  EXPECT_EQ(is_legal(model, times, 1), std::nullopt);
  EXPECT_EQ(windows(model, times, 1), std::nullopt);
}

}  // namespace
}  // namespace stowage::stream
