// Values of inputs that decide sizes: what follows from them, what a plan and a run make of them, and what misfits say.

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "onnx_models.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::error_of_model;
using testing::expect_message;
using testing::node;
using testing::onnx_model;
using testing::read_model;
using testing::tensor_named;
using testing::tensor_value;
using testing::untyped_value;
using testing::usage_error_of_model;
using testing::vector_of;
using Type = onnx::TensorProto;

const Number number_one = std::int64_t{1};
Number whole(std::int64_t number) { return number; }

/// x of 24 elements, in the shape that an input says, twice.
onnx::ModelProto reshaped() {
  return onnx_model(
      {.nodes = {node("Relu", {"x"}, {"r"}), node("Mul", {"sizes", "two"}, {"doubled"}),
                 node("Reshape", {"r", "sizes"}, {"s"}), node("Expand", {"s", "wide"}, {"e"}),
                 node("Relu", {"e"}, {"y"}), node("Resize", {"image", "", "", "doubled"}, {"z"})},
       .inputs = {tensor_value("x", {24}), tensor_value("sizes", {"rank"}, Type::INT64),
                  tensor_value("wide", {3}, Type::INT64), tensor_value("image", {2, 3})},
       .outputs = {untyped_value("y"), untyped_value("z")},
       .initializers = {vector_of("two", {2})}});
}

ImportOptions sizes_of_reshaped() {
  return {.values = {{"sizes", {whole(4), whole(6)}}, {"wide", {whole(5), number_one, number_one}}}};
}

TEST(GivenValues, DecideSizesOfOnnx) {
  const Graph graph = read_model(reshaped(), sizes_of_reshaped());
  EXPECT_EQ(tensor_named(graph, "s").shape, Shape({4, 6}));
  EXPECT_EQ(tensor_named(graph, "y").shape, Shape({5, 4, 6}));
  EXPECT_EQ(tensor_named(graph, "z").shape, Shape({8, 12}));
  EXPECT_EQ(tensor_named(graph, "sizes").shape, Shape({2}));
  EXPECT_EQ(tensor_named(graph, "sizes").value, std::vector<Number>({whole(4), whole(6)}));
  EXPECT_EQ(tensor_named(graph, "sizes").kind, TensorKind::input);
  EXPECT_EQ(tensor_named(graph, "doubled").kind, TensorKind::weight) << "folded";
}

/// The oracle: the same numbers as constants of the file.
TEST(GivenValues, GiveTheSizesThatConstantsGive) {
  onnx::ModelProto constant = reshaped();
  auto& inputs = *constant.mutable_graph()->mutable_input();
  inputs.DeleteSubrange(1, 2);
  *constant.mutable_graph()->add_initializer() = vector_of("sizes", {4, 6});
  *constant.mutable_graph()->add_initializer() = vector_of("wide", {5, 1, 1});
  const Graph with_constants = read_model(constant);
  const Graph with_values = read_model(reshaped(), sizes_of_reshaped());
  for (const Tensor& it : with_constants.tensors)
    EXPECT_EQ(tensor_named(with_values, it.name).shape, it.shape) << it.name;
}

TEST(GivenValues, AreRealOrTrueToo) {
  const onnx::ModelProto model = onnx_model(
      {.nodes = {node("Range", {"start", "limit", "delta"}, {"r"}), node("Relu", {"r"}, {"y"}),
                 node("If", {"flag"}, {"z"},
                      {attribute("then_branch", testing::onnx_graph({.nodes = {node("Relu", {"x"}, {"a"})},
                                                                     .outputs = {untyped_value("a")}})),
                       attribute("else_branch",
                                 testing::onnx_graph({.nodes = {node("Concat", {"x", "x"}, {"b"},
                                                                     {attribute("axis", std::int64_t{0})})},
                                                      .outputs = {untyped_value("b")}}))})},
       .inputs = {tensor_value("start", {}), tensor_value("limit", {}), tensor_value("delta", {}),
                  tensor_value("flag", {}, Type::BOOL), tensor_value("x", {8})},
       .outputs = {untyped_value("y"), untyped_value("z")}});
  const Graph graph = read_model(
      model,
      {.values = {{"start", {0.5}}, {"limit", {whole(3)}}, {"delta", {0.25}}, {"flag", {number_one}}}});
  EXPECT_EQ(tensor_named(graph, "y").shape, Shape({10}));
  EXPECT_EQ(tensor_named(graph, "z").shape, Shape({8})) << "the branch that is taken";
  EXPECT_EQ(tensor_named(graph, "limit").value, std::vector<Number>{3.0});
}

