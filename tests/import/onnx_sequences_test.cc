// Sequences whose elements are known. That the networks compute the same was compared with onnxruntime 1.32.0.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "onnx_models.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::node;
using testing::scalar;
using testing::tensor_value;
using Types = std::vector<std::string>;

Types operators_of(const Graph& graph) {
  Types types;
  for (const Operator& op : graph.subgraphs[0].operators) types.push_back(op.type);
  return types;
}

/// A network of x (6 x 4) and z (2 x 4) into y, with some constants.
Graph read(const std::vector<onnx::NodeProto>& nodes, int operator_set = 17) {
  testing::OnnxParts parts{.nodes = nodes};
  parts.inputs = {tensor_value("x", {6, 4}), tensor_value("z", {2, 4}),
                  tensor_value("n", {}, onnx::TensorProto::INT64)};
  parts.outputs = {testing::value_of_any_shape("y")};
  parts.initializers = {scalar("0", 0),
                        scalar("1", 1),
                        scalar("-1", -1),
                        scalar("4", 4),
                        testing::vector_of("2, 4", {2, 4}),
                        testing::vector_of("first", {0})};
  return testing::read_model(testing::onnx_model(parts, operator_set));
}

Shape shape_of(const Graph& graph) { return *testing::tensor_named(graph, "y").shape; }

TEST(OnnxSequences, PartsWithLengths) {
  for (const int set : {12, 17}) {
    const Graph graph =
        read({node("SplitToSequence", {"x", "2, 4"}, {"s"}), node("SequenceAt", {"s", "-1"}, {"y"})}, set);
    EXPECT_EQ(operators_of(graph), (Types{"Split", "Identity"}));
    EXPECT_EQ(shape_of(graph), (Shape{4, 4}));
  }
}

TEST(OnnxSequences, EqualParts) {
  const auto at = [](const char* position) {
    return read({node("SplitToSequence", {"x", "4"}, {"s"}), node("SequenceAt", {"s", position}, {"y"})});
  };
  EXPECT_EQ(operators_of(at("0")), (Types{"Slice"}));
  EXPECT_EQ(shape_of(at("0")), (Shape{4, 4}));
  EXPECT_EQ(shape_of(at("1")), (Shape{2, 4}));  // the last one is shorter
}

TEST(OnnxSequences, SingleRows) {
  const auto row = [](std::int64_t keeps, const char* position) {
    return read({node("SplitToSequence", {"x"}, {"s"}, {attribute("keepdims", keeps)}),
                 node("SequenceAt", {"s", position}, {"y"})});
  };
  EXPECT_EQ(operators_of(row(1, "1")), (Types{"Slice"}));
  EXPECT_EQ(shape_of(row(1, "1")), (Shape{1, 4}));
  EXPECT_EQ(operators_of(row(0, "-1")), (Types{"Gather"}));
  EXPECT_EQ(shape_of(row(0, "-1")), (Shape{4}));
}

TEST(OnnxSequences, ListsThatAreJoined) {
  const Graph joined = read({node("SequenceConstruct", {"x", "z"}, {"s"}), node("Relu", {"z"}, {"r"}),
                             node("SequenceInsert", {"s", "r", "0"}, {"t"}),
                             node("SequenceErase", {"t", "1"}, {"u"}), node("Identity", {"u"}, {"v"}),
                             node("ConcatFromSequence", {"v"}, {"y"}, {attribute("axis", 0L)})});
  EXPECT_EQ(operators_of(joined), (Types{"Relu", "Concat"}));
  EXPECT_EQ(shape_of(joined), (Shape{4, 4}));

  const Graph before_last =
      read({node("SequenceConstruct", {"x", "z"}, {"s"}), node("SequenceInsert", {"s", "x", "-1"}, {"t"}),
            node("SequenceAt", {"t", "1"}, {"y"})});
  EXPECT_EQ(shape_of(before_last), (Shape{6, 4}));

  for (const int set : {12, 17}) {
    const Graph stacked =
        read({node("SequenceEmpty", {}, {"e"}), node("SequenceInsert", {"e", "z"}, {"s"}),
              node("SequenceInsert", {"s", "z"}, {"t"}),
              node("ConcatFromSequence", {"t"}, {"y"}, {attribute("axis", 1L), attribute("new_axis", 1L)})},
             set);
    EXPECT_EQ(operators_of(stacked), (Types{"Unsqueeze", "Unsqueeze", "Concat"}));
    EXPECT_EQ(shape_of(stacked), (Shape{2, 2, 4}));
  }
}

