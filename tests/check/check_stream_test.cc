// Streamed plans made by hand, right and wrong.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "check_cases.h"
#include "plan_sketch.h"
#include "stowage/plan.h"
#include "stream_plans.h"

namespace stowage {
namespace {

using namespace cases;
using enum FaultKind;

constexpr std::size_t conv = 0;
constexpr std::size_t relu = 1;
constexpr std::size_t pool = 2;

/// x (4 rows of 2 bytes) -> Conv, 3 rows -> conv1 (of 3 bytes) -> Relu -> relu2 -> Pool over all rows ->
/// pool3
Graph line() {
  RowSketch sketch;
  const TensorId x = sketch.input("x", {4, 2});
  const TensorId a = sketch.convolve(x, 0, 4, {.offset = -1, .taps = 3});
  sketch.pool(sketch.elementwise("Relu", {a}, 0), 0);
  sketch.finish();
  return sketch.graph;
}

Run rows_of(std::size_t op, std::int64_t begin, std::int64_t end) {
  return {.path = {0, op}, .rows = RowRange{0, begin, end}};
}

View rows_at(std::size_t buffer, Bytes offset, std::int64_t begin, std::int64_t end, const Lifetime& life) {
  return {.buffer = buffer, .offset = offset, .life = life, .rows = RowRange{0, begin, end}};
}

/// A plan with a place for every tensor of the graph, and nothing yet.
Plan empty_plan(const Graph& graph) {
  Plan plan;
  plan.models = {{"rows", "rows.json", ModelFormat::json}};
  plan.clocks.resize(1);
  plan.memories = {{.memory = {.name = "arena"}}};
  for (const Tensor& tensor : graph.tensors) plan.tensors.push_back({.tensor = tensor});
  return plan;
}

/// Behind all others.
std::size_t add_buffer(Plan& plan, const std::string& id, Bytes size, const std::vector<Piece>& pieces) {
  const Bytes end = plan.buffers.empty() ? 0 : plan.places.back().offset + plan.buffers.back().size;
  plan.buffers.push_back({.id = id, .size = size, .pieces = pieces});
  plan.places.push_back({0, end});
  return plan.buffers.size() - 1;
}

/// Two rows at a time. Row 0 of x goes first; conv1 is in a ring of one granule, relu2 in its place.
Plan line_plan() {
  Plan plan = empty_plan(line());
  Run first_sums = rows_of(pool, 0, 2);
  Run last_sums = rows_of(pool, 2, 4);
  first_sums.sums = last_sums.sums = Sums{2, 0};
  plan.clocks[0].steps = {rows_of(conv, 0, 2), rows_of(relu, 0, 2), first_sums,
                          rows_of(conv, 2, 4), rows_of(relu, 2, 4), last_sums};
  const std::size_t x = add_buffer(plan, "x", 8, {{0, 2, {0, 1}}, {2, 6, {0, 4}}});
  const std::size_t rows = add_buffer(plan, "rows", 6, {{0, 6, {0, 3}}, {0, 6, {3, 6}}});
  add_buffer(plan, "sums", 12, {{0, 12, {2, 6}}});
  const std::size_t y = add_buffer(plan, "y", 3, {{0, 3, {5, 6}}});
  plan.tensors[0].views = {{.buffer = x, .life = {0, 4}}};
  plan.tensors[1].views = {{.buffer = rows, .life = {0, 5}, .ring = Ring{0, 2, 1}}};
  plan.tensors[2].views = {rows_at(rows, 0, 0, 2, {1, 3}), rows_at(rows, 0, 2, 4, {4, 6})};
  plan.tensors[3].views = {{.buffer = y, .life = {5, 6}}};
  correct_claims(plan);
  return plan;
}

/// x (3 rows of 2 bytes) -> Relu -> relu1: every row arrives, is replaced, and leaves, in a ring of two.
Graph passage() {
  RowSketch sketch;
  sketch.elementwise("Relu", {sketch.input("x", {3, 2})}, 0);
  sketch.finish();
  return sketch.graph;
}

Plan passage_plan() {
  Plan plan = empty_plan(passage());
  for (std::int64_t r = 0; r < 3; ++r) {
    plan.clocks[0].steps.push_back(Arrive{0, RowRange{0, r, r + 1}});
    plan.clocks[0].steps.push_back(rows_of(0, r, r + 1));
    plan.clocks[0].steps.push_back(Leave{1, RowRange{0, r, r + 1}});
  }
  const std::size_t ring = add_buffer(plan, "ring", 4, {{0, 4, {0, 9}}});
  plan.tensors[0].views = {{.buffer = ring, .life = {0, 8}, .ring = Ring{0, 1, 2}}};
  plan.tensors[1].views = {{.buffer = ring, .life = {1, 9}, .ring = Ring{0, 1, 2}}};
  correct_claims(plan);
  return plan;
}

struct WrongPlan {
  std::string title;
  std::function<void(Plan&)> spoil;
  FaultKind kind;
  std::vector<std::string> names;  ///< All of them are in its text.
};

void expect_wrong(const Graph& graph, const Plan& right, const std::vector<WrongPlan>& wrongs) {
  EXPECT_EQ(text_of(check_plan(right, {&graph, 1})), "");
  EXPECT_EQ(text_of(check_plan(right)), "");
  for (const WrongPlan& wrong : wrongs) {
    Plan plan = right;
    wrong.spoil(plan);
    const Faults faults = check_plan(plan, {&graph, 1});
    EXPECT_TRUE(has(faults, wrong.kind, wrong.names)) << wrong.title << "\n" << text_of(faults);
  }
}

std::vector<Step>& steps(Plan& plan) { return plan.clocks[0].steps; }
Run& run_at(Plan& plan, std::size_t at) { return std::get<Run>(steps(plan)[at]); }
RowRange& rows_at_step(Plan& plan, std::size_t at) { return *run_at(plan, at).rows; }
View& view_of(Plan& plan, TensorId tensor, std::size_t view = 0) { return plan.tensors[tensor].views[view]; }

TEST(CheckStream, FindsStepsThatAreNotThoseOfTheNetwork) {
  const auto erase = [](std::size_t at) {
    return [at](Plan& plan) { steps(plan).erase(steps(plan).begin() + static_cast<std::ptrdiff_t>(at)); };
  };
  const auto swap = [](std::size_t a, std::size_t b) {
    return [a, b](Plan& plan) { std::swap(steps(plan)[a], steps(plan)[b]); };
  };
  expect_wrong(
      line(), line_plan(),
      {{"last rows missing", erase(4), order, {"'Relu-2'", "up to row 2", "4"}},
       {"first rows missing", erase(1), order, {"'Relu-2'", "down to row 2", "4"}},
       {"rows that are not there yet", swap(1, 4), order, {"step 1", "'Relu-2'", "row 2 of tensor 'conv1'"}},
       {"read before it is written", swap(0, 1), order, {"row 0 of tensor 'conv1'", "'Relu-2'", "step 0"}},
       {"an operator is missing",
        [](Plan& plan) {
          steps(plan).resize(5);
          steps(plan).erase(steps(plan).begin() + 2);
        },
        order,
        {"'Pool-3'", "never run"}},
       {"its output is missing, too",
        [](Plan& plan) { steps(plan).resize(5); },
        order,
        {"tensor 'pool3'", "the caller"}},
       {"rows outside",
        [](Plan& plan) { rows_at_step(plan, 3).end = 5; },
        order,
        {"'Conv-1'", "2 to 5", "4"}},
       {"an axis it cannot", [](Plan& plan) { rows_at_step(plan, 0).axis = 1; }, format, {"along axis"}},
       {"sums along an axis it cannot",
        [](Plan& plan) { rows_at_step(plan, 2).axis = 1; },
        format,
        {"step 2", "'Pool-3'", "axis 1"}},
       {"no rows at all",
        [](Plan& plan) { rows_at_step(plan, 0).end = 0; },
        format,
        {"step 0", "rows 0 to 0"}},
       {"negative rows", [](Plan& plan) { rows_at_step(plan, 0).begin = -1; }, format, {"step 0", "rows -1"}},
       {"no such operator",
        [](Plan& plan) {
          run_at(plan, 0).path = {0, 9};
        },
        order,
        {"step 0"}},
       {"a path into a body",
        [](Plan& plan) {
          run_at(plan, 0).path = {0, 0, 1, 0};
        },
        order,
        {"step 0"}},
       {"as a whole in the middle",
        [](Plan& plan) { run_at(plan, 3).rows.reset(); },
        order,
        {"'Conv-1'", "step 3", "in the middle"}},
       {"sums twice",
        [](Plan& plan) { rows_at_step(plan, 5).begin = 1; },
        order,
        {"row 1", "'Pool-3'", "row 2"}},
       {"sums out of turn", swap(2, 5), order, {"row 2 of operator 'Pool-3'", "expected row 0"}}});
}

TEST(CheckStream, UnderstandsNoSecondModelAndNoStateInTwoPlaces) {
  expect_wrong(
      line(), line_plan(),
      {{"two models", [](Plan& plan) { plan.models.push_back(plan.models[0]); }, accounting, {"2 models"}},
       {"a copy to where the tensor has no view",
        [](Plan& plan) {
          steps(plan).push_back(Copy{0, 0, 1});
        },
        format,
        {"step 6", "no view"}},
       {"a copy removed",
        [](Plan& plan) {
          plan.copies_removed = {1, 2};
        },
        accounting,
        {"copies"}}});
  Graph graph = line();
  const Plan plan = line_plan();
  graph.ties = {{3, 0}};
  EXPECT_TRUE(has(check_plan(plan, {&graph, 1}), accounting, {"new state", "not in one place"}));
}

TEST(CheckStream, FindsTensorsThatAreNotThoseOfTheNetwork) {
  expect_wrong(
      line(), line_plan(),
      {{"missing", [](Plan& plan) { plan.tensors[3].tensor.name = "z"; }, accounting, {"'pool3'", "missing"}},
       {"kind",
        [](Plan& plan) { plan.tensors[3].tensor.kind = TensorKind::temporary; },
        accounting,
        {"'pool3'", "kind"}},
       {"type",
        [](Plan& plan) { plan.tensors[1].tensor.dtype = DType::int8; },
        accounting,
        {"'conv1'", "element type"}},
       {"shape",
        [](Plan& plan) {
          plan.tensors[1].tensor.shape = Shape{6, 2};
        },
        accounting,
        {"'conv1'", "shape"}}});
}

TEST(CheckStream, FindsSumsThatAreLost) {
  expect_wrong(
      line(), line_plan(),
      {{"missing at first",
        [](Plan& plan) { run_at(plan, 2).sums.reset(); },
        accounting,
        {"step 2", "'Pool-3'", "no sums"}},
       {"missing at last",
        [](Plan& plan) { run_at(plan, 5).sums.reset(); },
        accounting,
        {"step 5", "'Pool-3'", "no sums"}},
       {"moved",
        [](Plan& plan) {
          plan.buffers[2].size = 16;
          run_at(plan, 5).sums->offset = 4;
        },
        accounting,
        {"step 5", "'Pool-3'", "elsewhere than step 2"}},
       {"cut short",
        [](Plan& plan) {
          plan.buffers[2].pieces = {{0, 12, {2, 4}}, {0, 12, {5, 6}}};
        },
        accounting,
        {"the sums of operator 'Pool-3'", "'sums' at position 4"}},
       {"too small",
        [](Plan& plan) { run_at(plan, 2).sums->offset = run_at(plan, 5).sums->offset = 1; },
        format,
        {"the sums of operator 'Pool-3'", "12 bytes at 1"}},
       {"in no buffer",
        [](Plan& plan) { run_at(plan, 2).sums->buffer = 9; },
        format,
        {"step 2", "does not exist"}},
       {"outside",
        [](Plan& plan) { run_at(plan, 2).sums->offset = 13; },
        format,
        {"step 2", "13", "12 bytes"}},
       {"of no rows", [](Plan& plan) { run_at(plan, 2).rows.reset(); }, format, {"step 2", "no rows"}},
       {"under rows",
        [](Plan& plan) {
          plan.buffers[2].pieces = {{0, 12, {0, 6}}};
          view_of(plan, 1).buffer = 2;
        },
        overlap,
        {"of tensor 'conv1'", "the sums of operator 'Pool-3'", "'sums' at position 3"}}});
}

TEST(CheckStream, FindsRowsBeyondTheOutput) {
  // A pool over all rows sums up, and has a single row, which reads them all.
  Graph graph = line();
  graph.subgraphs[0].operators[pool].row_axes = {{.axis = 0}};
  validate(graph);
  Plan plan = line_plan();
  steps(plan) = {rows_of(conv, 0, 2), rows_of(relu, 0, 2), rows_of(conv, 2, 4), rows_of(relu, 2, 4),
                 rows_of(pool, 0, 1)};
  plan.buffers[0].pieces = {{0, 2, {0, 1}}, {2, 6, {0, 3}}};
  plan.buffers[1] = {.id = "rows", .size = 12, .pieces = {{0, 12, {0, 5}}}};
  plan.buffers[2] = {.id = "y", .size = 3, .pieces = {{0, 3, {4, 5}}}};
  plan.buffers.pop_back();
  plan.places = {{0, 0}, {0, 8}, {0, 20}};
  view_of(plan, 0).life = {0, 3};
  plan.tensors[1].views = {{.buffer = 1, .life = {0, 4}}};
  plan.tensors[2].views = {{.buffer = 1, .life = {1, 5}}};
  plan.tensors[3].views = {{.buffer = 2, .life = {4, 5}}};
  correct_claims(plan);
  const auto change = [](std::int64_t begin, std::int64_t end) {
    return [=](Plan& wrong) { rows_at_step(wrong, 4) = {0, begin, end}; };
  };
  expect_wrong(graph, plan,
               {{"rows of its input", change(0, 4), order, {"step 4", "rows 0 to 4", "'Pool-3'", "has 1"}},
                {"a row behind", change(1, 2), order, {"step 4", "rows 1 to 2", "'Pool-3'", "has 1"}},
                {"sums in a step without",
                 [](Plan& wrong) {
                   rows_at_step(wrong, 4) = {0, 0, 4};
                   run_at(wrong, 4).sums = Sums{9, 0};
                 },
                 format,
                 {"step 4", "does not exist"}}});
}

TEST(CheckStream, FindsRowsThatAreNowhere) {
  expect_wrong(line(), line_plan(),
               {{"no view",
                 [](Plan& plan) { plan.tensors[1].views.clear(); },
                 accounting,
                 {"row 0 of tensor 'conv1'", "no view"}},
                {"view of other rows",
                 [](Plan& plan) { view_of(plan, 2, 1).rows->begin = 3; },
                 accounting,
                 {"row 2 of tensor 'relu2'", "4 to 6"}},
                {"view ends early",
                 [](Plan& plan) { view_of(plan, 2).life.upper = 2; },
                 accounting,
                 {"row 0 of tensor 'relu2'"}},
                {"view begins late",
                 [](Plan& plan) { view_of(plan, 2).life.lower = 2; },
                 accounting,
                 {"row 0 of tensor 'relu2'"}},
                {"input not there at the start",
                 [](Plan& plan) { view_of(plan, 0).life.lower = 1; },
                 accounting,
                 {"'x'"}},
                {"output not there at the end",
                 [](Plan& plan) { steps(plan).push_back(rows_of(conv, 0, 1)); },
                 accounting,
                 {"'pool3'", "5 to 7"}},
                {"two views",
                 [](Plan& plan) {
                   const std::size_t more = add_buffer(plan, "more", 3, {{0, 3, {2, 3}}});
                   plan.tensors[2].views.push_back(rows_at(more, 0, 1, 2, {2, 3}));
                   correct_claims(plan);
                 },
                 accounting,
                 {"row 1 of tensor 'relu2'", "two views at position 2", "'rows'", "'more'"}},
                {"piece cut short",
                 [](Plan& plan) { plan.buffers[1].pieces[1].life.upper = 5; },
                 accounting,
                 {"rows 2 to 4 of tensor 'relu2'", "'rows' at position 5"}},
                {"gap between pieces",
                 [](Plan& plan) { plan.buffers[1].pieces[0].life.upper = 2; },
                 accounting,
                 {"rows 0 to 2 of tensor 'relu2'", "'rows' at position 2"}},
                {"byte missing",
                 [](Plan& plan) { plan.buffers[1].pieces[1].size = 5; },
                 accounting,
                 {"rows 2 to 4 of tensor 'conv1'", "'rows' at position 3"}},
                {"row that is read again",
                 [](Plan& plan) {
                   plan.buffers[0].pieces = {{0, 4, {0, 1}}, {4, 4, {0, 4}}};
                 },
                 accounting,
                 {"rows 1 to 4 of tensor 'x'", "'x' at position 1"}},
                {"nothing reserved",
                 [](Plan& plan) { plan.buffers[3].pieces.clear(); },
                 accounting,
                 {"'pool3'", "position 5"}}});
}

TEST(CheckStream, FindsRowsThatHoldTheSameByte) {
  expect_wrong(line(), line_plan(),
               {{"ring too small",
                 [](Plan& plan) {
                   view_of(plan, 1).ring = Ring{0, 1, 1};
                 },
                 overlap,
                 {"row 1 of tensor 'conv1'", "ring of 1 rows", "row 0"}},
                {"not in place",
                 [](Plan& plan) {
                   plan.buffers[1].size = 9;
                   plan.buffers[1].pieces = {{0, 9, {0, 6}}};
                   view_of(plan, 2).offset = 3;
                 },
                 overlap,
                 {"of tensor 'conv1'", "of tensor 'relu2'", "'rows' at position 1"}},
                {"output over the sums",
                 [](Plan& plan) { view_of(plan, 3).buffer = 2; },
                 overlap,
                 {"'pool3'", "the sums of operator 'Pool-3'", "'sums' at position 5"}},
                {"output over an input",
                 [](Plan& plan) { view_of(plan, 3).buffer = 1; },
                 overlap,
                 {"'pool3'", "'relu2'", "'rows' at position 5"}},
                {"written over before it is read again",
                 [](Plan& plan) {
                   plan.buffers[0].pieces = {{0, 8, {0, 6}}};
                   view_of(plan, 2).buffer = 0;
                 },
                 overlap,
                 {"of tensor 'x'", "rows 0 to 2 of tensor 'relu2'", "'x' at position 1"}}});
}

TEST(CheckStream, LetsOnlyThoseReplaceRowsThatMay) {
  Graph graph = line();
  graph.subgraphs[0].operators[relu].type = "Sort";
  EXPECT_TRUE(has(check_plan(line_plan(), {&graph, 1}), overlap, {"'conv1'", "'relu2'", "position 1"}));
  graph = line();
  graph.subgraphs[0].operators[relu].row_axes[0].reads[0].rows.taps = 2;
  EXPECT_TRUE(has(check_plan(line_plan(), {&graph, 1}), order, {"row 2 of tensor 'conv1'"}));
  graph = line();
  graph.subgraphs[0].operators[relu].inputs.push_back(1);  // reads all of it, too
  EXPECT_FALSE(check_plan(line_plan(), {&graph, 1}).empty());
}

TEST(CheckStream, FindsRowsThatDoNotArriveOrLeave) {
  const auto erase = [](std::size_t at) {
    return [at](Plan& plan) { steps(plan).erase(steps(plan).begin() + static_cast<std::ptrdiff_t>(at)); };
  };
  expect_wrong(
      passage(), passage_plan(),
      {{"last does not arrive", erase(6), order, {"row 2 of tensor 'x'", "does not arrive"}},
       {"first does not arrive", erase(0), order, {"row 1 of tensor 'x'", "the first to arrive", "row 0"}},
       {"last does not leave", erase(8), order, {"row 2 of tensor 'relu1'", "does not leave"}},
       {"first does not leave", erase(2), order, {"row 1 of tensor 'relu1'", "the first to leave", "row 0"}},
       {"arrives twice",
        [](Plan& plan) { std::get<Arrive>(steps(plan)[3]).rows->begin = 0; },
        order,
        {"step 3", "row 0 of tensor 'x'", "arrive", "row 1"}},
       {"leaves twice",
        [](Plan& plan) { std::get<Leave>(steps(plan)[5]).rows->begin = 0; },
        order,
        {"step 5", "row 0 of tensor 'relu1'", "leave", "row 1"}},
       {"read before it arrives",
        [](Plan& plan) { std::swap(steps(plan)[3], steps(plan)[4]); },
        order,
        {"row 1 of tensor 'x'", "'Relu-1'", "step 3"}},
       {"leaves before it is written",
        [](Plan& plan) { std::swap(steps(plan)[4], steps(plan)[5]); },
        order,
        {"row 1 of tensor 'relu1'", "the caller", "step 4"}},
       {"what arrives is no input",
        [](Plan& plan) { std::get<Arrive>(steps(plan)[0]).tensor = 1; },
        order,
        {"step 0", "'relu1'", "not an input"}},
       {"what leaves is no output",
        [](Plan& plan) { std::get<Leave>(steps(plan)[2]).tensor = 0; },
        order,
        {"step 2", "'x'", "not an output"}},
       {"what arrives is nothing",
        [](Plan& plan) { std::get<Arrive>(steps(plan)[0]).tensor = 7; },
        format,
        {"step 0", "tensor 7"}},
       {"rows outside",
        [](Plan& plan) { std::get<Arrive>(steps(plan)[6]).rows->end = 4; },
        format,
        {"step 6", "'x'", "rows 2 to 4", "of 3"}},
       {"along another axis",
        [](Plan& plan) {
          std::get<Leave>(steps(plan)[2]).rows = RowRange{1, 0, 1};
        },
        format,
        {"'relu1'", "axis 0", "axis 1"}},
       {"nowhere", [](Plan& plan) { plan.tensors[0].views.clear(); }, accounting, {"'x'", "no view"}}});
}

TEST(CheckStream, FindsViewsThatAreOutside) {
  const auto changed = [](const std::function<void(View&)>& change, TensorId tensor) {
    return [change, tensor](Plan& plan) { change(view_of(plan, tensor)); };
  };
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  expect_wrong(
      line(), line_plan(),
      {{"rows and ring",
        changed(
            [](View& view) {
              view.rows = RowRange{0, 0, 1};
            },
            1),
        format,
        {"'conv1'", "rows and a ring"}},
       {"no such axis", changed([](View& view) { view.ring->axis = 2; }, 1), format, {"'conv1'", "axis 2"}},
       {"no granule",
        changed([](View& view) { view.ring->granule = 0; }, 1),
        format,
        {"'conv1'", "granules of 0"}},
       {"no granules",
        changed([](View& view) { view.ring->count = -1; }, 1),
        format,
        {"'conv1'", "-1 granules"}},
       {"ring too large",
        changed([](View& view) { view.ring->count = 2; }, 1),
        format,
        {"'conv1'", "12 bytes", "6 bytes"}},
       {"overflowing ring",
        changed(
            [](View& view) {
              view.ring = Ring{0, largest, largest};
            },
            1),
        format,
        {"'conv1'", "12 bytes"}},
       {"negative offset", changed([](View& view) { view.offset = -1; }, 1), format, {"'conv1'", "-1"}},
       {"rows that are not there",
        changed([](View& view) { view.rows->end = 5; }, 2),
        format,
        {"'relu2'", "0 to 5"}},
       {"no rows", changed([](View& view) { view.rows->end = 0; }, 2), format, {"'relu2'", "0 to 0"}},
       {"too many rows",
        changed([](View& view) { view.rows->end = 3; }, 2),
        format,
        {"'relu2'", "9 bytes", "6 bytes"}},
       {"rows of a tensor without a shape",
        [](Plan& plan) { plan.tensors[2].tensor.shape.reset(); },
        format,
        {"'relu2'", "axis 0"}}});
}

TEST(CheckStream, FindsFalseNumbers) {
  Plan plan = line_plan();
  plan.streaming = Streaming{.granule = 2,
                             .load = 30,
                             .load_of_layers = 40,
                             .regions = {{.operators = {0, 1}, .load = 30, .load_of_layers = 40}}};
  plan.claims = {{ClaimScope::stream, plan.summary.peak, true}};
  expect_wrong(
      line(), plan,
      {{"bound above the peak", [](Plan& it) { it.claims[0].lower_bound += 1; }, claim, {"streams", "30"}},
       {"not proven", [](Plan& it) { it.claims[0].proven_optimal = false; }, claim, {"streams"}},
       {"proven too easily", [](Plan& it) { it.claims[0].lower_bound = 1; }, claim, {"streams", "bound 1"}},
       {"does not stream", [](Plan& it) { it.streaming.reset(); }, claim, {"streams"}},
       {"no rows", [](Plan& it) { it.streaming->granule = 0; }, claim, {"0 rows"}},
       {"less than all", [](Plan& it) { it.streaming->recomputed = 0.5; }, claim, {"0.5 times"}},
       {"no number", [](Plan& it) { it.streaming->recomputed = std::nan(""); }, claim, {"times"}},
       {"above its limit", [](Plan& it) { it.streaming->recompute_limit = 0.5; }, claim, {"limit of 0.5"}},
       {"a curve that rises",
        [](Plan& it) {
          it.streaming->curve = {{1, 1, 29}, {2, 1, 30}};
        },
        claim,
        {"30 bytes", "limit of 2"}},
       {"a point above its limit",
        [](Plan& it) {
          it.streaming->curve = {{1, 1.5, 30}};
        },
        claim,
        {"1.5 times", "limit of 1"}},
       {"a curve of another plan",
        [](Plan& it) {
          it.streaming->curve = {{1, 1, 31}};
        },
        claim,
        {"31 bytes", "this plan has"}},
       {"nothing runs again", [](Plan& it) { it.streaming->recomputed = 1.5; }, claim, {"1.5", "no row"}},
       {"negative load", [](Plan& it) { it.streaming->load = -1; }, claim, {"-1"}},
       {"load of a region", [](Plan& it) { it.streaming->regions[0].load = 31; }, claim, {"region 0", "31"}},
       {"no such operator",
        [](Plan& it) { it.streaming->regions[0].operators = {3}; },
        claim,
        {"operator 3"}},
       {"operator twice",
        [](Plan& it) {
          it.streaming->regions[0].operators = {1, 1};
        },
        claim,
        {"'Relu-2'"}}});
}

TEST(CheckStream, LetsWholeOperatorsReplaceWhatIsGiven) {
  // Relu runs as a whole, at the first step, over an input that the caller has put there.
  Graph graph = passage();
  Plan plan = empty_plan(graph);
  stowage::Run whole = rows_of(0, 0, 3);
  whole.rows.reset();
  steps(plan) = {whole, Leave{1, RowRange{0, 0, 2}}, Leave{1, RowRange{0, 2, 3}}};
  const std::size_t rows = add_buffer(plan, "rows", 6, {{0, 6, {0, 3}}});
  plan.tensors[0].views = {{.buffer = rows, .life = {0, 1}}};
  plan.tensors[1].views = {{.buffer = rows, .life = {0, 3}}};
  correct_claims(plan);
  EXPECT_EQ(text_of(check_plan(plan, {&graph, 1})), "");
  graph.subgraphs[0].operators[0].type = "Sort";
  EXPECT_TRUE(has(check_plan(plan, {&graph, 1}), overlap, {"'x'", "'relu1'", "'rows' at position 0"}))
      << text_of(check_plan(plan, {&graph, 1}));
}

/// x (3 rows of 2 bytes), there from the start -> Relu -> Pool: each row of Relu is written over one of x.
TEST(CheckStream, LetsRowsReplaceWhatIsGiven) {
  RowSketch sketch;
  const TensorId x = sketch.input("x", {3, 2});
  sketch.pool(sketch.elementwise("Relu", {x}, 0), 0);
  sketch.finish();
  const Graph graph = sketch.graph;
  Plan plan = empty_plan(graph);
  for (std::int64_t r = 0; r < 3; ++r) {
    steps(plan).push_back(rows_of(0, r, r + 1));
    stowage::Run sum = rows_of(1, r, r + 1);
    sum.sums = Sums{1, 0};
    steps(plan).push_back(sum);
  }
  const std::size_t rows = add_buffer(plan, "x", 6, {{0, 2, {0, 2}}, {2, 2, {0, 4}}, {4, 2, {0, 6}}});
  add_buffer(plan, "sums", 8, {{0, 8, {1, 6}}});
  const std::size_t y = add_buffer(plan, "y", 2, {{0, 2, {5, 6}}});
  plan.tensors[0].views = {{.buffer = rows, .life = {0, 6}}};
  for (std::int64_t r = 0; r < 3; ++r)
    plan.tensors[1].views.push_back(rows_at(rows, 2 * r, r, r + 1, {2 * r, 2 * r + 2}));
  plan.tensors[2].views = {{.buffer = y, .life = {5, 6}}};
  correct_claims(plan);
  expect_wrong(graph, plan,
               {{"over another row",
                 [](Plan& it) {
                   view_of(it, 1, 0).offset = 2;
                   it.buffers[0].pieces = {{0, 6, {0, 6}}};
                   correct_claims(it);
                 },
                 overlap,
                 {"of tensor 'x'", "rows 0 to 1 of tensor 'relu1'", "'x' at position 0"}},
                {"a byte beside its row",
                 [](Plan& it) {
                   view_of(it, 1, 1).offset = 3;
                   it.buffers[0].pieces = {{0, 6, {0, 6}}};
                   correct_claims(it);
                 },
                 overlap,
                 {"of tensor 'x'", "rows 1 to 2 of tensor 'relu1'", "'x' at position 2"}}});
  Graph other = graph;
  other.subgraphs[0].operators[0].type = "Sort";
  EXPECT_TRUE(has(check_plan(plan, {&other, 1}), overlap, {"'x'", "'relu1'", "position 0"}))
      << text_of(check_plan(plan, {&other, 1}));
  other = graph;
  other.subgraphs[0].operators[1].inputs.push_back(x);  // all of x, at each of its steps
  EXPECT_TRUE(has(check_plan(plan, {&other, 1}), overlap, {"'x'", "'relu1'", "position 0"}))
      << text_of(check_plan(plan, {&other, 1}));
}

TEST(CheckStream, KnowsPiecesWithoutEnd) {
  constexpr Position never = std::numeric_limits<Position>::max();
  const Graph graph = line();
  Plan plan = line_plan();
  plan.buffers[0].pieces = {{0, 2, {0, 1}}, {2, 6, {0, never}}, {0, 2, {never - 1, never}}};
  correct_claims(plan);
  EXPECT_EQ(text_of(check_plan(plan, {&graph, 1})), "");
  plan.buffers[0].pieces[1].life.lower = 1;
  EXPECT_TRUE(has(check_plan(plan, {&graph, 1}), accounting, {"of tensor 'x'", "'x' at position 0"}))
      << text_of(check_plan(plan, {&graph, 1}));
}

TEST(CheckStream, FindsWhatIsReleasedThoughItIsNoOutput) {
  const Graph graph = line();
  Plan plan = line_plan();
  plan.released = {3};
  EXPECT_EQ(text_of(check_plan(plan, {&graph, 1})), "");
  plan.released = {1};
  EXPECT_TRUE(has(check_plan(plan, {&graph, 1}), accounting, {"'conv1'", "no output"}))
      << text_of(check_plan(plan, {&graph, 1}));
}

TEST(CheckStream, KnowsWhatIsElsewhere) {
  const Graph graph = line();
  Plan plan = line_plan();
  plan.tensors[0].views.clear();  // the caller's
  plan.tensors[3].views.clear();
  EXPECT_EQ(text_of(check_plan(plan, {&graph, 1})), "");
  plan.tensors[2].views.clear();
  EXPECT_TRUE(has(check_plan(plan, {&graph, 1}), accounting, {"'relu2'", "no view"}));
}

TEST(CheckStream, LetsRowsRunAgain) {
  const Graph graph = passage();
  Plan plan = passage_plan();
  steps(plan).insert(steps(plan).begin() + 3, rows_of(0, 0, 1));  // x has been written over
  EXPECT_FALSE(check_plan(plan, {&graph, 1}).empty());
  plan = empty_plan(graph);
  steps(plan) = {rows_of(0, 0, 2), rows_of(0, 0, 1), rows_of(0, 1, 3)};
  const std::size_t x = add_buffer(plan, "x", 6, {{0, 2, {0, 2}}, {2, 4, {0, 3}}});
  const std::size_t y = add_buffer(plan, "y", 6, {{0, 4, {0, 1}}, {0, 2, {1, 3}}, {2, 4, {2, 3}}});
  plan.tensors[0].views = {{.buffer = x, .life = {0, 3}}};
  plan.tensors[1].views = {{.buffer = y, .life = {0, 3}}};
  correct_claims(plan);
  EXPECT_EQ(text_of(check_plan(plan, {&graph, 1})), "");
  plan.streaming = Streaming{.recomputed = 1.5, .recompute_limit = 1.5};
  EXPECT_EQ(text_of(check_plan(plan, {&graph, 1})), "");
}

// Parts

/// x (4 rows of 2 bytes) -> Conv of every other of 3 rows -> conv1 (2 rows of 3 bytes), whose rows add up.
Graph adding() {
  RowSketch sketch;
  sketch.convolve(sketch.input("x", {4, 2}), 0, 2, {.scale = 2, .taps = 3});
  sketch.graph.subgraphs[0].operators[0].row_axes[0].adds_rows = true;
  sketch.finish();
  return sketch.graph;
}

Run part_of(std::int64_t row, std::int64_t begin, std::int64_t end) {
  Run run = rows_of(conv, row, row + 1);
  run.part = RowRange{0, begin, end};
  return run;
}

/// Rows of x arrive one by one, each in the place of the one before; row 2 is read by both rows of conv1.
Plan adding_plan() {
  Plan plan = empty_plan(adding());
  steps(plan) = {Arrive{0, RowRange{0, 0, 1}},
                 part_of(0, 0, 1),
                 Arrive{0, RowRange{0, 1, 2}},
                 part_of(0, 1, 2),
                 Arrive{0, RowRange{0, 2, 3}},
                 part_of(0, 2, 3),
                 part_of(1, 2, 3),
                 Arrive{0, RowRange{0, 3, 4}},
                 part_of(1, 3, 4)};
  const std::size_t x = add_buffer(plan, "x", 2, {{0, 2, {0, 9}}});
  const std::size_t y = add_buffer(plan, "y", 6, {{0, 3, {1, 9}}, {3, 3, {6, 9}}});
  plan.tensors[0].views = {{.buffer = x, .life = {0, 9}, .ring = Ring{0, 1, 1}}};
  plan.tensors[1].views = {{.buffer = y, .life = {1, 9}}};
  correct_claims(plan);
  return plan;
}

TEST(CheckStream, FindsPartsThatDoNotAddUp) {
  const auto erase = [](std::size_t at) {
    return [at](Plan& plan) { steps(plan).erase(steps(plan).begin() + static_cast<std::ptrdiff_t>(at)); };
  };
  const auto set_part = [](std::size_t at, std::int64_t begin, std::int64_t end) {
    return [=](Plan& plan) { run_at(plan, at).part = RowRange{0, begin, end}; };
  };
  expect_wrong(
      adding(), adding_plan(),
      {{"the first part is missing", erase(1), order, {"step 2", "rows 1 to 2 of tensor 'x'", "row 0 on"}},
       {"a part in between is missing", erase(3), order, {"step 4", "rows 2 to 3", "row 1 on"}},
       {"the last part is missing", erase(8), order, {"'Conv-1'", "up to row 1", "2"}},
       {"the last part of a row is missing", erase(5), order, {"step 5", "while its rows 0 to 1"}},
       {"a row is added twice", set_part(5, 1, 3), order, {"step 5", "1 to 3", "row 2 on"}},
       {"a row that the input does not have", set_part(8, 3, 5), order, {"step 8", "3 to 5"}},
       {"a part that adds nothing", set_part(1, 3, 4), order, {"step 1", "3 to 4", "row 0 on"}},
       {"an empty part", set_part(3, 1, 1), format, {"step 3", "adds rows 1 to 1"}},
       {"along another axis",
        [](Plan& plan) { run_at(plan, 1).part->axis = 1; },
        format,
        {"step 1", "along axis 1", "'Conv-1'"}},
       {"a part without rows", [](Plan& plan) { run_at(plan, 1).rows.reset(); }, format, {"step 1", "part"}},
       {"a part with sums",
        [](Plan& plan) {
          run_at(plan, 1).sums = Sums{0, 0};
        },
        format,
        {"step 1", "sums"}},
       {"another row while one is added up",
        [](Plan& plan) {
          run_at(plan, 3).rows = RowRange{0, 1, 2};
        },
        order,
        {"step 3", "while its rows 0 to 1"}},
       {"not reserved while it is added up",
        [](Plan& plan) { plan.buffers[1].pieces[0].life.lower = 3; },
        accounting,
        {"rows 0 to 1 of tensor 'conv1'", "step 1"}},
       {"no view while it is added up",
        [](Plan& plan) { view_of(plan, 1).life.lower = 3; },
        accounting,
        {"tensor 'conv1'", "row 0"}}});
  Plan of_sums = line_plan();
  run_at(of_sums, 2).sums.reset();
  run_at(of_sums, 2).part = RowRange{0, 0, 1};
  const Graph with_sums = line();
  EXPECT_TRUE(has(check_plan(of_sums, {&with_sums, 1}), format, {"step 2", "'Pool-3'", "does not add"}));
  Graph unable = adding();
  unable.subgraphs[0].operators[0].row_axes[0].adds_rows = false;
  EXPECT_TRUE(has(check_plan(adding_plan(), {&unable, 1}), format, {"step 1", "'Conv-1'", "does not add"}));
}

// Orders

/// Whether every row is there when a step reads it, told step by step from the network by hand: rows of conv1
/// need those of x around them, which are there. Rows may ascend or descend; those that are summed up ascend.
bool is_in_order(const std::vector<std::size_t>& order) {
  const auto position = [&](std::size_t step) {
    return std::find(order.begin(), order.end(), step) - order.begin();
  };
  constexpr std::array<std::pair<std::size_t, std::size_t>, 5> needs{
      {{0, 1}, {1, 2}, {3, 4}, {4, 5}, {2, 5}}};
  return std::all_of(needs.begin(), needs.end(),
                     [&](const auto& need) { return position(need.first) < position(need.second); });
}

TEST(CheckStream, AcceptsJustTheOrdersThatKeepEveryDependence) {
  const Graph graph = line();
  Plan plan = line_plan();
  const std::vector<Step> in_order = steps(plan);
  plan.buffers.clear();
  plan.places.clear();
  for (TensorId t = 0; t < 4; ++t) {  // room for all, all the time
    const Bytes bytes = graph.tensors[t].bytes;
    plan.tensors[t].views = {
        {.buffer = add_buffer(plan, "b" + std::to_string(t), bytes, {{0, bytes, {0, 6}}}), .life = {0, 6}}};
  }
  const std::size_t sums = add_buffer(plan, "sums", 12, {{0, 12, {0, 6}}});
  correct_claims(plan);
  std::vector<std::size_t> order{0, 1, 2, 3, 4, 5};
  std::size_t accepted = 0;
  do {
    for (std::size_t i = 0; i < order.size(); ++i) {
      steps(plan)[i] = in_order[order[i]];
      auto& run = run_at(plan, i);
      if (run.sums) run.sums->buffer = sums;
    }
    const Faults faults = check_plan(plan, {&graph, 1});
    EXPECT_EQ(faults.empty(), is_in_order(order)) << text_of(faults);
    accepted += faults.empty() ? 1U : 0U;
    EXPECT_TRUE(faults.empty() || faults[0].kind == FaultKind::order) << text_of(faults);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(accepted, 10U);
}

}  // namespace
}  // namespace stowage
