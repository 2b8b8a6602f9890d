// Shapes that are computed from moved elements of other shapes, and operands that do not fit.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "onnx_models.h"
#include "stowage/error.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::node;
using testing::tensor_value;
using testing::untyped_value;
using testing::vector_of;
using testing::zeros;

/// The shape of x [2,3,4,5] after a Reshape to what the nodes make of its shape s.
Shape shape_by(std::vector<onnx::NodeProto> nodes, const std::vector<onnx::TensorProto>& constants) {
  nodes.insert(nodes.begin(), node("Shape", {"x"}, {"s"}));
  nodes.push_back(node("Reshape", {"x", "t"}, {"y"}));
  const auto model = testing::onnx_model({.nodes = nodes,
                                          .inputs = {tensor_value("x", {2, 3, 4, 5})},
                                          .outputs = {untyped_value("y")},
                                          .initializers = constants},
                                         17);
  const Network network = parse_network(model.SerializeAsString(), "x.onnx");
  const Graph& graph = network.graph();
  return graph.tensors[graph.subgraphs[0].outputs[0]].shape.value_or(Shape{});
}

onnx::TensorProto column_of(const std::string& name, const std::vector<std::int64_t>& elements) {
  onnx::TensorProto tensor = vector_of(name, elements);
  tensor.add_dims(1);
  return tensor;
}

TEST(OnnxFoldedMoves, Gathers) {
  EXPECT_EQ(shape_by({node("GatherElements", {"s", "i"}, {"t"})}, {vector_of("i", {3, -2, 1, 0})}),
            (Shape{5, 4, 3, 2}));
  EXPECT_EQ(shape_by({node("GatherND", {"s", "i"}, {"t"})}, {column_of("i", {-1, 2, 1, 0})}),
            (Shape{5, 4, 3, 2}));
}

TEST(OnnxFoldedMoves, Scatters) {
  EXPECT_EQ(shape_by({node("ScatterElements", {"s", "i", "u"}, {"t"})},
                     {vector_of("i", {1, -1}), vector_of("u", {15, 1})}),
            (Shape{2, 15, 4, 1}));
  EXPECT_EQ(shape_by({node("ScatterND", {"s", "i", "u"}, {"t"})},
                     {column_of("i", {3, 0}), vector_of("u", {10, 1})}),
            (Shape{1, 3, 4, 10}));
}

TEST(OnnxFoldedMoves, SplitsTilesAndPads) {
  EXPECT_EQ(shape_by({node("Split", {"s"}, {"a", "b"}, {attribute("axis", std::int64_t{-1})}),
                      node("Concat", {"b", "a"}, {"t"}, {attribute("axis", std::int64_t{0})})},
                     {}),
            (Shape{4, 5, 2, 3}));
  EXPECT_EQ(shape_by({node("ReduceProd", {"s"}, {"p"}), node("Tile", {"one", "three"}, {"ones"}),
                      node("Concat", {"ones", "p"}, {"t"}, {attribute("axis", std::int64_t{0})})},
                     {vector_of("one", {1}), vector_of("three", {3})}),
            (Shape{1, 1, 1, 120}));
  EXPECT_EQ(shape_by({node("ReduceProd", {"s"}, {"p"}), node("Pad", {"p", "around", "one"}, {"t"})},
                     {vector_of("around", {1, 2}), vector_of("one", {1})}),
            (Shape{1, 120, 1, 1}));
  // Three elements, of which none can be computed.
  EXPECT_THROW(static_cast<void>(
                   shape_by({node("Pad", {"s", "far"}, {"t"})}, {vector_of("far", {INT64_MIN, INT64_MAX})})),
               Error);
}

TEST(OnnxFoldedMoves, FunctionsOfElements) {
  EXPECT_EQ(
      shape_by({node("Neg", {"s"}, {"n"}), node("Abs", {"n"}, {"a"}), node("CastLike", {"a", "i"}, {"t"})},
               {vector_of("i", {0})}),
      (Shape{2, 3, 4, 5}));
  EXPECT_EQ(shape_by({node("CumSum", {"ones", "axis"}, {"c"}), node("Sub", {"c", "ones"}, {"i"}),
                      node("Gather", {"s", "i"}, {"t"})},
                     {vector_of("ones", {1, 1, 1, 1}), vector_of("axis", {0})}),
            (Shape{2, 3, 4, 5}));
}

