// RowReplay, orders and bounds of models over rows, against looking at every row, and at every state.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "stowage/error.h"
#include "stream/bound.h"
#include "stream/program.h"
#include "stream/races.h"
#include "stream/regions.h"
#include "stream/replay.h"
#include "stream/search.h"
#include "stream_cases.h"

namespace stowage::stream {
namespace {

using testing::least_peak;
using testing::naive_replay;
using testing::naive_steps;
using testing::random_model;
using testing::random_order;

/// An input of 4 rows, a window of 3 rows over it, and one of 2 with stride 2 over that.
RowModel two_windows() {
  RowModel model;
  model.tensors = {{.name = "x", .rows = 4, .bytes_per_row = 10},
                   {.name = "y", .rows = 4, .bytes_per_row = 7},
                   {.name = "z", .rows = 2, .bytes_per_row = 5, .stays = true}};
  model.operators = {
      {.name = "a", .rows = 4, .reads = {{.tensor = 0, .rows = {.offset = -1, .taps = 3}}}, .writes = {1}},
      {.name = "b", .rows = 2, .reads = {{.tensor = 1, .rows = {.scale = 2, .taps = 2}}}, .writes = {2}}};
  return model;
}

TEST(StreamReplay, CountsWhatIsLive) {
  const RowProgram program = unroll(two_windows());
  const std::vector<IterationId> order{0, 1, 4, 2, 3, 5};  // a a b a a b
  const RowReplay result = replay(program, order);
  EXPECT_FALSE(result.fault);
  // x0..x3 y0 | y0 y1 | x1..x3 y0 y1 z0 | ..: a row of x goes with the window behind it
  EXPECT_EQ(result.loads, (std::vector<Bytes>{47, 54, 49, 42, 39, 24}));
  EXPECT_EQ(result.peak, 54);
  EXPECT_EQ(windows(two_windows(), program, order), (std::vector<std::int64_t>{4, 2, 2}));
}

TEST(StreamReplay, NamesWhatIsWrong) {
  const RowProgram program = unroll(two_windows());
  const auto fault = [&](const std::vector<IterationId>& order) {
    return replay(program, order).fault.value_or("");
  };
  EXPECT_EQ(fault({0, 4}), "instance 0 of operator 1 reads granule 5 before it is written");
  EXPECT_EQ(fault({1}), "instance 1 of operator 0 runs before the one in front of it");
  EXPECT_EQ(fault({0, 0}), "instance 0 of operator 0 runs twice");
  EXPECT_EQ(fault({0, 1}), "there are 2 steps, expected 6");
  EXPECT_EQ(fault({9}), "there is no instance 9");
}

TEST(StreamReplay, AccumulatorsLiveFromTheFirstRowToTheLast) {
  RowModel model;
  model.tensors = {{.name = "x", .rows = 3, .bytes_per_row = 10},
                   {.name = "sum", .bytes_per_row = 2, .stays = true}};
  model.operators = {{.name = "sum",
                      .rows = 3,
                      .reads = {{.tensor = 0}},
                      .writes = {1},
                      .writing = Writing::at_the_end,
                      .accumulator = 8}};
  const RowProgram program = unroll(model);
  EXPECT_EQ(replay(program, layer_by_layer(program)).loads, (std::vector<Bytes>{38, 28, 20}));
}

TEST(StreamModel, RefusesWhatContradictsItself) {
  const auto change = [](auto how) {
    RowModel model = two_windows();
    how(model);
    return model;
  };
  EXPECT_THROW((void)unroll(change([](RowModel& m) { std::swap(m.operators[0], m.operators[1]); })), Error);
  EXPECT_THROW((void)unroll(change([](RowModel& m) { m.operators[0].writes = {2}; })), Error);
  EXPECT_THROW((void)unroll(change([](RowModel& m) { m.operators[0].writes = {3}; })), Error);
  EXPECT_THROW((void)unroll(change([](RowModel& m) { m.operators[1].writes = {1}; })), Error);
  EXPECT_THROW((void)unroll(change([](RowModel& m) { m.operators[1].reads[0].tensor = 3; })), Error);
  EXPECT_THROW((void)unroll(change([](RowModel& m) { m.operators[1].reads[0].rows.divisor = 0; })), Error);
  EXPECT_THROW((void)unroll(change([](RowModel& m) { m.tensors[0].rows = 0; })), Error);
  EXPECT_THROW((void)unroll(two_windows(), {.limit = 10}), Error);
}

TEST(StreamReplay, EqualsLookingAtEveryRow) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const RowModel model = random_model(random, {.operators = 5, .rows = 7, .is_chain = i % 2 == 0});
    const RowProgram program = unroll(model);
    const auto order = random_order(program, random);
    const auto expected = naive_replay(model, naive_steps(program, order));
    const RowReplay found = replay(program, order);
    ASSERT_TRUE(expected.is_legal && !found.fault) << i << found.fault.value_or("");
    ASSERT_EQ(found.loads, expected.loads) << i;
    ASSERT_EQ(windows(model, program, order), expected.windows) << i;
    State state(program);
    for (std::size_t s = 0; s < order.size(); ++s) {
      const std::size_t op = program.instances[order[s]].op;
      ASSERT_EQ(state.load_of(op), expected.loads[s]) << i;
      state.run(op);
    }
  }
}

