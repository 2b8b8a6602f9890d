// Operators that read their rows twice, and operators with a state: replay, orders and bounds against looking at
// every row and every order, and how networks become such models.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "image_networks.h"
#include "long_tests.h"
#include "stowage/error.h"
#include "stream/affine.h"
#include "stream/bound.h"
#include "stream/instances.h"
#include "stream/polyhedra.h"
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

/// x, 3 rows of 10 bytes; its rows are added to sums of 4 bytes, then made to rows of y of 7.
RowModel two_passes() {
  RowModel model;
  model.tensors = {{.name = "x", .rows = 3, .bytes_per_row = 10},
                   {.name = "y", .rows = 3, .bytes_per_row = 7, .leaves = true}};
  model.operators = {
      {.name = "x", .rows = 3, .writes = {0}},
      {.name = "sums", .rows = 3, .reads = {{0}}, .writing = Writing::at_the_end, .accumulator = 4},
      {.name = "y", .rows = 3, .reads = {{0}}, .after = {1}, .writes = {1}}};
  model.operators[1].carrying = Carrying::first_pass;
  model.operators[2].carrying = Carrying::second_pass;
  model.operators[2].passed = 1;
  return model;
}

TEST(StreamCarried, SumsLiveToTheEndOfTheSecondPass) {
  const RowProgram program = unroll(two_passes());
  // x0 | + sums | x0 x1 | .. | x0 x1 x2 | .. | y0, and x goes row by row
  const std::vector<IterationId> order{0, 3, 1, 4, 2, 5, 6, 7, 8};
  const RowReplay result = replay(program, order);
  EXPECT_FALSE(result.fault) << *result.fault;
  EXPECT_EQ(result.loads, (std::vector<Bytes>{10, 14, 24, 24, 34, 34, 41, 31, 21}));
  const std::vector<IterationId> too_early{0, 3, 6};
  EXPECT_TRUE(replay(program, too_early).fault);
}

TEST(StreamCarried, StateLivesFromTheFirstRowToTheLast) {
  RowModel model = two_passes();
  model.operators.erase(model.operators.begin() + 1);
  Operator& op = model.operators[1];
  op.after.clear();
  op.carrying = Carrying::state;
  op.accumulator = 4;
  model.tensors.push_back({.name = "end", .bytes_per_row = 2, .stays = true});
  op.writes.push_back(2);
  op.ends = {2};
  const RowProgram program = unroll(model);
  const std::vector<IterationId> order{0, 3, 1, 4, 2, 5};
  EXPECT_EQ(replay(program, order).loads, (std::vector<Bytes>{10, 21, 14, 21, 14, 23}));
}

TEST(StreamCarried, RefusesASecondPassWithoutAFirst) {
  RowModel model = two_passes();
  model.operators[1].carrying = Carrying::sums;
  EXPECT_THROW((void)unroll(model), Error);
  model = two_passes();
  model.operators[2].passed = 2;
  EXPECT_THROW((void)unroll(model), Error);
}

TEST(StreamCarried, EqualsLookingAtEveryRow) {
  std::mt19937_64 random(21);
  int broken = 0;
  for (int i = 0; i < 1000; ++i) {
    const RowModel model =
        random_model(random, {.operators = 4, .rows = 6, .is_chain = i % 2 == 0, .carries = true});
    const RowProgram program = unroll(model);
    auto order = random_order(program, random);
    const auto expected = naive_replay(model, naive_steps(program, order));
    const RowReplay found = replay(program, order);
    ASSERT_TRUE(expected.is_legal && !found.fault) << i << found.fault.value_or("");
    ASSERT_EQ(found.loads, expected.loads) << i;
    std::uniform_int_distribution<std::size_t> place(0, order.size() - 1);
    std::swap(order[place(random)], order[place(random)]);
    const bool is_legal = naive_replay(model, naive_steps(program, order)).is_legal;
    ASSERT_EQ(!replay(program, order).fault, is_legal) << i;
    broken += is_legal ? 0 : 1;
  }
  EXPECT_GT(broken, 300);
}