TEST(OnnxFoldedMoves, Limits) {
  const auto clipped = [](const testing::Names& inputs, std::int64_t less) {
    return shape_by({node("Clip", inputs, {"c"}), node("Sub", {"c", "less"}, {"d"}),
                     node("Concat", {"d", "rest"}, {"t"}, {attribute("axis", std::int64_t{0})})},
                    {testing::scalar("three", 3), testing::scalar("four", 4), testing::scalar("less", less),
                     vector_of("rest", {-1})});
  };
  EXPECT_EQ(clipped({"s", "three", "four"}, 2), (Shape{1, 1, 2, 2, 30}));
  EXPECT_EQ(clipped({"s", "", "three"}, 1), (Shape{1, 2, 2, 2, 15}));
  EXPECT_EQ(clipped({"s", "four"}, 3), (Shape{1, 1, 1, 2, 60}));
}

TEST(OnnxFoldedMoves, Extremes) {
  const auto place = [](const char* type, const testing::NodeAttributes& attributes) {
    return shape_by({node("Div", {"s", "two"}, {"h"}),  // 1, 1, 2, 2
                     node(type, {"h"}, {"p"}, attributes), node("Add", {"p", "one"}, {"q"}),
                     node("Concat", {"q", "sizes"}, {"t"}, {attribute("axis", std::int64_t{0})})},
                    {testing::scalar("two", 2), vector_of("one", {1}), vector_of("sizes", {-1})});
  };
  const auto last = attribute("select_last_index", std::int64_t{1});
  EXPECT_EQ(place("ArgMax", {}), (Shape{3, 40}));
  EXPECT_EQ(place("ArgMax", {last}), (Shape{4, 30}));
  EXPECT_EQ(place("ArgMin", {}), (Shape{1, 120}));
  EXPECT_EQ(place("ArgMin", {last}), (Shape{2, 60}));
}

TEST(OnnxFoldedMoves, Tops) {
  const auto top = [](std::int64_t largest) {
    return shape_by({node("TopK", {"s", "k"}, {"v", "p"}, {attribute("largest", largest)}),
                     node("Add", {"p", "one"}, {"q"}),
                     node("Concat", {"v", "q"}, {"a"}, {attribute("axis", std::int64_t{0})}),
                     node("Concat", {"a", "rest"}, {"t"}, {attribute("axis", std::int64_t{0})})},
                    {vector_of("k", {1}), vector_of("one", {1}), vector_of("rest", {-1})});
  };
  EXPECT_EQ(top(1), (Shape{5, 4, 6}));
  EXPECT_EQ(top(0), (Shape{2, 1, 60}));
}

/// Of [2 3] [4 5], where 0 counts as 1; a dimension is added.
TEST(OnnxFoldedMoves, TrianglesAndReversedSequences) {
  const auto matrix = [](const onnx::NodeProto& op, const std::vector<onnx::TensorProto>& constants) {
    std::vector<onnx::TensorProto> all = constants;
    for (const auto& it : {vector_of("square", {2, 2}), vector_of("flat", {-1}), vector_of("one", {1})})
      all.push_back(it);
    return shape_by({node("Reshape", {"s", "square"}, {"m"}), op, node("Reshape", {"r", "flat"}, {"f"}),
                     node("Max", {"f", "one"}, {"u"}),
                     node("Concat", {"u", "flat"}, {"t"}, {attribute("axis", std::int64_t{0})})},
                    all);
  };
  const auto lower = attribute("upper", std::int64_t{0});
  EXPECT_EQ(matrix(node("Trilu", {"m"}, {"r"}), {}), (Shape{2, 3, 1, 5, 4}));
  EXPECT_EQ(matrix(node("Trilu", {"m", "k"}, {"r"}), {testing::scalar("k", 1)}), (Shape{1, 3, 1, 1, 40}));
  EXPECT_EQ(matrix(node("Trilu", {"m"}, {"r"}, {lower}), {}), (Shape{2, 1, 4, 5, 3}));
  EXPECT_EQ(matrix(node("ReverseSequence", {"m", "lengths"}, {"r"}), {vector_of("lengths", {2, 1})}),
            (Shape{4, 3, 2, 5, 1}));
  EXPECT_EQ(matrix(node("ReverseSequence", {"m", "lengths"}, {"r"},
                        {attribute("time_axis", std::int64_t{1}), attribute("batch_axis", std::int64_t{0})}),
                   {vector_of("lengths", {1, 2})}),
            (Shape{2, 3, 5, 4, 1}));
}