TEST(GivenValues, ThatDoNotFitAreRefused) {
  const auto refused = [](std::map<std::string, GivenValue> values) {
    ImportOptions options = sizes_of_reshaped();
    for (auto& [name, value] : values) options.values.insert_or_assign(name, value);
    return usage_error_of_model(reshaped(), options);
  };
  expect_message(refused({{"size", {number_one}}}),
                 {"--value 'size'", "no such input", "did you mean 'sizes'?"});
  expect_message(refused({{"two", {number_one}}}), {"--value 'two'", "no such input"});
  expect_message(refused({{"wide", {number_one}}}),
                 {"--value 'wide'", "has 1 elements, expected 3 for shape [3]"});
  expect_message(refused({{"sizes", {4.5, number_one}}}), {"--value 'sizes'", "4.5 is no int64"});
  expect_message(refused({{"image", {number_one, number_one, number_one, number_one, number_one}}}),
                 {"has 5 elements, expected 6 for shape [2,3]"});
  ImportOptions both = sizes_of_reshaped();
  both.dims.emplace("rank", 3);
  expect_message(usage_error_of_model(reshaped(), both), {"has 2 elements, expected 3"});
  const onnx::ModelProto flagged = onnx_model({.nodes = {node("Not", {"flag"}, {"y"})},
                                               .inputs = {tensor_value("flag", {1}, Type::BOOL)},
                                               .outputs = {untyped_value("y")}});
  expect_message(usage_error_of_model(flagged, {.values = {{"flag", {whole(2)}}}}), {"2 is no bool"});
}

TEST(GivenValues, AreAskedForWhereSizesFollowFromThem) {
  ImportOptions options = sizes_of_reshaped();
  options.values.erase("sizes");
  options.dims.emplace("rank", 2);
  expect_message(error_of_model(reshaped(), options), {"give that with --value sizes=NUMBER,..."});
}

TEST(GivenValues, AreAskedForWhereTheyDecideABranch) {
  const auto branch = [](std::int64_t axis) {
    return testing::onnx_graph({.nodes = {node("Concat", {"x", "x"}, {"a"}, {attribute("axis", axis)})},
                                .outputs = {untyped_value("a")}});
  };
  const onnx::ModelProto model =
      onnx_model({.nodes = {node("Equal", {"rate", "usual"}, {"is_usual"}),
                            node("If", {"is_usual"}, {"y"},
                                 {attribute("then_branch", branch(0)), attribute("else_branch", branch(7))})},
                  .inputs = {tensor_value("rate", {}, Type::INT64), tensor_value("x", {8})},
                  .outputs = {untyped_value("y")},
                  .initializers = {vector_of("usual", {16000})}});
  expect_message(error_of_model(model), {"Concat", "it is in a branch of operator",
                                         "(If, 1 of subgraph 0), whose condition is unknown",
                                         "it follows from what input 'rate' holds: give that with --value "
                                         "rate=NUMBER; the model compares it with 16000"});
  EXPECT_EQ(tensor_named(read_model(model, {.values = {{"rate", {whole(16000)}}}}), "y").shape, Shape({16}));
}

/// A tensor that repeats as often as an input says, which has a value in the file, too.
onnx::ModelProto tiled() {
  return onnx_model({.nodes = {node("Relu", {"x"}, {"r"}), node("Tile", {"r", "repeats"}, {"y"})},
                     .inputs = {tensor_value("x", {1, 4}), tensor_value("repeats", {2}, Type::INT64)},
                     .outputs = {untyped_value("y")},
                     .initializers = {vector_of("repeats", {1, 2})}});
}

TEST(GivenValues, TakeThePlaceOfThoseInTheFile) {
  const Graph constant = read_model(tiled());
  EXPECT_EQ(tensor_named(constant, "repeats").kind, TensorKind::weight);
  EXPECT_EQ(tensor_named(constant, "y").shape, Shape({1, 8}));
  EXPECT_EQ(constant.subgraphs[0].inputs.size(), 1U);
  const Graph given = read_model(tiled(), {.values = {{"repeats", {whole(2), whole(3)}}}});
  EXPECT_EQ(tensor_named(given, "repeats").kind, TensorKind::input);
  EXPECT_EQ(tensor_named(given, "y").shape, Shape({2, 12}));
  EXPECT_EQ(given.subgraphs[0].inputs.size(), 2U);
  for (const ImportOptions& open :
       {ImportOptions{.shapes = {{"repeats", {2}}}}, ImportOptions{.inputs = {"repeats"}}})
    expect_message(error_of_model(tiled(), open), {"'y'", "give that with --value repeats=NUMBER,..."});
  EXPECT_EQ(tensor_named(read_model(tiled(), {.inputs = {"r", "mystery"}}), "y").shape, Shape({1, 8}));
}

/// As in onnxruntime: up to version 3 of the format every constant had to be an input, too.
TEST(GivenValues, DoNotTakeThePlaceOfConstantsInOldFiles) {
  onnx::ModelProto old = tiled();
  old.set_ir_version(3);
  expect_message(usage_error_of_model(old, {.values = {{"repeats", {whole(2), whole(3)}}}}),
                 {"--value 'repeats'", "the model has no such input"});
}

