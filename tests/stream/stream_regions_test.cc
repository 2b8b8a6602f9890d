// Orders by regions, against each region by itself, and against those that reuse nothing.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "stream/alike.h"
#include "stream/regions.h"
#include "stream/replay.h"
#include "stream/walk.h"
#include "stream_cases.h"

namespace stowage::stream {
namespace {

using testing::random_model;

constexpr Bytes no_limit_on_region = std::numeric_limits<Bytes>::max();
constexpr std::int64_t enough_work = 100'000'000;

/// Runs the operators before the region one by one, then pulls the region. The most live bytes of its steps.
Bytes peak_of_region(const RowProgram& program, const Region& region) {
  State start(program);
  for (std::size_t op = 0; op < region.begin; ++op) {
    while (!start.is_finished(op)) start.run(op);
  }
  Walk walk(program, start);
  for (std::size_t op = region.end; op-- > region.begin;) {
    while (!walk.state().is_finished(op)) EXPECT_TRUE(walk.pull(op, region, no_limit_on_region));
  }
  Bytes peak = 0;
  for (const IterationId step : walk.steps()) {
    peak = std::max(peak, start.load_of(program.instances[step].op));
    start.run(program.instances[step].op);
  }
  return peak;
}

/// The least peak over all ways to cut the operators into regions.
Bytes least_of_regions(const RowProgram& program) {
  std::vector<Bytes> least{program.resident};
  for (std::size_t end = 1; end <= program.operators(); ++end) {
    least.push_back(no_limit_on_region);
    for (std::size_t begin = 0; begin < end; ++begin)
      least[end] = std::min(least[end], std::max(least[begin], peak_of_region(program, {begin, end})));
  }
  return least.back();
}

/// The operators of a model again and again; each time they read what they made before.
RowModel in_sequence(const RowModel& cell, std::size_t times) {
  RowModel model;
  model.tensors.push_back(cell.tensors[0]);
  const std::size_t skipped = cell.operators[0].reads.empty() ? 1 : 0;  // an arrival
  for (std::size_t time = 0; time < times; ++time) {
    const std::size_t shift = time * (cell.tensors.size() - 1);
    for (std::size_t t = 1; t < cell.tensors.size(); ++t) {
      model.tensors.push_back(cell.tensors[t]);
      model.tensors.back().stays = time + 1 == times && t + 1 == cell.tensors.size();
    }
    for (std::size_t o = skipped; o < cell.operators.size(); ++o) {
      Operator op = cell.operators[o];
      for (Access& access : op.reads) access.tensor += shift;
      for (std::size_t& t : op.writes) t += shift;
      model.operators.push_back(std::move(op));
    }
  }
  return model;
}

TEST(StreamRegions, AreTheBestOfAllCuts) {
  std::mt19937_64 random(11);
  int below_layers = 0;
  for (int i = 0; i < 400; ++i) {
    const RowProgram program = unroll(
        random_model(random, {.operators = 9, .rows = 10, .is_chain = i % 3 == 0, .carries = i % 3 == 1}));
    const Bytes least = least_of_regions(program);
    const RegionOrder order = order_by_regions(program, {.work = enough_work, .reuses = false});
    ASSERT_EQ(order.peak, least) << i;
    ASSERT_EQ(replay(program, order.steps).peak, least) << i;
    ASSERT_EQ(order_by_regions(program, {.work = enough_work, .limit = least}).peak, least) << i;
    ASSERT_EQ(order_by_regions(program, {.work = enough_work, .limit = least - 1}).peak, no_limit_on_region)
        << i;
    below_layers += least < replay(program, layer_by_layer(program)).peak ? 1 : 0;
  }
  EXPECT_GT(below_layers, 100);
}

/// A region is as high as an earlier one that is alike, beyond what is live before it.
TEST(StreamRegions, OfAlikeOperatorsNeedTheSame) {
  std::mt19937_64 random(12);
  int compared = 0;
  for (int i = 0; i < 100; ++i) {
    const RowModel cell = random_model(random, {.operators = 3, .rows = 6, .is_chain = i % 2 == 0});
    const RowProgram program = unroll(in_sequence(cell, 4));
    std::vector<Bytes> lives;
    State state(program);
    for (std::size_t op = 0; op < program.operators(); ++op) {
      lives.push_back(state.live());
      while (!state.is_finished(op)) state.run(op);
    }
    const std::vector<AlikeStretch> alike = alike_stretches(program);
    for (std::size_t end = 1; end <= program.operators(); ++end) {
      for (std::size_t length = 1; length <= alike[end].length; ++length) {
        const std::size_t earlier = end - alike[end].period;
        const Region now{end - length, end};
        const Region before{earlier - length, earlier};
        ASSERT_EQ(peak_of_region(program, now) - lives[now.begin],
                  peak_of_region(program, before) - lives[before.begin])
            << i << ": " << now.begin << " to " << now.end;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(StreamRegions, ThatAreReusedAreLegalAndNoWorse) {
  std::mt19937_64 random(13);
  int below_layers = 0;
  for (int i = 0; i < 300; ++i) {
    const RowModel cell = random_model(random, {.operators = 4, .rows = 8, .is_chain = i % 2 == 0});
    const RowProgram program = unroll(in_sequence(cell, 2 + static_cast<std::size_t>(i % 4)));
    const RegionOrder order = order_by_regions(program, {.work = enough_work});
    const RowReplay found = replay(program, order.steps);
    ASSERT_FALSE(found.fault) << i << *found.fault;
    ASSERT_EQ(found.peak, order.peak) << i;
    ASSERT_LE(order.peak, order_by_regions(program, {.work = enough_work, .reuses = false}).peak) << i;
    below_layers += order.peak < replay(program, layer_by_layer(program)).peak ? 1 : 0;
  }
  EXPECT_GT(below_layers, 50);
}

}  // namespace
}  // namespace stowage::stream
