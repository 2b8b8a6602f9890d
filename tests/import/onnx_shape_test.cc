// Which shapes, types and sizes the ONNX importer finds: from declarations, options, the rules of
// operators, and from computing what shapes depend on.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "onnx_models.h"
#include "stowage/graph.h"
#include "stowage/import.h"

namespace stowage {
namespace {

using onnx::TensorProto;
using testing::attribute;
using testing::counting_loop;
using testing::Dimensions;
using testing::error_of_model;
using testing::expect_message;
using testing::node;
using testing::NodeAttributes;
using testing::onnx_graph;
using testing::onnx_model;
using testing::OnnxParts;
using testing::read_model;
using testing::reals;
using testing::scalar;
using testing::tensor_named;
using testing::tensor_value;
using testing::untyped_value;
using testing::usage_error_of_model;
using testing::value_of_any_shape;
using testing::vector_of;
using testing::writer_of;
using testing::zeros;

using Integers = std::vector<std::int64_t>;

/// x of these dimensions → Relu → y.
onnx::ModelProto relu_of(const Dimensions& dimensions) {
  return onnx_model({.nodes = {node("Relu", {"x"}, {"y"})},
                     .inputs = {tensor_value("x", dimensions)},
                     .outputs = {untyped_value("y")}});
}

// Open dimensions.

TEST(OnnxShape, BindsDimensions) {
  const Graph graph = read_model(relu_of({"N", 3, "H", "H"}), {.dims = {{"N", 2}, {"H", 5}}});
  EXPECT_EQ(tensor_named(graph, "x").shape, (Shape{2, 3, 5, 5}));
  EXPECT_EQ(tensor_named(graph, "y"),
            (Tensor{"y", TensorKind::output, DType::float32, Shape{2, 3, 5, 5}, 600}));
}

TEST(OnnxShape, SaysWhatIsOpen) {
  expect_message(error_of_model(relu_of({"N", 3})),
                 {"x.onnx", "1 size open", "'N' (axis 0 of 'x')", "--dim N=N", "--dim N=..N"});
  expect_message(error_of_model(relu_of({2, "?", 4})),
                 {"1 size open", "'x[1]' (axis 1 of 'x')", "--dim 'x[1]'=N (exactly N)", "--dim 'x[1]'=..N"});
  const OnnxParts any{.nodes = {node("Relu", {"x"}, {"y"})},
                      .inputs = {value_of_any_shape("x")},
                      .outputs = {untyped_value("y")}};
  expect_message(error_of_model(onnx_model(any)), {"'x'", "no known shape", "--shape x="});
  OnnxParts nothing = any;
  nothing.inputs = {untyped_value("x")};
  expect_message(error_of_model(onnx_model(nothing)), {"'x'", "no known element type", "--bound x=SIZE"});
}

TEST(OnnxShape, TakesShapesOfInputs) {
  const ImportOptions options{.shapes = {{"x", {2, 3}}}};
  EXPECT_EQ(tensor_named(read_model(relu_of({"?", 3}), options), "y").bytes, 24);
  EXPECT_EQ(tensor_named(read_model(relu_of({"N", "?"}), options), "y").bytes, 24);
  expect_message(error_of_model(relu_of({"N", 4}), options),
                 {"'x'", "[2,3] by --shape", "float32[?,4] in the file"});
  expect_message(error_of_model(relu_of({"N"}), options), {"'x'", "--shape"});
  expect_message(error_of_model(relu_of({"N", "?"}), {.dims = {{"N", 5}}, .shapes = options.shapes}),
                 {"'x'", "--shape", "float32[5,?]"});
  expect_message(usage_error_of_model(relu_of({"N", 3}), {.dims = {{"N", -1}}}), {"--dim 'N'", "-1"});
  expect_message(usage_error_of_model(relu_of({"?", 3}), {.shapes = {{"x", {-1, 3}}}}),
                 {"--shape 'x'", "-1"});
  expect_message(usage_error_of_model(relu_of({"?", 3}), {.bounds = {{"y", -1}}}), {"--bound 'y'", "-1"});
}

/// x → an operator whose result depends on data → "found" → Cast → y.
onnx::ModelProto finder(const onnx::NodeProto& it, const std::vector<onnx::TensorProto>& initializers = {}) {
  return onnx_model({.nodes = {it, node("Cast", {"found"}, {"y"}, {attribute("to", std::int64_t{1})})},
                     .inputs = {tensor_value("x", {1, 6, 4})},
                     .outputs = {untyped_value("y")},
                     .initializers = initializers});
}

TEST(OnnxShape, BoundsWhatDependsOnData) {
  const auto non_zero = finder(node("NonZero", {"x"}, {"found"}));
  expect_message(error_of_model(non_zero), {"'found'", "(NonZero, 0 of subgraph 0)", "dimension 1",
                                            "int64[3,?]", "--shape found=", "--bound found=SIZE"});
  const Graph shaped = read_model(non_zero, {.shapes = {{"found", {3, 24}}}});
  EXPECT_EQ(tensor_named(shaped, "found").shape, (Shape{3, 24}));
  EXPECT_EQ(tensor_named(shaped, "found").bytes, 576);
  EXPECT_TRUE(is_open(tensor_named(shaped, "found")));
  EXPECT_EQ(tensor_named(shaped, "y").bytes, 288);
  const Graph bounded = read_model(non_zero, {.bounds = {{"found", 576}, {"y", 300}}});
  EXPECT_EQ(tensor_named(bounded, "found"),
            (Tensor{"found", TensorKind::temporary, DType::int64, std::nullopt, 576}));
  EXPECT_EQ(tensor_named(bounded, "y").bytes, 300);
  expect_message(error_of_model(non_zero, {.bounds = {{"found", 576}}}), {"'y'", "--bound y=SIZE"});
  expect_message(error_of_model(non_zero, {.shapes = {{"found", {2, 24}}}}), {"'found'", "[2,24]", "[3,?]"});
  const auto suppression =
      finder(node("NonMaxSuppression", {"x", "scores"}, {"found"}), {zeros("scores", {1, 1, 6})});
  expect_message(error_of_model(suppression),
                 {"'found'", "(NonMaxSuppression", "dimension 0", "int64[?,3]", "--bound found=SIZE"});
  EXPECT_EQ(tensor_named(read_model(suppression, {.shapes = {{"found", {10, 3}}}}), "found").bytes, 240);
}

// Declarations.

OnnxParts unknown_operator(const std::vector<onnx::ValueInfoProto>& declared) {
  return {.nodes = {node("Mystery", {"x"}, {"a"}, {}, "custom"), node("Relu", {"a"}, {"y"})},
          .inputs = {tensor_value("x", {4})},
          .outputs = {untyped_value("y")},
          .declared = declared};
}

TEST(OnnxShape, BelievesDeclarationsWhereThereIsNoRule) {
  const Graph graph =
      read_model(onnx_model(unknown_operator({tensor_value("a", {"M", 3})})), {.dims = {{"M", 2}}});
  EXPECT_EQ(tensor_named(graph, "a").shape, (Shape{2, 3}));
  EXPECT_EQ(tensor_named(graph, "y").bytes, 24);
  expect_message(error_of_model(onnx_model(unknown_operator({tensor_value("a", {"M", 3})}))),
                 {"'a'", "custom.Mystery", "'M' at 0", "--dim M=N"});
  expect_message(error_of_model(onnx_model(unknown_operator({}))),
                 {"'a'", "custom.Mystery", "no known element type", "--bound a=SIZE"});
}

TEST(OnnxShape, NotesDeclaredShapesThatAreWrong) {
  const auto model_with = [](const onnx::ValueInfoProto& declared) {
    return onnx_model({.nodes = {node("Relu", {"x"}, {"a"}), node("Relu", {"a"}, {"y"})},
                       .inputs = {tensor_value("x", {2, 3})},
                       .outputs = {untyped_value("y")},
                       .declared = {declared}});
  };
  const auto note_with = [&](const onnx::ValueInfoProto& declared) {
    const Input input = parse_input(model_with(declared).SerializeAsString(), "x.onnx");
    EXPECT_EQ(tensor_named(std::get<Graph>(input.content), "a").shape, (Shape{2, 3}));
    EXPECT_EQ(tensor_named(std::get<Graph>(input.content), "y").shape, (Shape{2, 3}));
    return input.note;
  };
  EXPECT_EQ(note_with(tensor_value("a", {2, 3})), "");
  EXPECT_EQ(note_with(tensor_value("a", {"N", "?"})), "");
  EXPECT_EQ(note_with(value_of_any_shape("a")), "");
  EXPECT_EQ(
      note_with(tensor_value("a", {2, 4})),
      "declared shapes that operators contradict do not count: tensor 'a' is float32[2,3] by shape inference "
      "but float32[2,4] in the file");
  expect_message(note_with(tensor_value("a", {"?", 3, 1})), {"'a'", "float32[2,3]", "float32[?,3,1]"});
  expect_message(error_of_model(model_with(tensor_value("a", {2, 3}, TensorProto::INT8))),
                 {"'a'", "float32[2,3]", "int8[2,3]"});
  expect_message(error_of_model(model_with(tensor_value("a", {2, "?"})), {.shapes = {{"a", {2, 4}}}}),
                 {"'a'", "[2,4]"});
}

/// A size of an input that the file gives to another dimension, too; and the input of a body.
TEST(OnnxShape, DeclaredShapesThatAreOutOfDateDoNotCount) {
  const onnx::ModelProto square = onnx_model({.nodes = {node("Relu", {"x"}, {"y"})},
                                              .inputs = {tensor_value("x", {"n", 8})},
                                              .outputs = {tensor_value("y", {"n", "n"})}});
  EXPECT_EQ(tensor_named(read_model(square, {.dims = {{"n", 4}}}), "y").shape, (Shape{4, 8}));
  const Graph open = read_model(square, {.dims = {{"n", {1, 4}}}});
  EXPECT_EQ(tensor_named(open, "y").shape, (Shape{4, 8}));
  ASSERT_EQ(tensor_named(open, "y").open.size(), 1U);
  EXPECT_EQ(tensor_named(open, "y").open[0].axis, 0U);

  onnx::ModelProto loop = onnx_model(testing::counting_loop());
  onnx::ValueInfoProto& old =
      *loop.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g()->mutable_input(2);
  ASSERT_EQ(old.name(), "old");
  const auto shape = tensor_named(read_model(loop), "last").shape;
  old = tensor_value("old", {1, 7});
  EXPECT_EQ(tensor_named(read_model(loop), "old").shape, shape);
  EXPECT_EQ(tensor_named(read_model(loop), "last").shape, shape);
}

// Element types.

struct TypeCase {
  int elem_type;
  DType dtype;
  Bytes bytes;  ///< Of 5 elements.
};

TEST(OnnxShape, KnowsAllElementTypes) {
  const std::vector<TypeCase> cases{{1, DType::float32, 20},
                                    {2, DType::uint8, 5},
                                    {3, DType::int8, 5},
                                    {4, DType::uint16, 10},
                                    {5, DType::int16, 10},
                                    {6, DType::int32, 20},
                                    {7, DType::int64, 40},
                                    {9, DType::boolean, 5},
                                    {10, DType::float16, 10},
                                    {11, DType::float64, 40},
                                    {12, DType::uint32, 20},
                                    {13, DType::uint64, 40},
                                    {14, DType::complex64, 40},
                                    {15, DType::complex128, 80},
                                    {16, DType::bfloat16, 10},
                                    {17, DType::float8e4m3fn, 5},
                                    {18, DType::float8e4m3fnuz, 5},
                                    {19, DType::float8e5m2, 5},
                                    {20, DType::float8e5m2fnuz, 5},
                                    {21, DType::uint4, 3},
                                    {22, DType::int4, 3},
                                    {23, DType::float4e2m1, 3},
                                    {24, DType::float8e8m0, 5},
                                    {25, DType::uint2, 2},
                                    {26, DType::int2, 2}};
  for (const TypeCase& it : cases) {
    SCOPED_TRACE(it.elem_type);
    const Graph graph = read_model(
        onnx_model({.nodes = {node("Cast", {"x"}, {"y"}, {attribute("to", std::int64_t{it.elem_type})}),
                              node("Identity", {"w"}, {"v"})},
                    .inputs = {tensor_value("x", {5})},
                    .outputs = {tensor_value("y", {5}, it.elem_type), untyped_value("v")},
                    .initializers = {zeros("w", {5}, it.elem_type)}},
                   19));
    EXPECT_EQ(tensor_named(graph, "y"), (Tensor{"y", TensorKind::output, it.dtype, Shape{5}, it.bytes}));
    EXPECT_EQ(tensor_named(graph, "w"), (Tensor{"w", TensorKind::weight, it.dtype, Shape{5}, it.bytes}));
    EXPECT_EQ(tensor_named(graph, "v").bytes, it.bytes);
  }
}

TEST(OnnxShape, RefusesWhatIsNotADenseTensor) {
  const auto error_with = [](const onnx::ValueInfoProto& input) {
    return error_of_model(onnx_model(
        {.nodes = {node("Identity", {"x"}, {"y"})}, .inputs = {input}, .outputs = {untyped_value("y")}}));
  };
  expect_message(error_with(tensor_value("x", {2}, TensorProto::STRING)),
                 {"'x'", "string", "cannot be planned"});
  expect_message(error_with(tensor_value("x", {2}, 0)), {"'x'", "no known element type"});
  expect_message(error_with(tensor_value("x", {2}, 27)), {"'x'", "element type 27", "1 to 26"});
  onnx::ValueInfoProto other = untyped_value("x");
  *other.mutable_type()->mutable_sequence_type()->mutable_elem_type() = tensor_value("", {2}).type();
  expect_message(error_with(other), {"'x'", "sequence", "cannot be planned"});
  *other.mutable_type()->mutable_optional_type()->mutable_elem_type() = tensor_value("", {2}).type();
  expect_message(error_with(other), {"'x'", "optional", "cannot be planned"});
  other.mutable_type()->mutable_map_type()->set_key_type(TensorProto::INT64);
  expect_message(error_with(other), {"'x'", "map", "cannot be planned"});
  other.mutable_type()->mutable_sparse_tensor_type()->set_elem_type(TensorProto::FLOAT);
  expect_message(error_with(other), {"'x'", "sparse tensor", "cannot be planned"});
  const OnnxParts results{
      .nodes = {node("SequenceConstruct", {"x"}, {"list"}), node("SequenceAt", {"list", "n"}, {"y"})},
      .inputs = {tensor_value("x", {2}), tensor_value("n", {}, TensorProto::INT64)},
      .outputs = {untyped_value("y")}};
  expect_message(error_of_model(onnx_model(results)), {"'list'", "SequenceConstruct", "sequence"});
  const OnnxParts strings{
      .nodes = {node("Cast", {"x"}, {"y"}, {attribute("to", std::int64_t{TensorProto::STRING})})},
      .inputs = {tensor_value("x", {2})},
      .outputs = {untyped_value("y")}};
  expect_message(error_of_model(onnx_model(strings)), {"'y'", "string"});
}

// Rules, one operator at a time.

struct RuleCase {
  int operator_set;
  std::string type;
  std::vector<Dimensions> inputs;               ///< Called a, b, ...
  std::vector<onnx::TensorProto> initializers;  ///< Operands after those, under their names.
  NodeAttributes attributes;
  std::vector<std::pair<DType, Shape>> outputs;
};

onnx::ModelProto model_of(const RuleCase& rule) {
  OnnxParts parts;
  testing::Names operands;
  for (const Dimensions& dimensions : rule.inputs) {
    operands.push_back(std::string(1, static_cast<char>('a' + static_cast<char>(operands.size()))));
    parts.inputs.push_back(tensor_value(operands.back(), dimensions));
  }
  for (const onnx::TensorProto& initializer : rule.initializers) {
    operands.push_back(initializer.name());
    if (!initializer.name().empty()) parts.initializers.push_back(initializer);
  }
  testing::Names results;
  for (std::size_t i = 0; i < rule.outputs.size(); ++i) {
    results.push_back("result" + std::to_string(i));
    parts.outputs.push_back(untyped_value(results.back()));
  }
  parts.nodes = {node(rule.type, operands, results, rule.attributes)};
  return onnx_model(parts, rule.operator_set);
}

void expect_outputs(const std::vector<RuleCase>& cases) {
  for (const RuleCase& it : cases) {
    SCOPED_TRACE(it.type + " of operator set " + std::to_string(it.operator_set));
    EXPECT_EQ(error_of_model(model_of(it)), "");
    const Graph graph = read_model(model_of(it));
    for (std::size_t i = 0; i < it.outputs.size(); ++i) {
      const Tensor& result = tensor_named(graph, "result" + std::to_string(i));
      EXPECT_EQ(result.dtype, it.outputs[i].first) << name_of(result.dtype);
      EXPECT_EQ(result.shape, it.outputs[i].second);
      EXPECT_EQ(result.bytes, bytes_of(it.outputs[i].first, it.outputs[i].second));
    }
  }
}

/// An operand that is left out.
onnx::TensorProto nothing() { return {}; }
onnx::AttributeProto integer(const std::string& name, std::int64_t value) { return attribute(name, value); }
onnx::AttributeProto integers(const std::string& name, const Integers& values) {
  return attribute(name, values);
}
onnx::AttributeProto text(const std::string& name, const std::string& value) {
  return attribute(name, value);
}

constexpr DType f32 = DType::float32;

TEST(OnnxShape, KnowsOperatorsUpToSet17) {
  expect_outputs({
      {17,
       "Conv",
       {{1, 4, 9, 9}},
       {zeros("w", {8, 2, 3, 3})},
       {integer("group", 2), integers("strides", {2, 2}), integers("pads", {1, 1, 1, 1}),
        integers("dilations", {1, 2})},
       {{f32, {1, 8, 5, 4}}}},
      {17,
       "Conv",
       {{1, 4, 9, 9}},
       {zeros("w", {8, 4, 3, 3})},
       {text("auto_pad", "SAME_UPPER"), integers("strides", {2, 2})},
       {{f32, {1, 8, 5, 5}}}},
      {17,
       "ConvTranspose",
       {{1, 4, 5, 5}},
       {zeros("w", {4, 8, 3, 3})},
       {integers("strides", {2, 2}), integers("output_padding", {1, 1})},
       {{f32, {1, 8, 12, 12}}}},
      {17,
       "MaxPool",
       {{1, 2, 7, 7}},
       {},
       {integers("kernel_shape", {2, 2}), integers("strides", {2, 2}), integer("ceil_mode", 1)},
       {{f32, {1, 2, 4, 4}}, {DType::int64, {1, 2, 4, 4}}}},
      {17,
       "MaxPool",
       {{1, 1, 4, 4}},
       {},
       {integers("kernel_shape", {2, 2}), integers("strides", {2, 2}), integers("pads", {0, 0, 1, 1}),
        integer("ceil_mode", 1)},
       {{f32, {1, 1, 2, 2}}, {DType::int64, {1, 1, 2, 2}}}},
      {17,
       "AveragePool",
       {{1, 2, 7}},
       {},
       {integers("kernel_shape", {3}), integers("pads", {1, 1})},
       {{f32, {1, 2, 7}}}},
      {17, "GlobalAveragePool", {{1, 2, 7, 7}}, {}, {}, {{f32, {1, 2, 1, 1}}}},
      {17, "MatMul", {{2, 1, 3, 4}, {5, 4, 6}}, {}, {}, {{f32, {2, 5, 3, 6}}}},
      {17, "Gemm", {{4, 3}, {5, 4}}, {}, {integer("transA", 1), integer("transB", 1)}, {{f32, {3, 5}}}},
      {17, "Add", {{3, 1}, {2, 1, 4}}, {}, {}, {{f32, {2, 3, 4}}}},
      {17, "Transpose", {{2, 3, 4}}, {}, {integers("perm", {2, 0, 1})}, {{f32, {4, 2, 3}}}},
      {17, "Concat", {{2, 3}, {2, 5}}, {}, {integer("axis", -1)}, {{f32, {2, 8}}}},
      {17,
       "Split",
       {{2, 7}},
       {vector_of("parts", {3, 4})},
       {integer("axis", 1)},
       {{f32, {2, 3}}, {f32, {2, 4}}}},
      {11,
       "Split",
       {{2, 7}},
       {},
       {integer("axis", 1), integers("split", {3, 4})},
       {{f32, {2, 3}}, {f32, {2, 4}}}},
      {17,
       "Slice",
       {{10, 4}},
       {vector_of("starts", {-2}), vector_of("ends", {-100}), vector_of("axes", {0}),
        vector_of("steps", {-3})},
       {},
       {{f32, {3, 4}}}},
      {9,
       "Slice",
       {{10, 4}},
       {},
       {integers("starts", {1}), integers("ends", {9223372036854775807}), integers("axes", {0})},
       {{f32, {9, 4}}}},
      {17, "Squeeze", {{1, 3, 1}}, {vector_of("axes", {-1})}, {}, {{f32, {1, 3}}}},
      {17, "Unsqueeze", {{3}}, {vector_of("axes", {0, -1})}, {}, {{f32, {1, 3, 1}}}},
      {11, "Unsqueeze", {{3}}, {}, {integers("axes", {0, 2})}, {{f32, {1, 3, 1}}}},
      {17, "Reshape", {{2, 3, 4}}, {vector_of("shape", {0, -1})}, {}, {{f32, {2, 12}}}},
      {17, "Flatten", {{2, 3, 4}}, {}, {integer("axis", 0)}, {{f32, {1, 24}}}},
      {17, "Expand", {{3, 1}}, {vector_of("shape", {2, 1, 4})}, {}, {{f32, {2, 3, 4}}}},
      {17, "Tile", {{2, 3}}, {vector_of("repeats", {2, 0})}, {}, {{f32, {4, 0}}}},
      {17, "Pad", {{2, 3}}, {vector_of("pads", {1, 0, 0, -1})}, {}, {{f32, {3, 2}}}},
      {17, "Gather", {{5, 6}}, {vector_of("indices", {0, 2, 2})}, {integer("axis", 1)}, {{f32, {5, 3}}}},
      {17,
       "Resize",
       {{1, 1, 10, 10}},
       {nothing(), reals("scales", {1, 1, 0.7F, 2.5F})},
       {},
       {{f32, {1, 1, 7, 25}}}},
      {17, "ReduceSum", {{2, 3, 4}}, {vector_of("axes", {-1, 0})}, {integer("keepdims", 0)}, {{f32, {3}}}},
      {17, "ReduceMean", {{2, 3, 4}}, {}, {integers("axes", {1})}, {{f32, {2, 1, 4}}}},
      {17, "ArgMax", {{2, 3}}, {}, {integer("axis", 1), integer("keepdims", 0)}, {{DType::int64, {2}}}},
      {17, "TopK", {{2, 9}}, {vector_of("k", {4})}, {}, {{f32, {2, 4}}, {DType::int64, {2, 4}}}},
      {17,
       "DynamicQuantizeLinear",
       {{2, 3}},
       {},
       {},
       {{DType::uint8, {2, 3}}, {f32, {}}, {DType::uint8, {}}}},
      {17, "Greater", {{2, 3}, {3}}, {}, {}, {{DType::boolean, {2, 3}}}},
      {17,
       "LayerNormalization",
       {{2, 3, 4}},
       {zeros("scale", {4})},
       {},
       {{f32, {2, 3, 4}}, {f32, {2, 3, 1}}, {f32, {2, 3, 1}}}},
      {14,
       "LSTM",
       {{5, 2, 3}},
       {zeros("w", {1, 16, 3}), zeros("r", {1, 16, 4})},
       {integer("hidden_size", 4)},
       {{f32, {5, 1, 2, 4}}, {f32, {1, 2, 4}}, {f32, {1, 2, 4}}}},
      {9, "Dropout", {{2, 3}}, {}, {}, {{f32, {2, 3}}, {f32, {2, 3}}}},
      {13, "Dropout", {{2, 3}}, {}, {}, {{f32, {2, 3}}, {DType::boolean, {2, 3}}}},
      {17,
       "STFT",
       {{1, 128, 1}},
       {scalar("step", 8), nothing(), scalar("frame", 16)},
       {},
       {{f32, {1, 15, 9, 2}}}},
      {17,
       "STFT",
       {{1, 128, 1}},
       {scalar("step", 8), zeros("window", {16})},
       {integer("onesided", 0)},
       {{f32, {1, 15, 16, 2}}}},
      {11,
       "OneHot",
       {{2, 3}},
       {scalar("depth", 5), zeros("values", {2})},
       {integer("axis", 1)},
       {{f32, {2, 5, 3}}}},
      {12, "GatherND", {{2, 3, 4}, {2, 1}}, {}, {integer("batch_dims", 1)}, {{f32, {2, 4}}}},
      {11, "GatherND", {{2, 3, 4}, {5, 2}}, {}, {}, {{f32, {5, 4}}}},
      {10,
       "QLinearConv",
       {{1, 1, 5}},
       {zeros("s", {}), zeros("z", {}, 2), zeros("w", {2, 1, 3}, 2), zeros("s2", {}), zeros("z2", {}, 2),
        zeros("s3", {}), zeros("z3", {}, 2)},
       {},
       {{DType::uint8, {1, 2, 3}}}},
      {10, "ConvInteger", {{1, 1, 5}}, {zeros("w", {2, 1, 3}, 2)}, {}, {{DType::int32, {1, 2, 3}}}},
      {11,
       "MaxUnpool",
       {{1, 1, 2, 2}, {1, 1, 2, 2}},
       {},
       {integers("kernel_shape", {2, 2}), integers("strides", {2, 2})},
       {{f32, {1, 1, 4, 4}}}},
      {1,
       "MaxRoiPool",
       {{1, 3, 8, 8}, {7, 5}},
       {},
       {integers("pooled_shape", {2, 4})},
       {{f32, {7, 3, 2, 4}}}},
      {17,
       "ConvTranspose",
       {{1, 4, 5}},
       {zeros("w", {4, 2, 3})},
       {integer("group", 2), text("auto_pad", "SAME_UPPER"), integers("strides", {2})},
       {{f32, {1, 4, 10}}}},
      {17,
       "ConvTranspose",
       {{1, 4, 5}},
       {zeros("w", {4, 2, 3})},
       {integers("output_shape", {12}), integers("strides", {2})},
       {{f32, {1, 2, 12}}}},
      {6, "Add", {{2, 3}, {3}}, {}, {integer("broadcast", 1)}, {{f32, {2, 3}}}},
      {5, "Reshape", {{2, 3}}, {vector_of("shape", {6})}, {}, {{f32, {6}}}},
  });
}

TEST(OnnxShape, KnowsOperatorsAfterSet17) {
  expect_outputs({
      {18,
       "Pad",
       {{2, 3, 4}},
       {vector_of("pads", {1, 2}), nothing(), vector_of("axes", {-1})},
       {},
       {{f32, {2, 3, 7}}}},
      {18,
       "Resize",
       {{1, 3, 10, 10}},
       {nothing(), nothing(), vector_of("sizes", {5, 20})},
       {integers("axes", {2, 3})},
       {{f32, {1, 3, 5, 20}}}},
      {18,
       "Resize",
       {{1, 3, 10, 20}},
       {nothing(), nothing(), vector_of("sizes", {5, 5})},
       {integers("axes", {2, 3}), text("keep_aspect_ratio_policy", "not_larger")},
       {{f32, {1, 3, 3, 5}}}},
      {18,
       "Resize",
       {{1, 3, 10, 20}},
       {nothing(), nothing(), vector_of("sizes", {5, 5})},
       {integers("axes", {2, 3}), text("keep_aspect_ratio_policy", "not_smaller")},
       {{f32, {1, 3, 5, 10}}}},
      {19,
       "Resize",
       {{1, 1, 10, 10}},
       {nothing(), reals("scales", {0.7F})},
       {integers("axes", {-1})},
       {{f32, {1, 1, 10, 7}}}},
      {18, "Split", {{7}}, {}, {integer("num_outputs", 3)}, {{f32, {3}}, {f32, {3}}, {f32, {1}}}},
      {18,
       "Split",
       {{2, 7}},
       {vector_of("parts", {3, 4})},
       {integer("axis", -1)},
       {{f32, {2, 3}}, {f32, {2, 4}}}},
      {18, "ReduceMean", {{2, 3, 4}}, {vector_of("axes", {1, -1})}, {}, {{f32, {2, 1, 1}}}},
      {18, "ReduceMax", {{2, 3, 4}}, {vector_of("axes", {1})}, {integer("keepdims", 0)}, {{f32, {2, 4}}}},
      {18, "ReduceL2", {{2, 3}}, {}, {integer("keepdims", 0)}, {{f32, {}}}},
      {18,
       "ReduceL2",
       {{2, 3}},
       {vector_of("axes", {})},
       {integer("noop_with_empty_axes", 1)},
       {{f32, {2, 3}}}},
      {18,
       "LpPool",
       {{1, 2, 9}},
       {},
       {integers("kernel_shape", {3}), integers("dilations", {2})},
       {{f32, {1, 2, 5}}}},
      {18,
       "CenterCropPad",
       {{4, 5, 6}},
       {vector_of("shape", {8, 2})},
       {integers("axes", {-1, 0})},
       {{f32, {2, 5, 8}}}},
      {18,
       "GroupNormalization",
       {{1, 4, 3, 3}},
       {zeros("scale", {2}), zeros("bias", {2})},
       {integer("num_groups", 2)},
       {{f32, {1, 4, 3, 3}}}},
      {18, "Mish", {{2, 3}}, {}, {}, {{f32, {2, 3}}}},
      {19,
       "AveragePool",
       {{1, 2, 9, 9}},
       {},
       {integers("kernel_shape", {3, 3}), integers("dilations", {2, 3})},
       {{f32, {1, 2, 5, 3}}}},
      {19,
       "AveragePool",
       {{1, 1, 2, 2}},
       {},
       {integers("kernel_shape", {1, 1}), integers("strides", {2, 2}), integer("ceil_mode", 1)},
       {{f32, {1, 1, 1, 1}}}},
      {22,
       "MaxPool",
       {{1, 1, 2, 2}},
       {},
       {integers("kernel_shape", {1, 1}), integers("strides", {2, 2}), integer("ceil_mode", 1)},
       {{f32, {1, 1, 1, 1}}, {DType::int64, {1, 1, 1, 1}}}},
      {22,
       "MaxPool",
       {{1, 1, 9}},
       {},
       {integers("kernel_shape", {3}), integers("strides", {2}), text("auto_pad", "SAME_LOWER")},
       {{f32, {1, 1, 5}}}},
      {19, "Cast", {{2, 3}}, {}, {integer("to", 17)}, {{DType::float8e4m3fn, {2, 3}}}},
      {19, "CastLike", {{2, 3}}, {zeros("like", {}, TensorProto::FLOAT16)}, {}, {{DType::float16, {2, 3}}}},
      {19,
       "QuantizeLinear",
       {{2, 3}},
       {zeros("scale", {}), zeros("zero", {}, 17)},
       {},
       {{DType::float8e4m3fn, {2, 3}}}},
      {21,
       "QuantizeLinear",
       {{2, 3}},
       {zeros("scale", {})},
       {integer("output_dtype", 22)},
       {{DType::int4, {2, 3}}}},
      {19, "QuantizeLinear", {{2, 3}}, {zeros("scale", {})}, {}, {{DType::uint8, {2, 3}}}},
      {20, "Gelu", {{2, 3}}, {}, {text("approximate", "tanh")}, {{f32, {2, 3}}}},
      {20, "IsNaN", {{2, 3}}, {}, {}, {{DType::boolean, {2, 3}}}},
      {20, "GridSample", {{1, 2, 3, 4, 5}, {1, 6, 7, 8, 3}}, {}, {}, {{f32, {1, 2, 6, 7, 8}}}},
      {20, "ReduceMin", {{2, 3}}, {vector_of("axes", {0})}, {}, {{f32, {1, 3}}}},
      {23, "RMSNormalization", {{2, 3}}, {zeros("scale", {3})}, {}, {{f32, {2, 3}}}},
      {24, "Swish", {{2, 3}}, {}, {}, {{f32, {2, 3}}}},
      {24, "TensorScatter", {{1, 2, 8, 4}, {1, 2, 1, 4}}, {}, {}, {{f32, {1, 2, 8, 4}}}},
      {24, "MatMul", {{2, 3}, {3, 4}}, {}, {}, {{f32, {2, 4}}}},
      {24, "Reshape", {{2, 3}}, {vector_of("shape", {-1})}, {}, {{f32, {6}}}},
  });
}

/// Shapes that the specification gives as examples, or that follow from it.
TEST(OnnxShape, KnowsAttention) {
  expect_outputs({
      {23, "Attention", {{2, 3, 4, 8}, {2, 3, 6, 8}, {2, 3, 6, 10}}, {}, {}, {{f32, {2, 3, 4, 10}}}},
      {23,
       "Attention",
       {{2, 4, 24}, {2, 6, 24}, {2, 6, 30}},
       {nothing(), zeros("k", {2, 3, 12, 8}), zeros("v", {2, 3, 12, 10})},
       {integer("q_num_heads", 3), integer("kv_num_heads", 3)},
       {{f32, {2, 4, 30}}, {f32, {2, 3, 18, 8}}, {f32, {2, 3, 18, 10}}, {f32, {2, 3, 4, 18}}}},
  });
}

onnx::ModelProto contributed(const RuleCase& rule) {
  onnx::ModelProto model = model_of(rule);
  model.mutable_graph()->mutable_node(0)->set_domain("com.microsoft");
  return model;
}

TEST(OnnxShape, KnowsContributedOperators) {
  const std::vector<RuleCase> cases{
      {17,
       "FusedMatMul",
       {{2, 4, 3}, {2, 5, 4}},
       {},
       {integer("transA", 1), integer("transB", 1)},
       {{f32, {2, 3, 5}}}},
      {17, "FusedConv", {{1, 3, 8, 8}}, {zeros("w", {4, 3, 3, 3})}, {}, {{f32, {1, 4, 6, 6}}}},
      {17,
       "MatMulNBits",
       {{2, 7, 32}},
       {zeros("w", {16, 1, 16}, 2)},
       {integer("K", 32), integer("N", 16)},
       {{f32, {2, 7, 16}}}},
      {17, "BiasGelu", {{2, 7, 8}, {8}}, {}, {}, {{f32, {2, 7, 8}}}},
      {17,
       "SkipLayerNormalization",
       {{2, 7, 8}, {2, 7, 8}, {8}},
       {},
       {},
       {{f32, {2, 7, 8}}, {f32, {2, 7, 1}}, {f32, {2, 7, 1}}, {f32, {2, 7, 8}}}},
      {17,
       "Attention",
       {{2, 7, 12}, {12, 36}, {36}},
       {},
       {integer("num_heads", 3)},
       {{f32, {2, 7, 12}}, {f32, {2, 2, 3, 7, 4}}}},
      {17,
       "MultiHeadAttention",
       {{2, 7, 12}, {2, 5, 12}, {2, 5, 24}},
       {},
       {integer("num_heads", 3)},
       {{f32, {2, 7, 24}}, {f32, {2, 3, 5, 4}}, {f32, {2, 3, 5, 8}}}},
      {17,
       "GroupQueryAttention",
       {{1, 1, 32}, {1, 1, 16}, {1, 1, 16}, {1, 2, 6, 8}, {1, 2, 6, 8}},
       {zeros("lengths", {1}, TensorProto::INT32), scalar("total", 7)},
       {integer("num_heads", 4), integer("kv_num_heads", 2)},
       {{f32, {1, 1, 32}}, {f32, {1, 2, 7, 8}}, {f32, {1, 2, 7, 8}}}},
      {17, "RotaryEmbedding", {{1, 7, 32}, {1, 1}, {9, 4}, {9, 4}}, {}, {}, {{f32, {1, 7, 32}}}},
      {17,
       "QLinearAdd",
       {{2, 3}},
       {zeros("s", {}), nothing(), zeros("b", {3}), zeros("t", {}), nothing(), zeros("u", {})},
       {},
       {{f32, {2, 3}}}},
  };
  for (const RuleCase& it : cases) {
    SCOPED_TRACE(it.type);
    ASSERT_EQ(error_of_model(contributed(it)), "");
    const Graph graph = read_model(contributed(it));
    for (std::size_t i = 0; i < it.outputs.size(); ++i) {
      const Tensor& result = tensor_named(graph, "result" + std::to_string(i));
      EXPECT_EQ(result.dtype, it.outputs[i].first) << name_of(result.dtype);
      EXPECT_EQ(result.shape, it.outputs[i].second);
    }
  }
}

TEST(OnnxShape, KnowsEinsums) {
  const auto of = [](const std::string& equation) { return NodeAttributes{text("equation", equation)}; };
  expect_outputs({
      {12, "Einsum", {{2, 3}, {3, 4}}, {}, of("ij,jk->ik"), {{f32, {2, 4}}}},
      {12, "Einsum", {{2, 3}, {3, 4}}, {}, of("ij, jk"), {{f32, {2, 4}}}},
      {12, "Einsum", {{2, 3}, {3, 4}}, {}, of("Bc,ca->aB"), {{f32, {4, 2}}}},
      {12, "Einsum", {{2, 3}, {3, 4}}, {}, of("zb,bA"), {{f32, {4, 2}}}},
      {12, "Einsum", {{5, 2, 3}, {7, 1, 3, 4}}, {}, of("...ij,...jk->...ik"), {{f32, {7, 5, 2, 4}}}},
      {12, "Einsum", {{5, 3, 3}}, {}, of("...ii->...i"), {{f32, {5, 3}}}},
      {12, "Einsum", {{5, 3, 3}}, {}, of("...ii"), {{f32, {5}}}},
      {12, "Einsum", {{2, 3}}, {}, of("ij->"), {{f32, {}}}},
  });
}

/// Rules that believe what they read end in a crash, or never, for these.
TEST(OnnxShape, RefusesHostileOperators) {
  const std::int64_t huge = std::int64_t{1} << 60;
  const std::int64_t wide = std::int64_t{1} << 48;
  const std::vector<RuleCase> cases{
      {17, "Conv", {{1, 1, 4}}, {zeros("w", {1, 1, 2, 2, 2, 2})}, {}, {{f32, {}}}},
      {17, "Conv", {{1, 1}}, {zeros("w", {1})}, {}, {{f32, {}}}},
      {17, "Conv", {{1, 1, 4}}, {zeros("w", {1, 1, 2})}, {integers("pads", {1})}, {{f32, {}}}},
      {17, "QLinearConv", {{1, 1, 4}}, {zeros("w", {1, 1, 2})}, {}, {{f32, {}}}},
      {17, "ConvTranspose", {{1, 1, 4}}, {zeros("w", {1, 1, 2, 2, 2})}, {}, {{f32, {}}}},
      {17,
       "ConvTranspose",
       {{1, 1, huge}},
       {zeros("w", {1, 1, 2})},
       {integers("strides", {100})},
       {{f32, {}}}},
      {17, "MaxUnpool", {{1, 1, 4}, {4}}, {}, {integers("kernel_shape", {2, 2})}, {{f32, {}}}},
      {17, "MaxRoiPool", {{1, 1, 4}, {1, 5}}, {}, {integers("pooled_shape", {2})}, {{f32, {}}}},
      {17, "GatherND", {{2, 3}, {2, 1}}, {}, {integer("batch_dims", -5)}, {{f32, {}}}},
      {17, "LayerNormalization", {{2, 3}}, {zeros("s", {3})}, {integer("axis", -9)}, {{f32, {}}, {f32, {}}}},
      {17, "SplitToSequence", {{4}}, {scalar("split", 0)}, {}, {{f32, {}}}},
      {6, "LSTM", {{4}}, {zeros("w", {1, 4, 1}), zeros("r", {1, 4, 1})}, {}, {{f32, {}}}},
      {17, "Einsum", {{2, 3}}, {}, {text("equation", "i{->i")}, {{f32, {}}}},
      {17, "Einsum", {{2, 3}}, {}, {text("equation", "ij->k")}, {{f32, {}}}},
      {17, "Einsum", {{2, 3}}, {}, {text("equation", "....ij->ij")}, {{f32, {}}}},
      {17, "Expand", {{1}, {huge}}, {}, {}, {{f32, {}}}},
      {17, "Split", {{-2}}, {}, {}, {{f32, {}}, {f32, {}}}},
      {18, "Split", {{2}}, {}, {integer("num_outputs", 1)}, {{f32, {}}, {f32, {}}}},
      {17, "OneHot", {{2}}, {reals("depth", {-1e30F}), zeros("values", {2})}, {}, {{f32, {}}}},
  };
  for (const RuleCase& it : cases) {
    SCOPED_TRACE(it.type);
    EXPECT_NE(error_of_model(model_of(it)), "");
  }
  expect_outputs({{17,
                   "Conv",
                   {{1, 1, wide}},
                   {zeros("w", {1, 1, 2})},
                   {text("auto_pad", "SAME_UPPER"), integers("strides", {8})},
                   {{f32, {1, 1, wide / 8}}}},
                  {17, "Concat", {{wide / 8}, {3}}, {}, {integer("axis", 0)}, {{f32, {wide / 8 + 3}}}}});
  const RuleCase no_result{17, "LessOrEqual", {{2}, {2}}, {}, {}, {}};
  EXPECT_EQ(read_model(model_of(no_result)).subgraphs[0].operators.size(), 1U);
}

TEST(OnnxShape, LeavesWhatItDoesNotKnowToDeclarations) {
  OnnxParts parts{.nodes = {node("Novelty", {"x"}, {"y"})},
                  .inputs = {tensor_value("x", {1, 5, 5})},
                  .outputs = {untyped_value("y")}};
  expect_message(error_of_model(onnx_model(parts, 18)),
                 {"'y'", "(Novelty, 0 of subgraph 0)", "--bound y=SIZE"});
  parts.outputs = {tensor_value("y", {1, 1, 5, 5})};
  EXPECT_EQ(tensor_named(read_model(onnx_model(parts, 18)), "y").bytes, 100);
}

TEST(OnnxShape, PrefersItsOwnRulesToDeclarations) {
  OnnxParts parts{.nodes = {node("ReduceMax", {"x", "axes"}, {"y"})},
                  .inputs = {tensor_value("x", {2, 3})},
                  .outputs = {tensor_value("y", {3})},
                  .initializers = {vector_of("axes", {0})}};
  const Input input = parse_input(onnx_model(parts, 18).SerializeAsString(), "x.onnx");
  EXPECT_EQ(tensor_named(std::get<Graph>(input.content), "y").shape, (Shape{1, 3}));
  expect_message(input.note, {"'y'", "float32[1,3] by shape inference", "float32[3] in the file"});
}

// Shapes that the network computes.

/// x.view(x.size(0), heads, -1) as PyTorch exports it.
TEST(OnnxShape, ComputesTheShapesOfViews) {
  const Graph graph = read_model(
      onnx_model(
          {.nodes = {node("Shape", {"x"}, {"shape"}),
                     node("Constant", {}, {"zero"}, {attribute("value", scalar("", 0))}),
                     node("Gather", {"shape", "zero"}, {"batch"}, {integer("axis", 0)}),
                     node("Unsqueeze", {"batch", "first"}, {"batch vector"}),
                     node("Concat", {"batch vector", "heads", "rest"}, {"target"}, {integer("axis", 0)}),
                     node("Reshape", {"x", "target"}, {"y"})},
           .inputs = {tensor_value("x", {"N", 6, 4})},
           .outputs = {tensor_value("y", {"N", "?", "?"})},
           .initializers = {vector_of("first", {0}), vector_of("heads", {3}), vector_of("rest", {-1})}}),
      {.dims = {{"N", 5}}});
  EXPECT_EQ(tensor_named(graph, "y"), (Tensor{"y", TensorKind::output, f32, Shape{5, 3, 8}, 480}));
  for (const char* const name : {"shape", "zero", "batch", "batch vector", "target"}) {
    EXPECT_TRUE(writer_of(graph, name).folded) << name;
    EXPECT_EQ(tensor_named(graph, name).kind, TensorKind::weight) << name;
  }
  EXPECT_EQ(tensor_named(graph, "target").bytes, 24);
  EXPECT_FALSE(writer_of(graph, "y").folded);
}

/// x.expand(-1, 7, -1) as PyTorch exports it: -1 means the dimension that is there.
TEST(OnnxShape, ComputesTheShapesOfExpansions) {
  const onnx::TensorProto one = vector_of("", {1});
  const Graph graph = read_model(onnx_model(
      {.nodes = {node("ConstantOfShape", {"rank"}, {"ones"}, {attribute("value", one)}),
                 node("Mul", {"ones", "minus one"}, {"minus ones"}),
                 node("Equal", {"wanted", "minus ones"}, {"is kept"}),
                 node("Where", {"is kept", "ones", "wanted"}, {"target"}),
                 node("Expand", {"x", "target"}, {"y"})},
       .inputs = {tensor_value("x", {2, 1, 3})},
       .outputs = {untyped_value("y")},
       .initializers = {vector_of("rank", {3}), scalar("minus one", -1), vector_of("wanted", {-1, 7, -1})}}));
  EXPECT_EQ(tensor_named(graph, "y").shape, (Shape{2, 7, 3}));
  EXPECT_TRUE(writer_of(graph, "target").folded);
}

/// The size of a result is computed with one operator of the table and given to ConstantOfShape.
struct Computation {
  std::vector<onnx::NodeProto> nodes;  ///< From x of [6, 4] and constants to "size".
  Shape shape;
};

TEST(OnnxShape, ComputesWithWholeNumbers) {
  const auto range = node("Range", {"zero", "four", "one"}, {"size"});
  const auto part = [](const char* type, const testing::Names& operands) {
    return node(type, operands, {"size"});
  };
  const std::vector<Computation> computations{
      {{part("Add", {"pair", "pair"})}, {14, 6}},
      {{part("Sub", {"pair", "ones"})}, {6, 2}},
      {{part("Mul", {"pair", "ones"})}, {7, 3}},
      {{part("Div", {"pair", "twos"})}, {3, 1}},
      {{part("Mod", {"pair", "twos"})}, {1, 1}},
      {{part("Min", {"pair", "twos"})}, {2, 2}},
      {{part("Max", {"pair", "fives"})}, {7, 5}},
      {{node("Neg", {"pair"}, {"less"}), node("Abs", {"less"}, {"unused"}), part("Sub", {"ones", "less"})},
       {8, 4}},
      {{node("Slice", {"pair", "first", "last"}, {"size"})}, {7}},
      {{range}, {0, 1, 2, 3}},
      {{node("Cast", {"pair"}, {"real"}, {integer("to", 1)}),
        node("Div", {"real", "two and a half"}, {"ratio"}), node("Floor", {"ratio"}, {"floor"}),
        node("Cast", {"floor"}, {"size"}, {integer("to", 7)})},
       {2, 1}},
      {{node("Cast", {"pair"}, {"real"}, {integer("to", 1)}),
        node("Div", {"real", "two and a half"}, {"ratio"}), node("Ceil", {"ratio"}, {"up"}),
        node("Cast", {"up"}, {"size"}, {integer("to", 7)})},
       {3, 2}},
      {{node("ReduceProd", {"pair"}, {"size"})}, {21}},
      {{node("Greater", {"pair", "fives"}, {"is more"}), node("Not", {"is more"}, {"is less"}),
        node("Where", {"is less", "ones", "pair"}, {"size"})},
       {7, 1}},
      {{node("Size", {"x"}, {"count"}), node("Reshape", {"count", "first"}, {"unused"}),
        node("Unsqueeze", {"count", "first"}, {"size"})},
       {24}},
      {{node("Shape", {"x"}, {"size"}, {integer("start", -1)})}, {4}},
      {{node("Shape", {"x"}, {"all"}), node("Gather", {"all", "swapped"}, {"size"})}, {4, 6}},
      {{node("Expand", {"one", "twos of one"}, {"size"})}, {1, 1}},
  };
  for (const Computation& it : computations) {
    SCOPED_TRACE(it.nodes.back().op_type());
    OnnxParts parts{
        .nodes = it.nodes,
        .inputs = {tensor_value("x", {6, 4})},
        .outputs = {untyped_value("y"), untyped_value("x")},
        .initializers = {vector_of("pair", {7, 3}), vector_of("ones", {1, 1}), vector_of("twos", {2, 2}),
                         vector_of("fives", {5, 5}), vector_of("first", {0}), vector_of("last", {1}),
                         vector_of("swapped", {-1, 0}), vector_of("twos of one", {2}), scalar("zero", 0),
                         scalar("one", 1), scalar("four", 4), reals("two and a half", {2.5F})}};
    std::erase_if(parts.nodes, [](const onnx::NodeProto& unused) { return unused.output(0) == "unused"; });
    parts.nodes.push_back(node("ConstantOfShape", {"size"}, {"y"}));
    const Graph graph = read_model(onnx_model(parts));
    EXPECT_EQ(tensor_named(graph, "y").shape, it.shape);
    EXPECT_EQ(tensor_named(graph, "y").bytes, bytes_of(f32, it.shape));
  }
}

TEST(OnnxShape, DoesNotComputeWithTheImpossible) {
  const auto error_with = [](const std::vector<onnx::NodeProto>& nodes) {
    OnnxParts parts{
        .nodes = nodes,
        .inputs = {tensor_value("x", {1})},
        .outputs = {untyped_value("y")},
        .initializers = {vector_of("ones", {1}), vector_of("zeros", {0}), vector_of("least", {INT64_MIN}),
                         vector_of("minus", {-1}), vector_of("most", {INT64_MAX})}};
    parts.nodes.push_back(node("Expand", {"x", "size"}, {"y"}));
    return error_of_model(onnx_model(parts));
  };
  expect_message(error_with({node("Div", {"ones", "zeros"}, {"size"})}), {"'y'", "--shape y="});
  expect_message(error_with({node("Mod", {"ones", "zeros"}, {"size"})}), {"'y'", "--shape y="});
  expect_message(error_with({node("Div", {"least", "minus"}, {"size"})}), {"'y'", "--shape y="});
  expect_message(error_with({node("Add", {"most", "ones"}, {"size"})}), {"'y'", "--shape y="});
  expect_message(error_with({node("Mul", {"most", "most"}, {"size"})}), {"'y'", "--shape y="});
  expect_message(error_with({node("Gather", {"ones", "most"}, {"size"})}),
                 {"'size'", "index is 9223372036854775807, expected one of 1 elements"});
}

// Bodies whose shapes are not the same each time.

TEST(OnnxShape, LeavesOpenWhereBranchesDiffer) {
  const auto branch = [](const char* from, const char* name) {
    return onnx_graph({.nodes = {node("Relu", {from}, {name})}, .outputs = {untyped_value(name)}});
  };
  const auto model = onnx_model({.nodes = {node("If", {"c"}, {"y"},
                                                {attribute("then_branch", branch("a", "p")),
                                                 attribute("else_branch", branch("b", "q"))})},
                                 .inputs = {tensor_value("c", {}, TensorProto::BOOL),
                                            tensor_value("a", {2, 3}), tensor_value("b", {2, 5})},
                                 .outputs = {untyped_value("y")}});
  expect_message(error_of_model(model),
                 {"'y'", "(If, 0 of subgraph 0)", "dimension 1", "float32[2,?]", "--shape y="});
  EXPECT_EQ(tensor_named(read_model(model, {.shapes = {{"y", {2, 5}}}}), "y").bytes, 40);
}

TEST(OnnxShape, RefusesLoopsWhoseRoundsAreNotKnown) {
  OnnxParts parts = counting_loop();
  parts.initializers.clear();
  parts.inputs.push_back(tensor_value("rounds", {}, TensorProto::INT64));
  expect_message(error_of_model(onnx_model(parts)),
                 {"'rows'", "dimension 0", "float32[?,4]", "--shape rows=", "--bound rows=SIZE"});
  EXPECT_EQ(tensor_named(read_model(onnx_model(parts), {.shapes = {{"rows", {9, 4}}}}), "rows").bytes, 144);
  EXPECT_EQ(tensor_named(read_model(onnx_model(parts), {.bounds = {{"rows", 160}}}), "rows").bytes, 160);
}

TEST(OnnxShape, BoundsLoopsWhoseStateGrows) {
  OnnxParts parts = counting_loop();
  onnx::GraphProto& body = *parts.nodes[1].mutable_attribute(0)->mutable_g();
  *body.mutable_node(1) = node("Concat", {"old", "row"}, {"new"}, {integer("axis", 0)});
  *body.mutable_node(0) = node("Identity", {"x"}, {"row"});
  expect_message(error_of_model(onnx_model(parts)), {"'old'", "float32[4]", "float32[8]", "--shape old="});
  const Graph graph = read_model(onnx_model(parts), {.shapes = {{"old", {16}}}});
  EXPECT_EQ(tensor_named(graph, "old").bytes, 64);
  EXPECT_EQ(tensor_named(graph, "last").bytes, 80);  // of a round that begins with the largest
}

}  // namespace
}  // namespace stowage
