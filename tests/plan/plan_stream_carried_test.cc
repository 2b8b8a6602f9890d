// Plans of networks whose operators read rows twice, or carry a state from row to row: they are right, run, and come
// back from their files; and what is wrong in such a plan is found.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "check_cases.h"
#include "image_networks.h"
#include "long_tests.h"
#include "row_sketch.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/generate.h"
#include "stowage/import.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::ImageMaker;
using testing::pick;
using testing::Random;

PlanOptions streaming(Io io, std::int64_t granule, StreamLayout layout) {
  PlanOptions options;
  options.io = io;
  options.stream.emplace();
  options.stream->granule = granule;
  options.stream->layout = layout;
  options.alignment = 1;
  options.solve.time_limit = std::chrono::milliseconds(100);
  return options;
}

PlanOptions random_options(Random& random) {
  return streaming(static_cast<Io>(pick(random, 0, 2)), pick(random, 1, 3),
                   static_cast<StreamLayout>(pick(random, 0, 2)));
}

TensorId normalized(Random& random, ImageMaker& maker, TensorId x) {
  const Shape image = maker.shape(x);
  const auto apply = [&](const char* type, const std::vector<TensorId>& inputs,
                         const ImageMaker::Settings& settings = {}) {
    return maker.apply(type, inputs, image, settings);
  };
  const auto channels = [&] { return maker.weight({image[1]}); };
  switch (pick(random, 0, 5)) {
    case 0:
      return apply("GroupNormalization", {x, maker.weight({1}), maker.weight({1})},
                   {{"num_groups", std::int64_t{1}}});
    case 1:
      return apply("LayerNormalization", {x, maker.weight({image[1], image[2], image[3]})},
                   {{"axis", std::int64_t{1}}});
    case 2:
      return apply("Softmax", {x}, {{"axis", pick(random, 1, 2)}});
    case 3:
      return apply("LpNormalization", {x}, {{"axis", pick(random, 2, 3)}});
    default:
      return apply("InstanceNormalization", {x, channels(), channels()});
  }
}

/// Convolutions, norms and sums of branches, of images.
Network norms(Random& random) {
  ImageMaker maker(random);
  TensorId x =
      maker.add_tensor(TensorKind::input, {1, pick(random, 2, 4), pick(random, 6, 12), pick(random, 3, 8)});
  for (std::int64_t i = pick(random, 2, 4); i > 0; --i) {
    const TensorId before = x;
    x = maker.window("Conv", x);
    x = normalized(random, maker, x);
    if (pick(random, 0, 1) == 0) x = maker.apply("Relu", {x}, maker.shape(x));
    if (maker.shape(x) == maker.shape(before) && pick(random, 0, 1) == 0)
      x = maker.apply("Add", {before, x}, maker.shape(x));
  }
  return maker.take(0);
}

/// A sequence of steps through networks and what is between them.
Network sequences(Random& random) {
  ImageMaker maker(random);
  const std::int64_t steps = pick(random, 4, 9);
  const std::int64_t batch = pick(random, 1, 3);
  TensorId x = maker.add_tensor(TensorKind::input, {steps, batch, pick(random, 2, 6)});
  for (std::int64_t i = pick(random, 1, 3); i > 0; --i) {
    const std::int64_t inputs = maker.shape(x)[2];
    const std::int64_t hidden = pick(random, 1, 4);
    const auto kind = pick(random, 0, 2);
    const char* const type = kind == 0 ? "RNN" : kind == 1 ? "GRU" : "LSTM";
    const std::int64_t gates = kind == 0 ? 1 : kind == 1 ? 3 : 4;
    const TensorId y = maker.apply(
        type, {x, maker.weight({1, gates * hidden, inputs}), maker.weight({1, gates * hidden, hidden})},
        {steps, 1, batch, hidden},
        {{"hidden_size", hidden}, {"direction", pick(random, 0, 1) == 0 ? "forward" : "reverse"}});
    x = maker.apply("Squeeze", {y}, {steps, batch, hidden}, {{"axes", Shape{1}}});
    if (pick(random, 0, 1) == 0) x = maker.apply("Relu", {x}, maker.shape(x));
    if (pick(random, 0, 1) == 0) x = maker.apply("MatMul", {x, maker.weight({hidden, 5})}, {steps, batch, 5});
  }
  return maker.take(0);
}

