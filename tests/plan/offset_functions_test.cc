// Offsets as functions of open sizes: terms of sizes against what networks really have, stackings against brute force,
// and whole plans at many sizes against the checker with the model read at these sizes.

#include "stowage/offset_functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "model/size_terms.h"
#include "onnx_models.h"
#include "open_model.h"
#include "plan/relation_search.h"
#include "plan/size_fitting.h"
#include "process.h"
#include "stowage/export.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "temporary.h"

namespace stowage {
namespace {

using Kind = SizeTerm::Kind;
using plan::Results;
using plan::SizeFitting;
using testing::attribute;
using testing::node;
using testing::onnx_model;
using testing::tensor_value;
using testing::untyped_value;

template <typename Call>
void expect_refused(const Call& call, const std::string& says) {
  try {
    call();
    ADD_FAILURE() << "nothing was refused, expected: " << says;
  } catch (const std::exception& error) {  // Error or UsageError
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
}

// Terms

std::int64_t at(const SizeFitting& fitting, std::size_t term, std::vector<std::int64_t> symbols) {
  return model::results_of(fitting.terms(), symbols).at(term);
}

TEST(SizeFitting, FindsWhatNetworksMakeOfSizes) {
  const std::vector<SizeSymbol> symbols{{"h", 64, 1023}, {"w", 64, 1023}};
  std::vector<std::vector<std::int64_t>> readings;
  std::mt19937_64 random(1);
  const auto drawn = [&] { return static_cast<std::int64_t>(64 + random() % 960); };
  for (std::int64_t i = 0; i < 48; ++i) readings.push_back({1023 - i, 1000});
  for (std::int64_t i = 0; i < 48; ++i) readings.push_back({1000, 1023 - i});
  for (int i = 0; i < 40; ++i) readings.push_back({drawn(), drawn()});
  using Function = std::int64_t (*)(std::int64_t, std::int64_t);
  const std::vector<Function> functions{
      [](std::int64_t h, std::int64_t) { return (h + 1) / 2; },
      [](std::int64_t h, std::int64_t) { return ((h + 1) / 2 + 1) / 2; },
      [](std::int64_t, std::int64_t w) { return (w - 7) / 3 + 1; },
      [](std::int64_t h, std::int64_t) { return (h + 31) / 32 * 8 + 1; },
      [](std::int64_t h, std::int64_t) { return 3 * h / 4; },
      [](std::int64_t h, std::int64_t w) { return h + w + 5; },
      [](std::int64_t h, std::int64_t w) { return h * w; },
      [](std::int64_t h, std::int64_t w) { return 12 * ((h + 1) / 2) * w; },
      [](std::int64_t h, std::int64_t) { return std::min<std::int64_t>(500, h - 3); },
      [](std::int64_t, std::int64_t w) { return std::max<std::int64_t>(w, 128); },
      [](std::int64_t, std::int64_t) { return std::int64_t{80}; },
      [](std::int64_t h, std::int64_t w) { return h * w + (h + 1) / 2 + w; },
  };
  std::vector<Results> wanted;
  for (const Function function : functions) {
    Results results;
    for (const auto& reading : readings) results.push_back(function(reading[0], reading[1]));
    wanted.push_back(results);
  }
  std::ranges::reverse(wanted);  // those that others are made of come last
  SizeFitting fitting(symbols, readings);
  fitting.fit(wanted);
  for (std::size_t f = 0; f < functions.size(); ++f) {
    const auto term = fitting.find(wanted[functions.size() - 1 - f]);
    ASSERT_TRUE(term) << f;
    for (int i = 0; i < 300; ++i) {
      const std::int64_t h = drawn(), w = drawn();
      EXPECT_EQ(at(fitting, *term, {h, w}), functions[f](h, w)) << f << " at " << h << "," << w;
    }
  }
}

TEST(SizeFitting, FindsLargeStrides) {
  for (const std::int64_t stride : {65, 160, 512, 4099}) {
    std::vector<std::vector<std::int64_t>> readings;
    Results wanted;
    const auto steps = [stride](std::int64_t n) { return 3 * ((n - 400) / stride + 1); };
    const auto add = [&](std::int64_t n) {
      readings.push_back({n});
      wanted.push_back(steps(n));
    };
    for (const std::int64_t rise : {400 + stride, 400 + 9 * stride})
      for (const std::int64_t n : {rise - 1, rise}) add(n);
    add(40000);
    add(400);
    SizeFitting fitting({{"n", 400, 40000}}, readings);
    fitting.fit({wanted});
    const auto term = fitting.find(wanted);
    ASSERT_TRUE(term) << stride;
    for (std::int64_t n = 400; n <= 40000; ++n)
      ASSERT_EQ(at(fitting, *term, {n}), steps(n)) << stride << " at " << n;
  }
}

TEST(SizeFitting, FindsNothingWhereNothingIs) {
  std::vector<std::vector<std::int64_t>> readings;
  Results results;
  std::mt19937_64 random(3);
  for (std::int64_t n = 1; n <= 60; ++n) {
    readings.push_back({n});
    results.push_back(static_cast<std::int64_t>(random() % 1000));
  }
  SizeFitting fitting({{"n", 1, 60}}, readings);
  fitting.fit({results});
  EXPECT_FALSE(fitting.find(results));
}

// Stackings

double worst_of(const plan::StackedLives& lives, const std::vector<plan::Scenario>& scenarios,
                const std::vector<plan::Stacking>& stackings) {
  double worst = 0;
  for (const plan::Scenario& it : scenarios) {
    Bytes lowest = largest_value;
    for (const plan::Stacking& stacking : stackings)
      lowest = std::min(lowest, plan::peak_of(lives.offsets_of(stacking, it.sizes), it.sizes));
    worst = std::max(worst, static_cast<double>(lowest) / static_cast<double>(std::max<Bytes>(it.load, 1)));
  }
  return worst;
}

TEST(RelationSearch, IsNoWorseThanTheBestStacking) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t count) { return static_cast<std::int64_t>(random() % count); };
  for (int round = 0; round < 60; ++round) {
    std::vector<Lifetime> lives;
    for (int b = 0; b < 6; ++b) {
      const Position lower = below(6);
      lives.push_back({lower, lower + 1 + below(4)});
    }
    const plan::StackedLives stacked(lives);
    std::vector<plan::Scenario> scenarios;
    for (int s = 0; s < 4; ++s) {
      std::vector<Bytes> sizes;
      for (std::size_t b = 0; b < lives.size(); ++b) sizes.push_back(below(3) * 16 + 16 * below(5));
      scenarios.push_back(stacked.scenario_of(sizes));
    }
    plan::Stacking stacking(lives.size());
    std::iota(stacking.begin(), stacking.end(), std::size_t{0});
    const plan::Stacking start = stacking;
    double best = 100;
    do {
      best = std::min(best, worst_of(stacked, scenarios, {stacking}));
    } while (std::ranges::next_permutation(stacking).found);
    const auto found =
        plan::search_stackings(stacked, scenarios, [&](const plan::Scenario&) { return start; }, {});
    EXPECT_LE(worst_of(stacked, scenarios, found), std::max(best, 1.005) + 1e-9) << round;
    for (const plan::Stacking& it : found) {  // relations say the same as stackings
      OffsetFunctions functions;
      for (std::size_t b = 0; b < lives.size(); ++b) {
        functions.symbols.push_back({"s" + std::to_string(b), 0, 1000});
        functions.terms.push_back({.kind = Kind::symbol, .parts = {{b}}});
        functions.sizes.push_back(b);
      }
      functions.relations = {stacked.relation_of(it)};
      for (const plan::Scenario& scenario : scenarios)
        EXPECT_EQ(offsets_at(functions, scenario.sizes).offsets, stacked.offsets_of(it, scenario.sizes));
    }
  }
}

// Plans

using Model = testing::OpenModel;

/// Attention over a past and new tokens, whose numbers are open, and layers of fixed size.
Model decoder() {
  const auto model = onnx_model(
      {.nodes = {node("MatMul", {"x", "wq"}, {"q"}), node("MatMul", {"x", "wk"}, {"k"}),
                 node("Concat", {"past", "k"}, {"keys"}, {attribute("axis", std::int64_t{0})}),
                 node("Transpose", {"keys"}, {"turned"},
                      {attribute("perm", std::vector<std::int64_t>{1, 0})}),
                 node("MatMul", {"q", "turned"}, {"scores"}),
                 node("Softmax", {"scores"}, {"weights"}, {attribute("axis", std::int64_t{-1})}),
                 node("MatMul", {"weights", "keys"}, {"mixed"}), node("MatMul", {"mixed", "wo"}, {"out"}),
                 node("Relu", {"out"}, {"hidden"}), node("Add", {"hidden", "x"}, {"y"})},
       .inputs = {tensor_value("x", {"seq", 16}), tensor_value("past", {"past", 16})},
       .outputs = {untyped_value("y"), untyped_value("keys")},
       .initializers = {testing::zeros("wq", {16, 16}), testing::zeros("wk", {16, 16}),
                        testing::zeros("wo", {16, 16})}});
  return {model.SerializeAsString(), {{"past", 1, 400}, {"seq", 1, 300}}};
}

/// Several layers like these, whose caches come one after another and go one after another.
Model layers(int count) {
  testing::OnnxParts parts{.inputs = {tensor_value("x0", {"seq", 16})},
                           .initializers = {testing::zeros("w", {16, 16})}};
  for (int layer = 0; layer < count; ++layer) {
    const auto of = [layer](const std::string& name) { return name + std::to_string(layer); };
    parts.inputs.push_back(tensor_value(of("past"), {"past", 16}));
    parts.outputs.push_back(untyped_value(of("keys")));
    for (const auto& it :
         {node("MatMul", {of("x"), "w"}, {of("q")}), node("MatMul", {of("x"), "w"}, {of("k")}),
          node("Concat", {of("past"), of("k")}, {of("keys")}, {attribute("axis", std::int64_t{0})}),
          node("Transpose", {of("keys")}, {of("turned")},
               {attribute("perm", std::vector<std::int64_t>{1, 0})}),
          node("MatMul", {of("q"), of("turned")}, {of("scores")}),
          node("Softmax", {of("scores")}, {of("weights")}, {attribute("axis", std::int64_t{-1})}),
          node("MatMul", {of("weights"), of("keys")}, {of("mixed")}),
          node("Add", {of("mixed"), of("x")}, {"x" + std::to_string(layer + 1)})})
      parts.nodes.push_back(it);
  }
  parts.outputs.push_back(untyped_value("x" + std::to_string(count)));
  return {onnx_model(parts).SerializeAsString(), {{"past", 1, 400}, {"seq", 1, 300}}};
}

/// Convolutions and pools at random, halves joined, of images whose height and width are open.
Model image_network(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t count) { return static_cast<std::int64_t>(random() % count); };
  testing::OnnxParts parts{.inputs = {tensor_value("x", {1, 3, "h", "w"})}, .outputs = {untyped_value("y")}};
  std::string last = "x";
  std::int64_t channels = 3;
  for (int i = 0; i < 5; ++i) {
    const std::string name = "t" + std::to_string(i);
    const std::int64_t stride = 1 + below(3), kernel = 1 + below(3), more = 2 + below(6);
    const testing::NodeAttributes window{
        attribute("strides", std::vector<std::int64_t>{stride, 1 + below(2)}),
        attribute("kernel_shape", std::vector<std::int64_t>{kernel, kernel}),
        attribute("pads", std::vector<std::int64_t>{kernel / 2, kernel / 2, kernel / 2, kernel / 2})};
    if (below(3) == 0) {
      parts.nodes.push_back(node("MaxPool", {last}, {name}, window));
    } else {
      parts.initializers.push_back(testing::zeros("w" + name, {more, channels, kernel, kernel}));
      parts.nodes.push_back(node("Conv", {last, "w" + name}, {name}, window));
      channels = more;
    }
    last = name;
    if (below(2) == 0) {
      parts.nodes.push_back(node("Sigmoid", {last}, {name + "s"}));
      parts.nodes.push_back(
          node("Concat", {last, name + "s"}, {name + "c"}, {attribute("axis", std::int64_t{1})}));
      channels *= 2;
      last = name + "c";
    }
  }
  parts.nodes.push_back(node("Flatten", {last}, {"y"}));
  return {onnx_model(parts).SerializeAsString(), {{"h", 20, 320, 4}, {"w", 17, 200, 1}}};
}