/// No kernel computes these, so a run takes what is known.
TEST(OnnxFoldedMoves, AsLongAsTheElementsSay) {
  const auto filled = [](const std::vector<onnx::NodeProto>& nodes,
                         const std::vector<onnx::TensorProto>& constants) {
    std::vector<onnx::NodeProto> all = nodes;
    all.push_back(node("ConstantOfShape", {"t"}, {"f"}));
    all.push_back(node("Add", {"f", "x"}, {"y"}));
    const auto model = testing::onnx_model({.nodes = all,
                                            .inputs = {tensor_value("x", {1})},
                                            .outputs = {untyped_value("y")},
                                            .initializers = constants});
    const Network network = parse_network(model.SerializeAsString(), "x.onnx");
    const RunResult result = run_plan(network, make_plan(network.input).plan, {.check = RunCheck::tensors});
    EXPECT_FALSE(result.fault);
    return result.outputs.at(0).array.shape;
  };
  const onnx::TensorProto v = vector_of("v", {3, 0, 5, 3});
  EXPECT_EQ(filled({node("NonZero", {"v"}, {"n"}), node("Squeeze", {"n", "axis"}, {"m"}),
                    node("Add", {"m", "one"}, {"t"})},
                   {v, vector_of("axis", {0}), testing::scalar("one", 1)}),
            (Shape{1, 3, 4}));
  EXPECT_EQ(filled({node("Compress", {"v", "takes"}, {"t"}, {attribute("axis", std::int64_t{0})})},
                   {v,
                    [] {
                      onnx::TensorProto takes = vector_of("takes", {1, 0, 1});
                      takes.set_data_type(onnx::TensorProto::BOOL);
                      takes.mutable_int32_data()->Assign(takes.int64_data().begin(),
                                                         takes.int64_data().end());
                      takes.clear_int64_data();
                      return takes;
                    }()}),
            (Shape{3, 5}));
  const onnx::TensorProto sizes = vector_of("v", {5, 2, 5, 3});
  EXPECT_EQ(filled({node("Unique", {"v"}, {"t"})}, {sizes}), (Shape{2, 3, 5}));
  EXPECT_EQ(filled({node("Unique", {"v"}, {"t"}, {attribute("sorted", std::int64_t{0})})}, {sizes}),
            (Shape{5, 2, 3}));
}

