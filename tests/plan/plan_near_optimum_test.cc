// Small networks by rows in two memories: how near plans come to the least cost of all orders, places and moves. The oracle
// knows nothing of the planner. It lets each row lie anywhere where live bytes fit, so it is a lower bound: no plan may cost
// less, and those that cost as much are proven. Other plans may be optimal, too.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "image_networks.h"
#include "long_tests.h"
#include "oracle/naive_rows.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using oracle::StepRows;
using testing::ImageMaker;
using testing::pick;
using testing::Random;

/// Elementwise operators, and windows along the height, which is at least 2 everywhere: so that is the axis of rows.
TensorId any_of(ImageMaker& images, const std::vector<TensorId>& values, Random& random) {
  const TensorId x = pick(random, 0, 2) == 0
                         ? values[static_cast<std::size_t>(pick(random, 0, std::ssize(values) - 1))]
                         : values.back();
  const Shape in = images.shape(x);
  const std::int64_t kind = pick(random, 0, 5);
  if (kind == 0) return images.apply("Relu", {x}, in);
  if (kind <= 2) {
    for (const TensorId other : values) {
      if (other != x && images.shape(other) == in) return images.apply("Add", {x, other}, in);
    }
  }
  const std::int64_t channels = pick(random, 1, 3);
  if (kind == 3 && in[2] >= 4)
    return images.apply("Conv", {x, images.weight({channels, in[1], 2, 1})}, {1, channels, in[2] / 2, in[3]},
                        {{"strides", Shape{2, 1}}});
  if (kind == 4 && in[2] > 2)
    return images.apply("Conv", {x, images.weight({in[1], 1, 2, 1})}, {1, in[1], in[2] - 1, in[3]},
                        {{"group", in[1]}});
  if (pick(random, 0, 1) == 0)
    return images.apply("Conv", {x, images.weight({channels, in[1], 1, 1})}, {1, channels, in[2], in[3]});
  return images.apply("Conv", {x, images.weight({in[1], in[1], 3, 1})}, in, {{"pads", Shape{1, 0, 1, 0}}});
}

Network tiny_images(Random& random, const char* name, std::int64_t least_operators,
                    std::int64_t most_operators) {
  ImageMaker images(random);
  const Shape input{1, pick(random, 1, 2), pick(random, 2, 3), pick(random, 1, 3)};
  std::vector<TensorId> values{images.add_tensor(TensorKind::input, input)};
  const std::int64_t operators = pick(random, least_operators, most_operators);
  for (std::int64_t i = 0; i < operators; ++i) values.push_back(any_of(images, values, random));
  Network network = images.take(pick(random, 0, 1) * 10);
  network.input.info.name = name;
  return network;
}

/// Networks that run one after the other, and how.
struct Case {
  std::vector<Network> networks{};
  PlanOptions options{};
  Bytes capacity = 0;
};

std::vector<Input> inputs_of(const Case& drawn) {
  std::vector<Input> inputs;
  for (const Network& network : drawn.networks) inputs.push_back(network.input);
  return inputs;
}

Case draw(std::uint64_t seed) {
  Random random(seed);
  Case drawn;
  const bool are_two = pick(random, 0, 3) == 0;
  drawn.networks.push_back(tiny_images(random, "a", are_two ? 1 : 2, are_two ? 3 : 6));
  if (are_two) drawn.networks.push_back(tiny_images(random, "b", 1, 3));
  PlanOptions& options = drawn.options;
  options.io = pick(random, 0, 1) == 0 ? Io::rows : Io::arena;
  options.alias = seed % 2 == 0 ? Alias::none : Alias::automatic;
  options.alignment = 1;
  options.stream = {
      .layout = StreamLayout::granules, .axes = StreamAxes::natural, .blocks = StreamBlocks::none};
  options.solve.effort = 2000;
  const Bytes peak = make_plan(inputs_of(drawn), options).plan.summary.peak;
  drawn.capacity = std::max<Bytes>(1, peak * pick(random, 3, 9) / 10);
  options.memories = {{.name = "SRAM", .capacity = drawn.capacity}, {.name = "PSRAM", .cost = 10}};
  if (pick(random, 0, 2) == 0)
    options.memories.push_back({.name = "FLASH", .cost = 10, .role = MemoryRole::weights});
  options.moves = pick(random, 0, 2) > 0 ? Moves::allowed : Moves::none;
  return drawn;
}