SolveOptions quick() {
  SolveOptions options;
  options.effort = 100;
  return options;
}

PlanOptions options_of(Io io) {
  PlanOptions options;
  options.io = io;
  options.solve = quick();
  return options;
}

/// Functions are for views that have one offset in their buffers.
Input range_of(const Model& model) {
  Input range = model.whole_range();
  keep_in_place(std::get<Graph>(range.content));
  return range;
}

PlanResult planned(const Model& model) {
  PlanOptions options;
  options.solve = quick();
  return make_plan(range_of(model), options);
}

FoundFunctions found_for(const Model& model, const Plan& plan) {
  return find_offset_functions(
      plan, std::get<Graph>(model.whole_range().content), model.symbols,
      [&](std::span<const std::int64_t> values) { return model.read_at(values); }, quick());
}

void expect_right_at_all(const Model& model, const Plan& plan, const OffsetFunctions& functions, int sizes) {
  EXPECT_TRUE(check_offset_functions(plan, functions).empty());
  std::mt19937_64 random(5);
  for (int i = 0; i < sizes; ++i) {
    const std::vector<std::int64_t> values = model.drawn_values(random);
    const Graph graph = graph_at(std::get<Graph>(model.whole_range().content), model.read_at(values));
    const Plan there = plan_at(plan, functions, values, graph);
    const Faults faults = check_plan(there, {&graph, 1});
    EXPECT_TRUE(faults.empty()) << values[0] << "," << values[1] << ": " << faults[0].what;
    EXPECT_EQ(there.summary.peak, offsets_at(functions, values).peak);
  }
}