bool carries(const Plan& plan) {
  return std::ranges::any_of(plan.clocks[0].steps, [](const Step& step) {
    const Run* const run = std::get_if<Run>(&step);
    return run != nullptr && run->carry;
  });
}

std::string json_of(const Plan& plan) {
  std::ostringstream out;
  write_json(plan, out);
  return out.str();
}

/// How many of the plans carry something from row to row. All give what whole operators give, bit for bit.
std::uint64_t expect_planned(Network (*draw)(Random&), std::uint64_t seed, std::uint64_t cases) {
  Random random(seed);
  std::uint64_t carrying = 0;
  for (std::uint64_t i = 0; i < cases; ++i) {
    const Network network = draw(random);
    const PlanOptions options = random_options(random);
    const PlanResult result = make_plan(network.input, options);
    EXPECT_TRUE(result.faults.empty()) << i << ": " << result.faults[0].what;
    if (!result.faults.empty()) return 0;
    carrying += carries(result.plan) ? 1 : 0;
    const Plan again = parse_plan(json_of(result.plan));
    EXPECT_EQ(json_of(again), json_of(result.plan)) << i;
    EXPECT_TRUE(check_plan(again, {&network.graph(), 1}).empty()) << i;
    const Runner runner(network, {.kernels = KernelSet::plain});
    const RunResult run = runner.run(again, {.check = RunCheck::tensors});
    EXPECT_FALSE(run.fault) << i << ": " << run.fault->what;
    if (run.fault) return 0;
  }
  return carrying;
}

TEST(PlanStreamCarried, NormsRunInTheirPlans) {
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 1000 : 150);
  EXPECT_GT(expect_planned(norms, 31, cases), cases / 4);
}

TEST(PlanStreamCarried, SequencesRunInTheirPlans) {
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 1000 : 150);
  EXPECT_GT(expect_planned(sequences, 32, cases), cases / 4);
}

/// Whole norms would need two images at once, 12288 bytes each.
TEST(PlanStreamCarried, ANormNeedsOneImageNotTwo) {
  Random random(1);
  ImageMaker maker(random);
  const Shape image{1, 8, 24, 16};
  const TensorId x = maker.add_tensor(TensorKind::input, {1, 1, 24, 16});
  const TensorId a =
      maker.apply("Conv", {x, maker.weight({8, 1, 3, 3})}, image, {{"pads", Shape{1, 1, 1, 1}}});
  const TensorId b = maker.apply("InstanceNormalization", {a, maker.weight({8}), maker.weight({8})}, image);
  static_cast<void>(
      maker.apply("Conv", {b, maker.weight({1, 8, 3, 3})}, {1, 1, 24, 16}, {{"pads", Shape{1, 1, 1, 1}}}));
  const Network network = maker.take(0);
  PlanOptions options = streaming(Io::rows, 1, StreamLayout::automatic);
  options.solve.time_limit = std::chrono::seconds(2);
  const PlanResult result = make_plan(network.input, options);
  ASSERT_TRUE(result.faults.empty()) << result.faults[0].what;
  // One image, the sums of 8 channels, and three rows of 512 bytes.
  EXPECT_LE(result.plan.summary.peak, 12288 + 8 * 16 + 3 * 512);
  EXPECT_GE(result.plan.summary.lower_bound, 12288);
  EXPECT_NO_THROW(static_cast<void>(generate_package(network, result.plan, {.name = "net"})));
}