TEST(StreamCarried, NoOrderIsBelowTheBound) {
  std::mt19937_64 random(22);
  int tight = 0;
  constexpr int cases = 300;
  for (int i = 0; i < cases; ++i) {
    const RowModel model =
        random_model(random, {.operators = 4, .rows = 5, .is_chain = i % 2 == 0, .carries = true});
    const RowProgram program = unroll(model);
    const Bytes best = least_peak(model);
    const RegionOrder start = order_by_regions(program, 1'000'000);
    ASSERT_FALSE(replay(program, start.steps).fault) << i;
    const Bound bound = lower_bound(program, start.steps, {.most_cuts = 1000});
    ASSERT_TRUE(bound.is_complete);
    ASSERT_LE(bound.bytes, best) << i;
    const RowReplay found =
        replay(program, improve(program, start.steps, {.target = bound.bytes, .work = 100'000}));
    ASSERT_FALSE(found.fault) << i;
    ASSERT_GE(found.peak, best) << i;
    tight += bound.bytes == best ? 1 : 0;
  }
  EXPECT_GE(tight, cases * 8 / 10);
}

/// The bound of the two passes holds for the operator as a whole, too.
TEST(StreamCarried, BoundsHoldForWholeOperators) {
  std::mt19937_64 random(23);
  for (int i = 0; i < 200; ++i) {
    RowModel model =
        random_model(random, {.operators = 3, .rows = 5, .is_chain = i % 2 == 0, .carries = true});
    for (Operator& op : model.operators) op.accumulator = 0;
    const RowProgram program = unroll(model);
    const Bytes bound = lower_bound(program, layer_by_layer(program), {.most_cuts = 1000}).bytes;
    const RowProgram whole = unroll(without_rows(model));
    ASSERT_LE(bound, replay(whole, layer_by_layer(whole)).peak) << i;
  }
}

TEST(StreamCarried, AffineSchedulesWaitForTheFirstPass) {
  std::mt19937_64 random(24);
  const int cases = testing::is_in_a_hurry() ? 100 : 500;
  int legal = 0;
  for (int c = 0; c < cases; ++c) {
    const RowModel model =
        random_model(random, {.operators = 4, .rows = 6, .is_chain = c % 2 == 0, .carries = true});
    const RowProgram program = unroll(model);
    const auto found = affine_order(model, program, 0, {.work = 1'000'000});
    ASSERT_TRUE(found) << c;
    ASSERT_TRUE(naive_replay(model, naive_steps(program, found->steps)).is_legal) << c;
    EXPECT_EQ(is_legal(model, found->times), std::optional(true)) << c;
    std::vector<AffineTime> times = found->times;
    times.back().shift -= 1 + c % 7;
    const bool survives = naive_replay(model, naive_steps(program, order_of(program, times))).is_legal;
    EXPECT_EQ(is_legal(model, times), std::optional(survives)) << c;
    legal += survives ? 1 : 0;
  }
  EXPECT_LT(legal, cases);
}

/// Convolution, norm, convolution, of 8 rows of 4 channels: with whole norms two images are there at once.
Network around(const std::string& norm) {
  testing::Random random(5);
  testing::ImageMaker maker(random);
  const Shape image{1, 4, 8, 6};
  const TensorId x = maker.add_tensor(TensorKind::input, {1, 1, 8, 6});
  const TensorId a =
      maker.apply("Conv", {x, maker.weight({4, 1, 3, 3})}, image, {{"pads", Shape{1, 1, 1, 1}}});
  const TensorId b = norm == "Softmax" ? maker.apply(norm, {a}, image, {{"axis", std::int64_t{2}}})
                                       : maker.apply(norm, {a, maker.weight({4}), maker.weight({4})}, image);
  static_cast<void>(
      maker.apply("Conv", {b, maker.weight({1, 4, 3, 3})}, {1, 1, 8, 6}, {{"pads", Shape{1, 1, 1, 1}}}));
  return maker.take(0);
}

TEST(StreamCarried, NormsOverRowsBecomeTwoPasses) {
  for (const char* const type : {"InstanceNormalization", "Softmax"}) {
    const Network network = around(type);
    const RowModel model = instances_of(network.graph(), {.io = Io::rows});
    const auto second = std::ranges::find(model.operators, Carrying::second_pass, &Operator::carrying);
    ASSERT_NE(second, model.operators.end()) << type;
    const Operator& first = model.operators.at(second->passed);
    EXPECT_EQ(first.carrying, Carrying::first_pass);
    EXPECT_EQ(first.source, second->source);
    EXPECT_EQ(first.rows, 8);
    EXPECT_EQ(first.accumulator, type == std::string("Softmax") ? 16 * 4 * 6 : 16 * 4);
    EXPECT_TRUE(first.writes.empty());
    const RowProgram program = unroll(model);
    const Bytes image = 4 * 8 * 6 * 4;
    // All of one image, and few rows of the others.
    EXPECT_LT(order_by_regions(program, 1'000'000).peak, image + image / 2 + first.accumulator) << type;
  }
}

}  // namespace
}  // namespace stowage::stream