/// Runs at sizes in the offsets of the functions, and gives what the network gives that was read at these sizes.
void expect_runs(const Model& model, const Plan& plan, const OffsetFunctions& functions, int sizes) {
  std::mt19937_64 random(9);
  for (int i = 0; i < sizes; ++i) {
    const std::vector<std::int64_t> values = model.drawn_values(random);
    const auto [there, exact] = model.networks_at(values);
    const RunOptions options{.kernels = KernelSet::plain, .check = RunCheck::tensors, .random_weights = 3};
    const RunResult run = run_plan(there, plan_at(plan, functions, values, there.graph()), options);
    ASSERT_FALSE(run.fault) << run.fault->what;
    const RunResult alone = run_plan(exact, make_plan(exact.input, {.solve = quick()}).plan, options);
    ASSERT_EQ(run.outputs.size(), alone.outputs.size());
    for (std::size_t o = 0; o < run.outputs.size(); ++o)
      EXPECT_EQ(run.outputs[o].array, alone.outputs[o].array) << values[0] << "," << values[1];
  }
}

TEST(OffsetFunctions, OfADecoderAreRightAtAllSizes) {
  const Model model = decoder();
  const Plan plan = planned(model).plan;
  const FoundFunctions found = found_for(model, plan);
  expect_right_at_all(model, plan, found.functions, 40);
  expect_runs(model, plan, found.functions, 20);
  EXPECT_LE(found.report.worst, 1.05);
  EXPECT_LT(offsets_at(found.functions, std::vector<std::int64_t>{1, 1}).peak, plan.summary.peak / 50);
}