/// Two steps change places: legal or not, both must say the same.
TEST(StreamReplay, NoOrderSurvivesThatBreaksADependence) {
  std::mt19937_64 random(2);
  int broken = 0;
  for (int i = 0; i < 1000; ++i) {
    const RowModel model = random_model(random, {.operators = 4, .rows = 6});
    const RowProgram program = unroll(model);
    auto order = random_order(program, random);
    std::uniform_int_distribution<std::size_t> place(0, order.size() - 1);
    std::swap(order[place(random)], order[place(random)]);
    const bool is_legal = naive_replay(model, naive_steps(program, order)).is_legal;
    ASSERT_EQ(!replay(program, order).fault, is_legal) << i;
    broken += is_legal ? 0 : 1;
  }
  EXPECT_GT(broken, 300);
}

TEST(StreamOrder, RegionsAreLegalAndNoWorseThanLayers) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 500; ++i) {
    const RowProgram program =
        unroll(random_model(random, {.operators = 7, .rows = 12, .is_chain = i % 2 == 0}));
    for (const std::int64_t work : {0, 1'000'000}) {
      const RegionOrder order = order_by_regions(program, work);
      const RowReplay found = replay(program, order.steps);
      ASSERT_FALSE(found.fault) << i << *found.fault;
      ASSERT_EQ(found.peak, order.peak) << i;
      ASSERT_LE(found.peak, replay(program, layer_by_layer(program)).peak) << i;
    }
  }
}

