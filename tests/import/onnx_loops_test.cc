// Loops whose condition counts: the rounds that they run, which is the size of what they collect; and outputs that are
// maps.

#include <gtest/gtest.h>

#include <string>

#include "kernel_calls.h"
#include "onnx_models.h"
#include "stowage/error.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::node;

/// while (time < length) { time = time + step }, which collects the time, as exporters of TensorFlow write it: without
/// most rounds, and compared as real numbers. It carries an input, too, so that it is no constant.
testing::OnnxParts counting_time(std::int64_t begin, std::int64_t step,
                                 const std::string& relation = "Less") {
  const auto real = static_cast<std::int64_t>(onnx::TensorProto::FLOAT);
  const onnx::GraphProto body = testing::onnx_graph(
      {.nodes = {node("Add", {"time", "step"}, {"next"}),
                 node("Cast", {"next"}, {"real_next"}, {attribute("to", real)}),
                 node("Cast", {"end"}, {"real_end"}, {attribute("to", real)}),
                 node(relation, {"real_next", "real_end"}, {"goes_on"}), node("Identity", {"time"}, {"row"})},
       .inputs = {testing::tensor_value("round", {}, onnx::TensorProto::INT64),
                  testing::tensor_value("go", {}, onnx::TensorProto::BOOL), testing::untyped_value("time"),
                  testing::untyped_value("end"), testing::untyped_value("data")},
       .outputs = {testing::untyped_value("goes_on"), testing::untyped_value("next"),
                   testing::untyped_value("end"), testing::untyped_value("data"),
                   testing::untyped_value("row")},
       .name = "body"});
  return {.nodes = {node("Shape", {"x"}, {"sizes"}), node("Gather", {"sizes", "first"}, {"length"}),
                    node(relation, {"begin", "length"}, {"begins"}),
                    node("Loop", {"", "begins", "begin", "length", "x"}, {"last", "same", "kept", "times"},
                         {attribute("body", body)})},
          .inputs = {testing::tensor_value("x", {"N", 2})},
          .outputs = {testing::untyped_value("last"), testing::untyped_value("times")},
          .initializers = {testing::scalar("first", 0), testing::scalar("begin", begin),
                           testing::scalar("step", step)}};
}

Shape times_of(const testing::OnnxParts& parts, GivenSize size) {
  const Graph graph = testing::read_model(testing::onnx_model(parts), {.dims = {{"N", size}}});
  return testing::tensor_named(graph, "times").shape.value_or(Shape{-1});
}

TEST(OnnxLoops, CountTheRoundsOfTheirCondition) {
  EXPECT_EQ(times_of(counting_time(0, 1), 80), Shape{80});
  EXPECT_EQ(times_of(counting_time(3, 2), 80), Shape{39});
  EXPECT_EQ(times_of(counting_time(80, 1), 80), Shape{0});
  EXPECT_EQ(times_of(counting_time(0, 1, "LessOrEqual"), 7), Shape{8});
  EXPECT_EQ(times_of(counting_time(0, 1), GivenSize(2, 9)), Shape{9});
}

/// What the loop computes does not depend on how many rounds the plan knows of.
TEST(OnnxLoops, RunAsOftenAsThePlanKnows) {
  const Network network = parse_network(testing::onnx_model(counting_time(3, 2)).SerializeAsString(),
                                        "m.onnx", {.dims = {{"N", 20}}, .constants = true});
  const RunResult result = run_plan(network, make_plan(network.input).plan, {.check = RunCheck::tensors});
  EXPECT_FALSE(result.fault);
  ASSERT_EQ(result.outputs.size(), 2U);
  EXPECT_EQ(result.outputs[1].array, testing::array<std::int64_t>({9}, {3, 5, 7, 9, 11, 13, 15, 17, 19}));
}

/// Sums from the end, written from the end. It carries an input, too, so that it is no constant.
TEST(OnnxLoops, ScansGoBackwards) {
  const auto real = [](const char* name) { return testing::tensor_value(name, {}); };
  const onnx::GraphProto body = testing::onnx_graph(
      {.nodes = {node("Add", {"sum", "one"}, {"next"}), node("Identity", {"next"}, {"row"})},
       .inputs = {real("sum"), testing::tensor_value("data", {2}), real("one")},
       .outputs = {real("next"), testing::tensor_value("data", {2}), real("row")},
       .name = "body"});
  onnx::TensorProto zero = testing::reals("zero", {0});
  zero.clear_dims();
  const testing::OnnxParts parts{
      .nodes = {node(
          "Scan", {"zero", "x", "all"}, {"last", "kept", "sums"},
          {attribute("body", body), attribute("num_scan_inputs", std::int64_t{1}),
           attribute("scan_input_directions", Shape{1}), attribute("scan_output_directions", Shape{1})})},
      .inputs = {testing::tensor_value("x", {2})},
      .outputs = {testing::untyped_value("last"), testing::untyped_value("sums")},
      .initializers = {zero, testing::reals("all", {1, 2, 4, 8})}};
  const Network network =
      parse_network(testing::onnx_model(parts).SerializeAsString(), "m.onnx", {.constants = true});
  const RunResult result = run_plan(network, make_plan(network.input).plan, {.check = RunCheck::tensors});
  EXPECT_FALSE(result.fault);
  ASSERT_EQ(result.outputs.size(), 2U);
  EXPECT_EQ(result.outputs[0].array, testing::array<float>({}, {15}));
  EXPECT_EQ(result.outputs[1].array, testing::array<float>({4}, {15, 14, 12, 8}));
}