TEST(OffsetFunctions, OfLayersWithCachesNeedOneRelation) {
  const Model model = layers(6);
  const Plan plan = planned(model).plan;
  const FoundFunctions found = found_for(model, plan);
  expect_right_at_all(model, plan, found.functions, 12);
  EXPECT_EQ(found.functions.relations.size(), 1U);
  EXPECT_LE(found.report.worst, 1.005);
  std::mt19937_64 random(13);
  for (int i = 0; i < 20; ++i) {  // sizes that the search did not have
    const std::vector<std::int64_t> values = model.drawn_values(random);
    const Input alone{.content = model.read_at(values)};
    EXPECT_LE(static_cast<double>(offsets_at(found.functions, values).peak),
              1.005 * static_cast<double>(make_plan(alone, {.solve = quick()}).plan.summary.peak));
  }
}

/// Windows of 400 samples, in large steps, as a spectrogram has them.
Model windows_of(std::int64_t stride) {
  const auto model = onnx_model(
      {.nodes = {node("Conv", {"x", "w"}, {"c"}, {attribute("strides", std::vector<std::int64_t>{stride})}),
                 node("Relu", {"c"}, {"y"})},
       .inputs = {tensor_value("x", {1, 1, "samples"})},
       .outputs = {untyped_value("y")},
       .initializers = {testing::zeros("w", {20, 1, 400})}});
  return {model.SerializeAsString(), {{"samples", 400, 16000}}};
}