/// How plans compare with the oracle.
struct Nearness {
  std::uint64_t known = 0;  ///< Cases that the oracle has searched to the end.
  std::uint64_t equal = 0;  ///< No way costs less.
  std::uint64_t near = 0;   ///< Plans cost at most 10 % more.
  double worst = 1;
  std::string worst_case{};

  void note(std::uint64_t seed, std::int64_t cost, const oracle::LeastCost& least) {
    const double ratio = static_cast<double>(cost) / static_cast<double>(least.cost.value_or(cost));
    ++known;
    equal += ratio <= 1 ? 1 : 0;
    near += ratio <= 1.1 ? 1 : 0;
    if (ratio <= worst) return;
    worst = ratio;
    worst_case =
        fmt::format("{} (seed {}): {} instead of {}\n{}", ratio, seed, cost, *least.cost, least.steps);
  }
};

void print(const char* what, const Nearness& it) {
  std::cout << what << ": " << it.known << " cases, " << it.equal << " at the least cost, " << it.near
            << " within 10 %, worst " << (testing::has_time() ? it.worst_case : std::to_string(it.worst))
            << "\n";
}

/// The plan's own steps; none if it computes a row twice.
std::optional<std::vector<oracle::RowStep>> steps_of(const Plan& plan, const Case& drawn) {
  std::vector<oracle::RowStep> steps;
  const std::size_t of_first = drawn.networks[0].graph().subgraphs[0].operators.size();
  for (const Step& step : plan.clocks[0].steps) {
    const auto* const run = std::get_if<Run>(&step);
    if (run == nullptr) continue;
    const Graph& graph = drawn.networks[run->model].graph();
    const Operator& op = graph.subgraphs[0].operators[run->path[1]];
    const std::int64_t height = (*graph.tensors[*op.outputs[0]].shape)[2];
    const oracle::RowStep own{.op = run->path[1] + (run->model == 0 ? 0 : of_first),
                              .begin = run->rows ? run->rows->begin : 0,
                              .end = run->rows ? run->rows->end : height};
    for (const oracle::RowStep& other : steps) {
      if (other.op == own.op && other.begin < own.end && own.begin < other.end) return std::nullopt;
    }
    steps.push_back(own);
  }
  return steps;
}

std::optional<std::int64_t> least_of(const Network& network, const oracle::NaiveRows& wanted) {
  return oracle::least_cost_of_rows({&network.graph(), 1}, wanted).cost;
}

/// Two rows of 4 bytes in and out: a step reads one and writes one.
TEST(PlanNearOptimum, TheOracleCountsBytesWhereTheyAre) {
  Random random(1);
  ImageMaker images(random);
  images.apply("Relu", {images.add_tensor(TensorKind::input, {1, 1, 2, 1})}, {1, 1, 2, 1});
  const Network network = images.take(0);
  oracle::NaiveRows wanted{.capacity = 8, .arrives_by_rows = true, .at_most = 1000};
  EXPECT_EQ(least_of(network, wanted), 8 + 8);
  wanted.capacity = 4;  // one of both is in slow memory
  EXPECT_EQ(least_of(network, wanted), 2 * (4 + 40));
  wanted.may_share = true;
  EXPECT_EQ(least_of(network, wanted), 8 + 8);
  wanted.arrives_by_rows = false;  // both rows are there from the start, or to the end
  wanted.capacity = 16;
  EXPECT_EQ(least_of(network, wanted), 8 + 8);
  wanted.capacity = 7;
  EXPECT_EQ(least_of(network, wanted), 4 + 40 + 80);
  wanted.at_most = 100;
  EXPECT_EQ(least_of(network, wanted), std::nullopt);
}