/// Both passes are statements, and the place of their sums is said.
TEST(PlanStreamCarried, LoopsHaveBothPasses) {
  Random random(33);
  int found = 0;
  for (int i = 0; i < 20; ++i) {
    const Network network = norms(random);
    const PlanResult result = make_plan(network.input, streaming(Io::rows, 1, StreamLayout::ring));
    if (!carries(result.plan) || !result.plan.streaming->affine->is_followed) continue;
    ++found;
    std::ostringstream out;
    write_loops(result.plan, out);
    EXPECT_NE(out.str().find("added to its sums"), std::string::npos) << out.str();
    EXPECT_NE(out.str().find("carried by operator"), std::string::npos) << out.str();
    const auto& timed = result.plan.streaming->affine->operators;
    const auto first = std::ranges::find(timed, true, &TimedSteps::sums);
    ASSERT_NE(first, timed.end());
    EXPECT_EQ(std::ranges::count(timed, first->op, &TimedSteps::op), 2);
    Plan wrong = result.plan;
    for (TimedSteps& it : wrong.streaming->affine->operators) it.sums = false;
    EXPECT_NE(cases::text_of(check_plan(wrong)).find("are in another order"), std::string::npos);
  }
  EXPECT_GE(found, 1);  // on a slow machine most plans are of another order
}

// What is wrong

constexpr std::size_t norm = 0;
constexpr std::size_t steps_op = 1;

/// x (3 rows of 2 bytes) -> Norm, twice over its rows -> norm1 -> Steps, with a state of 2 bytes -> steps2, and
/// its last state.
Graph line() {
  cases::RowSketch sketch;
  const TensorId x = sketch.input("x", {3, 2});
  sketch.add("Norm", {x}, {3, 2}).carries = {{.axis = 0, .input_axis = 0, .reads_twice = true, .carried = 4}};
  sketch.add("Steps", {sketch.last()}, {3, 2}).carries = {{.axis = 0, .input_axis = 0, .carried = 2}};
  Graph& graph = sketch.graph;
  graph.tensors.push_back({.name = "last", .dtype = DType::int8, .shape = Shape{2}, .bytes = 2});
  graph.subgraphs[0].operators[steps_op].outputs.emplace_back(graph.tensors.size() - 1);
  sketch.finish();
  validate(graph);
  return sketch.graph;
}

Plan line_plan(const Graph& graph) {
  Plan plan;
  plan.models = {{"rows", "rows.json", ModelFormat::json}};
  plan.clocks.resize(1);
  plan.memories = {{.memory = {.name = "arena"}}};
  for (const Tensor& tensor : graph.tensors) plan.tensors.push_back({.tensor = tensor});
  for (std::int64_t r = 0; r < 3; ++r)
    plan.clocks[0].steps.push_back(Run{.path = {0, norm}, .rows = RowRange{0, r, r + 1}, .sums = Sums{4, 0}});
  for (std::int64_t r = 0; r < 3; ++r) {
    plan.clocks[0].steps.push_back(
        Run{.path = {0, norm}, .rows = RowRange{0, r, r + 1}, .carry = Sums{4, 0}});
    plan.clocks[0].steps.push_back(
        Run{.path = {0, steps_op}, .rows = RowRange{0, r, r + 1}, .carry = Sums{5, 0}});
  }
  const std::vector<std::pair<Bytes, Lifetime>> buffers{{6, {0, 8}}, {2, {3, 9}}, {6, {4, 9}},
                                                        {2, {8, 9}}, {4, {0, 8}}, {2, {4, 9}}};
  Bytes end = 0;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    plan.buffers.push_back({.id = "b" + std::to_string(b),
                            .size = buffers[b].first,
                            .pieces = {{0, buffers[b].first, buffers[b].second}}});
    plan.places.push_back({0, end});
    end += buffers[b].first;
    if (b < 4) plan.tensors[b].views = {{.buffer = b, .life = buffers[b].second}};
  }
  plan.tensors[1].views[0].ring = Ring{0, 1, 1};
  cases::correct_claims(plan);
  return plan;
}

Run& run_at(Plan& plan, std::size_t at) { return std::get<Run>(plan.clocks[0].steps[at]); }

struct Wrong {
  std::string title;
  std::function<void(Plan&)> spoil;
  std::vector<std::string> says;
};