TEST(StreamOrder, ReachesTheBestOfAllOrdersOrTheBoundLeavesAGap) {
  std::mt19937_64 random(4);
  int best_reached = 0;
  int bound_reached = 0;
  constexpr int cases = 400;
  for (int i = 0; i < cases; ++i) {
    const RowModel model = random_model(random, {.operators = 4, .rows = 6, .is_chain = i % 2 == 0});
    const RowProgram program = unroll(model);
    const Bytes best = least_peak(model);
    const auto start = order_by_regions(program, 1'000'000).steps;
    const Bound bound = lower_bound(program, start, {.most_cuts = 1000});
    ASSERT_TRUE(bound.is_complete);
    ASSERT_LE(bound.bytes, best) << i;
    const RowReplay found =
        replay(program, improve(program, start, {.target = bound.bytes, .work = 100'000}));
    ASSERT_FALSE(found.fault) << i;
    ASSERT_GE(found.peak, best) << i;
    ASSERT_LE(found.peak, replay(program, start).peak) << i;
    best_reached += found.peak == best ? 1 : 0;
    bound_reached += bound.bytes == best ? 1 : 0;
    // What is not reached is said: then the bound is below the peak.
    ASSERT_TRUE(found.peak == best || bound.bytes < found.peak) << i;
  }
  RecordProperty("best_reached", best_reached);
  RecordProperty("bound_reached", bound_reached);
  EXPECT_GE(best_reached, cases * 99 / 100);
  EXPECT_GE(bound_reached, cases * 9 / 10);
}

TEST(StreamOrder, WithoutWorkTheOrderIsTheSame) {
  const RowProgram program = unroll(two_windows());
  const auto layers = layer_by_layer(program);
  EXPECT_EQ(improve(program, layers, {.work = 0}), layers);
  const auto better = improve(program, layers, {});
  EXPECT_EQ(replay(program, better).peak, least_peak(two_windows()));
}

TEST(StreamBound, WithFewerCutsIsWeakerAndSaysSo) {
  const RowProgram program = unroll(two_windows());
  const auto layers = layer_by_layer(program);
  const Bound none = lower_bound(program, layers, {.most_cuts = 0});
  EXPECT_EQ(none.bytes, program.resident);
  EXPECT_FALSE(none.is_complete);
  const Bound all = lower_bound(program, layers, {.most_cuts = 100});
  EXPECT_TRUE(all.is_complete);
  EXPECT_EQ(all.bytes, least_peak(two_windows()));
}

/// Branches that are alike, such as the heads of an attention: each makes keys of rows of `x`, and its part of
/// rows of the keys. Parts are added up, row by row.
struct Branches {
  std::size_t count = 2;
  std::int64_t rows = 3;
  Bytes key = 1;
  Bytes part = 1;
  RowMap keys_read{};
  RowMap part_reads{};
};

RowModel model_of(const Branches& it) {
  RowModel model;
  const auto add = [&](Bytes bytes) {
    model.tensors.push_back({.name = "t", .rows = it.rows, .bytes_per_row = bytes});
    return model.tensors.size() - 1;
  };
  const std::size_t x = add(4);
  Operator sum{.name = "sum", .rows = it.rows};
  for (std::size_t branch = 0; branch < it.count; ++branch) {
    const std::size_t keys = add(it.key);
    const std::size_t part = add(it.part);
    model.operators.push_back(
        {.name = "keys", .rows = it.rows, .reads = {{x, it.keys_read}}, .writes = {keys}});
    model.operators.push_back(
        {.name = "part", .rows = it.rows, .reads = {{x}, {keys, it.part_reads}}, .writes = {part}});
    sum.reads.push_back({part});
  }
  sum.writes = {add(1)};
  model.operators.push_back(std::move(sum));
  return model;
}

TEST(StreamBound, HeadsRace) {
  int raised = 0;
  for (const std::size_t heads : {2U, 3U}) {
    for (const Bytes key : {1, 3, 8, 20}) {
      for (const Bytes part : {1, 5, 20}) {
        const RowModel model =
            model_of({.count = heads, .key = key, .part = part, .part_reads = {.scale = 0, .taps = 3}});
        const RowProgram program = unroll(model);
        EXPECT_EQ(races_of(program).size(), 2U) << "keys race, and parts";
        const Bytes bound = lower_bound(program, layer_by_layer(program), {.most_cuts = 1000}).bytes;
        EXPECT_LE(bound, least_peak(model)) << heads << " heads, " << key << " and " << part << " bytes";
        // One iteration at a time: a head's keys and x are there, and nothing of the other heads.
        raised += bound > 3 * (4 + key) + 3 * part + 1 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(raised, 8);
}

TEST(StreamBound, RacesOfRandomBranchesBoundAllOrders) {
  std::mt19937_64 random(11);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const auto map = [&] { return RowMap{.scale = draw(0, 1), .offset = draw(-1, 1), .taps = draw(1, 4)}; };
  for (int i = 0; i < 300; ++i) {
    const RowModel model = model_of({.count = static_cast<std::size_t>(draw(2, 3)),
                                     .key = draw(1, 20),
                                     .part = draw(1, 20),
                                     .keys_read = map(),
                                     .part_reads = map()});
    const RowProgram program = unroll(model);
    ASSERT_FALSE(races_of(program).empty()) << i;
    const Bytes bound = lower_bound(program, layer_by_layer(program), {.most_cuts = 1000}).bytes;
    ASSERT_LE(bound, least_peak(model)) << i;
  }
}

}  // namespace
}  // namespace stowage::stream
