// Tensors that move within their buffers as sizes change: parts of joined tensors in plans for ranges. At each size the
// plan is checked against the model that is read there, and the network runs in it, bit for bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/motions.h"
#include "onnx_models.h"
#include "open_model.h"
#include "stowage/export.h"
#include "stowage/network.h"
#include "stowage/offset_functions.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::node;
using testing::NodeAttributes;
using testing::onnx_model;
using testing::OpenModel;
using testing::tensor_value;
using testing::untyped_value;

const NodeAttributes along_channels{attribute("axis", std::int64_t{1})};

PlanOptions quick(Bytes alignment = 16) {
  PlanOptions options;
  options.alignment = alignment;
  options.solve.effort = 100;
  return options;
}

std::vector<std::vector<std::int64_t>> all_values(const OpenModel& model) {
  std::vector<std::vector<std::int64_t>> all{{}};
  for (const SizeSymbol& it : model.symbols) {
    std::vector<std::vector<std::int64_t>> longer;
    for (const auto& values : all) {
      for (std::int64_t size = it.least; size <= it.most; size += it.step) {
        longer.push_back(values);
        longer.back().push_back(size);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::size_t count_moving(const Plan& plan) {
  return static_cast<std::size_t>(std::ranges::count_if(plan.tensors, [](const PlannedTensor& it) {
    return !it.views.empty() && it.views[0].moves.has_value();
  }));
}

/// What the checker finds at some size; empty if it finds nothing at any.
std::string fault_at_a_size(const OpenModel& model, const Graph& range, const Plan& plan,
                            const std::vector<Graph>& readings) {
  const std::vector<std::vector<std::int64_t>> all = all_values(model);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Graph graph = graph_at(range, readings[i]);
    const Faults faults = check_plan(plan_at(plan, graph), {&graph, 1});
    if (faults.empty()) continue;
    std::ostringstream text;
    for (const std::int64_t it : all[i]) text << it << " ";
    return text.str() + faults[0].what;
  }
  return "";
}

std::vector<Graph> readings_of(const OpenModel& model) {
  std::vector<Graph> readings;
  for (const auto& values : all_values(model)) readings.push_back(model.read_at(values));
  return readings;
}

void expect_runs(const OpenModel& model, const Plan& plan, const std::vector<std::int64_t>& values) {
  const auto [there, exact] = model.networks_at(values);
  const RunOptions options{.kernels = KernelSet::plain, .check = RunCheck::tensors, .random_weights = 3};
  const RunResult run = run_plan(there, plan_at(plan, there.graph()), options);
  ASSERT_FALSE(run.fault) << run.fault->what;
  const RunResult alone = run_plan(exact, make_plan(exact.input, quick()).plan, options);
  ASSERT_EQ(run.outputs.size(), alone.outputs.size());
  for (std::size_t o = 0; o < run.outputs.size(); ++o)
    EXPECT_EQ(run.outputs[o].array, alone.outputs[o].array) << values[0] << "," << values[1];
}

/// A skip over convolutions, and both joined along the channels.
OpenModel skip_network(bool is_skip_first) {
  const auto conv = [](const std::string& from, const std::string& to, const std::string& weight) {
    return node("Conv", {from, weight}, {to},
                {attribute("kernel_shape", std::vector<std::int64_t>{3, 3}),
                 attribute("pads", std::vector<std::int64_t>{1, 1, 1, 1})});
  };
  const std::vector<std::string> parts =
      is_skip_first ? std::vector<std::string>{"skip", "up"} : std::vector<std::string>{"up", "skip"};
  const auto model = onnx_model(
      {.nodes = {conv("x", "a", "w0"), node("Relu", {"a"}, {"skip"}), conv("skip", "b", "w1"),
                 node("Relu", {"b"}, {"c"}), conv("c", "d", "w2"), node("Sigmoid", {"d"}, {"up"}),
                 node("Concat", parts, {"joined"}, along_channels), conv("joined", "e", "w3"),
                 node("Relu", {"e"}, {"y"})},
       .inputs = {tensor_value("x", {1, 3, "h", "w"})},
       .outputs = {untyped_value("y")},
       .initializers = {testing::zeros("w0", {8, 3, 3, 3}), testing::zeros("w1", {32, 8, 3, 3}),
                        testing::zeros("w2", {16, 32, 3, 3}), testing::zeros("w3", {2, 24, 3, 3})}});
  return {model.SerializeAsString(), {{"h", 1, 9}, {"w", 1, 7}}};
}

TEST(MovingViews, OfASkipNeedNoByteMoreThanAtTheLargestSize) {
  for (const bool is_skip_first : {false, true}) {
    const OpenModel model = skip_network(is_skip_first);
    const Input range = model.whole_range();
    const PlanResult result = make_plan(range, quick());
    ASSERT_TRUE(result.faults.empty()) << result.faults[0].what;
    const PlanResult largest = make_plan(model.read({{9, 9}, {7, 7}}), quick());
    EXPECT_EQ(result.plan.summary.peak, largest.plan.summary.peak);
    EXPECT_EQ(result.plan.copies_removed, largest.plan.copies_removed);
    EXPECT_GT(count_moving(result.plan), 0U);
    const auto& graph = std::get<Graph>(range.content);
    EXPECT_EQ(fault_at_a_size(model, graph, result.plan, readings_of(model)), "");
    expect_runs(model, result.plan, {1, 1});
    expect_runs(model, result.plan, {4, 7});
    expect_runs(model, result.plan, {9, 3});
  }
}

/// The second half of a tensor lives longer than the first, and so does a buffer of fixed size: at the largest size this
/// has room where the first half was.
OpenModel halves_and_a_fixed_buffer() {
  const auto all_axes = attribute("axes", std::vector<std::int64_t>{0, 1, 2});
  const auto model = onnx_model(
      {.nodes = {node("MaxPool", {"x"}, {"s"},
                      {attribute("kernel_shape", std::vector<std::int64_t>{3}),
                       attribute("pads", std::vector<std::int64_t>{1, 1}),
                       attribute("strides", std::vector<std::int64_t>{1})}),
                 node("Split", {"s"}, {"a", "b"}, along_channels),
                 node("ReduceMean", {"a"}, {"m"}, {all_axes, attribute("keepdims", std::int64_t{0})}),
                 node("Add", {"k", "m"}, {"t"}),
                 node("ReduceMean", {"t"}, {"q"},
                      {attribute("axes", std::vector<std::int64_t>{0}),
                       attribute("keepdims", std::int64_t{0})}),
                 node("Add", {"b", "q"}, {"y"})},
       .inputs = {tensor_value("x", {1, 2, "n"}), tensor_value("k", {64})},
       .outputs = {untyped_value("y")}},
      11);
  return {model.SerializeAsString(), {{"n", 4, 64, 4}}};
}

TEST(MovingViews, KeepWhatTheirPlacesAtAllSizesReach) {
  const OpenModel model = halves_and_a_fixed_buffer();
  const Input range = model.whole_range();
  const auto& graph = std::get<Graph>(range.content);
  const std::vector<Graph> readings = readings_of(model);
  for (const Io io : {Io::arena, Io::external}) {
    PlanOptions options = quick();
    options.io = io;
    const PlanResult result = make_plan(range, options);
    ASSERT_TRUE(result.faults.empty()) << result.faults[0].what;
    EXPECT_EQ(fault_at_a_size(model, graph, result.plan, readings), "");
  }
  // The plan of the largest size as one of the range: the checker sees what it does at smaller sizes.
  PlanOptions options = quick();
  options.alias = Alias::all;
  options.io = Io::external;
  Plan plan = make_plan(model.read({{64, 64}}), options).plan;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) plan.tensors[t].tensor = graph.tensors[t];
  EXPECT_FALSE(check_plan(plan, {&graph, 1}).empty());
}

/// Operators at random on images of any height and width, joined and cut along channels.
OpenModel random_network(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
  testing::OnnxParts parts{.inputs = {tensor_value("x", {1, 4, "h", "w"})}, .outputs = {untyped_value("y")}};
  std::vector<std::pair<std::string, std::int64_t>> made{{"x", 4}};  // with their channels
  const auto add = [&](const std::string& op, const std::vector<std::string>& from, std::int64_t channels,
                       const NodeAttributes& attributes = {}) {
    made.emplace_back("t" + std::to_string(made.size()), channels);
    parts.nodes.push_back(node(op, from, {made.back().first}, attributes));
  };
  const std::array<std::string, 4> unary{"Relu", "Sigmoid", "Neg", "Tanh"};
  const std::size_t count = 6 + below(10);
  const bool may_be_empty = below(3) == 0;  // convolutions take no empty images
  for (std::size_t i = 0; i < count; ++i) {
    const auto recent = [&] { return made[made.size() - 1 - below(std::min<std::size_t>(made.size(), 4))]; };
    const auto from = recent();
    switch (may_be_empty ? 1 + below(5) : below(6)) {
      case 0: {  // of other channels
        const std::int64_t channels = std::array<std::int64_t, 4>{4, 8, 16, 2}.at(below(4));
        const std::string weight = "w" + std::to_string(i);
        parts.initializers.push_back(testing::zeros(weight, {channels, from.second, 1, 1}));
        add("Conv", {from.first, weight}, channels);
        break;
      }
      case 1:
      case 2: {
        std::vector<std::string> joined{from.first};
        std::int64_t channels = from.second;
        for (std::size_t more = 1 + below(2); more > 0; --more) {
          const auto next = recent();
          joined.push_back(next.first);
          channels += next.second;
        }
        add("Concat", joined, channels, along_channels);
        break;
      }
      case 3:
        if (from.second % 2 == 0) {
          const std::string name = "t" + std::to_string(made.size());
          parts.nodes.push_back(node("Split", {from.first}, {name, name + "b"}, along_channels));
          made.emplace_back(name, from.second / 2);
          made.emplace_back(name + "b", from.second / 2);
        }
        break;
      default:
        add(unary.at(below(unary.size())), {from.first}, from.second);
    }
  }
  std::vector<std::string> ends;  // some of all
  for (std::size_t i = 1; i < made.size(); ++i) {
    if (below(3) == 0 || i + 1 == made.size()) ends.push_back(made[i].first);
  }
  std::int64_t number = 0;
  std::string sum;
  for (const std::string& end : ends) {  // each made small, so that what is joined lives for a while
    const std::string name = "r" + std::to_string(number++);
    parts.nodes.push_back(
        node("ReduceMean", {end}, {name},
             {attribute("axes", std::vector<std::int64_t>{1}), attribute("keepdims", std::int64_t{1})}));
    if (!sum.empty()) parts.nodes.push_back(node("Add", {sum, name}, {name + "s"}));
    sum = sum.empty() ? name : name + "s";
  }
  parts.nodes.push_back(node("Neg", {sum}, {"y"}));
  return {onnx_model(parts, 11).SerializeAsString(), {{"h", may_be_empty ? 0 : 1, 4}, {"w", 1, 3}}};
}

PlanOptions random_options(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  PlanOptions options = quick(std::array<Bytes, 3>{4, 16, 64}.at(random() % 3));
  options.alias = random() % 2 == 0 ? Alias::all : Alias::automatic;
  options.io = random() % 2 == 0 ? Io::arena : Io::external;
  return options;
}

TEST(MovingViews, OfRandomNetworksAreRightAtEverySize) {
  std::size_t moving = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const OpenModel model = random_network(seed);
    const Input range = model.whole_range();
    const PlanResult result = make_plan(range, random_options(seed));
    ASSERT_TRUE(result.faults.empty()) << seed << ": " << result.faults[0].what;
    const auto& graph = std::get<Graph>(range.content);
    EXPECT_EQ(fault_at_a_size(model, graph, result.plan, readings_of(model)), "") << seed;
    const std::size_t here = count_moving(result.plan);
    moving += here;
    if (here > 0 && seed % 3 == 0) {
      for (const auto& values : all_values(model)) expect_runs(model, result.plan, values);
    }
    std::ostringstream json;
    write_json(result.plan, json);
    EXPECT_EQ(parse_plan(json.str()).tensors, result.plan.tensors);
  }
  EXPECT_GT(moving, 60U);
}

/// Harms one tensor that moves, or a piece of its buffer. False: there is nothing to harm.
bool harm(Plan& plan, std::mt19937_64& random) {
  std::vector<std::size_t> candidates;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    if (!plan.tensors[t].views.empty() && plan.tensors[t].views[0].moves) candidates.push_back(t);
  }
  if (candidates.empty()) return false;
  PlannedTensor& tensor = plan.tensors[candidates[random() % candidates.size()]];
  const std::size_t kind = random() % 4;
  Buffer& buffer = plan.buffers[tensor.views[0].buffer];
  if (kind == 3) {
    Piece& piece = buffer.pieces[random() % buffer.pieces.size()];
    if (piece.size <= buffer.alignment) return false;
    piece.size -= buffer.alignment;
    if (random() % 2 == 0) piece.offset += buffer.alignment;
    return true;
  }
  for (View& view : tensor.views) {
    if (kind == 0) view.moves.reset();
    if (kind == 1) (*view.moves)[0].bytes *= -1;
    if (kind == 2) (*view.moves)[0].bytes += buffer.alignment;
  }
  return kind != 2 || (*tensor.views[0].moves)[0].bytes != 0;
}