TEST(PlanStreamCarried, TheCheckerFindsWhatIsWrong) {
  const Graph graph = line();
  const Plan right = line_plan(graph);
  EXPECT_EQ(cases::text_of(check_plan(right, {&graph, 1})), "");
  const auto swap = [](std::size_t a, std::size_t b) {
    return [a, b](Plan& plan) { std::swap(plan.clocks[0].steps[a], plan.clocks[0].steps[b]); };
  };
  const std::vector<Wrong> wrongs{
      {"second pass before the first is done", swap(2, 3), {"step 2", "'Norm-1'", "others sum up"}},
      {"no first pass",
       [](Plan& plan) {
         auto& steps = plan.clocks[0].steps;
         steps.erase(steps.begin(), steps.begin() + 3);
       },
       {"step 0", "'Norm-1'", "before all of them"}},
      {"rows in another order", swap(3, 5), {"step 3", "row 1", "expected row 0"}},
      {"sums in another order", swap(0, 1), {"step 0 adds up row 1", "expected row 0"}},
      {"state in another order", swap(4, 6), {"'Steps-2'", "expected row 0"}},
      {"no buffer", [](Plan& plan) { run_at(plan, 4).carry.reset(); }, {"step 4", "does not say where"}},
      {"no sums", [](Plan& plan) { run_at(plan, 1).sums.reset(); }, {"step 1", "does not say where"}},
      {"a buffer elsewhere", [](Plan& plan) { run_at(plan, 5).carry->buffer = 5; }, {"step 5", "elsewhere"}},
      {"a state elsewhere", [](Plan& plan) { run_at(plan, 8).carry->offset = 1; }, {"step 8", "elsewhere"}},
      {"sums and buffer",
       [](Plan& plan) { run_at(plan, 1).carry = run_at(plan, 1).sums; },
       {"step 1", "carries them as well"}},
      {"a row of it twice",
       [](Plan& plan) { run_at(plan, 5).rows = run_at(plan, 3).rows; },
       {"step 5 runs row 0", "expected row 1"}},
      {"buffer too small",
       [](Plan& plan) {
         plan.buffers[4].size = 3;
         plan.buffers[4].pieces[0].size = 3;
       },
       {"take 4 bytes"}},
      {"sums end with the first pass",
       [](Plan& plan) { plan.buffers[4].pieces[0].life.upper = 4; },
       {"the sums of", "not all of the bytes are reserved"}},
      {"state begins late",
       [](Plan& plan) { plan.buffers[5].pieces[0].life.lower = 6; },
       {"the sums of", "not all of the bytes are reserved"}},
      {"a row goes after the first pass",
       [](Plan& plan) {
         plan.buffers[0].pieces = {{0, 2, {0, 3}}, {2, 4, {0, 8}}};
       },
       {"rows 0 to 1 of tensor 'x'", "not all of the bytes are reserved"}},
      {"the last state is gone",
       [](Plan& plan) { plan.tensors[3].views[0].life.upper = 8; },
       {"'last'", "no view has it"}},
      {"as a whole, too",
       [](Plan& plan) {
         run_at(plan, 8).rows.reset();
         run_at(plan, 8).carry.reset();
       },
       {"'Steps-2'", "in the middle of its rows"}},
      {"a row is missing",
       [](Plan& plan) { plan.clocks[0].steps.pop_back(); },
       {"'Steps-2' ", "up to row 2"}}};
  for (const Wrong& wrong : wrongs) {
    Plan plan = right;
    wrong.spoil(plan);
    const std::string text = cases::text_of(check_plan(plan, {&graph, 1}));
    for (const std::string& part : wrong.says)
      EXPECT_NE(text.find(part), std::string::npos) << wrong.title << ": " << part << "\n" << text;
  }
}