/// One round takes the last place to the first and doubles it: as a matrix, of 64 bytes.
onnx::TensorProto turning_weights() {
  onnx::TensorProto weights = testing::reals("weights", {0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 0, 0, 0});
  weights.clear_dims();
  weights.add_dims(4);
  weights.add_dims(4);
  return weights;
}

/// Weights that a loop carries and no round changes, also through a loop inside, stay weights.
TEST(OnnxLoops, CarryNothingThatNoRoundChanges) {
  const auto loop_body = [](std::vector<onnx::NodeProto> nodes, const std::string& name) {
    const auto going = testing::tensor_value(name + "_go", {}, onnx::TensorProto::BOOL);
    return testing::onnx_graph(
        {.nodes = std::move(nodes),
         .inputs = {testing::tensor_value(name + "_round", {}, onnx::TensorProto::INT64), going,
                    testing::untyped_value(name + "_state"), testing::untyped_value(name + "_weights")},
         .outputs = {going, testing::untyped_value(name + "_next"), testing::untyped_value(name + "_same")},
         .name = name});
  };
  const onnx::GraphProto inner = loop_body({node("MatMul", {"in_state", "in_weights"}, {"in_next"}),
                                            node("Identity", {"in_weights"}, {"in_same"})},
                                           "in");
  const onnx::GraphProto outer = loop_body({node("Loop", {"rounds", "", "out_state", "out_weights"},
                                                 {"out_next", "out_same"}, {attribute("body", inner)})},
                                           "out");
  const testing::OnnxParts parts{
      .nodes = {node("Loop", {"rounds", "", "x", "weights"}, {"last", "same"}, {attribute("body", outer)}),
                node("MatMul", {"last", "same"}, {"y"})},
      .inputs = {testing::tensor_value("x", {1, 4})},
      .outputs = {testing::untyped_value("y")},
      .initializers = {testing::scalar("rounds", 2), turning_weights()}};
  const Network network =
      parse_network(testing::onnx_model(parts).SerializeAsString(), "m.onnx", {.constants = true});
  const Plan plan = make_plan(network.input, {.alignment = 1}).plan;
  for (const Buffer& buffer : plan.buffers) EXPECT_LT(buffer.size, 64);  // the bytes of the weights
  const RunResult result =
      run_plan(network, plan,
               {.check = RunCheck::tensors, .inputs = {{"x", testing::array<float>({1, 4}, {1, 2, 3, 4})}}});
  EXPECT_FALSE(result.fault);
  ASSERT_EQ(result.outputs.size(), 1U);  // five places further, and doubled at each end
  EXPECT_EQ(result.outputs[0].array, testing::array<float>({1, 4}, {16, 2, 4, 6}));
}

TEST(OnnxLoops, ScansCarryNothingThatNoRoundChanges) {
  const auto real = [](const char* name, const testing::Dimensions& dims) {
    return testing::tensor_value(name, dims);
  };
  const onnx::GraphProto body = testing::onnx_graph(
      {.nodes = {node("MatMul", {"row", "inside"}, {"turned"}), node("Add", {"sum", "turned"}, {"next"}),
                 node("Identity", {"inside"}, {"between"}), node("Identity", {"between"}, {"same"}),
                 node("Identity", {"next"}, {"so_far"})},
       .inputs = {real("sum", {1, 4}), testing::untyped_value("inside"), real("row", {1, 4})},
       .outputs = {real("next", {1, 4}), testing::untyped_value("same"), real("so_far", {1, 4})},
       .name = "body"});
  onnx::TensorProto zero = testing::reals("zero", {0, 0, 0, 0});
  zero.clear_dims();
  zero.add_dims(1);
  zero.add_dims(4);
  const testing::OnnxParts parts{
      .nodes = {node("Scan", {"zero", "weights", "x"}, {"last", "kept", "sums"},
                     {attribute("body", body), attribute("num_scan_inputs", std::int64_t{1})}),
                node("MatMul", {"last", "kept"}, {"y"})},
      .inputs = {real("x", {2, 1, 4})},
      .outputs = {testing::untyped_value("y"), testing::untyped_value("sums")},
      .initializers = {zero, turning_weights()}};
  const Network network =
      parse_network(testing::onnx_model(parts).SerializeAsString(), "m.onnx", {.constants = true});
  const Plan plan = make_plan(network.input, {.alignment = 1}).plan;
  for (const Buffer& buffer : plan.buffers) EXPECT_LT(buffer.size, 64);
  const RunResult result =
      run_plan(network, plan,
               {.check = RunCheck::tensors,
                .inputs = {{"x", testing::array<float>({2, 1, 4}, {1, 2, 3, 4, 1, 0, 0, 0})}}});
  EXPECT_FALSE(result.fault);
  ASSERT_EQ(result.outputs.size(), 2U);
  EXPECT_EQ(result.outputs[0].array, testing::array<float>({1, 4}, {6, 8, 2, 2}));
  EXPECT_EQ(result.outputs[1].array, testing::array<float>({2, 1, 4}, {8, 1, 2, 3, 8, 2, 2, 3}));
}