/// The same with 4 bytes of weights.
TEST(PlanNearOptimum, TheOracleStagesWeights) {
  Random random(1);
  ImageMaker images(random);
  const TensorId input = images.add_tensor(TensorKind::input, {1, 1, 2, 1});
  images.apply("Conv", {input, images.weight({1, 1, 1, 1})}, {1, 1, 2, 1});
  const Network network = images.take(0);
  oracle::NaiveRows wanted{.capacity = 12, .weights = 10, .arrives_by_rows = true, .at_most = 1000};
  EXPECT_EQ(least_of(network, wanted), 12 + 40 + 40);  // one step for both rows, one of them in slow memory
  wanted.may_move = true;
  EXPECT_EQ(least_of(network, wanted), 16 + 40 + 4 + 2 * 4);
  wanted.capacity = 16;
  EXPECT_EQ(least_of(network, wanted), 16 + 40);
  wanted.steps = StepRows::one;
  EXPECT_EQ(least_of(network, wanted), 16 + 40 + 4 + 2 * 4);
}

/// Against what plans are compared.
struct Compared {
  Nearness in_order;  // of the plan's own steps, in their order
  Nearness
      by_one;  // steps of one row, or all operators as wholes: what is compared where weights do not count
  Nearness by_any;  // steps of as many rows as cost least
};

void compare(std::uint64_t seed, const Case& drawn, Compared& compared) {
  const PlanResult result = make_plan(inputs_of(drawn), drawn.options);
  ASSERT_TRUE(result.faults.empty()) << seed << ": " << result.faults[0].what;
  const std::int64_t cost = result.plan.summary.cost;
  std::vector<Graph> graphs;
  for (const Network& network : drawn.networks) graphs.push_back(network.graph());
  const bool do_weights_count = drawn.options.memories.size() == 3;
  oracle::NaiveRows wanted{.capacity = drawn.capacity,
                           .may_move = drawn.options.moves == Moves::allowed,
                           .may_share = drawn.options.alias != Alias::none,
                           .arrives_by_rows = drawn.options.io == Io::rows,
                           .at_most = cost,
                           .most_states = 10'000};
  if (do_weights_count) wanted.weights = drawn.options.memories[2].cost;
  const auto steps = steps_of(result.plan, drawn);
  const oracle::LeastCost any = oracle::least_cost_of_rows(graphs, wanted);
  if (any.is_given_up) return;
  compared.by_any.note(seed, cost, any);
  // The oracle computes no row twice.
  EXPECT_TRUE(any.cost || !steps) << seed << ": a plan costs " << cost << ", less than all ways";
  if (!do_weights_count) {
    wanted.steps = StepRows::one;
    const oracle::LeastCost one = oracle::least_cost_of_rows(graphs, wanted);
    wanted.steps = StepRows::all;
    const oracle::LeastCost all = oracle::least_cost_of_rows(graphs, wanted);
    if (!one.is_given_up && !all.is_given_up)
      compared.by_one.note(seed, cost, all.cost.value_or(cost) < one.cost.value_or(cost) ? all : one);
  }
  if (!steps) return;
  wanted.order = *steps;
  const oracle::LeastCost own = oracle::least_cost_of_rows(graphs, wanted);
  EXPECT_TRUE(own.cost) << seed << ": a plan costs " << cost << ", less than its steps do";
  compared.in_order.note(seed, cost, own);
}

/// Least shares in percent, and the worst ratio.
void expect_near(const char* what, const Nearness& it, std::uint64_t equal, std::uint64_t near,
                 double worst) {
  print(what, it);
  EXPECT_GE(100 * it.equal, equal * it.known) << what;
  EXPECT_GE(100 * it.near, near * it.known) << what;
  EXPECT_LE(it.worst, worst) << what;
}

TEST(PlanNearOptimum, OfSmallNetworksByRows) {
  Compared apart;
  Compared shared;
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 200 : 70);
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    Case drawn = draw(seed);
    compare(seed, drawn, drawn.options.alias == Alias::none ? apart : shared);
    ASSERT_FALSE(HasFatalFailure());
  }
  EXPECT_GE(apart.by_any.known + shared.by_any.known, cases * 3 / 4);
  expect_near("in the order of the plan's steps", apart.in_order, 60, 80, 2);
  expect_near("steps of a row, or all operators as wholes", apart.by_one, 50, 60, 2.5);
  expect_near("steps of any rows", apart.by_any, 20, 40, 3);
  expect_near("in the order of the plan's steps, rows in place", shared.in_order, 40, 55, 2.5);
  expect_near("steps of a row, or all operators as wholes, rows in place", shared.by_one, 20, 20, 2.5);
  expect_near("steps of any rows, rows in place", shared.by_any, 10, 20, 3);
}

}  // namespace
}  // namespace stowage