TEST(OffsetFunctions, OfLargeStridesAreRightWhereverTheyRise) {
  for (const std::int64_t stride : {61, 160, 1000}) {
    const Model model = windows_of(stride);
    const Plan plan = planned(model).plan;
    const OffsetFunctions functions = found_for(model, plan).functions;
    for (std::int64_t rise = 400 + stride; rise <= 16000; rise += stride) {
      for (const std::int64_t samples : {rise - 1, rise}) {
        const std::vector<std::int64_t> values{samples};
        const Graph graph = graph_at(std::get<Graph>(model.whole_range().content), model.read_at(values));
        const Faults faults = check_plan(plan_at(plan, functions, values, graph), {&graph, 1});
        ASSERT_TRUE(faults.empty()) << stride << " at " << samples << ": " << faults[0].what;
      }
    }
  }
}

TEST(OffsetFunctions, OfRandomNetworksAreRightAtAllSizes) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Model model = image_network(seed);
    const Plan plan = planned(model).plan;
    const OffsetFunctions functions = found_for(model, plan).functions;
    expect_right_at_all(model, plan, functions, 12);
    expect_runs(model, plan, functions, 3);
  }
}

/// `big` is large where n is, and runs best behind the fixed chain; where n is small, that chain is.
Model two_chains() {
  const auto model =
      onnx_model({.nodes = {node("MatMul", {"x", "narrow"}, {"a"}), node("Relu", {"a"}, {"b"}),
                            node("MatMul", {"b", "wide"}, {"c"}),
                            node("ReduceMean", {"c"}, {"d"},
                                 {attribute("axes", std::vector<std::int64_t>{0}),
                                  attribute("keepdims", std::int64_t{1})}),
                            node("MatMul", {"f", "first"}, {"g"}), node("MatMul", {"g", "second"}, {"h"}),
                            node("Add", {"d", "h"}, {"y"})},
                  .inputs = {tensor_value("x", {"n", 8}), tensor_value("f", {1, 64})},
                  .outputs = {untyped_value("y")},
                  .initializers = {testing::zeros("narrow", {8, 16}), testing::zeros("wide", {16, 32}),
                                   testing::zeros("first", {64, 512}), testing::zeros("second", {512, 32})}},
                 13);
  return {model.SerializeAsString(), {{"n", 1, 256}}};
}

/// The greatest peak of the functions above that of a plan for a size alone.
double most_above_alone(const Model& model, const OffsetFunctions& functions, Io io, int sizes) {
  std::mt19937_64 random(3);
  double most = 1;
  for (int i = 0; i < sizes; ++i) {
    const std::vector<std::int64_t> values = model.drawn_values(random);
    std::vector<GivenSize> exact;
    for (const std::int64_t it : values) exact.emplace_back(it, it);
    const Bytes alone = make_plan(model.read(exact), options_of(io)).plan.summary.peak;
    most = std::max(most, static_cast<double>(offsets_at(functions, values).peak) /
                              static_cast<double>(std::max<Bytes>(1, alone)));
  }
  return most;
}

/// The order of the largest sizes may need more at others. That of the plan with functions needs less there, and no more
/// at the largest; it is right and runs at all sizes.
TEST(OffsetFunctions, MayBeInAnotherOrder) {
  std::vector<Model> models{decoder(), two_chains()};
  for (std::uint64_t seed = 0; seed < 4; ++seed) models.push_back(image_network(seed));
  int better = 0;
  for (const Model& model : models) {
    for (const Io io : {Io::arena, Io::external}) {
      const PlanOptions options = options_of(io);
      const Input range = range_of(model);
      const ReadAtSizes read = [&](std::span<const std::int64_t> values) { return model.read_at(values); };
      const PlanResult first = make_plan(range, options);
      const FoundFunctions before = found_for(model, first.plan);
      const PlanWithFunctions after = find_plan_with_functions(range, first, read, options);
      ASSERT_TRUE(after.planned.faults.empty());
      EXPECT_LE(after.planned.plan.summary.peak, first.plan.summary.peak);
      const double above = most_above_alone(model, after.found.functions, io, 20);
      const double above_before = most_above_alone(model, before.functions, io, 20);
      EXPECT_LE(above, std::max(above_before, 1.02));
      better += after.planned.plan.clocks != first.plan.clocks && above < above_before - 0.01 ? 1 : 0;
      expect_right_at_all(model, after.planned.plan, after.found.functions, 10);
      if (io == Io::arena) expect_runs(model, after.planned.plan, after.found.functions, 2);
    }
  }
  EXPECT_GT(better, 0);
}

