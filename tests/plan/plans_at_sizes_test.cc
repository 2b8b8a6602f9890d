// Plans of all kinds for open sizes, at drawn sizes and the smallest and largest: each runs in poisoned memory and gives,
// bit for bit, what the network gives that was read at these sizes, with memory of its own for each tensor.

#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "onnx_models.h"
#include "stowage/buckets.h"
#include "stowage/network.h"
#include "stowage/offset_functions.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "stowage/run_at_sizes.h"
#include "stowage/size_differences.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::node;
using testing::onnx_model;
using testing::tensor_value;
using testing::untyped_value;

/// A network with open sizes, and their ranges.
struct OpenNetwork {
  std::string name{};
  std::string content{};
  std::vector<SizeSymbol> ranges{};
  std::vector<StateNames> states{};  ///< Only for plans that may have state that grows.
};

std::ostream& operator<<(std::ostream& out, const OpenNetwork& it) { return out << it.name; }

OpenNetwork encoder() {
  return {.name = "Encoder",
          .content =
              onnx_model({.nodes = {node("MatMul", {"x", "wq"}, {"q"}), node("MatMul", {"x", "wk"}, {"k"}),
                                    node("Transpose", {"k"}, {"kt"},
                                         {attribute("perm", std::vector<std::int64_t>{0, 2, 1})}),
                                    node("MatMul", {"q", "kt"}, {"scores"}),
                                    node("Softmax", {"scores"}, {"p"}, {attribute("axis", std::int64_t{-1})}),
                                    node("MatMul", {"p", "x"}, {"mixed"}),
                                    node("Add", {"mixed", "x"}, {"sum"}), node("Relu", {"sum"}, {"y"})},
                          .inputs = {tensor_value("x", {"batch", "seq", 8})},
                          .outputs = {untyped_value("y")},
                          .initializers = {testing::zeros("wq", {8, 8}), testing::zeros("wk", {8, 8})}})
                  .SerializeAsString(),
          .ranges = {{"batch", 1, 6}, {"seq", 1, 70}}};
}

OpenNetwork decoder() {
  return {.name = "Decoder",
          .content =
              onnx_model(
                  {.nodes = {node("Concat", {"past", "x"}, {"present"}, {attribute("axis", std::int64_t{0})}),
                             node("Transpose", {"present"}, {"turned"}),
                             node("MatMul", {"x", "turned"}, {"scores"}),
                             node("Softmax", {"scores"}, {"p"}, {attribute("axis", std::int64_t{-1})}),
                             node("MatMul", {"p", "present"}, {"mixed"}), node("Relu", {"mixed"}, {"y"})},
                   .inputs = {tensor_value("x", {1, 8}), tensor_value("past", {"past", 8})},
                   .outputs = {untyped_value("y"), untyped_value("present")}})
                  .SerializeAsString(),
          .ranges = {{"past", 1, 200}},
          .states = {{"present", "past"}}};
}

OpenNetwork image() {
  const testing::NodeAttributes window{attribute("kernel_shape", std::vector<std::int64_t>{3, 3}),
                                       attribute("pads", std::vector<std::int64_t>{1, 1, 1, 1}),
                                       attribute("strides", std::vector<std::int64_t>{2, 2})};
  return {
      .name = "Image",
      .content =
          onnx_model({.nodes = {node("Conv", {"x", "w"}, {"c"}, window), node("Relu", {"c"}, {"r"}),
                                node("Sigmoid", {"r"}, {"s"}),
                                node("Concat", {"r", "s"}, {"both"}, {attribute("axis", std::int64_t{1})}),
                                node("MaxPool", {"both"}, {"m"}, window), node("Flatten", {"m"}, {"y"})},
                      .inputs = {tensor_value("x", {1, 3, "h", "w"})},
                      .outputs = {untyped_value("y")},
                      .initializers = {testing::zeros("w", {4, 3, 3, 3})}})
              .SerializeAsString(),
      .ranges = {{"h", 8, 64, 4}, {"w", 5, 40}}};
}

