// Affine schedules against all small ones, and against looking at every row.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "long_tests.h"
#include "stream/affine.h"
#include "stream/polyhedra.h"
#include "stream/replay.h"
#include "stream_cases.h"

namespace stowage::stream {
namespace {

using testing::naive_replay;
using testing::naive_steps;
using testing::random_model;

const TrialEffort plenty{.work = 10'000'000};

TEST(StreamAffine, OrdersAreLegalAndPeaksExact) {
  std::mt19937_64 random(1);
  const int cases = testing::is_in_a_hurry() ? 200 : 1000;
  int below_layers = 0;
  for (int c = 0; c < cases; ++c) {
    const RowModel model = random_model(random, {.operators = 5, .is_chain = c % 2 == 0});
    const RowProgram program = unroll(model);
    const auto found = affine_order(model, program, 0, plenty);
    ASSERT_TRUE(found) << c;
    EXPECT_EQ(found->steps, order_of(program, found->times)) << c;
    const auto replayed = naive_replay(model, naive_steps(program, found->steps));
    ASSERT_TRUE(replayed.is_legal) << c;
    EXPECT_EQ(*std::max_element(replayed.loads.begin(), replayed.loads.end()), found->peak) << c;
    if (c % 10 == 0) {
      EXPECT_EQ(is_legal(model, found->times), std::optional(true)) << c;
    }
    below_layers += found->peak < replay(program, layer_by_layer(program)).peak ? 1 : 0;
  }
  EXPECT_GT(below_layers, cases / 4);
}

/// The least peak of all schedules with scales and shifts up to a limit, positions in any order.
Bytes least_affine_peak(const RowProgram& program, std::int64_t most_scale, std::int64_t most_shift) {
  const std::size_t operators = program.operators();
  std::vector<std::int64_t> positions(operators);
  std::iota(positions.begin(), positions.end(), 0);
  Bytes least = replay(program, layer_by_layer(program)).peak;
  do {
    std::vector<AffineTime> times(operators);
    for (std::size_t o = 0; o < operators; ++o) times[o].position = positions[o];
    const auto next = [&] {
      for (AffineTime& it : times) {
        if (++it.shift <= most_shift) return true;
        it.shift = 0;
        if (++it.scale <= most_scale) return true;
        it.scale = 1;
      }
      return false;
    };
    do {
      State state(program);
      Bytes peak = 0;
      for (const IterationId step : order_of(program, times)) {
        const std::size_t op = program.instances[step].op;
        if (!state.is_ready(op) || (peak = std::max(peak, state.load_of(op))) >= least) {
          peak = least;
          break;
        }
        state.run(op);
      }
      if (peak < least) least = peak;
    } while (next());
  } while (std::next_permutation(positions.begin(), positions.end()));
  return least;
}

TEST(StreamAffine, NoSmallScheduleIsBetter) {
  std::mt19937_64 random(2);
  const int cases = testing::is_in_a_hurry() ? 100 : testing::has_time() ? 1000 : 500;
  for (int c = 0; c < cases; ++c) {
    const RowModel model = random_model(random, {.operators = 3, .rows = 4, .is_chain = c % 2 == 0});
    const RowProgram program = unroll(model);
    const auto found = affine_order(model, program, 0, plenty);
    ASSERT_TRUE(found);
    const Bytes least = least_affine_peak(program, 2, 6);
    EXPECT_LE(found->peak, least) << "case " << c;
  }
}

}  // namespace
}  // namespace stowage::stream
