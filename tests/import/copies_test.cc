// What ONNX operators only pass on. Examples of the document of docs/free-list.md are marked with their
// paragraph.

#include "copies.h"

#include <gtest/gtest.h>

#include <optional>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "onnx_models.h"
#include "stowage/export.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::Names;
using testing::node;
using testing::NodeAttributes;
using testing::onnx_model;
using testing::read_model;
using testing::scalar;
using testing::show_copies;
using testing::tensor_value;
using testing::untyped_value;
using testing::vector_of;
using testing::writer_of;
using Type = onnx::TensorProto;

/// An operator with inputs "a", "b", ... of these shapes, then constants, and outputs "y", "z", ...
struct Case {
  std::string name;
  std::string type;
  std::vector<Shape> shapes;
  std::string expected;
  NodeAttributes attributes{};
  std::vector<onnx::TensorProto> constants{};
  std::size_t outputs = 1;
  int operator_set = 17;
  int elem_type = Type::FLOAT;
  std::vector<onnx::ValueInfoProto> more_inputs{};  ///< Behind the constants.
  bool lacks_first_output = false;
  std::optional<Shape> declared{};  ///< The first output's, where inference does not find it.
};

void PrintTo(const Case& it, std::ostream* out) { *out << it.type; }

testing::Dimensions dimensions_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

onnx::ModelProto model_of(const Case& it) {
  testing::OnnxParts parts;
  Names inputs;
  Names outputs;
  for (std::size_t i = 0; i < it.shapes.size(); ++i) {
    inputs.push_back(std::string(1, static_cast<char>('a' + i)));
    parts.inputs.push_back(tensor_value(inputs.back(), dimensions_of(it.shapes[i]), it.elem_type));
  }
  for (const onnx::TensorProto& constant : it.constants) inputs.push_back(constant.name());
  for (const onnx::ValueInfoProto& input : it.more_inputs) {
    inputs.push_back(input.name());
    parts.inputs.push_back(input);
  }
  for (const onnx::TensorProto& constant : it.constants)
    if (!constant.name().empty()) parts.initializers.push_back(constant);
  for (std::size_t o = 0; o < it.outputs; ++o) {
    outputs.push_back(o == 0 && it.lacks_first_output ? "" : "out" + std::to_string(o));
    if (outputs.back().empty()) continue;
    parts.outputs.push_back(it.declared
                                ? tensor_value(outputs.back(), dimensions_of(*it.declared), it.elem_type)
                                : untyped_value(outputs.back()));
  }
  parts.nodes = {node(it.type, inputs, outputs, it.attributes)};
  return onnx_model(parts, it.operator_set);
}

class OnnxCopies : public ::testing::TestWithParam<Case> {};

TEST_P(OnnxCopies, AreFound) {
  const Graph graph = read_model(model_of(GetParam()));
  EXPECT_EQ(show_copies(graph.subgraphs[0].operators[0]), GetParam().expected);
}

onnx::AttributeProto axis(std::int64_t value) { return attribute("axis", value); }

using Integers = std::vector<std::int64_t>;

onnx::AttributeProto integers(const std::string& name, const Integers& values) {
  return attribute(name, values);
}

onnx::TensorProto left_out() { return {}; }

onnx::ValueInfoProto open(const std::string& name, std::int64_t count, int elem_type = Type::INT64) {
  return tensor_value(name, {count}, elem_type);
}

