// What a streamed plan is chosen from: more options never make a higher peak, what is claimed holds for all
// of them, and limits of time and capacity end the choosing.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "long_tests.h"
#include "oracle/random_graph.h"
#include "row_sketch.h"
#include "stowage/error.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

Input input_of(Graph graph) {
  Input input{.info = {"net", "net.json", ModelFormat::json}};
  input.content = std::move(graph);
  return input;
}

PlanOptions options_with(Io io, Bytes alignment = 1) {
  PlanOptions options;
  options.io = io;
  options.alignment = alignment;
  options.stream.emplace();
  options.solve.time_limit = std::chrono::milliseconds(300);
  return options;
}

PlanResult planned(const Input& input, const PlanOptions& options) {
  PlanResult result = make_plan(input, options);
  EXPECT_TRUE(result.faults.empty()) << result.faults[0].what;
  return result;
}

Bytes peak_of(const Input& input, const PlanOptions& options) {
  return planned(input, options).plan.summary.peak;
}

/// The bound that a plan claims for orders of rows, or else for orders of operators.
Bytes claim_of(const Plan& plan) {
  Bytes bound = 0;
  for (const Claim& claim : plan.claims) {
    if (claim.scope != ClaimScope::offsets) bound = claim.lower_bound;
  }
  return bound;
}

/// 4 rows of 2 bytes, windows of 4 rows, and a sum over their rows, which reads the input as well.
Graph sum_beside_its_input() {
  cases::RowSketch sketch;
  const TensorId x = sketch.input("x", {4, 2});
  sketch.add("Conv", {x}, {4, 2}).row_axes = {
      {.axis = 0, .reads = {{.rows = {.offset = -3, .taps = 4}}}, .is_windows = true}};
  const TensorId y = sketch.last();
  Operator& sum = sketch.add("ReduceMean", {y, x}, {1, 2});
  sum.sums_over = {0};
  sketch.finish();
  return sketch.graph;
}

TEST(PlanStreamChoices, SumsMayBeOfWholeOperators) {
  const Input input = input_of(sum_beside_its_input());
  for (const Io io : {Io::arena, Io::rows}) {
    const Plan plan = planned(input, options_with(io)).plan;
    EXPECT_EQ(plan.summary.peak, 18) << "8 + 8 of both inputs, and 2: no sums of 32 bits";
    EXPECT_LE(claim_of(plan), 18);
  }
}

/// A sum whose third input is its first: while that is read, the output has the sum of two.
Graph sum_with_a_repeated_input() {
  cases::RowSketch sketch;
  const TensorId x = sketch.input("x", {8, 2});
  const TensorId a = sketch.convolve(x, 0, 8, {.offset = -1, .taps = 3});
  const TensorId sum = sketch.elementwise("Sum", {a, x, a}, 0);
  (void)sketch.convolve(sum, 0, 8, {.offset = -1, .taps = 3});
  sketch.finish();
  return sketch.graph;
}

TEST(PlanStreamChoices, ARepeatedInputOfASumIsNotWrittenOver) {
  for (const Io io : {Io::arena, Io::rows})
    (void)planned(input_of(sum_with_a_repeated_input()), options_with(io));
}

/// A row that is read twice before windows: in place as one, or summed up.
Graph sum_behind_itself() {
  cases::RowSketch sketch;
  const TensorId y = sketch.elementwise("Relu", {sketch.input("x", {3, 6})}, 0);
  const TensorId sum = sketch.pool(y, 0);
  sketch.add("X", {sum, y}, {1, 2}).row_axes = {
      {.axis = 0, .reads = {{.input = 0, .rows = {.taps = 3}}}, .is_windows = true}};
  sketch.finish();
  return sketch.graph;
}

TEST(PlanStreamChoices, RowsThatGainNothingGiveWayToWholeOperators) {
  const Input input = input_of(sum_behind_itself());
  PlanOptions options = options_with(Io::rows);
  const Plan rows = planned(input, options).plan;
  options.stream.reset();
  options.io = Io::arena;
  EXPECT_LE(rows.summary.peak, peak_of(input, options));
  EXPECT_LE(claim_of(rows), rows.summary.peak);
}

/// Narrow rows that a PAD makes wide.
Graph narrow_rows_to_pad() {
  cases::RowSketch sketch;
  const TensorId x = sketch.input("x", {4, 2});
  (void)sketch.elementwise("Mul", {x, x}, 0);
  const TensorId narrow = sketch.convolve(x, 0, 4, {});
  (void)sketch.pad(narrow, 0, 2, 4);
  sketch.finish();
  return sketch.graph;
}