TEST(OffsetFunctions, AreOfPlansInWhichNoTensorMoves) {
  const Model model = decoder();
  const Input range = model.whole_range();
  const PlanOptions options = options_of(Io::arena);
  const PlanResult first = make_plan(range, options);
  const auto moves = [](const PlannedTensor& it) {
    return !it.views.empty() && it.views[0].moves.has_value();
  };
  ASSERT_TRUE(std::ranges::any_of(first.plan.tensors, moves));
  expect_refused([&] { (void)found_for(model, first.plan); }, "tensors that move within their buffers");
  const PlanWithFunctions made = find_plan_with_functions(
      range, first, [&](std::span<const std::int64_t> values) { return model.read_at(values); }, options);
  EXPECT_TRUE(std::ranges::none_of(made.planned.plan.tensors, moves));
  expect_right_at_all(model, made.planned.plan, made.found.functions, 6);
}

TEST(OffsetFunctions, KeepAnOrderThatIsGiven) {
  const Model model = two_chains();
  PlanOptions options = options_of(Io::external);
  options.order = Order::keep;
  const PlanResult first = make_plan(range_of(model), options);
  const PlanWithFunctions made = find_plan_with_functions(
      model.whole_range(), first, [&](std::span<const std::int64_t> values) { return model.read_at(values); },
      options);
  EXPECT_EQ(made.planned.plan.clocks, first.plan.clocks);
}

TEST(OffsetFunctions, AreReadAsTheyAreWritten) {
  const Model model = decoder();
  const Plan plan = planned(model).plan;
  const OffsetFunctions functions = found_for(model, plan).functions;
  std::ostringstream out;
  write_json(plan, functions, out);
  EXPECT_EQ(parse_offset_functions(out.str()), functions);
  EXPECT_EQ(parse_plan(out.str()), plan);
  std::ostringstream without;
  write_json(plan, without);
  EXPECT_FALSE(parse_offset_functions(without.str()));
  std::string broken = out.str();
  const std::size_t begin = broken.find("\"sizes\":[") + 9;
  broken.insert(begin, "9999,");
  expect_refused([&] { (void)parse_offset_functions(broken); }, "/functions/sizes/0: is '9999'");
}

/// What each way to spoil functions must be told apart by.
TEST(OffsetFunctions, AreRefusedIfTheyAreWrong) {
  const Model model = decoder();
  const Plan plan = planned(model).plan;
  const OffsetFunctions right = found_for(model, plan).functions;
  const auto says = [&](const OffsetFunctions& functions, const std::string& what) {
    const Faults faults = check_offset_functions(plan, functions);
    const bool is_said =
        std::ranges::any_of(faults, [&](const Fault& it) { return it.what.find(what) != std::string::npos; });
    EXPECT_TRUE(is_said) << what << (faults.empty() ? "" : " but " + faults[0].what);
  };
  for (std::size_t b = 0; b < right.sizes.size(); ++b) {
    for (std::size_t i = 0; i < right.relations[0][b].size(); ++i) {
      OffsetFunctions less = right;
      less.relations[0][b].erase(less.relations[0][b].begin() + static_cast<std::ptrdiff_t>(i));
      says(less, "live at the same time");
    }
  }
  OffsetFunctions around = right;
  around.relations[0][0] = {1};
  around.relations[0][1] = {0};
  says(around, "above themselves");
  OffsetFunctions odd = right;
  odd.terms.push_back({.kind = Kind::sum, .parts = {{odd.sizes[0]}}, .number = 1});
  odd.sizes[0] = odd.terms.size() - 1;
  says(odd, "no multiple of 64");
  OffsetFunctions small = right;
  small.terms.push_back({.number = 64});
  std::ranges::fill(small.sizes, small.terms.size() - 1);
  says(small, "does not fit");
  OffsetFunctions vast = right;
  vast.terms.push_back({.kind = Kind::product, .parts = {{0}, {0}}, .number = std::int64_t{1} << 60});
  says(vast, "may overflow");
  OffsetFunctions later = right;
  later.terms[0].parts[0].term = 7;
  says(later, "not made of earlier terms");
}