const std::vector<Case> whole_cases{
    {"Reshape", "Reshape", {{2, 3, 4}}, "0 > 0: 96", {}, {vector_of("s", {6, 4})}},  // 0153
    {"ReshapeOf2MiB",
     "Reshape",
     {{1, 1, 512, 32, 32}},
     "0 > 0: 2097152",
     {},
     {vector_of("s", {1, 512, 1024})}},  // 0159
    {.name = "ReshapeAsAttribute",
     .type = "Reshape",
     .shapes = {{2, 3}},
     .expected = "0 > 0: 24",
     .attributes = {integers("shape", {6})},
     .operator_set = 1,
     .declared = Shape{6}},
    {"Flatten", "Flatten", {{2, 3, 4}}, "0 > 0: 96"},
    {"Squeeze", "Squeeze", {{1, 3, 1}}, "0 > 0: 12"},
    {"Unsqueeze", "Unsqueeze", {{3}}, "0 > 0: 12", {}, {vector_of("axes", {0})}},
    {"Identity", "Identity", {{3}}, "0 > 0: 12"},
    {"IdentityOfHalfBytes", "Identity", {{3}}, "0 > 0: 2", {}, {}, 1, 21, 22},
    {"IdentityOfNothing", "Identity", {{3, 0}}, ""},
    {"CastToItsOwnType", "Cast", {{3}}, "0 > 0: 12", {attribute("to", std::int64_t{Type::FLOAT})}},
    {"CastToAnotherType", "Cast", {{3}}, "", {attribute("to", std::int64_t{Type::INT32})}},
    {"CastLike", "CastLike", {{3}, {2}}, "0 > 0: 12"},
    {"Relu", "Relu", {{3}}, ""},
    {"ExpandToItsOwnShape", "Expand", {{3, 1}}, "0 > 0: 12", {}, {vector_of("s", {1, 3, 1})}},
    {"ExpandToMore", "Expand", {{3, 1}}, "must copy: expand of [3,1] to [3,2]", {}, {vector_of("s", {3, 2})}},
    {"TileOnce", "Tile", {{3, 2}}, "0 > 0: 24", {}, {vector_of("r", {1, 1})}},
    {"TileTwice", "Tile", {{3, 2}}, "must copy: tile of [3,2] to [3,4]", {}, {vector_of("r", {1, 2})}},
    {"TileToNothing", "Tile", {{3, 2}}, "", {}, {vector_of("r", {1, 0})}},
    // Two elements of half a byte take as many bytes as one.
    {"TileWithinAByte", "Tile", {{1}}, "must copy: tile of [1] to [2]", {}, {vector_of("r", {2})}, 1, 21, 22},
};

const std::vector<Case> dropout_cases{
    {"AtTestByAttribute1", "Dropout", {{3}}, "0 > 0: 12", {attribute("is_test", std::int64_t{1})}, {}, 1, 1},
    {"AtTestByAttribute6", "Dropout", {{3}}, "0 > 0: 12", {attribute("is_test", std::int64_t{1})}, {}, 1, 6},
    {"AtTraining6", "Dropout", {{3}}, "must copy: dropout that is not told to be at test", {}, {}, 1, 6},
    {"AlwaysAtTest7", "Dropout", {{3}}, "0 > 0: 12", {}, {}, 1, 7},
    {"WithMask10", "Dropout", {{3}}, "0 > 0: 12", {}, {}, 2, 10},
    {"WithoutTrainingMode12", "Dropout", {{3}}, "0 > 0: 12", {}, {testing::reals("r", {0.5F})}, 1, 12},
    {"NotTraining", "Dropout", {{3}}, "0 > 0: 12", {}, {left_out(), testing::truth("t", false)}},
    {"Training",
     "Dropout",
     {{3}},
     "must copy: dropout whose training mode is not known to be false",
     {},
     {left_out(), testing::truth("t", true)}},
    {"PerhapsTraining",
     "Dropout",
     {{3}},
     "must copy: dropout whose training mode is not known to be false",
     {},
     {left_out()},
     1,
     17,
     Type::FLOAT,
     {tensor_value("t", {}, Type::BOOL)}},
};

const std::vector<Case> transpose_cases{
    {"OfOnes", "Transpose", {{1, 3, 1, 2}}, "0 > 0: 24", {integers("perm", {1, 2, 0, 3})}},
    {"OfOthers",
     "Transpose",
     {{1, 3, 1, 2}},
     "must copy: transpose puts dimension 3 of 2 before dimension 1 of 3",
     {integers("perm", {0, 3, 2, 1})}},
    {"Reversed", "Transpose", {{3, 2}}, "must copy: transpose puts dimension 1 of 2 before dimension 0 of 3"},
    {"ReversedOnes", "Transpose", {{3, 1}}, "0 > 0: 12"},
};

