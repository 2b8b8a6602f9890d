// Inputs that are in the arena from the start: rows are written over their rows as soon as these are read for the last
// time. Brute force says what the best order needs.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <variant>
#include <vector>

#include "image_networks.h"
#include "long_tests.h"
#include "row_sketch.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::ImageMaker;
using testing::pick;
using testing::Random;

PlanOptions given_options() {
  PlanOptions options;
  options.alignment = 1;
  options.stream.emplace();
  options.solve.time_limit = testing::time_of(std::chrono::milliseconds(400));
  return options;
}

Plan sound_plan(Graph graph, const PlanOptions& options) {
  Input input{.info = {"net", "net.json", ModelFormat::json}};
  input.content = std::move(graph);
  PlanResult result = make_plan(input, options);
  EXPECT_TRUE(result.faults.empty()) << result.faults[0].what;
  return std::move(result.plan);
}

/// x (3 rows of 3 bytes) -> Relu -> Conv, which makes a byte of each row.
Graph narrowing() {
  cases::RowSketch sketch;
  const TensorId x = sketch.input("x", {3, 3});
  const TensorId relu = sketch.elementwise("Relu", {x}, 0);
  sketch.add("Conv", {relu}, {3, 1}).row_axes = {{.axis = 0, .reads = {{}}, .is_windows = true}};
  sketch.finish();
  return sketch.graph;
}

/// 9 bytes are there. A row of Relu lies over its row of x; the first byte of Conv is the tenth.
TEST(PlanRowsGiven, AreWrittenOver) {
  const Plan plan = sound_plan(narrowing(), given_options());
  EXPECT_EQ(plan.summary.peak, 10);
  ASSERT_TRUE(plan.streaming);
  EXPECT_EQ(plan.streaming->load, 10);
  PlanOptions apart = given_options();
  apart.alias = Alias::none;
  EXPECT_EQ(sound_plan(narrowing(), apart).summary.peak, 12);
}

/// Relu is written over row r of x when the windows are through with it.
TEST(PlanRowsGiven, MayHaveOtherReadersInFront) {
  cases::RowSketch sketch;
  const TensorId x = sketch.input("x", {6, 4});
  sketch.add("Conv", {x}, {6, 1}).row_axes = {
      {.axis = 0, .reads = {{.rows = {.offset = -1, .taps = 3}}}, .is_windows = true}};
  const TensorId relu = sketch.elementwise("Relu", {x}, 0);
  sketch.add("Conv", {relu}, {6, 1}).row_axes = {{.axis = 0, .reads = {{}}, .is_windows = true}};
  sketch.finish();
  const Plan plan = sound_plan(sketch.graph, given_options());
  ASSERT_TRUE(plan.streaming);
  EXPECT_EQ(plan.streaming->load, 24 + 2 + 1);  // x, two rows of windows, a row of the other convolution
  PlanOptions apart = given_options();
  apart.alias = Alias::none;
  EXPECT_GT(sound_plan(sketch.graph, apart).summary.peak, plan.summary.peak);
}

/// The least live bytes of all orders of rows, each row computed once, in ascending order. A row may be written over a
/// row of as many bytes that nobody reads any more, of an elementwise operator.
class LeastLoad {
 public:
  explicit LeastLoad(const Graph& graph) : graph_(graph), operators_(graph.subgraphs[0].operators) {}

  Bytes of_all() const {
    using Entry = std::pair<Bytes, Done>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    std::map<Done, Bytes> best;
    const Done start(operators_.size(), 0);
    open.emplace(live(start), start);
    while (!open.empty()) {
      const auto [peak, done] = open.top();
      open.pop();
      if (!best.emplace(done, peak).second) continue;
      bool is_end = true;
      for (std::size_t op = 0; op < operators_.size(); ++op) {
        if (done[op] == rows_of(output_of(op))) continue;
        is_end = false;
        if (is_ready(op, done)) open.emplace(std::max(peak, load_of(op, done)), after(op, done));
      }
      if (is_end) return peak;
    }
    return -1;
  }

 private:
  using Done = std::vector<std::int64_t>;

  TensorId output_of(std::size_t op) const { return *operators_[op].outputs[0]; }
  std::int64_t rows_of(TensorId t) const { return (*graph_.tensors[t].shape)[0]; }
  Bytes row_of(TensorId t) const { return graph_.tensors[t].bytes / rows_of(t); }

  static Done after(std::size_t op, Done done) {
    ++done[op];
    return done;
  }

  template <typename Visit>
  void for_each_read(std::size_t op, std::int64_t row, const Visit& visit) const {
    for (const RowRead& read : operators_[op].row_axes[0].reads) {
      const TensorId t = *operators_[op].inputs[read.input];
      for_each_row(read.rows, rows_of(t), row, [&](std::int64_t r) { visit(t, r); });
    }
  }

  bool is_there(TensorId t, std::int64_t row, const Done& done) const {
    for (std::size_t op = 0; op < operators_.size(); ++op) {
      if (output_of(op) == t) return row < done[op];
    }
    return true;
  }

  bool is_ready(std::size_t op, const Done& done) const {
    bool is_ready = true;
    for_each_read(op, done[op],
                  [&](TensorId t, std::int64_t r) { is_ready = is_ready && is_there(t, r, done); });
    return is_ready;
  }

  bool is_live(TensorId t, std::int64_t row, const Done& done) const {
    if (!is_there(t, row, done)) return false;
    if (graph_.tensors[t].kind == TensorKind::output) return true;
    for (std::size_t op = 0; op < operators_.size(); ++op) {
      for (std::int64_t i = done[op]; i < rows_of(output_of(op)); ++i) {
        bool reads = false;
        for_each_read(op, i,
                      [&](TensorId read, std::int64_t r) { reads = reads || (read == t && r == row); });
        if (reads) return true;
      }
    }
    return false;
  }

