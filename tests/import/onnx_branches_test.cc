// What shapes are computed from: operators that move elements of small tensors, and branches of a known condition.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "onnx_models.h"
#include "stowage/error.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::error_of_model;
using testing::expect_message;
using testing::node;
using testing::NodeAttributes;
using testing::onnx_graph;
using testing::onnx_model;
using testing::OnnxParts;
using testing::read_model;
using testing::tensor_named;
using testing::tensor_value;
using testing::untyped_value;
using testing::vector_of;

using Numbers = std::vector<std::int64_t>;

/// An operator on "v", which has the numbers 0, 1, 2, ... in some shape.
struct Move {
  std::string type;
  Numbers shape;
  std::vector<Numbers> operands{};  ///< After the first; empty: left out.
  NodeAttributes attributes{};
  Numbers result{};  ///< Its numbers.
};

void PrintTo(const Move& it, std::ostream* out) { *out << it.type; }

onnx::TensorProto counted(const std::string& name, const Numbers& shape) {
  Numbers numbers(static_cast<std::size_t>(
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>())));
  std::iota(numbers.begin(), numbers.end(), 0);
  onnx::TensorProto tensor = vector_of(name, numbers);
  tensor.clear_dims();
  for (const std::int64_t extent : shape) tensor.add_dims(extent);
  return tensor;
}

/// The operator, whose first operand is `v`, and what it reads.
OnnxParts parts_of(const Move& it, const std::string& v) {
  OnnxParts parts{.outputs = {untyped_value("r")}};
  testing::Names inputs{v};
  for (std::size_t i = 0; i < it.operands.size(); ++i) {
    inputs.push_back(it.operands[i].empty() ? "" : "operand" + std::to_string(i));
    if (!it.operands[i].empty()) parts.initializers.push_back(vector_of(inputs.back(), it.operands[i]));
  }
  if (it.type == "Concat") inputs = {v, v};
  parts.nodes = {node(it.type, inputs, {"r"}, it.attributes)};
  return parts;
}