OpenNetwork branches() {
  const auto branch = [](const std::vector<onnx::NodeProto>& nodes) {
    return testing::onnx_graph({.nodes = nodes, .outputs = {untyped_value("b")}});
  };
  return {.name = "If",
          .content =
              onnx_model(
                  {.nodes = {node("Relu", {"x"}, {"r"}),
                             node("If", {"c"}, {"z"},
                                  {attribute("then_branch",
                                             branch({node("Exp", {"r"}, {"e"}), node("Neg", {"e"}, {"b"})})),
                                   attribute("else_branch", branch({node("Sigmoid", {"r"}, {"b"})}))}),
                             node("Add", {"z", "r"}, {"y"})},
                   .inputs = {tensor_value("c", {}, onnx::TensorProto::BOOL), tensor_value("x", {"n", 4})},
                   .outputs = {untyped_value("y")}})
                  .SerializeAsString(),
          .ranges = {{"n", 1, 300}}};
}

OpenNetwork loop() {
  const onnx::GraphProto body = testing::onnx_graph(
      {.nodes = {node("Add", {"old", "x"}, {"sum"}), node("Sigmoid", {"sum"}, {"new"}),
                 node("Identity", {"go"}, {"on"})},
       .inputs = {tensor_value("round", {}, onnx::TensorProto::INT64),
                  tensor_value("go", {}, onnx::TensorProto::BOOL), testing::value_of_any_shape("old")},
       .outputs = {tensor_value("on", {}, onnx::TensorProto::BOOL), testing::value_of_any_shape("new")}});
  return {
      .name = "Loop",
      .content = onnx_model({.nodes = {node("Relu", {"x"}, {"r"}),
                                       node("Loop", {"rounds", "", "r"}, {"last"}, {attribute("body", body)}),
                                       node("Add", {"last", "r"}, {"y"})},
                             .inputs = {tensor_value("x", {"n", 4})},
                             .outputs = {untyped_value("y")},
                             .initializers = {testing::scalar("rounds", 3)}})
                     .SerializeAsString(),
      .ranges = {{"n", 1, 300}}};
}

OpenNetwork lite() {
  const auto tensor = [](const std::string& name) {
    return testing::TfliteTensor{.name = name, .shape = {1, 4}, .signature = {-1, 4}};
  };
  return {.name = "Lite",
          .content = testing::tflite_model(
              {.subgraphs = {{.tensors = {tensor("x"), tensor("r"), tensor("s"), tensor("y")},
                              .operators = {{.type = "RELU", .inputs = {0}, .outputs = {1}},
                                            {.type = "LOGISTIC", .inputs = {1}, .outputs = {2}},
                                            {.type = "MAXIMUM", .inputs = {2, 0}, .outputs = {3}}},
                              .inputs = {0},
                              .outputs = {3}}}}),
          .ranges = {{"x[0]", 1, 300}}};
}

using Values = std::vector<std::int64_t>;

class PlansAtSizes : public ::testing::TestWithParam<OpenNetwork> {
 protected:
  const OpenNetwork& net() const { return GetParam(); }

  [[nodiscard]] Network read(const std::vector<GivenSize>& sizes, bool has_states) const {
    ImportOptions options{.constants = true};
    for (std::size_t s = 0; s < sizes.size(); ++s) options.dims.emplace(net().ranges[s].name, sizes[s]);
    if (has_states) options.states = net().states;
    return parse_network(net().content, net().name == "Lite" ? "net.tflite" : "net.onnx", options);
  }
  [[nodiscard]] Network read_at(const Values& values, bool has_states = false) const {
    std::vector<GivenSize> sizes;
    for (const std::int64_t it : values) sizes.emplace_back(it, it);
    return read(sizes, has_states);
  }
  [[nodiscard]] Network read_range(bool has_states = false) const {
    std::vector<GivenSize> sizes;
    for (const SizeSymbol& it : net().ranges) sizes.emplace_back(it.least, it.most, it.step);
    return read(sizes, has_states);
  }

  /// The smallest, the largest, and 20 others.
  [[nodiscard]] std::set<Values> sizes() const {
    std::mt19937_64 random(47);
    std::set<Values> all;
    Values least, most;
    for (const SizeSymbol& it : net().ranges) {
      least.push_back(it.least);
      most.push_back(it.most);
    }
    all.insert({least, most});
    while (all.size() < 22) {
      Values drawn;
      for (const SizeSymbol& it : net().ranges) {
        const auto steps = static_cast<std::uint64_t>((it.most - it.least) / it.step + 1);
        drawn.push_back(it.least + static_cast<std::int64_t>(random() % steps) * it.step);
      }
      all.insert(drawn);
    }
    return all;
  }

  static RunOptions run_options(RunCheck check) {
    return {.kernels = KernelSet::plain, .check = check, .random_weights = 3};
  }