  Bytes live(const Done& done) const {
    Bytes bytes = 0;
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      for (std::int64_t r = 0; r < rows_of(t); ++r) bytes += is_live(t, r, done) ? row_of(t) : 0;
    }
    return bytes;
  }

  Bytes load_of(std::size_t op, const Done& done) const {
    const Bytes own = row_of(output_of(op));
    Bytes saved = 0;
    for (std::size_t i = 0; i < operators_[op].inputs.size(); ++i) {
      const TensorId t = *operators_[op].inputs[i];
      if (in_place_output(graph_, operators_[op], i) && !is_live(t, done[op], after(op, done))) saved = own;
    }
    return live(done) + own - saved;
  }

  const Graph& graph_;
  const std::vector<Operator>& operators_;
};

/// Windows, elementwise operators and sums of two tensors over an input of a few rows.
Graph random_rows(Random& random) {
  cases::RowSketch sketch;
  const std::int64_t rows = pick(random, 2, 4);
  std::vector<TensorId> alike{sketch.input("x", {rows, pick(random, 1, 5)})};
  for (std::int64_t i = 0, count = pick(random, 2, 4); i < count; ++i) {
    const TensorId from = alike[static_cast<std::size_t>(pick(random, 0, std::ssize(alike) - 1))];
    const TensorId last = alike.back();
    const std::int64_t kind = pick(random, 0, 3);
    if (kind == 0) {
      sketch.elementwise("Relu", {last}, 0);
    } else if (kind == 1 && from != last && sketch.shape(from) == sketch.shape(last)) {
      sketch.elementwise("Add", {from, last}, 0);
    } else {
      const std::int64_t taps = pick(random, 1, 3);
      const std::int64_t width = pick(random, 0, 1) == 0 ? sketch.shape(last)[1] : pick(random, 1, 5);
      sketch.add("Conv", {last}, {rows, width}).row_axes = {
          {.axis = 0, .reads = {{.rows = {.offset = -(taps / 2), .taps = taps}}}, .is_windows = true}};
    }
    alike.push_back(sketch.last());
  }
  sketch.finish();
  return sketch.graph;
}

TEST(PlanRowsGiven, LoadsAreThoseOfTheBestOrder) {
  Random random(5);
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 1000 : 100);
  std::uint64_t best = 0;
  std::uint64_t by_rows = 0;
  for (std::uint64_t i = 0; i < cases; ++i) {
    const Graph graph = random_rows(random);
    const Bytes least = LeastLoad(graph).of_all();
    const Plan plan = sound_plan(graph, given_options());
    EXPECT_GE(plan.summary.peak, least) << i;
    for (const Claim& claim : plan.claims) {
      const Bytes bound = claim.scope == ClaimScope::stream ? claim.lower_bound : 0;
      EXPECT_LE(bound, least) << i;
    }
    if (!plan.streaming) continue;
    ++by_rows;
    EXPECT_GE(plan.streaming->load, least) << i;
    best += plan.streaming->load == least ? 1 : 0;
  }
  EXPECT_GT(by_rows, cases / 4);
  EXPECT_GE(best, by_rows * 9 / 10);
}

/// Whether a row of a tensor lies at the place of an input.
bool is_over_input(const Plan& plan) {
  for (const PlannedTensor& a : plan.tensors) {
    if (a.tensor.kind != TensorKind::input) continue;
    for (const PlannedTensor& b : plan.tensors) {
      if (b.tensor.kind == TensorKind::input) continue;
      for (const View& in : a.views) {
        if (std::ranges::any_of(b.views, [&](const View& out) { return out.buffer == in.buffer; }))
          return true;
      }
    }
  }
  return false;
}

TEST(PlanRowsGiven, RunAsTheyRunApart) {
  Random random(6);
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 200 : 24);
  std::uint64_t over = 0;
  for (std::uint64_t i = 0; i < cases; ++i) {
    ImageMaker images(random);
    const TensorId x = images.add_tensor(TensorKind::input, {1, 3, pick(random, 5, 9), 4});
    const Shape shape = images.shape(x);
    TensorId y = x;
    if (i % 3 == 0) y = images.apply("Relu", {x}, shape);
    if (i % 3 == 1) {
      y = images.apply("Conv", {x, images.weight({3, 3, 3, 3})}, shape,
                       {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
      y = images.apply("Add", {x, y}, shape);
    }
    if (i % 3 == 2) y = images.pad(x, pick(random, 0, 1), 0);
    const std::int64_t rows = images.shape(y)[2];
    y = images.apply("Conv", {y, images.weight({1, 3, 1, 1})}, {1, 1, rows, 4});
    const Network network = images.take(0);
    PlanOptions options = given_options();
    options.stream->granule = pick(random, 1, 2);
    options.stream->layout = i % 2 == 0 ? StreamLayout::automatic : StreamLayout::ring;
    options.alias = i % 5 == 0 ? Alias::all : Alias::automatic;
    const PlanResult result = make_plan(network.input, options);
    ASSERT_TRUE(result.faults.empty()) << i << ": " << result.faults[0].what;
    over += result.plan.streaming && is_over_input(result.plan) ? 1 : 0;
    const RunResult run = run_plan(network, result.plan, {.check = RunCheck::tensors});
    ASSERT_FALSE(run.fault) << i << ": " << run.fault->what;
  }
  EXPECT_GT(over, cases / 3);
}

}  // namespace
}  // namespace stowage