const std::vector<Case> concat_cases{
    {"Of012", "Concat", {{1, 3, 2}, {2, 3, 2}}, "0 > 0: 24, 1 > 0@24: 48", {axis(0)}},  // 0154
    {"Of3MiB",
     "Concat",
     {{512, 32, 32}, {256, 32, 32}},
     "0 > 0: 2097152, 1 > 0@2097152: 1048576",
     {axis(0)}},  // 0162
    {"OnTheHighestAxis",
     "Concat",
     {{1, 128, 32, 32}, {1, 128, 32, 32}},
     "0 > 0: 524288, 1 > 0@524288: 524288",
     {axis(0)}},  // 0155
    {"OnTheFirstAxisThatIsNot1",
     "Concat",
     {{1, 64, 32, 32}, {1, 64, 32, 32}},
     "0 > 0: 262144, 1 > 0@262144: 262144",
     {axis(1)}},  // 0155
    {"OnALaterAxis",
     "Concat",
     {{1, 128, 16, 32}, {1, 128, 16, 32}},
     "must copy: concat on axis 2 behind dimension 1 of 128",
     {axis(2)}},  // 0155
    {"NegativeAxis", "Concat", {{1, 2}, {1, 3}}, "0 > 0: 8, 1 > 0@8: 12", {axis(-1)}},
    {.name = "DefaultAxis1",
     .type = "Concat",
     .shapes = {{1, 2}, {1, 3}},
     .expected = "0 > 0: 8, 1 > 0@8: 12",
     .operator_set = 1,
     .declared = Shape{1, 5}},
    {"OfOne", "Concat", {{2, 2}}, "0 > 0: 16", {axis(1)}},
    {"WithNothing", "Concat", {{2, 2}, {0, 2}, {1, 2}}, "0 > 0: 16, 2 > 0@16: 8", {axis(0)}},
    {"OfOneAndNothing", "Concat", {{2, 2}, {2, 0}}, "0 > 0: 16", {axis(1)}},
    {"OfNothing", "Concat", {{2, 0}, {2, 0}}, "", {axis(1)}},
    {"OfHalfBytes", "Concat", {{4}, {3}, {1}}, "0 > 0: 2", {axis(0)}, {}, 1, 21, 22},
    {"OfHalfBytesAlone", "Concat", {{3}}, "0 > 0: 2", {axis(0)}, {}, 1, 21, 22},
    {"OfHalfBytesOnBytes",
     "Concat",
     {{4}, {2}, {2}},
     "0 > 0: 2, 1 > 0@2: 1, 2 > 0@3: 1",
     {axis(0)},
     {},
     1,
     21,
     22},
    {"OfHalfBytesWithin",
     "Concat",
     {{1}, {2}, {1}},
     "must copy: concat of 1 elements of 4 bits at 0: not on whole bytes",
     {axis(0)},
     {},
     1,
     21,
     22},
    {"WithAWeight", "Concat", {{2}}, "0 > 0: 8, 1 > 0@8: 4", {axis(0)}, {testing::reals("w", {1})}},
};

const std::vector<Case> split_cases{
    {"Of012",
     "Split",
     {{3, 3, 2}},
     "0 > 0: 24, 0@24 > 1: 48",
     {axis(0)},
     {vector_of("s", {1, 2})},
     2},  // 0155
    {"Of3MiB",
     "Split",
     {{768, 32, 32}},
     "0 > 0: 2097152, 0@2097152 > 1: 1048576",
     {axis(0)},
     {vector_of("s", {512, 256})},
     2},  // 0165
    {"OnTheFirstAxisThatIsNot1",
     "Split",
     {{1, 128, 32, 32}},
     "0 > 0: 262144, 0@262144 > 1: 262144",
     {axis(1)},
     {},
     2},  // 0155
    {"OnTheHighestAxis", "Split", {{1, 128, 32, 32}}, "0 > 0: 524288", {axis(0)}, {}, 1},
    {"OnALaterAxis",
     "Split",
     {{1, 128, 32, 32}},
     "must copy: split on axis 2 behind dimension 1 of 128",
     {axis(2)},
     {},
     2},
    {"DefaultAxis", "Split", {{4}}, "0 > 0: 8, 0@8 > 1: 8", {}, {}, 2},
    {"NegativeAxis", "Split", {{1, 4}}, "0 > 0: 8, 0@8 > 1: 8", {axis(-1)}, {}, 2},
    {"SizesAsAttribute", "Split", {{4}}, "0 > 0: 4, 0@4 > 1: 12", {integers("split", {1, 3})}, {}, 2, 11},
    {"LacksOneOfGivenSizes",
     "Split",
     {{4}},
     "0@4 > 1: 12",
     {},
     {vector_of("s", {1, 3})},
     2,
     17,
     Type::FLOAT,
     {},
     true},
    {.name = "WithOpenSizes",
     .type = "Split",
     .shapes = {{4}},
     .expected = "must copy: split of parts that are 3 on axis 0, which is 4",
     .more_inputs = {open("s", 1)},
     .declared = Shape{3}},
    {"LacksOneOfEqualSizes", "Split", {{6}}, "0@8 > 1: 8, 0@16 > 2: 8", {}, {}, 3, 13, Type::FLOAT, {}, true},
    {"LacksOneOfUnequalSizes",
     "Split",
     {{7}},
     "0@12 > 1: 12, 0@24 > 2: 4",
     {attribute("num_outputs", std::int64_t{3})},
     {},
     3,
     18,
     Type::FLOAT,
     {},
     true},
};