TEST(PlanStreamChoices, RowsInPlaceAreNeverAboveRowsApart) {
  const Input input = input_of(narrow_rows_to_pad());
  for (const Io io : {Io::arena, Io::rows}) {
    PlanOptions options = options_with(io);
    const Bytes in_place = peak_of(input, options);
    options.alias = Alias::none;
    EXPECT_LE(in_place, peak_of(input, options));
  }
}

/// Apart, rows of 1 and 2 bytes have less load, but not if each takes 8 bytes.
TEST(PlanStreamChoices, RowsApartAreNeverAboveRowsInPlace) {
  cases::RowSketch sketch;
  const TensorId x = sketch.input("x", {8, 3});
  sketch.add("Conv", {x}, {8, 1}).row_axes = {
      {.axis = 0, .reads = {{.rows = {.taps = 5}}}, .is_windows = true}};
  sketch.add("Pad", {sketch.last()}, {8, 2}).row_axes = {{.axis = 0, .reads = {{.rows = {}, .kept_at = 1}}}};
  sketch.finish();
  const Input input = input_of(sketch.graph);
  PlanOptions options = options_with(Io::rows, 8);
  options.alias = Alias::all;
  const Bytes in_place = peak_of(input, options);
  options.alias = Alias::automatic;
  EXPECT_LE(peak_of(input, options), in_place);
}

bool can_be_streamed(const Input& input) {
  const auto& graph = std::get<Graph>(input.content);
  return graph.ties.empty() && graph.subgraphs.size() == 1 &&
         std::none_of(graph.tensors.begin(), graph.tensors.end(),
                      [](const Tensor& it) { return it.kind == TensorKind::state; }) &&
         std::none_of(graph.subgraphs[0].operators.begin(), graph.subgraphs[0].operators.end(),
                      [](const Operator& op) { return !op.scratch.empty(); });
}

/// Peaks of a network with fewer options and more, as far as no time limit cut a search short.
/// A sum over the rows of a transposed tensor is low along the first axis, if the input is there from the start.
TEST(PlanStreamChoices, RowsOfInputsAreNeverAboveInputsThatAreThere) {
  cases::RowSketch sketch;
  const TensorId x = sketch.input("x", {2, 8});
  const std::vector<RowAxis> turned{{.axis = 0, .reads = {{.input = 0, .axis = 1}}},
                                    {.axis = 1, .reads = {{.input = 0, .axis = 0}}}};
  sketch.add("Transpose", {x}, {8, 2}).row_axes = turned;
  sketch.add("ReduceMean", {sketch.last()}, {1, 2}).sums_over = {0};
  sketch.add("Transpose", {x}, {8, 2}).row_axes = turned;
  sketch.finish();
  const Input input = input_of(sketch.graph);
  PlanOptions options = options_with(Io::rows);
  for (const Alias alias : {Alias::all, Alias::automatic, Alias::none}) {
    options.alias = alias;
    options.io = Io::rows;
    const Bytes by_rows = peak_of(input, options);
    options.io = Io::arena;
    EXPECT_LE(by_rows, peak_of(input, options));
  }
}

TEST(PlanStreamChoices, MoreOptionsNeverMakeAHigherPeak) {
  const std::uint64_t cases = testing::has_time() ? 2000 : 20;
  std::uint64_t tried = 0;
  std::uint64_t compared = 0;
  std::uint64_t streamed = 0;
  std::uint64_t proven = 0;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    oracle::Choices choices(seed);
    const Input input = input_of(cases::random_row_graph(choices));
    if (!can_be_streamed(input)) continue;
    ++tried;
    const Bytes alignment = choices.one_of<Bytes>({1, 4, 64});
    std::map<std::tuple<bool, Io, bool, bool>, Plan> plans;  // streamed, io, may share, searched
    for (const bool shares : {false, true}) {
      for (const bool searches : {false, true}) {
        for (const auto& [streams, io] :
             {std::pair(false, Io::arena), std::pair(true, Io::arena), std::pair(true, Io::rows)}) {
          PlanOptions options = options_with(io, alignment);
          options.alias = shares ? Alias::automatic : Alias::none;
          options.order = searches ? Order::search : Order::keep;
          if (!streams) options.stream.reset();
          plans[{streams, io, shares, searches}] = planned(input, options).plan;
        }
      }
    }
    for (const auto& [less, with_less] : plans) {
      for (const auto& [more, with_more] : plans) {
        const auto& [s, i, a, o] = less;
        const auto& [s2, i2, a2, o2] = more;
        if (s > s2 || i > i2 || a > a2 || o > o2) continue;
        EXPECT_LE(claim_of(with_more), with_less.summary.peak) << seed;
        if (with_more.interrupted) continue;
        ++compared;
        EXPECT_LE(with_more.summary.peak, with_less.summary.peak)
            << seed << ": " << s << static_cast<int>(i) << a << o << " and " << s2 << static_cast<int>(i2)
            << a2 << o2;
      }
    }
    const Plan& all = plans[{true, Io::rows, true, true}];
    streamed += all.streaming ? 1 : 0;
    proven += all.streaming && claim_of(all) == all.summary.peak ? 1 : 0;
  }
  EXPECT_GT(compared, 20 * tried);
  EXPECT_GT(streamed, tried / 3);
  EXPECT_GT(proven, tried / 10);
}