/// x (3 rows of 2 bytes) -> Steps, from the last row to the first, with a state of 2 bytes.
TEST(PlanStreamCarried, TheCheckerFindsAWrongDirection) {
  cases::RowSketch sketch;
  const TensorId x = sketch.input("x", {3, 2});
  sketch.add("Steps", {x}, {3, 2}).carries = {{.axis = 0, .input_axis = 0, .carried = 2, .backward = true}};
  sketch.finish();
  Graph& graph = sketch.graph;
  validate(graph);
  const auto plan_of = [&](const std::vector<std::int64_t>& order) {
    Plan plan;
    plan.models = {{"rows", "rows.json", ModelFormat::json}};
    plan.clocks.resize(1);
    plan.memories = {{.memory = {.name = "arena"}}};
    for (const Tensor& tensor : graph.tensors) plan.tensors.push_back({.tensor = tensor});
    for (const std::int64_t r : order)
      plan.clocks[0].steps.push_back(
          stowage::Run{.path = {0, 0}, .rows = RowRange{0, r, r + 1}, .carry = Sums{2, 0}});
    for (std::size_t b = 0; b < 3; ++b) {
      const Bytes size = b < 2 ? 6 : 2;
      plan.buffers.push_back({.id = "b" + std::to_string(b), .size = size, .pieces = {{0, size, {0, 3}}}});
      plan.places.push_back({0, static_cast<Bytes>(b) * 6});
      if (b < 2) plan.tensors[b].views = {{.buffer = b, .life = {0, 3}}};
    }
    cases::correct_claims(plan);
    return plan;
  };
  const auto faults = [&](const std::vector<std::int64_t>& order) {
    return cases::text_of(check_plan(plan_of(order), {&graph, 1}));
  };
  EXPECT_EQ(faults({2, 1, 0}), "");
  EXPECT_NE(faults({0, 1, 2}).find("step 0 runs row 0 of"), std::string::npos);
  EXPECT_NE(faults({2, 0, 1}).find("expected row 1"), std::string::npos);
  EXPECT_NE(faults({2, 1}).find("down to row 1"), std::string::npos);
  graph.subgraphs[0].operators[0].carries[0].reads_twice = true;
  EXPECT_THROW(validate(graph), Error);
}

/// The network in reverse and the operators around it begin with their last rows, so few rows are there at once.
TEST(PlanStreamCarried, ASequenceInReverseNeedsFewRows) {
  Random random(7);
  ImageMaker maker(random);
  const TensorId x = maker.add_tensor(TensorKind::input, {40, 1, 2});
  const TensorId a = maker.apply("MatMul", {x, maker.weight({2, 16})}, {40, 1, 16});
  const TensorId h =
      maker.apply("RNN", {a, maker.weight({1, 16, 16}), maker.weight({1, 16, 16})}, {40, 1, 1, 16},
                  {{"hidden_size", std::int64_t{16}}, {"direction", "reverse"}});
  const TensorId y = maker.apply("Squeeze", {h}, {40, 1, 16}, {{"axes", Shape{1}}});
  static_cast<void>(maker.apply("MatMul", {y, maker.weight({16, 2})}, {40, 1, 2}));
  const Network network = maker.take(0);
  for (const Io io : {Io::arena, Io::rows}) {
    PlanOptions options = streaming(io, 1, StreamLayout::automatic);
    options.solve.time_limit = std::chrono::seconds(1);
    const PlanResult result = make_plan(network.input, options);
    ASSERT_TRUE(result.faults.empty()) << result.faults[0].what;
    // Rows of the output come as those of `x` go. Beside them are a state of 64 bytes and few rows of 64; all rows
    // of one of those tensors would be 2560 bytes.
    EXPECT_LE(result.plan.summary.peak, 2 * 320 + 64 + 4 * 64);
    const Runner runner(network, {.kernels = KernelSet::plain});
    EXPECT_FALSE(runner.run(result.plan, {.check = RunCheck::tensors}).fault);
  }
}

/// The runner alone finds it, too: without the checker's word.
TEST(PlanStreamCarried, TheRunnerFindsWhatIsWrong) {
  Random random(3);
  for (int i = 0; i < 20; ++i) {
    const Network network = i % 2 == 0 ? norms(random) : sequences(random);
    PlanOptions options = streaming(Io::rows, 1, StreamLayout::granules);
    const PlanResult result = make_plan(network.input, options);
    if (!carries(result.plan)) continue;
    Plan plan = result.plan;
    auto& steps = plan.clocks[0].steps;
    const auto last = std::find_if(steps.rbegin(), steps.rend(), [](const Step& step) {
      const auto* const own = std::get_if<stowage::Run>(&step);
      return own != nullptr && own->carry;
    });
    auto& moved = std::get<stowage::Run>(*last);
    const std::int64_t to = moved.rows->begin > 0 ? -1 : 1;  // a row that has run
    moved.rows->begin += to;
    moved.rows->end += to;
    const RunResult run = run_plan(network, plan, {.check = RunCheck::none});
    ASSERT_TRUE(run.fault) << i;
    EXPECT_NE(run.fault->what.find("rows ran before"), std::string::npos) << run.fault->what;
  }
}