/// A body whose copies are copies of each other has no order, which is said.
TEST(OnnxLoops, CopiesInACircleAreRefused) {
  const auto going = testing::tensor_value("go", {}, onnx::TensorProto::BOOL);
  const onnx::GraphProto body =
      testing::onnx_graph({.nodes = {node("Identity", {"b"}, {"a"}), node("Identity", {"a"}, {"b"})},
                           .inputs = {testing::tensor_value("round", {}, onnx::TensorProto::INT64), going,
                                      testing::untyped_value("state")},
                           .outputs = {going, testing::untyped_value("a")},
                           .name = "body"});
  const testing::OnnxParts parts{
      .nodes = {node("Loop", {"rounds", "", "x"}, {"y"}, {attribute("body", body)})},
      .inputs = {testing::tensor_value("x", {4})},
      .outputs = {testing::untyped_value("y")},
      .initializers = {testing::scalar("rounds", 2)}};
  EXPECT_NE(testing::error_of_model(testing::onnx_model(parts)), "");
}

/// How many rows there are is known only when it runs; `--bound` says no shape.
TEST(OnnxLoops, AScanOfUnknownRowsIsRefused) {
  const onnx::GraphProto body = testing::onnx_graph({.nodes = {node("Neg", {"part"}, {"row"})},
                                                     .inputs = {testing::untyped_value("part")},
                                                     .outputs = {testing::untyped_value("row")},
                                                     .name = "body"});
  const testing::OnnxParts parts{
      .nodes = {node("NonZero", {"x"}, {"places"}),
                node("Scan", {"places"}, {"rows"},
                     {attribute("body", body), attribute("num_scan_inputs", std::int64_t{1})})},
      .inputs = {testing::tensor_value("x", {4})},
      .outputs = {testing::untyped_value("rows")}};
  const ImportOptions options{.bounds = {{"places", 32}, {"part", 32}, {"row", 32}, {"rows", 32}},
                              .constants = true};
  const Network network = parse_network(testing::onnx_model(parts).SerializeAsString(), "m.onnx", options);
  try {
    static_cast<void>(run_plan(network, make_plan(network.input).plan, {}));
    ADD_FAILURE() << "it runs";
  } catch (const Error& error) {
    constexpr const char* says = "(Scan, 1 of subgraph 0): the shape of tensor 'places' depends on data";
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
}

/// Data decides, or nothing ends it within the limit.
TEST(OnnxLoops, OthersAskForTheSize) {
  testing::OnnxParts by_data = counting_time(0, 1);
  by_data.initializers.erase(by_data.initializers.begin() + 1);
  by_data.inputs.push_back(testing::tensor_value("begin", {}, onnx::TensorProto::INT64));
  for (const testing::OnnxParts& parts : {by_data, counting_time(0, 0), counting_time(-1'000'000, 1)})
    testing::expect_message(testing::error_of_model(testing::onnx_model(parts), {.dims = {{"N", 4}}}),
                            {"times", "(Loop", "--shape times=N"});
}

onnx::ModelProto with_maps(const std::vector<onnx::NodeProto>& more) {
  testing::OnnxParts parts{.nodes = {node("Softmax", {"x"}, {"shares"})},
                           .inputs = {testing::tensor_value("x", {2, 3})},
                           .outputs = {testing::untyped_value("maps")}};
  parts.nodes.push_back(
      node("ZipMap", {"shares"}, {"maps"}, {attribute("classlabels_int64s", Shape{4, 5, 6})}, "ai.onnx.ml"));
  parts.nodes.insert(parts.nodes.end(), more.begin(), more.end());
  onnx::ModelProto model = testing::onnx_model(parts);
  auto& set = *model.add_opset_import();
  set.set_domain("ai.onnx.ml");
  set.set_version(1);
  return model;
}

TEST(OnnxMaps, AreTakenAsTheNumbersInThem) {
  const Input input = parse_input(with_maps({}).SerializeAsString(), "x.onnx");
  const Graph& graph = std::get<Graph>(input.content);
  ASSERT_EQ(graph.subgraphs[0].operators.size(), 1U);
  ASSERT_EQ(graph.subgraphs[0].outputs.size(), 1U);
  EXPECT_EQ(graph.tensors[graph.subgraphs[0].outputs[0]].name, "shares");
  EXPECT_EQ(graph.tensors[graph.subgraphs[0].outputs[0]].kind, TensorKind::output);
  testing::expect_message(input.note, {"'maps'", "a sequence of maps", "'shares'"});
}

TEST(OnnxMaps, ThatAreReadAreRefused) {
  testing::expect_message(testing::error_of_model(with_maps({node("Identity", {"maps"}, {"again"})})),
                          {"maps", "sequence"});
}

}  // namespace
}  // namespace stowage