/// Rows that may be computed again make other instances for each way to share.
TEST(PlanStreamChoices, SharingNeverCostsWhereRowsMayBeComputedAgain) {
  const std::uint64_t cases = testing::has_time() ? 2000 : testing::is_in_a_hurry() ? 40 : 80;
  std::uint64_t compared = 0;
  std::uint64_t again = 0;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    oracle::Choices choices(seed);
    const Input input = input_of(cases::random_row_graph(choices));
    if (!can_be_streamed(input)) continue;
    PlanOptions options = options_with(Io::rows, choices.one_of<Bytes>({1, 4, 16}));
    options.stream->granule = choices.between(2, 4);
    const Plan once = planned(input, options).plan;
    options.stream->recompute = 1.5;
    const Plan shared = planned(input, options).plan;
    options.alias = Alias::none;
    const Plan apart = planned(input, options).plan;
    again += apart.summary.peak < once.summary.peak ? 1 : 0;
    if (shared.interrupted) continue;
    ++compared;
    EXPECT_LE(shared.summary.peak, apart.summary.peak) << seed;
    EXPECT_LE(shared.summary.peak, once.summary.peak) << seed;
  }
  EXPECT_GT(compared, cases / 40);  // the others were cut: this machine may be slow
  EXPECT_GT(again, 0);
}

/// The same network with rows that are as long as alignment makes them.
Graph rounded(Graph graph, Bytes alignment) {
  for (Tensor& tensor : graph.tensors) {
    if (!tensor.shape || tensor.shape->size() != 2) continue;
    (*tensor.shape)[1] = ((*tensor.shape)[1] + alignment - 1) / alignment * alignment;
    tensor.bytes = bytes_of(tensor.dtype, *tensor.shape);
  }
  return graph;
}

/// Convolutions of short rows and sums of them.
Graph short_rows(oracle::Choices& choices) {
  cases::RowSketch sketch;
  std::vector<TensorId> values{sketch.input("x", {choices.between(3, 9), choices.between(1, 150)})};
  for (std::size_t i = choices.below(5) + 2; i > 0; --i) {
    const TensorId from = choices.one_of(values);
    const std::int64_t rows = sketch.shape(from)[0];
    const std::int64_t step = rows > 3 ? choices.between(1, 2) : 1;
    Operator& op = sketch.add("Conv", {from}, {(rows + step - 1) / step, choices.between(1, 150)});
    const std::int64_t taps = choices.between(1, 3);
    op.row_axes = {{.axis = 0,
                    .reads = {{.input = 0, .rows = {.scale = step, .offset = -(taps / 2), .taps = taps}}},
                    .is_windows = true}};
    values.push_back(sketch.last());
  }
  sketch.finish();
  return sketch.graph;
}

TEST(PlanStreamChoices, RowsTakeWhatMemoryStores) {
  constexpr Bytes alignment = 64;
  const std::uint64_t cases = testing::has_time() ? 1000 : testing::cases_of(32);
  std::uint64_t lower = 0;
  std::uint64_t compared = 0;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    oracle::Choices choices(seed);
    const Graph graph = short_rows(choices);
    PlanOptions options = options_with(Io::rows, alignment);
    options.solve.time_limit = std::chrono::milliseconds(testing::is_in_a_hurry() ? 8000 : 900);
    const Plan plan = planned(input_of(graph), options).plan;
    const Bytes of_rounded = peak_of(input_of(rounded(graph, alignment)), options);
    lower += plan.summary.peak < of_rounded ? 1 : 0;
    if (plan.interrupted) continue;
    EXPECT_LE(plan.summary.peak, of_rounded) << seed;
    ++compared;
  }
  EXPECT_GT(compared, cases / 8);
  EXPECT_GT(lower, 0U) << "rings waste less than rows that are rounded";
}