TEST(OnnxSequences, PartsThatAreJoinedAgain) {
  const Graph whole = read({node("SplitToSequence", {"x", "2, 4"}, {"s"}),
                            node("ConcatFromSequence", {"s"}, {"y"}, {attribute("axis", 0L)})});
  EXPECT_EQ(operators_of(whole), (Types{"Identity"}));
  const Graph stacked =
      read({node("SplitToSequence", {"x"}, {"s"}, {attribute("keepdims", 0L)}),
            node("ConcatFromSequence", {"s"}, {"y"}, {attribute("axis", 0L), attribute("new_axis", 1L)})});
  EXPECT_EQ(operators_of(stacked), (Types{"Identity"}));
}

TEST(OnnxSequences, LengthsAreConstants) {
  const Graph graph =
      read({node("SplitToSequence", {"x", "2, 4"}, {"s"}), node("SequenceLength", {"s"}, {"n2"}),
            node("Range", {"0", "n2", "1"}, {"r"}),
            node("Cast", {"r"}, {"y"}, {attribute("to", std::int64_t{onnx::TensorProto::FLOAT})})});
  EXPECT_EQ(shape_of(graph), (Shape{2}));
}

TEST(OnnxSequences, EqualPartsThatAreJoinedOtherwise) {
  const Graph graph =
      read({node("SplitToSequence", {"x", "4"}, {"s"}, {attribute("axis", 1L)}),
            node("ConcatFromSequence", {"s"}, {"a"}, {attribute("axis", 0L)}),
            node("SplitToSequence", {"x", "1"}, {"t"}, {attribute("axis", -1L)}),
            node("ConcatFromSequence", {"t"}, {"b"}, {attribute("axis", 0L)}),
            node("SplitToSequence", {"x", "4"}, {"u"}), node("SequenceLength", {"u"}, {"n2"}),
            node("Unsqueeze", {"n2", "first"}, {"rows"}), node("Expand", {"b", "rows"}, {"y"})});
  EXPECT_EQ(*testing::tensor_named(graph, "a").shape, (Shape{6, 4}));
  EXPECT_EQ(*testing::tensor_named(graph, "b").shape, (Shape{24, 1}));
  EXPECT_EQ(shape_of(graph), (Shape{24, 2}));  // parts of 4 and 2 rows
}

TEST(OnnxSequences, InBodies) {
  const testing::OnnxParts body{
      .nodes = {node("SplitToSequence", {"before", "2"}, {"s"}), node("SequenceAt", {"s", "0"}, {"a"}),
                node("SequenceAt", {"s", "2"}, {"b"}), node("SequenceAt", {"around", "2"}, {"c"}),
                node("Concat", {"b", "a", "c"}, {"after"}, {attribute("axis", 0L)}),
                node("Identity", {"goes_on"}, {"goes_on_too"})},
      .inputs = {tensor_value("round", {}, onnx::TensorProto::INT64),
                 tensor_value("goes_on", {}, onnx::TensorProto::BOOL), testing::value_of_any_shape("before")},
      .outputs = {testing::untyped_value("goes_on_too"), testing::untyped_value("after")},
      .initializers = {scalar("2", 2)},
      .name = "body"};
  const Graph graph = read(
      {node("SplitToSequence", {"x", "2, 4"}, {"s0"}), node("SequenceConstruct", {"x", "x", "z"}, {"around"}),
       node("Loop", {"4", "", "x"}, {"last"}, {attribute("body", testing::onnx_graph(body))}),
       node("SequenceAt", {"s0", "0"}, {"top"}),
       node("Concat", {"last", "top"}, {"y"}, {attribute("axis", 0L)})});
  EXPECT_EQ(shape_of(graph), (Shape{8, 4}));
  for (const Operator& op : graph.subgraphs.at(1).operators)
    EXPECT_EQ(op.type.find("Sequence"), std::string::npos);
}

TEST(OnnxSequences, StayWhereARunDecides) {
  const testing::OnnxParts parts{
      .nodes = {node("SequenceConstruct", {"x", "x"}, {"s"}), node("SequenceAt", {"s", "n"}, {"a"}),
                node("SequenceAt", {"s", "1"}, {"b"}), node("Add", {"a", "b"}, {"y"})},
      .inputs = {tensor_value("x", {4}), tensor_value("n", {}, onnx::TensorProto::INT64)},
      .outputs = {testing::value_of_any_shape("y")},
      .initializers = {scalar("1", 1)}};
  EXPECT_NE(
      testing::error_of_model(testing::onnx_model(parts))
          .find("'s': a result of operator 's' (SequenceConstruct, 0 of subgraph 0), is of type sequence"),
      std::string::npos);
}

}  // namespace
}  // namespace stowage