TEST(GivenValues, AreInThePlanAndInItsRun) {
  const Network network = parse_network(reshaped().SerializeAsString(), "net.onnx", sizes_of_reshaped());
  const PlanResult result = make_plan(network.input);
  EXPECT_TRUE(result.faults.empty());
  std::ostringstream json;
  write_json(result.plan, json);
  expect_message(json.str(), {R"("value":[4,6])", R"("value":[5,1,1])"});
  const Plan read = parse_plan(json.str());
  EXPECT_EQ(read, result.plan);
  const RunResult run = run_plan(network, read, {.check = RunCheck::tensors});
  EXPECT_FALSE(run.fault) << run.fault->what;
  EXPECT_EQ(run.outputs.at(0).array.shape, Shape({5, 4, 6}));
  Array other{DType::int64, {2}, std::vector<std::byte>(2 * sizeof(std::int64_t))};
  other.data[0] = std::byte{6};
  other.data[sizeof(std::int64_t)] = std::byte{4};
  const auto run_with = [&] { return run_plan(network, read, {.inputs = {{"sizes", other}}}); };
  try {
    (void)run_with();
    ADD_FAILURE() << "takes [6,4] for [4,6]";
  } catch (const UsageError& error) {
    expect_message(error.what(), {"--input 'sizes'", "other elements than 4,6"});
  }
  std::swap(other.data[0], other.data[sizeof(std::int64_t)]);
  EXPECT_FALSE(run_with().fault);
  Plan forged = read;
  for (PlannedTensor& it : forged.tensors)
    if (it.tensor.name == "sizes") it.tensor.value = {whole(6), whole(4)};
  const Faults faults = check_plan(forged, std::vector<Input>{network.input});
  ASSERT_FALSE(faults.empty());
  expect_message(faults[0].what, {"'sizes'", "another value in the plan"});
}

TEST(GivenValues, OfPlanFilesAreChecked) {
  const Input input = parse_input(reshaped().SerializeAsString(), "net.onnx", sizes_of_reshaped());
  std::ostringstream json;
  write_json(make_plan(input).plan, json);
  const auto problem_with = [&](const std::string& from, const std::string& to) {
    std::string text = json.str();
    text.replace(text.find(from), from.size(), to);
    try {
      (void)parse_plan(text);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  expect_message(problem_with("\"value\":[4,6]", "\"value\":[4]"),
                 {"/value", "8 bytes of elements, expected 16"});
  expect_message(problem_with("\"value\":[4,6]", "\"value\":[4,0.5]"), {"/value/1"});
}

TEST(GivenValues, DecideSizesOfTflite) {
  using testing::TfliteTensor;
  const auto open = [](const std::string& name, std::size_t rank) {
    return TfliteTensor{.name = name,
                        .shape = std::vector<std::int32_t>(rank, 1),
                        .signature = std::vector<std::int32_t>(rank, -1)};
  };
  TfliteTensor sizes{.name = "sizes", .shape = {1}, .dtype = DType::int32, .signature = {-1}};
  const std::string bytes = testing::tflite_model(
      {.subgraphs = {{.tensors = {{.name = "x", .shape = {24}}, sizes, open("s", 2), open("y", 2)},
                      .operators = {{.type = "RESHAPE", .inputs = {0, 1}, .outputs = {2}},
                                    {.type = "RELU", .inputs = {2}, .outputs = {3}}},
                      .inputs = {0, 1},
                      .outputs = {3}}}});
  const ImportOptions options{.values = {{"sizes", {whole(4), whole(6)}}}};
  const Network network = parse_network(bytes, "net.tflite", options);
  const Graph& graph = network.graph();
  EXPECT_EQ(graph.tensors[1].shape, Shape({2}));
  EXPECT_EQ(graph.tensors[1].value, std::vector<Number>({whole(4), whole(6)}));
  EXPECT_EQ(graph.tensors[3].shape, Shape({4, 6}));
  const RunResult run = run_plan(network, make_plan(network.input).plan, {.check = RunCheck::tensors});
  EXPECT_FALSE(run.fault) << run.fault->what;
  const auto problem = [&](const ImportOptions& given) {
    try {
      (void)parse_input(bytes, "net.tflite", given);
    } catch (const std::exception& error) {  // Error or UsageError
      return std::string(error.what());
    }
    return std::string();
  };
  expect_message(problem({.values = {{"size", {number_one}}}}), {"did you mean 'sizes'?"});
  expect_message(problem({.values = {{"sizes", {number_one, 0.5}}}}), {"0.5 is no int32"});
  expect_message(problem({.shapes = {{"sizes", {2}}}}), {"give that with --value sizes=NUMBER,..."});
}

TEST(GivenValues, AreOfNetworksAlone) {
  try {
    (void)parse_input("id,lower,upper,size\na,0,2,64\n", "list.csv", {.values = {{"a", {number_one}}}});
    ADD_FAILURE();
  } catch (const UsageError& error) {
    expect_message(error.what(), {"--value has no meaning for a buffer list"});
  }
}

}  // namespace
}  // namespace stowage