/// Blocks of windows around which rows are kept, of so many widths that packing them goes on for ever.
Graph endless() {
  cases::RowSketch sketch;
  oracle::Choices choices(1);
  TensorId x = sketch.input("x", {48, 37});
  for (int block = 0; block < 6; ++block) {
    TensorId y = x;
    for (int i = 0; i < 3; ++i) y = sketch.convolve(y, 0, 48, {.offset = -1, .taps = choices.between(2, 4)});
    sketch.add("Add", {y, x}, {48, sketch.shape(y)[1]}).row_axes = {
        {.axis = 0, .reads = {{.input = 0}, {.input = 1}}}};
    x = sketch.last();
  }
  sketch.finish();
  return sketch.graph;
}

TEST(PlanStreamChoices, ACapacityThatIsMetEndsTheSearch) {
  const Input input = input_of(endless());
  PlanOptions options = options_with(Io::rows);
  options.solve.time_limit = testing::time_of(std::chrono::milliseconds(500));
  const Plan found = planned(input, options).plan;
  ASSERT_TRUE(found.streaming);
  options.solve.time_limit = std::chrono::hours(1);  // longer than any test may take
  options.memories[0].capacity = found.summary.peak * 5 / 4;
  const PlanResult result = planned(input, options);
  EXPECT_EQ(result.outcome, Outcome::fits);
  EXPECT_LE(result.plan.summary.peak, options.memories[0].capacity);
  EXPECT_FALSE(result.plan.interrupted);
  options.memories[0].capacity = largest_value;
  EXPECT_TRUE(planned(input, options).plan.streaming) << "rows that arrive are asked for";
  options.io = Io::arena;
  EXPECT_FALSE(planned(input, options).plan.streaming) << "whole operators fit";
}

TEST(PlanStreamChoices, CutAtAnyMomentThePlanIsNoWorseThanOfWholeOperators) {
  const Input input = input_of(endless());
  PlanOptions options = options_with(Io::rows);
  options.stream.reset();
  options.io = Io::arena;
  options.solve.time_limit = {};
  const Bytes whole = peak_of(input, options);
  for (const Io io : {Io::arena, Io::rows}) {
    options = options_with(io);
    std::set<Bytes> peaks;
    for (int moment = 0; moment < 16; ++moment) {
      options.solve.time_limit = std::chrono::microseconds(20) * (1 << moment);
      const Plan plan = planned(input, options).plan;
      EXPECT_LE(plan.summary.peak, whole);
      EXPECT_LE(claim_of(plan), plan.summary.peak);
      peaks.insert(plan.summary.peak);
    }
    EXPECT_GT(peaks.size(), 1U) << "all limits led to the same plan";
  }
}

/// So many rows that unrolling them takes seconds.
Graph many_rows() {
  cases::RowSketch sketch;
  TensorId x = sketch.input("x", {2'000'000, 4});
  for (int i = 0; i < 4; ++i) x = sketch.convolve(x, 0, 2'000'000, {.offset = -1, .taps = 3});
  sketch.finish();
  return sketch.graph;
}

TEST(PlanStreamChoices, AnInterruptEndsItWhateverItIsDoing) {
  for (const auto& graph : {many_rows(), endless()}) {
    for (const int milliseconds : {0, 20, 1000}) {
      PlanOptions options = options_with(Io::rows);
      options.solve.time_limit = std::chrono::hours(1);  // longer than any test may take
      std::stop_source source;
      options.solve.stop = source.get_token();
      const std::jthread caller([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        source.request_stop();
      });
      const Plan plan = planned(input_of(graph), options).plan;
      EXPECT_TRUE(plan.interrupted);
      if (milliseconds < 1000) continue;  // then that of whole operators may be cut as well
      options.stream.reset();
      options.io = Io::arena;
      options.order = Order::keep;
      options.solve.strategy = "free-list";
      EXPECT_LE(plan.summary.peak, peak_of(input_of(graph), options));
    }
  }
}

}  // namespace
}  // namespace stowage