  static PlanOptions plan_options() {
    PlanOptions options;
    options.solve.effort = 200;
    return options;
  }

  /// Each tensor in memory of its own, and compared with a run without any plan.
  static void expect_as_alone(const RunResult& run, const Network& exact) {
    ASSERT_FALSE(run.fault) << run.fault->what;
    PlanOptions apart = plan_options();
    apart.alias = Alias::none;
    apart.order = Order::keep;
    const RunResult alone =
        run_plan(exact, make_plan(exact.input, apart).plan, run_options(RunCheck::outputs));
    ASSERT_FALSE(alone.fault) << alone.fault->what;
    ASSERT_EQ(run.outputs.size(), alone.outputs.size());
    for (std::size_t o = 0; o < run.outputs.size(); ++o)
      EXPECT_EQ(run.outputs[o].array, alone.outputs[o].array);
  }

  /// The network of the range at these sizes, in the plan that `plan_for` makes of it.
  template <typename PlanFor>
  void expect_runs(const Network& range, const Values& values, bool has_states,
                   const PlanFor& plan_for) const {
    SCOPED_TRACE(::testing::PrintToString(values));
    const Network exact = read_at(values, has_states);
    Network at = range;
    at.input.content = graph_at(range.graph(), exact.graph());
    const Plan plan = plan_for(at.graph());
    const Faults faults = check_plan(plan, {&at.input, 1});
    ASSERT_TRUE(faults.empty()) << faults[0].what;
    expect_as_alone(run_plan({&at, 1}, plan, run_options(RunCheck::tensors), {&exact, 1}), exact);
  }

  /// Nothing that is closed for the range is open for these sizes and the largest.
  void expect_alike(const Network& range, const Values& values) const {
    std::vector<GivenSize> two;
    for (std::size_t s = 0; s < values.size(); ++s) {
      const std::int64_t most = net().ranges[s].most;
      two.emplace_back(values[s], most, std::max<std::int64_t>(1, most - values[s]));
    }
    const Faults faults = size_differences(range.graph(), read(two, false).graph(), "these");
    EXPECT_TRUE(faults.empty()) << faults[0].what;
  }
};

TEST_P(PlansAtSizes, WithConstantOffsetsForARange) {
  const Network range = read_range(true);
  const PlanResult made = make_plan(range.input, plan_options());
  ASSERT_TRUE(made.faults.empty());
  for (const Values& values : sizes()) {
    expect_runs(range, values, true, [&](const Graph& at) { return plan_at(made.plan, at); });
    expect_alike(read_range(), values);
  }
}

TEST_P(PlansAtSizes, WithOffsetsThatAreFunctions) {
  const Network range = read_range();
  const PlanResult made = make_plan(range.input, plan_options());
  const FoundFunctions found = find_offset_functions(
      made.plan, range.graph(), net().ranges,
      [&](std::span<const std::int64_t> values) {
        return read_at(Values(values.begin(), values.end())).graph();
      },
      plan_options().solve);
  for (const Values& values : sizes())
    expect_runs(range, values, false,
                [&](const Graph& at) { return plan_at(made.plan, found.functions, values, at); });
}

TEST_P(PlansAtSizes, OfTwentyBucketsAndMore) {
  std::vector<BucketSizes> wanted;
  for (const Values& values : sizes()) {
    BucketSizes& bucket = wanted.emplace_back();
    for (std::size_t s = 0; s < values.size(); ++s) bucket.emplace(net().ranges[s].name, values[s]);
  }
  const auto network_of = [&](const BucketSizes& bucket) {
    Values values;
    for (const SizeSymbol& it : net().ranges) values.push_back(bucket.at(it.name));
    return read_at(values);
  };
  const BucketsResult made =
      make_buckets([&](const BucketSizes& bucket) { return std::vector<Input>{network_of(bucket).input}; },
                   wanted, plan_options());
  ASSERT_TRUE(made.faults.empty());
  ASSERT_EQ(made.buckets.all.size(), wanted.size());
  for (const Bucket& it : made.buckets.all) {
    SCOPED_TRACE(in_words(it.sizes));
    const Network exact = network_of(it.sizes);
    expect_as_alone(run_plan(exact, it.plan, run_options(RunCheck::tensors)), exact);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, PlansAtSizes,
                         ::testing::Values(encoder(), decoder(), image(), branches(), loop(), lite()),
                         [](const auto& it) { return it.param.name; });

}  // namespace
}  // namespace stowage