NodeAttributes slice_1(const Integers& starts, const Integers& ends, const Integers& axes) {
  NodeAttributes attributes{integers("starts", starts), integers("ends", ends)};
  if (!axes.empty()) attributes.push_back(integers("axes", axes));
  return attributes;
}

std::vector<onnx::TensorProto> slice_10(const Integers& starts, const Integers& ends,
                                        const Integers& axes = {}, const Integers& steps = {}) {
  std::vector<onnx::TensorProto> constants{vector_of("starts", starts), vector_of("ends", ends),
                                           axes.empty() ? left_out() : vector_of("axes", axes)};
  if (!steps.empty()) constants.push_back(vector_of("steps", steps));
  return constants;
}

const std::vector<Case> slice_cases{
    {"ByAttributes", "Slice", {{4, 3}}, "0@12 > 0: 24", slice_1({1, 0}, {3, 3}, {}), {}, 1, 1},
    {"ByAttributesOnAnAxis",
     "Slice",
     {{4, 3}},
     "must copy: slice on axis 1 behind dimension 0 of 4",
     slice_1({1}, {3}, {1}),
     {},
     1,
     9},
    {"DefaultAxes", "Slice", {{4, 3}}, "0@12 > 0: 24", {}, slice_10({1}, {3})},
    {"OnAnAxis", "Slice", {{1, 4, 3}}, "0@12 > 0: 24", {}, slice_10({1}, {3}, {1})},
    {"OnANegativeAxis", "Slice", {{1, 4, 3}}, "0@12 > 0: 24", {}, slice_10({1}, {3}, {-2})},
    {"OfOneRow", "Slice", {{4, 3}}, "0@28 > 0: 8", {}, slice_10({2, 1}, {3, 3})},
    {"OfTwoRows",
     "Slice",
     {{4, 3}},
     "must copy: slice on axis 1 behind dimension 0 of 2",
     {},
     slice_10({1, 1}, {3, 3})},
    {"FromTheEnd", "Slice", {{4, 3}}, "0@24 > 0: 24", {}, slice_10({-2}, {1000})},
    {"FromBeforeTheFront", "Slice", {{4, 3}}, "0 > 0: 36", {}, slice_10({-1000}, {3})},
    {"OfNothing", "Slice", {{4, 3}}, "", {}, slice_10({2}, {2})},
    {"OfEverything", "Slice", {{4, 3}}, "0 > 0: 48", {}, slice_10({0}, {1000}, {1})},
    {"ByStepsOfTwo",
     "Slice",
     {{4, 3}},
     "must copy: slice by steps of 2 on axis 0",
     {},
     slice_10({0}, {4}, {0}, {2})},
    {"ByOneStepOfTwo", "Slice", {{4, 3}}, "0@24 > 0: 12", {}, slice_10({2}, {4}, {0}, {2})},
    {"Backwards",
     "Slice",
     {{4}},
     "must copy: slice by steps of -1 on axis 0",
     {},
     slice_10({3}, {0}, {0}, {-1})},
    {"ByOneStepBackwards", "Slice", {{4}}, "0@12 > 0: 4", {}, slice_10({1000}, {2}, {0}, {-1})},
    {.name = "WithOpenEnds",
     .type = "Slice",
     .shapes = {{4}},
     .expected = "0@4 > 0: 8",
     .constants = {vector_of("starts", {1})},
     .more_inputs = {open("ends", 1)},
     .declared = Shape{2}},
    {.name = "WithOpenStarts",
     .type = "Slice",
     .shapes = {{4}},
     .expected = "must copy: slice from a start that is not constant",
     .more_inputs = {open("starts", 1), open("ends", 1)},
     .declared = Shape{2}},
    {.name = "WithOpenAxes",
     .type = "Slice",
     .shapes = {{4}},
     .expected = "must copy: slice on an axis that is not constant",
     .constants = {vector_of("starts", {1}), vector_of("ends", {3})},
     .more_inputs = {open("axes", 1)},
     .declared = Shape{2}},
    {.name = "WithOpenSteps",
     .type = "Slice",
     .shapes = {{4}},
     .expected = "must copy: slice by a step that is not constant",
     .constants = {vector_of("starts", {1}), vector_of("ends", {3}), left_out()},
     .more_inputs = {open("steps", 1)},
     .declared = Shape{2}},
};