TEST(MovingViews, ThatAreHarmedAreRefusedIfTheyAreWrongAtASize) {
  std::size_t harmed = 0;
  std::size_t refused = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const OpenModel model = random_network(seed);
    const Input range = model.whole_range();
    const PlanResult result = make_plan(range, random_options(seed));
    if (count_moving(result.plan) == 0) continue;
    const auto& graph = std::get<Graph>(range.content);
    const std::vector<Graph> readings = readings_of(model);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 12; ++i) {
      Plan plan = result.plan;
      if (!harm(plan, random)) continue;
      ++harmed;
      // Copies that are no longer removed are none of the harm.
      plan.copies_removed = {};
      const Faults all = check_plan(plan, {&graph, 1});
      const auto is_count = [](const Fault& it) {
        return it.what.find("is said to remove") != std::string::npos;
      };
      if (!std::ranges::all_of(all, is_count)) {
        ++refused;
        continue;
      }
      EXPECT_EQ(fault_at_a_size(model, graph, plan, readings), "") << seed;
    }
  }
  EXPECT_GT(harmed, 100U);
  EXPECT_GT(refused, harmed * 3 / 4);
}

TEST(Motions, AreInOrderIfTheyAreAtAllExtents) {
  model::Motions motions({{0, 4}, {1, 8}});
  const model::MotionId of_n = motions.id_of({{16, {0}}});
  const model::MotionId of_both = motions.id_of({{16, {0}}, {2, {0, 1}}});
  EXPECT_EQ(motions.sum(of_n, motions.id_of({{2, {0, 1}}})), of_both);
  EXPECT_EQ(motions.difference(of_both, of_both), 0U);
  EXPECT_TRUE(motions.is_never_behind(64, of_n, 64, of_n));
  EXPECT_TRUE(motions.is_never_behind(64, of_n, 64, 0));   // 16n is at most 64
  EXPECT_FALSE(motions.is_never_behind(16, 0, 64, of_n));  // 16 bytes from 0, and what begins at 16n
  EXPECT_TRUE(motions.is_never_behind(0, 0, 64, of_n));
  EXPECT_TRUE(motions.is_never_behind(64, of_n, 128, of_both));
  EXPECT_FALSE(motions.is_never_behind(65, of_n, 128, of_both));
}

}  // namespace
}  // namespace stowage
