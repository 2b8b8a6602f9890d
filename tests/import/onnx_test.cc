// What the ONNX importer makes of a file's names: weights, bodies, functions, states, folding, and
// what it says of files and options that are wrong. Shapes are the matter of onnx_shape_test.cc.

#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "long_tests.h"
#include "onnx_models.h"
#include "stowage/error.h"
#include "stowage/graph.h"
#include "stowage/import.h"

namespace stowage {
namespace {

using onnx::TensorProto;
using testing::attribute;
using testing::attribute_reference;
using testing::call;
using testing::counting_loop;
using testing::error_of_model;
using testing::expect_message;
using testing::external;
using testing::function;
using testing::node;
using testing::onnx_graph;
using testing::onnx_model;
using testing::OnnxParts;
using testing::read_model;
using testing::tensor_named;
using testing::tensor_value;
using testing::truth;
using testing::untyped_value;
using testing::usage_error_of_model;
using testing::vector_of;
using testing::with_functions;
using testing::writer_of;
using testing::zeros;

/// x → Relu → y, of eight elements, with parts of a larger model around it.
OnnxParts relu() {
  return {.nodes = {node("Relu", {"x"}, {"y"})},
          .inputs = {tensor_value("x", {1, 8})},
          .outputs = {tensor_value("y", {1, 8})}};
}

onnx::ModelProto convolution() {
  return onnx_model({.nodes = {node("Conv", {"x", "w", "b"}, {"y"}), node("Relu", {"y"}, {"z"})},
                     .inputs = {tensor_value("x", {1, 3, 8, 8}), tensor_value("w", {4, 3, 3, 3})},
                     .outputs = {tensor_value("z", {1, 4, 6, 6})},
                     .initializers = {zeros("w", {4, 3, 3, 3}), zeros("b", {4})},
                     .name = "small"});
}

std::vector<std::string> names_of(const Graph& graph, const std::vector<TensorId>& tensors) {
  std::vector<std::string> names;
  for (const TensorId tensor : tensors) names.push_back(graph.tensors.at(tensor).name);
  return names;
}

std::vector<std::string> types_in(const Subgraph& subgraph) {
  std::vector<std::string> types;
  for (const Operator& op : subgraph.operators) types.push_back(op.type);
  return types;
}

TEST(Onnx, ReadsANetwork) {
  const Graph expected{.name = "x",
                       .tensors = {{"w", TensorKind::weight, DType::float32, Shape{4, 3, 3, 3}, 432},
                                   {"b", TensorKind::weight, DType::float32, Shape{4}, 16},
                                   {"x", TensorKind::input, DType::float32, Shape{1, 3, 8, 8}, 768},
                                   {"y", TensorKind::temporary, DType::float32, Shape{1, 4, 6, 6}, 576},
                                   {"z", TensorKind::output, DType::float32, Shape{1, 4, 6, 6}, 576}},
                       .subgraphs = {{.name = "small",
                                      .inputs = {2},
                                      .outputs = {4},
                                      .operators = {{.name = "y",
                                                     .type = "Conv",
                                                     .inputs = {2, 0, 1},
                                                     .outputs = {3},
                                                     .body_use = BodyUse::repeated},
                                                    {.name = "z",
                                                     .type = "Relu",
                                                     .inputs = {3},
                                                     .outputs = {4},
                                                     .body_use = BodyUse::repeated}}}}};
  EXPECT_EQ(read_model(convolution()), expected);
}

TEST(Onnx, OrdersOperatorsThatComeInAnyOrder) {
  OnnxParts parts = relu();
  parts.nodes = {node("Relu", {"b"}, {"y"}), node("Abs", {"a"}, {"b"}), node("Neg", {"x"}, {"a"})};
  const Graph graph = read_model(onnx_model(parts));
  EXPECT_EQ(types_in(graph.subgraphs[0]), (std::vector<std::string>{"Relu", "Abs", "Neg"}));
  EXPECT_EQ(topological_orders(graph)[0], (std::vector<std::size_t>{2, 1, 0}));
  EXPECT_EQ(tensor_named(graph, "b").bytes, 32);
}

TEST(Onnx, NamesTypesOfOtherDomains) {
  OnnxParts parts = relu();
  parts.nodes = {node("Gelu", {"x"}, {"a"}, {}, "com.microsoft"), node("Relu", {"a"}, {"y"}, {}, "ai.onnx")};
  parts.declared = {tensor_value("a", {1, 8})};
  const Graph graph = read_model(onnx_model(parts));
  EXPECT_EQ(types_in(graph.subgraphs[0]), (std::vector<std::string>{"com.microsoft.Gelu", "Relu"}));
  parts.declared.clear();
  EXPECT_EQ(tensor_named(read_model(onnx_model(parts)), "a").shape, (Shape{1, 8}));
  parts.nodes[0].set_op_type("Mystery");
  expect_message(error_of_model(onnx_model(parts)), {"'a'", "com.microsoft.Mystery", "--bound a=SIZE"});
}

TEST(Onnx, SizesExternalWeightsWithoutTheirFile) {
  OnnxParts parts = relu();
  parts.nodes = {node("Add", {"x", "w"}, {"y"})};
  for (const char* const length : {"", "32"}) {
    parts.initializers = {external("w", {1, 8}, length)};
    const Tensor weight = tensor_named(read_model(onnx_model(parts)), "w");
    EXPECT_EQ(weight, (Tensor{"w", TensorKind::weight, DType::float32, Shape{1, 8}, 32}));
  }
  for (const char* const length : {"31", "64", "-32", "many"}) {
    parts.initializers = {external("w", {1, 8}, length)};
    expect_message(error_of_model(onnx_model(parts)), {"x.onnx", "'w'", length, "32 bytes"});
  }
}

TEST(Onnx, RefusesDataOfAnotherLength) {
  OnnxParts parts = relu();
  parts.nodes = {node("Add", {"x", "w"}, {"y"})};
  parts.initializers = {zeros("w", {1, 8})};
  parts.initializers[0].mutable_raw_data()->pop_back();
  expect_message(error_of_model(onnx_model(parts)), {"'w'", "31 bytes", "32"});
}

TEST(Onnx, ReadsSparseWeights) {
  onnx::ModelProto model = onnx_model(relu());
  *model.mutable_graph()->mutable_node(0) = node("Add", {"x", "w"}, {"y"});
  onnx::SparseTensorProto& sparse = *model.mutable_graph()->add_sparse_initializer();
  *sparse.mutable_values() = zeros("w", {2});
  *sparse.mutable_indices() = vector_of("", {0, 3});
  sparse.add_dims(8);
  const Graph graph = read_model(model);
  EXPECT_EQ(tensor_named(graph, "w").kind, TensorKind::weight);
  EXPECT_EQ(names_of(graph, graph.subgraphs[0].inputs), (std::vector<std::string>{"x"}));
}

TEST(Onnx, LeavesOutOptionalOperands) {
  OnnxParts parts = relu();
  parts.nodes = {node("Clip", {"x", "", "most"}, {"c"}), node("Dropout", {"c"}, {"d", ""}),
                 node("BatchNormalization", {"d", "s", "s", "s", "s"}, {"y"})};
  parts.initializers = {zeros("most", {}), zeros("s", {8})};
  const Graph graph = read_model(onnx_model(parts));
  const Operator& clip = writer_of(graph, "c");
  ASSERT_EQ(clip.inputs.size(), 3U);
  EXPECT_EQ(clip.inputs[1], std::nullopt);
  EXPECT_EQ(writer_of(graph, "d").outputs.at(1), std::nullopt);
}

TEST(Onnx, KeepsOutputsInAllTheirRoles) {
  const Graph graph = read_model(onnx_model(
      {.nodes = {node("Relu", {"x"}, {"y"}), node("Abs", {"y"}, {"z"}), node("Neg", {"z"}, {"unread"})},
       .inputs = {tensor_value("x", {4}), tensor_value("idle", {2})},
       .outputs = {tensor_value("y", {4}), tensor_value("z", {4}), tensor_value("y", {4}),
                   tensor_value("x", {4}), tensor_value("w", {3})},
       .initializers = {zeros("w", {3})}}));
  EXPECT_EQ(names_of(graph, graph.subgraphs[0].outputs), (std::vector<std::string>{"y", "z", "y", "x", "w"}));
  EXPECT_EQ(tensor_named(graph, "y").kind, TensorKind::output);
  EXPECT_EQ(tensor_named(graph, "z").kind, TensorKind::output);
  EXPECT_EQ(tensor_named(graph, "x").kind, TensorKind::input);
  EXPECT_EQ(tensor_named(graph, "w").kind, TensorKind::weight);
  EXPECT_EQ(tensor_named(graph, "unread").kind, TensorKind::temporary);
  EXPECT_EQ(tensor_named(graph, "idle").bytes, 8);
}

// Folding.

/// Whether the operator that writes "y" is computed ahead of time.
bool is_folded(const OnnxParts& parts) { return writer_of(read_model(onnx_model(parts)), "y").folded; }

TEST(Onnx, FoldsWhatIsConstant) {
  const OnnxParts parts{.nodes = {node("Constant", {}, {"c"}, {attribute("value", zeros("", {2, 3}))}),
                                  node("Add", {"c", "w"}, {"d"}), node("Add", {"x", "d"}, {"y"})},
                        .inputs = {tensor_value("x", {2, 3})},
                        .outputs = {untyped_value("y")},
                        .initializers = {zeros("w", {3})}};
  const Graph graph = read_model(onnx_model(parts));
  for (const char* const name : {"c", "d"}) {
    EXPECT_TRUE(writer_of(graph, name).folded) << name;
    EXPECT_EQ(tensor_named(graph, name).kind, TensorKind::weight) << name;
    EXPECT_EQ(tensor_named(graph, name).bytes, 24) << name;
  }
  EXPECT_FALSE(writer_of(graph, "y").folded);
  EXPECT_EQ(tensor_named(graph, "y").kind, TensorKind::output);
}

TEST(Onnx, FoldsTheShapeOfAnything) {
  for (const char* const type : {"Shape", "Size"}) {
    EXPECT_TRUE(is_folded({.nodes = {node(type, {"x"}, {"y"})},
                           .inputs = {tensor_value("x", {2, 3})},
                           .outputs = {untyped_value("y")}}))
        << type;
  }
  const OnnxParts open{.nodes = {node("NonZero", {"x"}, {"a"}), node("Shape", {"a"}, {"y"})},
                       .inputs = {tensor_value("x", {2, 3})},
                       .outputs = {untyped_value("y")}};
  const Graph graph = read_model(onnx_model(open), {.bounds = {{"a", 96}}});
  EXPECT_FALSE(writer_of(graph, "y").folded);
  EXPECT_EQ(tensor_named(graph, "y").bytes, 16);
}

TEST(Onnx, FoldsNothingRandom) {
  const std::vector<onnx::NodeProto> nodes{
      node("RandomNormal", {}, {"y"}, {attribute("shape", std::vector<std::int64_t>{2, 3})}),
      node("RandomUniform", {}, {"y"}, {attribute("shape", std::vector<std::int64_t>{2, 3})}),
      node("RandomNormalLike", {"w"}, {"y"}),
      node("RandomUniformLike", {"w"}, {"y"}),
      node("Multinomial", {"w"}, {"y"}, {attribute("sample_size", std::int64_t{3})}),
      node("Bernoulli", {"w"}, {"y"}),
      node("Dropout", {"w", "ratio", "trains"}, {"y"})};
  for (const onnx::NodeProto& it : nodes) {
    EXPECT_FALSE(is_folded({.nodes = {it},
                            .outputs = {untyped_value("y")},
                            .initializers = {zeros("w", {2, 3}), zeros("ratio", {}), truth("trains", true)}}))
        << it.op_type();
  }
  EXPECT_TRUE(is_folded({.nodes = {node("Dropout", {"w"}, {"y"})},
                         .outputs = {untyped_value("y")},
                         .initializers = {zeros("w", {2, 3})}}));
}

TEST(Onnx, FoldsAnOperatorWithoutInputsOnlyWhenItIsAConstant) {
  const OnnxParts parts{.nodes = {node("Source", {}, {"y"}, {}, "custom")},
                        .outputs = {tensor_value("y", {4})}};
  EXPECT_FALSE(is_folded(parts));
  EXPECT_TRUE(is_folded({.nodes = {node("Constant", {}, {"y"}, {attribute("value_float", 1.0F)})},
                         .outputs = {untyped_value("y")}}));
}

/// An If on "condition" whose branches write "inner" and give it.
OnnxParts choice(const onnx::NodeProto& then_node, const onnx::NodeProto& else_node) {
  const auto branch = [](const onnx::NodeProto& it, const char* name) {
    return onnx_graph({.nodes = {it}, .outputs = {untyped_value("inner")}, .name = name});
  };
  return {.nodes = {node("If", {"condition"}, {"y"},
                         {attribute("else_branch", branch(else_node, "else")),
                          attribute("then_branch", branch(then_node, "then"))})},
          .inputs = {tensor_value("condition", {}, TensorProto::BOOL), tensor_value("x", {2, 3})},
          .outputs = {untyped_value("y")},
          .initializers = {zeros("w", {2, 3})}};
}

TEST(Onnx, FoldsBodiesThatReadConstants) {
  const onnx::NodeProto constant = node("Neg", {"w"}, {"inner"});
  OnnxParts parts = choice(constant, constant);
  EXPECT_FALSE(is_folded(parts)) << "the condition is not constant";
  parts.initializers.push_back(truth("condition", true));
  EXPECT_TRUE(is_folded(parts));
  OnnxParts reads = choice(constant, node("Neg", {"x"}, {"inner"}));
  reads.initializers.push_back(truth("condition", true));
  EXPECT_TRUE(is_folded(reads)) << "the branch that reads an input of the model is not taken";
  reads.initializers.back() = truth("condition", false);
  EXPECT_FALSE(is_folded(reads)) << "the branch reads an input of the model";
  OnnxParts random = choice(constant, node("Bernoulli", {"w"}, {"inner"}));
  random.initializers.push_back(truth("condition", false));
  EXPECT_FALSE(is_folded(random)) << "the branch is random";
}

// Bodies.

TEST(Onnx, ReadsBranchesInTheOrderThenElse) {
  const Graph graph =
      read_model(onnx_model(choice(node("Abs", {"x"}, {"inner"}), node("Neg", {"x"}, {"inner"}))));
  ASSERT_EQ(graph.subgraphs.size(), 3U);
  const Operator& choose = graph.subgraphs[0].operators.at(0);
  EXPECT_EQ(choose.bodies, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(choose.body_use, BodyUse::once);
  EXPECT_EQ(graph.subgraphs[1].name, "then");
  EXPECT_EQ(types_in(graph.subgraphs[1]), (std::vector<std::string>{"Abs"}));
  EXPECT_EQ(graph.subgraphs[2].name, "else");
  EXPECT_EQ(types_in(graph.subgraphs[2]), (std::vector<std::string>{"Neg"}));
  const auto captures = captures_of(graph);
  EXPECT_EQ(names_of(graph, captures[1]), (std::vector<std::string>{"x"}));
  EXPECT_EQ(names_of(graph, captures[2]), (std::vector<std::string>{"x"}));
  EXPECT_EQ(tensor_named(graph, "y").bytes, 24);
  for (const std::size_t body : {1U, 2U}) {
    EXPECT_EQ(graph.tensors[graph.subgraphs[body].outputs.at(0)],
              (Tensor{"inner", TensorKind::temporary, DType::float32, Shape{2, 3}, 24}));
  }
}

TEST(Onnx, ReadsLoops) {
  const Graph graph = read_model(onnx_model(counting_loop()));
  ASSERT_EQ(graph.subgraphs.size(), 2U);
  const Operator& op = writer_of(graph, "last");
  EXPECT_EQ(op.bodies, (std::vector<std::size_t>{1}));
  EXPECT_EQ(op.body_use, BodyUse::repeated);
  EXPECT_EQ(op.inputs.at(1), std::nullopt);
  EXPECT_EQ(names_of(graph, graph.subgraphs[1].inputs), (std::vector<std::string>{"round", "go", "old"}));
  EXPECT_EQ(names_of(graph, graph.subgraphs[1].outputs), (std::vector<std::string>{"go on", "new", "row"}));
  EXPECT_EQ(names_of(graph, captures_of(graph)[1]), (std::vector<std::string>{"scale"}));
  EXPECT_EQ(tensor_named(graph, "old"), (Tensor{"old", TensorKind::temporary, DType::float32, Shape{4}, 16}));
  EXPECT_EQ(tensor_named(graph, "last").shape, (Shape{4}));
  EXPECT_EQ(tensor_named(graph, "rows").shape, (Shape{3, 4}));
}

TEST(Onnx, ReadsScans) {
  const onnx::GraphProto body =
      onnx_graph({.nodes = {node("Add", {"sum", "slice"}, {"next"}), node("Neg", {"slice"}, {"row"})},
                  .inputs = {untyped_value("sum"), untyped_value("slice")},
                  .outputs = {untyped_value("next"), untyped_value("row")}});
  const auto model =
      onnx_model({.nodes = {node("Scan", {"zero", "x"}, {"total", "rows"},
                                 {attribute("body", body), attribute("num_scan_inputs", std::int64_t{1}),
                                  attribute("scan_input_axes", std::vector<std::int64_t>{-1}),
                                  attribute("scan_output_axes", std::vector<std::int64_t>{1})})},
                  .inputs = {tensor_value("x", {2, 3, 5}), tensor_value("zero", {2, 3})},
                  .outputs = {untyped_value("total"), untyped_value("rows")}});
  const Graph graph = read_model(model);
  EXPECT_EQ(writer_of(graph, "total").body_use, BodyUse::repeated);
  EXPECT_EQ(tensor_named(graph, "slice").shape, (Shape{2, 3}));
  EXPECT_EQ(tensor_named(graph, "total").shape, (Shape{2, 3}));
  EXPECT_EQ(tensor_named(graph, "rows").shape, (Shape{2, 5, 3}));
  EXPECT_TRUE(captures_of(graph)[1].empty());
}

TEST(Onnx, CapturesThroughBodiesOfBodies) {
  OnnxParts parts = counting_loop();
  const OnnxParts inner = choice(node("Add", {"x", "old"}, {"inner"}), node("Neg", {"scale"}, {"inner"}));
  onnx::GraphProto& body = *parts.nodes[1].mutable_attribute(0)->mutable_g();
  *body.mutable_node(1) = inner.nodes[0];
  body.mutable_node(1)->set_input(0, "go");
  body.mutable_node(1)->set_output(0, "new");
  const Graph graph = read_model(onnx_model(parts));
  ASSERT_EQ(graph.subgraphs.size(), 4U);
  const auto captures = captures_of(graph);
  EXPECT_EQ(names_of(graph, captures[1]), (std::vector<std::string>{"x", "scale"}));
  EXPECT_EQ(names_of(graph, captures[2]), (std::vector<std::string>{"x", "old"}));
  EXPECT_EQ(names_of(graph, captures[3]), (std::vector<std::string>{"scale"}));
}

TEST(Onnx, RefusesNamesOfOtherBodies) {
  OnnxParts parts = choice(node("Abs", {"x"}, {"inner"}), node("Neg", {"x"}, {"inner"}));
  parts.nodes.push_back(node("Abs", {"inner"}, {"z"}));
  expect_message(error_of_model(onnx_model(parts)),
                 {"'inner'", "(Abs, 1 of subgraph 0)", "nothing produces"});
}

// Functions.

TEST(Onnx, InlinesFunctions) {
  const auto inner = function("Square", {"a"}, {"b"}, {node("Mul", {"a", "a"}, {"b"})});
  const auto outer =
      function("Norm", {"a"}, {"c"},
               {call("Square", {"a"}, {"b"}), node("ReduceSum", {"b"}, {"d"}), call("Square", {"d"}, {"c"})});
  const Graph graph =
      read_model(with_functions(onnx_model({.nodes = {call("Norm", {"x"}, {"a"}), call("Norm", {"a"}, {"y"})},
                                            .inputs = {tensor_value("x", {4, 4})},
                                            .outputs = {untyped_value("y")}}),
                                {inner, outer}));
  EXPECT_EQ(types_in(graph.subgraphs[0]),
            (std::vector<std::string>{"Mul", "ReduceSum", "Mul", "Mul", "ReduceSum", "Mul"}));
  EXPECT_EQ(tensor_named(graph, "a").shape, (Shape{1, 1}));
  EXPECT_EQ(tensor_named(graph, "y").shape, (Shape{1, 1}));
  EXPECT_EQ(graph.tensors.size(), 7U);
}

TEST(Onnx, FillsInAttributesOfTheCall) {
  const auto make = [](const std::vector<onnx::AttributeProto>& given) {
    onnx::NodeProto softmax = node("Flatten", {"a"}, {"b"});
    *softmax.add_attribute() = attribute_reference("axis", "where");
    return with_functions(onnx_model({.nodes = {call("Flat", {"x"}, {"y"}, given)},
                                      .inputs = {tensor_value("x", {2, 3, 4})},
                                      .outputs = {untyped_value("y")}}),
                          {function("Flat", {"a"}, {"b"}, {softmax})});
  };
  EXPECT_EQ(tensor_named(read_model(make({attribute("where", std::int64_t{2})})), "y").shape, (Shape{6, 4}));
  EXPECT_EQ(tensor_named(read_model(make({})), "y").shape, (Shape{2, 12})) << "the operator's default";
}

TEST(Onnx, FillsInDefaultsOfTheFunction) {
  onnx::NodeProto flatten = node("Flatten", {"a"}, {"b"});
  *flatten.add_attribute() = attribute_reference("axis", "where");
  onnx::FunctionProto flat = function("Flat", {"a"}, {"b"}, {flatten});
  constexpr int attribute_proto = 11;  // newer than the installed library
  flat.GetReflection()->MutableUnknownFields(&flat)->AddLengthDelimited(
      attribute_proto, attribute("where", std::int64_t{2}).SerializeAsString());
  const Graph graph = read_model(
      with_functions(onnx_model({.nodes = {call("Flat", {"x"}, {"y"}),
                                           call("Flat", {"x"}, {"z"}, {attribute("where", std::int64_t{0})})},
                                 .inputs = {tensor_value("x", {2, 3, 4})},
                                 .outputs = {untyped_value("y"), untyped_value("z")}}),
                     {flat}));
  EXPECT_EQ(tensor_named(graph, "y").shape, (Shape{6, 4}));
  EXPECT_EQ(tensor_named(graph, "z").shape, (Shape{1, 24}));
}

TEST(Onnx, InlinesFunctionsWithBodies) {
  const auto branch = [](const char* type) {
    return onnx_graph({.nodes = {call("Same", {"a"}, {"inner"}), node(type, {"inner"}, {"out"})},
                       .outputs = {untyped_value("out")}});
  };
  const auto choose =
      function("Choose", {"c", "a"}, {"b"},
               {node("If", {"c"}, {"b"},
                     {attribute("then_branch", branch("Abs")), attribute("else_branch", branch("Neg"))})});
  const auto same = function("Same", {"v"}, {"v"}, {});
  const Graph graph = read_model(with_functions(
      onnx_model({.nodes = {call("Choose", {"condition", "x"}, {"y"})},
                  .inputs = {tensor_value("condition", {}, TensorProto::BOOL), tensor_value("x", {2, 3})},
                  .outputs = {untyped_value("y")}}),
      {choose, same}));
  ASSERT_EQ(graph.subgraphs.size(), 3U);
  EXPECT_EQ(types_in(graph.subgraphs[1]), (std::vector<std::string>{"Identity", "Abs"}));
  EXPECT_EQ(names_of(graph, captures_of(graph)[2]), (std::vector<std::string>{"x"}));
  EXPECT_EQ(tensor_named(graph, "y").bytes, 24);
}

TEST(Onnx, InlinesFunctionsWhoseOutputsAreTheirInputs) {
  // The value "y" inside is another than the "y" that the call gives.
  const auto both =
      function("Both", {"a"}, {"a", "z", "z"},
               {node("Shape", {"a"}, {"y"}), node("Cast", {"y"}, {"z"}, {attribute("to", std::int64_t{1})})});
  const Graph graph = read_model(with_functions(
      onnx_model({.nodes = {call("Both", {"x"}, {"y", "z", "again"})},
                  .inputs = {tensor_value("x", {2, 3})},
                  .outputs = {untyped_value("y"), untyped_value("z"), untyped_value("again")}}),
      {both}));
  EXPECT_EQ(types_in(graph.subgraphs[0]),
            (std::vector<std::string>{"Shape", "Cast", "Identity", "Identity"}));
  EXPECT_EQ(tensor_named(graph, "y").shape, (Shape{2, 3}));
  EXPECT_EQ(tensor_named(graph, "again").shape, (Shape{2}));
}

TEST(Onnx, LeavesOutOperandsOfCalls) {
  const auto clip = function("Limit", {"a", "least", "most"}, {"b", "c"},
                             {node("Clip", {"a", "least", "most"}, {"b"}), node("Abs", {"b"}, {"c"})});
  const Graph graph = read_model(with_functions(onnx_model({.nodes = {call("Limit", {"x"}, {"y"})},
                                                            .inputs = {tensor_value("x", {4})},
                                                            .outputs = {untyped_value("y")}}),
                                                {clip}));
  EXPECT_EQ(writer_of(graph, "y").inputs,
            (std::vector<std::optional<TensorId>>{0, std::nullopt, std::nullopt}));
}

std::string error_of_call(const onnx::NodeProto& start, const std::vector<onnx::FunctionProto>& functions) {
  return error_of_model(with_functions(
      onnx_model({.nodes = {start}, .inputs = {tensor_value("x", {4})}, .outputs = {untyped_value("y")}}),
      functions));
}

TEST(Onnx, RefusesCallsThatCannotBeUnfolded) {
  const auto itself = function("Self", {"a"}, {"b"}, {call("Self", {"a"}, {"b"})});
  expect_message(error_of_call(call("Self", {"x"}, {"y"}), {itself}), {"x.onnx", "'Self'", "recursion"});
  const auto even = function("Even", {"a"}, {"b"}, {call("Odd", {"a"}, {"b"})});
  const auto odd = function("Odd", {"a"}, {"b"}, {call("Even", {"a"}, {"b"})});
  expect_message(error_of_call(call("Even", {"x"}, {"y"}), {even, odd}), {"recursion"});
  const auto small = function("Small", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"})});
  expect_message(error_of_call(call("Small", {"x", "x"}, {"y"}), {small}),
                 {"'Small'", "2 inputs", "at most 1"});
}

TEST(Onnx, RefusesCallsThatUnfoldToTooMuch) {
  if (testing::is_in_a_hurry()) GTEST_SKIP() << "a million calls take too long under the sanitizers";
  std::vector<onnx::FunctionProto> doubling{function("F0", {"a"}, {"b"}, {node("Neg", {"a"}, {"b"})})};
  for (int i = 1; i < 40; ++i) {
    const std::string callee = "F" + std::to_string(i - 1);
    doubling.push_back(function("F" + std::to_string(i), {"a"}, {"b"},
                                {call(callee, {"a"}, {"c"}), call(callee, {"c"}, {"b"})}));
  }
  expect_message(error_of_call(call("F39", {"x"}, {"y"}), doubling),
                 {"function 'F", "more than can be planned"});
}

// States and scratch.

OnnxParts cache() {
  return {.nodes = {node("Relu", {"old"}, {"new"})},
          .inputs = {tensor_value("old", {1, 8}), tensor_value("large", {2, 8})},
          .outputs = {tensor_value("new", {1, 8})}};
}

TEST(Onnx, TiesStates) {
  const Graph graph = read_model(onnx_model(cache()), {.states = {{"new", "old"}}});
  ASSERT_EQ(graph.ties.size(), 1U);
  EXPECT_EQ(graph.tensors[graph.ties[0].output].name, "new");
  EXPECT_EQ(graph.tensors[graph.ties[0].input].name, "old");
  expect_message(error_of_model(onnx_model(cache()), {.states = {{"new", "large"}}}),
                 {"'new'", "32 bytes", "'large'", "64"});
  expect_message(usage_error_of_model(onnx_model(cache()), {.states = {{"other", "old"}}}),
                 {"--state", "output 'other'"});
  expect_message(usage_error_of_model(onnx_model(cache()), {.states = {{"new", "other"}}}),
                 {"--state", "input 'other'"});
}

TEST(Onnx, GivesOperatorsScratch) {
  const Graph graph = read_model(onnx_model(counting_loop()), {.scratch = {{1, 0, 100}, {0, 0, 7}}});
  EXPECT_EQ(graph.tensors[graph.subgraphs[1].operators[0].scratch.at(0)].bytes, 100);
  EXPECT_EQ(graph.tensors[graph.subgraphs[0].operators[0].scratch.at(0)].kind, TensorKind::scratch);
  expect_message(usage_error_of_model(onnx_model(counting_loop()), {.scratch = {{0, 2, 1}}}),
                 {"--scratch", "operator 2"});
}

// Options and files that are wrong.

TEST(Onnx, RefusesNamesThatTheModelDoesNotHave) {
  OnnxParts parts = relu();
  parts.inputs = {tensor_value("x", {"N", "?"})};
  const onnx::ModelProto model = onnx_model(parts);
  expect_message(usage_error_of_model(model, {.dims = {{"M", 2}}}), {"--dim", "'M'"});
  expect_message(usage_error_of_model(model, {.dims = {{"", 2}}}), {"--dim", "''"});
  expect_message(usage_error_of_model(model, {.shapes = {{"z", {1}}}}), {"--shape", "'z'"});
  expect_message(usage_error_of_model(model, {.bounds = {{"z", 1}}}), {"--bound", "'z'"});
  parts.nodes.push_back(node("Dropout", {"x"}, {"", "mask"}));
  expect_message(usage_error_of_model(onnx_model(parts), {.bounds = {{"", 1}}}), {"--bound", "''"});
}

TEST(Onnx, RefusesFilesThatAreNotOnnx) {
  const auto error_of_bytes = [](const std::string& bytes) -> std::string {
    try {
      (void)read_model(bytes);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  expect_message(error_of_bytes(""), {"x.onnx", "no graph"});
  expect_message(error_of_bytes("no model at all"), {"x.onnx", "not an ONNX model"});
  onnx::ModelProto no_graph = onnx_model(relu());
  no_graph.clear_graph();
  expect_message(error_of_model(no_graph), {"x.onnx", "no graph"});
  expect_message(error_of_model(onnx_model(relu(), 0)), {"operator set", "version 0"});
  onnx::ModelProto huge_version = onnx_model(relu());
  huge_version.mutable_opset_import(0)->set_version(std::numeric_limits<std::int64_t>::max());
  expect_message(error_of_model(huge_version), {"operator set", "9223372036854775807"});
}

struct Mistake {
  std::string name;
  OnnxParts parts;
  std::vector<std::string> says;
};

TEST(Onnx, RefusesGraphsThatContradictThemselves) {
  const std::vector<Mistake> mistakes{
      {"unknown input",
       {.nodes = {node("Relu", {"q"}, {"y"})}},
       {"'q'", "(Relu, 0 of subgraph 0)", "nothing produces"}},
      {"unknown output", {.outputs = {untyped_value("q")}}, {"'q'", "an output", "nothing produces"}},
      {"two producers",
       {.nodes = {node("Relu", {"x"}, {"y"}), node("Abs", {"x"}, {"y"})}, .inputs = {tensor_value("x", {4})}},
       {"'y'", "two producers", "Abs"}},
      {"written input",
       {.nodes = {node("Relu", {"x"}, {"x"})}, .inputs = {tensor_value("x", {4})}},
       {"'x'", "two producers"}},
      {"input twice", {.inputs = {tensor_value("x", {4}), tensor_value("x", {4})}}, {"input 'x'", "twice"}},
      {"weight twice", {.initializers = {zeros("w", {4}), zeros("w", {4})}}, {"'w'", "twice"}},
      {"cycle",
       {.nodes = {node("Relu", {"b"}, {"a"}), node("Abs", {"a"}, {"b"})}},
       {"'", "cycle", "needs its own result"}},
      {"negative dimension", {.inputs = {tensor_value("x", {4, -2})}}, {"'x'", "-2"}},
      {"negative weight",
       {.initializers = {[] {
          auto tensor = zeros("w", {});
          tensor.add_dims(-3);
          return tensor;
        }()}},
       {"'w'", "-3"}},
      {"huge input",
       {.inputs = {tensor_value("x", {std::int64_t{1} << 40, std::int64_t{1} << 40})}},
       {"'x'", "overflows"}},
      {"ranks that do not fit",
       {.nodes = {node("MatMul", {"x", "w"}, {"y"})},
        .inputs = {tensor_value("x", {2, 3})},
        .initializers = {zeros("w", {4, 2})}},
       {"(MatMul, 0 of subgraph 0)", "not valid ONNX"}},
      {"missing attribute",
       {.nodes = {node("Concat", {"x"}, {"y"})}, .inputs = {tensor_value("x", {2})}},
       {"(Concat, 0 of subgraph 0)", "axis"}},
      {"zero stride",
       {.nodes = {node("MaxPool", {"x"}, {"y"},
                       {attribute("kernel_shape", std::vector<std::int64_t>{1}),
                        attribute("strides", std::vector<std::int64_t>{0})})},
        .inputs = {tensor_value("x", {1, 1, 4})}},
       {"(MaxPool)", "'strides' is 0"}},
      {"loop without body", {.nodes = {node("Loop", {"", ""}, {"y"})}}, {"(Loop, 0 of subgraph 0)", "body"}},
  };
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(mistake.name);
    expect_message(error_of_model(onnx_model(mistake.parts)), {"x.onnx"});
    expect_message(error_of_model(onnx_model(mistake.parts)), mistake.says);
  }
}

// Hostile bytes: a graph or an Error, never anything else.

void expect_graph_or_error(const std::string& bytes) {
  try {
    (void)read_model(bytes);
  } catch (const Error&) {
  }
}

std::vector<std::string> small_files() {
  const auto flat = function("Flat", {"a"}, {"b"}, {node("Flatten", {"a"}, {"b"})});
  return {
      convolution().SerializeAsString(), onnx_model(counting_loop()).SerializeAsString(),
      onnx_model(choice(node("Abs", {"x"}, {"inner"}), node("Neg", {"x"}, {"inner"}))).SerializeAsString(),
      with_functions(onnx_model({.nodes = {call("Flat", {"x"}, {"y"})},
                                 .inputs = {tensor_value("x", {2, 3, 4})},
                                 .outputs = {untyped_value("y")}}),
                     {flat})
          .SerializeAsString()};
}

TEST(Onnx, SurvivesTruncation) {
  for (const std::string& file : small_files()) {
    for (std::size_t size = 0; size < file.size(); ++size) expect_graph_or_error(file.substr(0, size));
  }
}

TEST(Onnx, SurvivesCorruption) {
  for (const std::string& file : small_files()) {
    for (std::size_t i = 0; i < file.size(); ++i) {
      for (const int mask : {0x01, 0x02, 0x08, 0x10, 0x40, 0x80, 0xFF}) {
        std::string changed = file;
        changed[i] = static_cast<char>(changed[i] ^ mask);
        expect_graph_or_error(changed);
      }
    }
  }
}

}  // namespace
}  // namespace stowage