const std::vector<Case> gather_cases{
    {"OfARow", "Gather", {{4, 3}}, "0@24 > 0: 12", {}, {scalar("i", 2)}},
    {"OfARowThatStays", "Gather", {{4, 3}}, "0@24 > 0: 12", {axis(0)}, {vector_of("i", {2})}},
    {"FromTheEnd", "Gather", {{4, 3}}, "0@36 > 0: 12", {}, {scalar("i", -1)}},
    {"OnANegativeAxis", "Gather", {{1, 4, 3}}, "0@24 > 0: 12", {axis(-2)}, {scalar("i", 2)}},
    {"OfAColumn",
     "Gather",
     {{4, 3}},
     "must copy: gather on axis 1 behind dimension 0 of 4",
     {axis(1)},
     {scalar("i", 2)}},
    {"OfTwo", "Gather", {{4, 3}}, "must copy: gather at 2 indices", {}, {vector_of("i", {1, 2})}},
    {"AtAnOpenIndex",
     "Gather",
     {{4, 3}},
     "must copy: gather at an index that is not constant",
     {},
     {},
     1,
     17,
     Type::FLOAT,
     {open("i", 1)}},
};

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Whole, OnnxCopies, ::testing::ValuesIn(whole_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(Dropout, OnnxCopies, ::testing::ValuesIn(dropout_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(Transpose, OnnxCopies, ::testing::ValuesIn(transpose_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(Concat, OnnxCopies, ::testing::ValuesIn(concat_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(Split, OnnxCopies, ::testing::ValuesIn(split_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(Slice, OnnxCopies, ::testing::ValuesIn(slice_cases), name_of_case);
INSTANTIATE_TEST_SUITE_P(Gather, OnnxCopies, ::testing::ValuesIn(gather_cases), name_of_case);

/// A folded operator computes a weight ahead of time.
TEST(OnnxCopiesOfGraphs, NoneWhereFolded) {
  const Graph graph =
      read_model(onnx_model({.nodes = {node("Identity", {"w"}, {"v"}), node("Add", {"x", "v"}, {"y"})},
                             .inputs = {tensor_value("x", {2})},
                             .outputs = {untyped_value("y")},
                             .initializers = {testing::reals("w", {1, 2})}}));
  EXPECT_TRUE(writer_of(graph, "v").folded);
  EXPECT_EQ(show_copies(writer_of(graph, "v")), "");
}

/// The start is computed from the shape of another tensor.
TEST(OnnxCopiesOfGraphs, TakeComputedValues) {
  const Graph graph = read_model(
      onnx_model({.nodes = {node("Shape", {"b"}, {"start"}), node("Slice", {"a", "start", "end"}, {"y"})},
                  .inputs = {tensor_value("a", {"N", 3}), tensor_value("b", {2})},
                  .outputs = {untyped_value("y")},
                  .initializers = {vector_of("end", {1000})}}),
      {.dims = {{"N", 5}}});
  EXPECT_EQ(show_copies(writer_of(graph, "y")), "0@24 > 0: 36");
}

const onnx::ModelProto& open_sizes() {
  static const onnx::ModelProto model =
      onnx_model({.nodes = {node("NonZero", {"x"}, {"found"}), node("Identity", {"found"}, {"same"}),
                            node("Concat", {"found", "same"}, {"both"}, {axis(1)})},
                  .inputs = {tensor_value("x", {8})},
                  .outputs = {untyped_value("both")}});
  return model;
}

TEST(OnnxCopiesOfGraphs, PassOnWhatIsBoundedAlike) {
  const Graph graph = read_model(open_sizes(), {.bounds = {{"found", 64}, {"same", 64}, {"both", 128}}});
  EXPECT_EQ(show_copies(writer_of(graph, "same")), "0 > 0: 64");
  EXPECT_EQ(show_copies(writer_of(graph, "both")), "must copy: the output has no known shape");
}

TEST(OnnxCopiesOfGraphs, RefuseWhatIsBoundedOtherwise) {
  const Graph graph = read_model(open_sizes(), {.bounds = {{"found", 64}, {"same", 80}, {"both", 144}}});
  EXPECT_EQ(show_copies(writer_of(graph, "same")), "must copy: input 0 has 64 bytes, the output 80");
}

/// A cache that grows in a loop: its shape is the largest of all rounds, and parts of it may be elsewhere.
TEST(OnnxCopiesOfGraphs, KeepToReshapesWhereALoopGrows) {
  const onnx::GraphProto body = testing::onnx_graph(
      {.nodes = {node("Concat", {"old", "row"}, {"new"}, {axis(0)}), node("Identity", {"go"}, {"go on"}),
                 node("Identity", {"row"}, {"kept"})},
       .inputs = {tensor_value("round", {}, Type::INT64), tensor_value("go", {}, Type::BOOL),
                  testing::value_of_any_shape("old")},
       .outputs = {untyped_value("go on"), testing::value_of_any_shape("new"), untyped_value("kept")},
       .name = "body"});
  const onnx::ModelProto model =
      onnx_model({.nodes = {node("Relu", {"x"}, {"row"}),
                            node("Loop", {"rounds", "", "x"}, {"last", "rows"}, {attribute("body", body)})},
                  .inputs = {tensor_value("x", {1, 4})},
                  .outputs = {testing::value_of_any_shape("last"), untyped_value("rows")},
                  .initializers = {scalar("rounds", 3)}});
  const Graph graph = read_model(model, {.shapes = {{"old", {4, 4}}}});
  EXPECT_EQ(show_copies(writer_of(graph, "new")),
            "must copy: byte 64 of output 0 lies behind an open extent, of axis 0, and moves with it");
  EXPECT_EQ(show_copies(writer_of(graph, "kept")), "0 > 0: 16");
}

TEST(OnnxCopiesOfGraphs, AreInBodies) {
  onnx::GraphProto branch = testing::onnx_graph({.nodes = {node("Split", {"x"}, {"left", "right"})},
                                                 .outputs = {untyped_value("right")},
                                                 .name = "branch"});
  const Graph graph = read_model(
      onnx_model({.nodes = {node("If", {"c"}, {"y"},
                                 {attribute("then_branch", branch), attribute("else_branch", branch)})},
                  .inputs = {tensor_value("c", {}, Type::BOOL), tensor_value("x", {4})},
                  .outputs = {untyped_value("y")}}));
  for (const std::size_t body : {1U, 2U})
    EXPECT_EQ(show_copies(graph.subgraphs[body].operators[0]), "0 > 0: 8, 0@8 > 1: 8");
}

TEST(OnnxCopiesOfGraphs, SurviveGraphJson) {
  const Graph graph = read_model(
      onnx_model({.nodes = {node("Concat", {"a", "b"}, {"c"}, {axis(0)}), node("Transpose", {"c"}, {"d"})},
                  .inputs = {tensor_value("a", {1, 2}), tensor_value("b", {2, 2})},
                  .outputs = {untyped_value("d")}}));
  std::ostringstream text;
  write_graph(graph, text);
  const Graph again = std::get<Graph>(parse_input(text.str(), "x.json", {}).content);
  EXPECT_EQ(again.subgraphs, graph.subgraphs);
  EXPECT_EQ(show_copies(writer_of(again, "c")), "0 > 0: 8, 1 > 0@8: 16");
  EXPECT_EQ(show_copies(writer_of(again, "d")),
            "must copy: transpose puts dimension 1 of 2 before dimension 0 of 3");
}

}  // namespace
}  // namespace stowage