/// One thing in the plan changes: steps trade places, rows move, or a buffer lies elsewhere or lives shorter.
void spoil(Random& random, Plan& plan) {
  auto& steps = plan.clocks[0].steps;
  const auto any = [&](std::size_t count) {
    return static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(count) - 1));
  };
  const std::size_t at = any(steps.size());
  auto* const run = std::get_if<stowage::Run>(&steps[at]);
  const std::size_t b = any(plan.buffers.size());
  switch (pick(random, 0, 4)) {
    case 0:
      std::swap(steps[at], steps[any(steps.size())]);
      break;
    case 1:
      if (run != nullptr && run->rows && run->rows->begin > 0) {
        --run->rows->begin;
        --run->rows->end;
      }
      break;
    case 2:
      if (run != nullptr && run->carry) run->carry->buffer = b;
      break;
    case 3:
      plan.places[b].offset = plan.places[any(plan.places.size())].offset;
      break;
    default:
      plan.buffers[b].pieces[0].life.upper -= pick(random, 1, 3);
  }
}

/// What the checker lets pass, the runner runs.
TEST(PlanStreamCarried, WhatIsRightByTheCheckerRuns) {
  Random random(34);
  int right = 0;
  int wrong = 0;
  const auto count = static_cast<int>(testing::cases_of(200));
  for (int i = 0; i < count; ++i) {
    const Network network = i % 2 == 0 ? norms(random) : sequences(random);
    Plan plan =
        make_plan(network.input, streaming(Io::rows, pick(random, 1, 2), StreamLayout::granules)).plan;
    if (!carries(plan)) continue;
    plan.streaming.reset();
    for (int times = 0; times < 5; ++times) {
      Plan other = plan;
      spoil(random, other);
      cases::correct_claims(other);
      const bool is_right = check_plan(other, {&network.graph(), 1}).empty();
      ++(is_right ? right : wrong);
      if (!is_right) continue;
      const RunResult run = run_plan(network, other, {.check = RunCheck::tensors});
      ASSERT_FALSE(run.fault) << i << ": " << run.fault->what;
    }
  }
  EXPECT_GT(right, count / 10);
  EXPECT_GT(wrong, count / 2);
}

TEST(PlanStreamCarried, GraphsComeBackFromTheirFiles) {
  const Graph graph = line();
  std::ostringstream out;
  write_graph(graph, out);
  const Input again = parse_input(out.str(), "line.json");
  const Graph& read = std::get<Graph>(again.content);
  ASSERT_EQ(read.subgraphs[0].operators.size(), 2U);
  for (const std::size_t op : {norm, steps_op})
    EXPECT_EQ(read.subgraphs[0].operators[op].carries, graph.subgraphs[0].operators[op].carries);
  Graph wrong = graph;
  wrong.subgraphs[0].operators[norm].carries.push_back(wrong.subgraphs[0].operators[norm].carries[0]);
  EXPECT_THROW(validate(wrong), Error);
  wrong = graph;
  wrong.subgraphs[0].operators[norm].carries[0].carried = 0;
  EXPECT_THROW(validate(wrong), Error);
  wrong = graph;
  wrong.subgraphs[0].operators[norm].carries[0].input_axis = 1;
  EXPECT_THROW(validate(wrong), Error);
  wrong = graph;
  wrong.subgraphs[0].operators[norm].row_axes = {{.axis = 0}};
  EXPECT_THROW(validate(wrong), Error);
}

TEST(PlanStreamCarried, RealOnesRunByTimeSteps) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "models" / "tflite";
  if (!std::filesystem::exists(folder / "trained_lstm_int8.tflite")) GTEST_SKIP() << "no " << folder;
  const Network network = read_network(folder / "trained_lstm_int8.tflite");
  PlanOptions options = streaming(Io::rows, 1, StreamLayout::automatic);
  options.alignment = 16;
  const PlanResult result = make_plan(network.input, options);
  ASSERT_TRUE(result.faults.empty()) << result.faults[0].what;
  const RunResult run = run_plan(network, result.plan, {.check = RunCheck::tensors});
  EXPECT_FALSE(run.fault) << run.fault->what;
}

}  // namespace
}  // namespace stowage