TEST(OffsetFunctions, SayWhichSizesTheyAreFor) {
  const Model model = decoder();
  const Plan plan = planned(model).plan;
  const OffsetFunctions functions = found_for(model, plan).functions;
  using Values = std::vector<std::int64_t>;
  expect_refused(
      [&] {
        (void)offsets_at(functions, Values{0, 1});
      },
      "'past' is 0, expected a size from 1 to 400");
  expect_refused([&] { (void)offsets_at(functions, Values{1, 301}); }, "'seq' is 301");
  expect_refused([&] { (void)offsets_at(functions, Values{1}); }, "1 values are given, expected 2");
}

TEST(OffsetFunctions, AreRefusedForWhatTheyCannotDo) {
  const Model model = decoder();
  PlanOptions options;
  options.solve = quick();
  options.memories = {{.name = "fast", .capacity = 4096}, {.name = "slow", .cost = 10}};
  const Plan plan = make_plan(range_of(model), options).plan;
  expect_refused([&] { (void)found_for(model, plan); }, "several memories");
  const Plan one = planned(model).plan;
  const Graph range = std::get<Graph>(model.whole_range().content);
  expect_refused([&] { (void)find_offset_functions(one, range, {}, {}, quick()); }, "needs a range of sizes");
}

/// Compiles the functions and compares what they compute.
TEST(OffsetFunctions, AreForAsManyOperatorsAtEachSize) {
  const Model model = decoder();
  const Graph range = std::get<Graph>(model.whole_range().content);
  Graph exact = range;
  exact.subgraphs[0].operators.pop_back();
  expect_refused([&] { (void)graph_at(range, exact); }, "has other tensors or operators than for the range");
}

TEST(OffsetFunctions, InCComputeTheSame) {
  const testing::TemporaryDirectory directory;
  for (const Model& model : {decoder(), image_network(2)}) {
    const Plan plan = planned(model).plan;
    const OffsetFunctions functions = found_for(model, plan).functions;
    std::ostringstream header;
    write_c_functions(plan, functions, "net", header);
    directory.write("net.h", header.str());
    std::string program =
        "#include <stdio.h>\n#include \"net.h\"\nint main(void) {\n  int64_t o[NET_BUFFERS];\n";
    std::string expected;
    std::mt19937_64 random(11);
    for (int i = 0; i < 30; ++i) {
      const std::vector<std::int64_t> values = model.drawn_values(random);
      program +=
          "  { net_dims d = {" + std::to_string(values[0]) + ", " + std::to_string(values[1]) +
          "}; printf(\"%lld\", (long long)net_plan(&d, o)); for (int b = 0; b < NET_BUFFERS; ++b) printf(\" "
          "%lld\", (long long)o[b]); printf(\"\\n\"); }\n";
      const OffsetsAt there = offsets_at(functions, values);
      expected += std::to_string(there.peak);
      for (const Bytes offset : there.offsets) expected += " " + std::to_string(offset);
      expected += "\n";
    }
    program +=
        "  net_dims far = {100000, 1};\n  printf(\"%d\\n\", (int)net_plan(&far, o));\n  return NET_VIEWS == "
        "0;\n}\n";
    directory.write("main.c", program);
    const testing::ProcessResult compiled = testing::run_process(
        "/usr/bin/env", {"cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O1",
                         (directory / "main.c").string(), "-o", (directory / "main").string()});
    ASSERT_EQ(compiled.status, 0) << compiled.errors.substr(0, 2000);
    const testing::ProcessResult ran = testing::run_process((directory / "main").string(), {});
    EXPECT_EQ(ran.output, expected + "-1\n");
  }
}

}  // namespace
}  // namespace stowage