Numbers numbers_in(std::span<const std::byte> bytes) {
  Numbers numbers(bytes.size() / sizeof(std::int64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

class MovesOfKnownNumbers : public ::testing::TestWithParam<Move> {};

/// The result, and 1, as a shape.
TEST_P(MovesOfKnownNumbers, AreComputed) {
  OnnxParts parts = parts_of(GetParam(), "v");
  parts.nodes.push_back(node("Reshape", {"r", "flat"}, {"f"}));
  parts.nodes.push_back(node("Add", {"f", "one"}, {"s"}));
  parts.nodes.push_back(node("ConstantOfShape", {"s"}, {"y"}));
  parts.outputs = {untyped_value("y")};
  for (const onnx::TensorProto& it :
       {counted("v", GetParam().shape), vector_of("flat", {-1}), vector_of("one", {1})})
    parts.initializers.push_back(it);
  Numbers shape = GetParam().result;
  for (std::int64_t& number : shape) ++number;
  EXPECT_EQ(tensor_named(read_model(onnx_model(parts)), "y").shape, shape);
}

/// Kernels give the same.
TEST_P(MovesOfKnownNumbers, AreWhatKernelsGive) {
  OnnxParts parts = parts_of(GetParam(), "v");
  const Numbers& shape = GetParam().shape;
  parts.inputs = {tensor_value("v", {shape.begin(), shape.end()}, onnx::TensorProto::INT64)};
  const Network network = parse_network(onnx_model(parts).SerializeAsString(), "m.onnx");
  const onnx::TensorProto data = counted("v", shape);
  Array v{.dtype = DType::int64, .shape = shape};
  for (const std::int64_t number : data.int64_data()) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&number);
    v.data.insert(v.data.end(), bytes, bytes + sizeof(number));
  }
  ASSERT_EQ(static_cast<Bytes>(v.data.size()), bytes_of(DType::int64, shape));
  const RunResult result = run_plan(network, make_plan(network.input, {}).plan, {.inputs = {{"v", v}}});
  ASSERT_FALSE(result.fault) << result.fault->what;
  EXPECT_EQ(numbers_in(result.outputs.at(0).array.data), GetParam().result);
}

constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();

INSTANTIATE_TEST_SUITE_P(
    Onnx, MovesOfKnownNumbers,
    ::testing::Values(
        Move{"Slice", {3, 2}, {{-1}, {-far}, {0}, {-1}}, {}, {4, 5, 2, 3, 0, 1}},
        Move{"Slice", {3, 2}, {{2, 1}, {-far, -far}, {0, 1}, {-2, -1}}, {}, {5, 4, 1, 0}},
        Move{"Slice", {2, 3}, {{0, 1}, {far, far}}, {}, {1, 2, 4, 5}},
        Move{"Slice", {2, 3}, {{-1}, {far}, {-1}}, {}, {2, 5}},
        Move{"Slice", {5}, {{1}, {-1}, {}, {2}}, {}, {1, 3}},
        Move{"Slice", {4}, {{-9}, {9}}, {}, {0, 1, 2, 3}},
        Move{"Transpose", {2, 3}, {}, {}, {0, 3, 1, 4, 2, 5}},
        Move{"Transpose", {2, 1, 3}, {}, {attribute("perm", Numbers{2, 0, 1})}, {0, 3, 1, 4, 2, 5}},
        Move{"Gather", {2, 3}, {{2, -3}}, {attribute("axis", std::int64_t{1})}, {2, 0, 5, 3}},
        Move{"Gather", {2, 3}, {{1, 1}}, {}, {3, 4, 5, 3, 4, 5}},
        Move{"Concat", {2, 2}, {}, {attribute("axis", std::int64_t{-1})}, {0, 1, 0, 1, 2, 3, 2, 3}},
        Move{"Concat", {2, 2}, {}, {attribute("axis", std::int64_t{0})}, {0, 1, 2, 3, 0, 1, 2, 3}},
        Move{"Expand", {2, 1}, {{2, 2}}, {}, {0, 0, 1, 1}}),
    [](const auto& it) { return it.param.type + std::to_string(it.index); });

/// As PyTorch exports torch.nn.functional.pad: pairs of the last dimension first are turned around.
TEST(OnnxBranches, PaddingsAreKnownThroughAllThatTurnsThem) {
  const OnnxParts parts{
      .nodes = {node("ConstantOfShape", {"two"}, {"none"}, {attribute("value", vector_of("", {0}))}),
                node("Concat", {"pads", "none"}, {"list"}, {attribute("axis", std::int64_t{0})}),
                node("Reshape", {"list", "pairs"}, {"matrix"}),
                node("Slice", {"matrix", "last", "end", "zero", "last"}, {"turned"}),
                node("Transpose", {"turned"}, {"columns"}, {attribute("perm", Numbers{1, 0})}),
                node("Reshape", {"columns", "last"}, {"flat"}),
                node("Cast", {"flat"}, {"p"}, {attribute("to", std::int64_t{onnx::TensorProto::INT64})}),
                node("Pad", {"x", "p"}, {"y"})},
      .inputs = {tensor_value("x", {2, 10})},
      .outputs = {untyped_value("y")},
      .initializers = {vector_of("two", {2}), vector_of("pads", {3, 4}), vector_of("pairs", {-1, 2}),
                       vector_of("last", {-1}), vector_of("end", {-far}), vector_of("zero", {0})}};
  EXPECT_EQ(tensor_named(read_model(onnx_model(parts)), "y").shape, (Shape{2, 17}));
}

TEST(OnnxBranches, NumbersThatATypeDoesNotHaveAreNotKnown) {
  const auto shape_of = [](std::int64_t number, std::int64_t type) {
    const OnnxParts parts{
        .nodes = {node("Cast", {"n"}, {"c"}, {attribute("to", type)}),
                  node("Cast", {"c"}, {"s"}, {attribute("to", std::int64_t{onnx::TensorProto::INT64})}),
                  node("Expand", {"x", "s"}, {"y"})},
        .inputs = {tensor_value("x", {1})},
        .outputs = {untyped_value("y")},
        .initializers = {vector_of("n", {number})}};
    return onnx_model(parts);
  };
  EXPECT_EQ(tensor_named(read_model(shape_of(200, onnx::TensorProto::UINT8)), "y").shape, (Shape{200}));
  expect_message(error_of_model(shape_of(200, onnx::TensorProto::INT8)), {"'y'"});
  EXPECT_EQ(tensor_named(read_model(shape_of(5, onnx::TensorProto::BOOL)), "y").shape, (Shape{1}));
}

/// y = If(x has `rank_of` dimensions) Squeeze(x, 0) else Identity(x), as exporters write it.
OnnxParts squeezing(const testing::Dimensions& x, std::int64_t rank) {
  const OnnxParts first{.nodes = {node("Squeeze", {"x", "axis"}, {"t"}), node("Relu", {"t"}, {"r"})},
                        .outputs = {untyped_value("r")},
                        .initializers = {vector_of("axis", {0})},
                        .name = "then"};
  const OnnxParts second{
      .nodes = {node("Identity", {"x"}, {"t"})}, .outputs = {untyped_value("t")}, .name = "else"};
  return {
      .nodes = {node("Shape", {"x"}, {"s"}), node("Size", {"s"}, {"n"}), node("Equal", {"n", "rank"}, {"c"}),
                node("If", {"c"}, {"i"},
                     {attribute("then_branch", onnx_graph(first)),
                      attribute("else_branch", onnx_graph(second))}),
                node("Neg", {"i"}, {"y"})},
      .inputs = {tensor_value("x", x)},
      .outputs = {untyped_value("y")},
      .initializers = {testing::scalar("rank", rank)}};
}

std::vector<std::string> types_in(const Graph& graph) {
  std::vector<std::string> types;
  for (const Operator& op : graph.subgraphs.at(0).operators)
    if (!op.folded) types.push_back(op.type);
  return types;
}

TEST(OnnxBranches, OfAKnownConditionAreTaken) {
  const Graph taken = read_model(onnx_model(squeezing({1, 4}, 2)));
  EXPECT_EQ(taken.subgraphs.size(), 1U);
  EXPECT_EQ(types_in(taken), (std::vector<std::string>{"Squeeze", "Relu", "Identity", "Neg"}));
  EXPECT_EQ(tensor_named(taken, "y").shape, (Shape{4}));
  // The branch that is not taken cannot be: dimension 0 is 3.
  const Graph other = read_model(onnx_model(squeezing({3, 4}, 1)));
  EXPECT_EQ(types_in(other), (std::vector<std::string>{"Identity", "Identity", "Neg"}));
  EXPECT_EQ(tensor_named(other, "y").shape, (Shape{3, 4}));
  EXPECT_TRUE(std::ranges::none_of(other.tensors, [](const Tensor& it) { return it.name == "axis"; }));
}

TEST(OnnxBranches, ThatAreNotTakenNeedNoSizes) {
  OnnxParts parts = squeezing({3, 4}, 1);
  const std::string message = testing::usage_error_of_model(onnx_model(parts), {.bounds = {{"r", 16}}});
  expect_message(message, {"--bound 'r'", "never taken"});
  expect_message(testing::usage_error_of_model(onnx_model(parts), {.shapes = {{"r", {4}}}}),
                 {"--shape 'r'", "never taken"});
}

TEST(OnnxBranches, MayBeInsideOfOthers) {
  OnnxParts outer = squeezing({1, 4}, 2);
  const OnnxParts inner = squeezing({1, 4}, 2);
  OnnxParts branch{.nodes = inner.nodes,
                   .outputs = {untyped_value("y")},
                   .initializers = inner.initializers,
                   .name = "then"};
  OnnxParts zero{.nodes = {node("Neg", {"x"}, {"t"})}, .outputs = {untyped_value("t")}, .name = "else"};
  outer.nodes[3] =
      node("If", {"c"}, {"i"},
           {attribute("then_branch", onnx_graph(branch)), attribute("else_branch", onnx_graph(zero))});
  const Graph graph = read_model(onnx_model(outer));
  EXPECT_EQ(graph.subgraphs.size(), 1U);
  EXPECT_EQ(types_in(graph),
            (std::vector<std::string>{"Squeeze", "Relu", "Identity", "Neg", "Identity", "Neg"}));
}

TEST(OnnxBranches, OfAConditionThatARunDecidesStay) {
  OnnxParts parts = squeezing({1, 4}, 2);
  parts.nodes.erase(parts.nodes.begin(), parts.nodes.begin() + 3);
  parts.inputs.push_back(tensor_value("c", {}, onnx::TensorProto::BOOL));
  expect_message(error_of_model(onnx_model(parts)), {"'i'", "(If"});
  const OnnxParts same{
      .nodes = {node("Neg", {"x"}, {"t"})}, .outputs = {untyped_value("t")}, .name = "either"};
  const onnx::GraphProto either = onnx_graph(same);
  parts.nodes[0] =
      node("If", {"c"}, {"i"}, {attribute("then_branch", either), attribute("else_branch", either)});
  EXPECT_EQ(read_model(onnx_model(parts)).subgraphs.size(), 3U);
  // With sizes that differ from run to run the condition may, too.
  OnnxParts sized = squeezing({1, "N"}, 4);
  sized.nodes[1] = node("Gather", {"s", "last"}, {"n"});
  sized.initializers.push_back(testing::scalar("last", -1));
  const Graph open =
      read_model(onnx_model(sized), {.dims = {{"N", {1, 8}}}, .bounds = {{"i", 32}, {"y", 32}}});
  EXPECT_EQ(open.subgraphs.size(), 3U);
  EXPECT_EQ(read_model(onnx_model(sized), {.dims = {{"N", 4}}}).subgraphs.size(), 1U);
}

/// The rank is the same at all sizes.
TEST(OnnxBranches, AreTakenAtAllSizesIfTheRankDecides) {
  const Graph taken = read_model(onnx_model(squeezing({1, "N"}, 2)), {.dims = {{"N", {1, 8}}}});
  EXPECT_EQ(types_in(taken), (std::vector<std::string>{"Shape", "Squeeze", "Relu", "Identity", "Neg"}));
  EXPECT_EQ(tensor_named(taken, "y").shape, (Shape{8}));
  EXPECT_EQ(tensor_named(taken, "y").open.size(), 1U);
  // The branch that is not taken cannot be.
  const Graph other = read_model(onnx_model(squeezing({"N", 4}, 1)), {.dims = {{"N", {2, 8}}}});
  EXPECT_EQ(tensor_named(other, "y").shape, (Shape{8, 4}));
}

/// Three rounds of `nodes`, which make "after" of "before".
OnnxParts in_loop(std::vector<onnx::NodeProto> nodes, const std::vector<onnx::TensorProto>& constants) {
  nodes.push_back(node("Identity", {"goes_on"}, {"goes_on_too"}));
  const OnnxParts body{
      .nodes = nodes,
      .inputs = {tensor_value("round", {}, onnx::TensorProto::INT64),
                 tensor_value("goes_on", {}, onnx::TensorProto::BOOL), testing::value_of_any_shape("before")},
      .outputs = {untyped_value("goes_on_too"), untyped_value("after")},
      .initializers = constants,
      .name = "body"};
  return {.nodes = {node("Loop", {"rounds", "", "x"}, {"y"}, {attribute("body", onnx_graph(body))})},
          .inputs = {tensor_value("x", {3, 4})},
          .outputs = {untyped_value("y")},
          .initializers = {testing::scalar("rounds", 3)}};
}

/// An If in a body whose condition is that dimension 0 of `of` is `extent`: into "after" by one of these operators.
std::vector<onnx::NodeProto> if_rows_of(const std::string& of, const onnx::NodeProto& yes,
                                        const onnx::NodeProto& no) {
  const auto branch = [](const onnx::NodeProto& only) {
    return onnx_graph({.nodes = {only}, .outputs = {untyped_value(only.output(0))}, .name = "branch"});
  };
  return {node("Shape", {of}, {"s"}), node("Gather", {"s", "0"}, {"n"}), node("Equal", {"n", "3"}, {"c"}),
          node("If", {"c"}, {"after"},
               {attribute("then_branch", branch(yes)), attribute("else_branch", branch(no))})};
}

TEST(OnnxBranches, InLoopsAreTakenIfAllRoundsTakeThem) {
  const auto constants = {testing::scalar("0", 0), testing::scalar("3", 3), vector_of("flat", {-1})};
  for (const std::string of : {"x", "before"}) {
    const Graph graph = read_model(onnx_model(
        in_loop(if_rows_of(of, node("Relu", {"before"}, {"a"}), node("Reshape", {"before", "flat"}, {"b"})),
                constants)));
    EXPECT_EQ(graph.subgraphs.size(), 2U) << of;
    EXPECT_EQ(tensor_named(graph, "y").shape, (Shape{3, 4}));
  }
  // The first round would make a vector, of which the next does not have 3.
  const auto flattens =
      if_rows_of("before", node("Reshape", {"before", "flat"}, {"a"}), node("Relu", {"before"}, {"b"}));
  EXPECT_EQ(error_of_model(onnx_model(in_loop(flattens, constants))).find("Reshape"), std::string::npos);
  try {
    EXPECT_EQ(read_model(onnx_model(in_loop(flattens, constants))).subgraphs.size(), 4U);
  } catch (const Error&) {  // it may ask for the largest shape, but never takes the branch
  }
}

TEST(OnnxBranches, ThatAreTakenGiveWhatTheyGive) {
  const Network network = parse_network(onnx_model(squeezing({1, 4}, 2)).SerializeAsString(), "m.onnx");
  const std::vector<float> numbers{-1, 2, -3, 4};
  Array x{.dtype = DType::float32, .shape = {1, 4}, .data = std::vector<std::byte>(16)};
  std::memcpy(x.data.data(), numbers.data(), 16);
  const RunResult result = run_plan(network, make_plan(network.input, {}).plan,
                                    {.check = RunCheck::tensors, .inputs = {{"x", x}}});
  ASSERT_FALSE(result.fault) << result.fault->what;
  std::vector<float> y(4);
  std::memcpy(y.data(), result.outputs.at(0).array.data.data(), 16);
  EXPECT_EQ(y, (std::vector<float>{-0.0F, -2, -0.0F, -4}));
}

}  // namespace
}  // namespace stowage