/// What reading says of an operator on x; empty if it reads it.
std::string problem_with(const onnx::NodeProto& op, const testing::Dimensions& x,
                         const std::vector<onnx::TensorProto>& constants, int operator_set = 17) {
  const auto model = testing::onnx_model({.nodes = {op},
                                          .inputs = {tensor_value("x", x)},
                                          .outputs = {untyped_value("y")},
                                          .initializers = constants},
                                         operator_set);
  try {
    (void)parse_network(model.SerializeAsString(), "x.onnx");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_says(const std::string& problem, const std::string& part) {
  EXPECT_NE(problem.find(part), std::string::npos) << problem;
}

TEST(OnnxMisfits, WeightsAreForTheChannelsOfTheInput) {
  expect_says(problem_with(node("Conv", {"x", "w"}, {"y"}), {1, 3, 8, 8}, {zeros("w", {4, 2, 3, 3})}),
              "the weights are for 2 channels, but the input has 3");
  expect_says(problem_with(node("Conv", {"x", "w"}, {"y"}, {attribute("group", std::int64_t{3})}),
                           {1, 3, 8, 8}, {zeros("w", {4, 1, 3, 3})}),
              "the weights make 4 channels, which are not those of 3 groups");
  expect_says(problem_with(node("Conv", {"x", "w", "b"}, {"y"}), {1, 3, 8, 8},
                           {zeros("w", {4, 3, 3, 3}), zeros("b", {5})}),
              "the bias is for 5 channels, but the weights make 4");
  expect_says(
      problem_with(node("ConvTranspose", {"x", "w"}, {"y"}), {1, 3, 8, 8}, {zeros("w", {2, 4, 3, 3})}),
      "the weights are for 2 channels, but the input has 3");
  for (const char* const type : {"BatchNormalization", "InstanceNormalization"}) {
    testing::Names operands{"x", "w", "w"};
    if (std::string(type) == "BatchNormalization") operands.insert(operands.end(), {"w", "w"});
    expect_says(problem_with(node(type, operands, {"y"}), {1, 3, 4, 4}, {zeros("w", {2})}),
                "input 1 is for 2 channels, but the data has 3");
  }
}

TEST(OnnxMisfits, ScalesAndBiasesAreForTheData) {
  expect_says(problem_with(node("LayerNormalization", {"x", "s"}, {"y"}), {2, 3, 4}, {zeros("s", {5})}),
              "input 1 has 5 elements along dimension 0, expected 1 or 4");
  expect_says(
      problem_with(node("LayerNormalization", {"x", "s", "b"}, {"y"}, {attribute("axis", std::int64_t{1})}),
                   {2, 3, 4}, {zeros("s", {3, 4}), zeros("b", {2, 4})}),
      "input 2 has 2 elements along dimension 0, expected 1 or 3");
  expect_says(
      problem_with(node("Gemm", {"x", "w", "b"}, {"y"}), {2, 3}, {zeros("w", {3, 4}), zeros("b", {3, 4})}),
      "input 2 has 3 elements along dimension 0, expected 1 or 2");
  EXPECT_EQ(
      problem_with(node("Gemm", {"x", "w", "b"}, {"y"}), {2, 3}, {zeros("w", {3, 4}), zeros("b", {2, 1})}),
      "");
  expect_says(problem_with(node("PRelu", {"x", "s"}, {"y"}), {2, 3, 4}, {zeros("s", {2, 1})}),
              "input 1 has 2 elements along dimension 0, expected 1 or 3");
}

TEST(OnnxMisfits, WeightsOfStatesAreForTheInput) {
  const auto problem = [](const Shape& weights, const Shape& states, const Shape& bias) {
    return problem_with(
        node("LSTM", {"x", "w", "r", "b"}, {"y"}, {attribute("hidden_size", std::int64_t{2})}), {5, 1, 3},
        {zeros("w", weights), zeros("r", states), zeros("b", bias)});
  };
  EXPECT_EQ(problem({1, 8, 3}, {1, 8, 2}, {1, 16}), "");
  expect_says(problem({2, 8, 3}, {1, 8, 2}, {1, 16}), "dimension 0 of the weights has 2, expected 1");
  expect_says(problem({1, 8, 4}, {1, 8, 2}, {1, 16}), "dimension 2 of the weights has 4, expected 3");
  expect_says(problem({1, 8, 3}, {1, 6, 2}, {1, 16}),
              "dimension 1 of the weights of states has 6, expected 8");
  expect_says(problem({1, 8, 3}, {1, 8, 3}, {1, 16}),
              "dimension 2 of the weights of states has 3, expected 2");
  expect_says(problem({1, 8, 3}, {1, 8, 2}, {1, 8}), "dimension 1 of the bias has 8, expected 16");
  expect_says(problem_with(node("LSTM", {"x", "w", "r"}, {"y"}), {5, 1, 3},
                           {zeros("w", {1, 0, 3}), zeros("r", {1, 0, 0})}),
              "there are no hidden elements, expected at least 1");
}

TEST(OnnxMisfits, StatesAreForTheBatch) {
  const auto problem = [](const Shape& state, const Shape& cells) {
    return problem_with(
        node("LSTM", {"x", "w", "r", "b", "", "h", "c"}, {"y"}, {attribute("hidden_size", std::int64_t{2})}),
        {5, 4, 3},
        {zeros("w", {1, 8, 3}), zeros("r", {1, 8, 2}), zeros("b", {1, 16}), zeros("h", state),
         zeros("c", cells)});
  };
  EXPECT_EQ(problem({1, 4, 2}, {1, 4, 2}), "");
  expect_says(problem({1, 5, 2}, {1, 4, 2}), "dimension 1 of its first state has 5, expected 4");
  expect_says(problem({1, 4, 2}, {1, 4, 3}), "dimension 2 of its first state has 3, expected 2");
  expect_says(problem({2, 4, 2}, {1, 4, 2}), "dimension 0 of its first state has 2, expected 1");
}

TEST(OnnxMisfits, UpdatesFitTheirIndices) {
  const auto problem = [](const Shape& updates) {
    return problem_with(node("ScatterND", {"x", "i", "u"}, {"y"}), {4, 8},
                        {column_of("i", {1, 2}), zeros("u", updates)});
  };
  EXPECT_EQ(problem({2, 8}), "");
  expect_says(problem({2, 4}), "dimension 1 of the updates has 4, expected 8");
  expect_says(problem({2}), "the updates are of rank 1, expected 2");
  const auto elements = [](const Shape& updates) {
    return problem_with(node("ScatterElements", {"x", "i", "u"}, {"y"}), {4, 8},
                        {column_of("i", {1, 2}), zeros("u", updates)});
  };
  EXPECT_EQ(elements({2, 1}), "");
  expect_says(elements({2, 8}), "dimension 1 of the updates has 8, expected 1");
  expect_says(elements({2}), "the updates are of rank 1, expected 2");
}

TEST(OnnxMisfits, IndicesAreInRange) {
  const std::string said = "index is 7, expected one of 4 elements";
  expect_says(problem_with(node("Gather", {"x", "i"}, {"y"}), {4, 8}, {vector_of("i", {7})}), said);
  expect_says(problem_with(node("GatherElements", {"x", "i"}, {"y"}), {4, 8}, {column_of("i", {7})}), said);
  expect_says(problem_with(node("GatherND", {"x", "i"}, {"y"}), {4, 8}, {column_of("i", {7})}), said);
  expect_says(problem_with(node("ScatterND", {"x", "i", "u"}, {"y"}), {4, 8},
                           {column_of("i", {7}), zeros("u", {1, 8})}),
              said);
  const auto scatter = [](std::int64_t index, std::int64_t axis) {
    return problem_with(node("ScatterElements", {"x", "i", "u"}, {"y"}, {attribute("axis", axis)}), {4, 8},
                        {column_of("i", {index}), zeros("u", {1, 1})});
  };
  expect_says(scatter(7, 0), said);
  expect_says(scatter(-5, -2), "index is -5, expected one of 4 elements");
  EXPECT_EQ(scatter(7, 1), "");
  expect_says(problem_with(node("ScatterElements", {"x", "i", "u"}, {"y"}), {4, 8},
                           {vector_of("i", {0}), zeros("u", {1})}),
              "the indices are of rank 1, expected 2");
  EXPECT_EQ(problem_with(node("Gather", {"x", "i"}, {"y"}), {4, 8}, {vector_of("i", {-4, 3})}), "");
}

/// A branch may never run, so runtimes take it.
TEST(OnnxMisfits, AreTakenInBranches) {
  const auto branch = [](const char* index, const char* result) {
    return testing::onnx_graph({.nodes = {node("Gather", {"x", index}, {result})},
                                .outputs = {testing::value_of_any_shape(result)}});
  };
  const testing::OnnxParts parts{
      .nodes = {node(
          "If", {"c"}, {"y"},
          {attribute("then_branch", branch("out", "a")), attribute("else_branch", branch("in", "b"))})},
      .inputs = {testing::tensor_value("c", {}, onnx::TensorProto::BOOL), testing::tensor_value("x", {2, 3})},
      .outputs = {testing::value_of_any_shape("y")},
      .initializers = {testing::scalar("out", 5), testing::scalar("in", 0)}};
  EXPECT_EQ(testing::error_of_model(testing::onnx_model(parts)), "");
}

TEST(OnnxMisfits, BlocksAndGroupsAreWhole) {
  const auto block = attribute("blocksize", std::int64_t{2});
  expect_says(problem_with(node("DepthToSpace", {"x"}, {"y"}, {block}), {1, 3, 8, 8}, {}),
              "3 is no multiple of 4");
  expect_says(problem_with(node("SpaceToDepth", {"x"}, {"y"}, {block}), {1, 3, 8, 7}, {}),
              "7 is no multiple of 2");
  EXPECT_EQ(problem_with(node("DepthToSpace", {"x"}, {"y"}, {block}), {1, 4, 7, 7}, {}), "");
  const auto grouped = [](std::int64_t groups) {
    return problem_with(node("GroupNormalization", {"x", "a", "a"}, {"y"}, {attribute("num_groups", groups)}),
                        {1, 4, 8, 8}, {zeros("a", {groups})}, 18);
  };
  expect_says(grouped(3), "num_groups 3 does not divide 4 channels");
  EXPECT_EQ(grouped(2), "");
}

TEST(OnnxMisfits, ReflectionsAreOfWhatIsThere) {
  const auto mode = attribute("mode", std::string("reflect"));
  expect_says(problem_with(node("Pad", {"x", "p"}, {"y"}, {mode}), {4, 8}, {vector_of("p", {4, 0, 0, 0})}),
              "reflects 4 of 4 elements");
  EXPECT_EQ(problem_with(node("Pad", {"x", "p"}, {"y"}, {mode}), {4, 8}, {vector_of("p", {3, 0, 0, 7})}), "");
}

}  // namespace
}  // namespace stowage
