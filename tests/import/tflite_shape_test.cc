// Sizes that a TFLite file leaves open: what the rules of operators make of them, and what the user is asked.

#include <flatbuffers/flexbuffers.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/file.h"
#include "import/tflite.h"
#include "import/tflite_tables.h"
#include "stowage/error.h"
#include "stowage/network.h"
#include "stowage/offset_functions.h"
#include "stowage/planner.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using testing::TfliteOperator;
using testing::TfliteSpec;
using testing::TfliteTensor;

Input read_model(const TfliteSpec& spec, const ImportOptions& options = {}) {
  return import::read_tflite({testing::tflite_model(spec)}, options);
}

Graph graph_of_model(const TfliteSpec& spec, const ImportOptions& options = {}) {
  return std::get<Graph>(read_model(spec, options).content);
}

/// What reading says if it fails; empty if it does not.
template <typename Exception>
std::string problem_with(const TfliteSpec& spec, const ImportOptions& options = {}) {
  try {
    (void)read_model(spec, options);
  } catch (const Exception& error) {
    return error.what();
  }
  return "";
}

void expect_has(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' does not say '" << part << "'";
}

std::string bytes_of_numbers(const std::vector<std::int32_t>& numbers) {
  std::string bytes(numbers.size() * sizeof(std::int32_t), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// A constant list of numbers.
TfliteTensor list(const std::string& name, const std::vector<std::int32_t>& numbers) {
  return {.name = name,
          .shape = {static_cast<std::int32_t>(numbers.size())},
          .dtype = DType::int32,
          .data = bytes_of_numbers(numbers)};
}

TfliteTensor scalar(const std::string& name, std::int32_t number) {
  return {.name = name, .dtype = DType::int32, .data = bytes_of_numbers({number})};
}

TfliteTensor weights(const std::string& name, const std::vector<std::int32_t>& shape) {
  std::size_t size = 1;
  for (const std::int32_t dimension : shape) size *= static_cast<std::size_t>(dimension);
  return {.name = name, .shape = shape, .dtype = DType::int8, .data = std::string(size, 'w')};
}

/// A tensor with all sizes open, as converters write it: 1 stands for each of them.
TfliteTensor open(const std::string& name, std::size_t rank, DType dtype = DType::float32) {
  return {.name = name,
          .shape = std::vector<std::int32_t>(rank, 1),
          .dtype = dtype,
          .signature = std::vector<std::int32_t>(rank, -1)};
}

/// An operator on tensors whose sizes are open in the file.
struct OperatorCase {
  std::string type{};
  std::vector<std::int32_t> numbers{};  ///< Of its options.
  std::vector<Shape> given{};           ///< Shapes of its first inputs; constants follow.
  std::vector<TfliteTensor> constants{};
  std::vector<Shape> expected{};
  std::vector<TfliteTensor> first_constants{};  ///< Before all other inputs.
};

TfliteSpec model_of(const OperatorCase& it) {
  testing::TfliteSubgraph network;
  TfliteOperator op{.type = it.type, .numbers = it.numbers};
  const auto add = [&](const TfliteTensor& tensor) {
    network.tensors.push_back(tensor);
    return static_cast<std::int32_t>(network.tensors.size() - 1);
  };
  for (const TfliteTensor& tensor : it.first_constants) op.inputs.push_back(add(tensor));
  for (std::size_t i = 0; i < it.given.size(); ++i) {
    network.inputs.push_back(add(open("x" + std::to_string(i), it.given[i].size())));
    op.inputs.push_back(network.inputs.back());
  }
  for (const TfliteTensor& tensor : it.constants) op.inputs.push_back(add(tensor));
  for (std::size_t i = 0; i < it.expected.size(); ++i) {
    network.outputs.push_back(add(open("y" + std::to_string(i), it.expected[i].size())));
    op.outputs.push_back(network.outputs.back());
  }
  network.operators = {op};
  return {.subgraphs = {network}};
}

ImportOptions shapes_of(const OperatorCase& it) {
  ImportOptions options;
  for (std::size_t i = 0; i < it.given.size(); ++i)
    options.shapes["x" + std::to_string(i)] = GivenShape(it.given[i].begin(), it.given[i].end());
  return options;
}

class TfliteOperatorSizes : public ::testing::TestWithParam<OperatorCase> {};

TEST_P(TfliteOperatorSizes, FollowFromItsInputs) {
  const OperatorCase& it = GetParam();
  const Graph graph = graph_of_model(model_of(it), shapes_of(it));
  const Subgraph& network = graph.subgraphs[0];
  for (std::size_t i = 0; i < it.expected.size(); ++i) {
    const Tensor& output = graph.tensors[network.outputs[i]];
    EXPECT_EQ(output.shape, it.expected[i]) << it.type << " output " << i;
    EXPECT_EQ(output.bytes, bytes_of(DType::float32, it.expected[i]));
    EXPECT_TRUE(output.open.empty());
  }
}

// Numbers of options are in the order of the schema. Padding: 0 SAME, 1 VALID.
const std::vector<OperatorCase> operator_cases{
    {"RELU", {}, {{4, 64}}, {}, {{4, 64}}},
    {"SOFTMAX", {}, {{4, 7}}, {}, {{4, 7}}},
    {"ADD", {}, {{4, 1, 8}, {5, 1}}, {}, {{4, 5, 8}}},
    {"ADD_N", {}, {{4, 8}, {4, 8}}, {}, {{4, 8}}},
    {"MUL", {}, {{4, 8}}, {weights("w", {8})}, {{4, 8}}},
    {"LESS", {}, {{4, 8}, {8}}, {}, {{4, 8}}},
    {"SELECT_V2", {}, {{4, 1}, {1, 8}, {1, 1}}, {}, {{4, 8}}},
    {"SELECT", {}, {{4}, {4, 8}, {4, 8}}, {}, {{4, 8}}},
    {"PRELU", {}, {{2, 5, 6, 8}}, {weights("w", {1, 1, 8})}, {{2, 5, 6, 8}}},
    {"CONV_2D", {0, 2, 2, 0, 1, 1}, {{3, 9, 10, 4}}, {weights("w", {6, 3, 3, 4})}, {{3, 5, 5, 6}}},
    {"CONV_2D", {1, 2, 1, 0, 1, 2}, {{3, 9, 10, 4}}, {weights("w", {6, 3, 3, 4})}, {{3, 5, 4, 6}}},
    {"DEPTHWISE_CONV_2D",
     {1, 1, 2, 2, 0, 1, 1},
     {{3, 9, 10, 4}},
     {weights("w", {1, 3, 2, 8})},
     {{3, 4, 9, 8}}},
    {"CONV_3D",
     {1, 1, 1, 2, 0, 1, 1, 1},
     {{2, 6, 7, 8, 3}},
     {weights("w", {2, 3, 2, 3, 5})},
     {{2, 5, 3, 7, 5}}},
    {"MAX_POOL_2D", {1, 2, 2, 3, 2, 0}, {{3, 9, 10, 4}}, {}, {{3, 4, 4, 4}}},
    {"AVERAGE_POOL_2D", {0, 2, 3, 3, 2, 0}, {{3, 9, 10, 4}}, {}, {{3, 3, 5, 4}}},
    {"TRANSPOSE_CONV",
     {0, 2, 2},
     {{3, 5, 6, 4}},
     {},
     {{3, 10, 12, 8}},
     {list("s", {3, 10, 12, 8}), weights("w", {8, 3, 3, 4})}},
    {"RESIZE_BILINEAR", {}, {{3, 5, 6, 4}}, {list("s", {7, 9})}, {{3, 7, 9, 4}}},
    {"RESIZE_NEAREST_NEIGHBOR", {}, {{3, 5, 6, 4}}, {list("s", {7, 9})}, {{3, 7, 9, 4}}},
    {"SPACE_TO_DEPTH", {2}, {{3, 4, 6, 5}}, {}, {{3, 2, 3, 20}}},
    {"DEPTH_TO_SPACE", {2}, {{3, 4, 6, 8}}, {}, {{3, 8, 12, 2}}},
    {"SPACE_TO_BATCH_ND", {}, {{3, 4, 5, 2}}, {list("b", {2, 3}), list("p", {0, 2, 1, 0})}, {{18, 3, 2, 2}}},
    {"BATCH_TO_SPACE_ND", {}, {{18, 3, 2, 2}}, {list("b", {2, 3}), list("c", {0, 2, 1, 0})}, {{3, 4, 5, 2}}},
    {"FULLY_CONNECTED", {0, 0, 0}, {{4, 3, 8}}, {weights("w", {5, 8})}, {{12, 5}}},
    {"FULLY_CONNECTED", {0, 0, 1}, {{4, 3, 8}}, {weights("w", {5, 8})}, {{4, 3, 5}}},
    {"BATCH_MATMUL", {0, 0}, {{4, 1, 3, 8}, {2, 8, 5}}, {}, {{4, 2, 3, 5}}},
    {"BATCH_MATMUL", {1, 1}, {{4, 8, 3}, {4, 5, 8}}, {}, {{4, 3, 5}}},
    {"SVDF", {2}, {{4, 16}}, {weights("f", {12, 16}), weights("t", {12, 9})}, {{4, 6}}},
    {"UNIDIRECTIONAL_SEQUENCE_RNN", {}, {{4, 9, 16}}, {weights("w", {6, 16})}, {{4, 9, 6}}},
    {"LSTM", {0, 0, 0, 1}, {{4, 16}, {4, 8}}, {weights("w", {32, 24})}, {{4, 8}, {4, 8}, {4, 24}, {4, 32}}},
    {"MEAN", {1}, {{4, 5, 6, 7}}, {list("a", {1, -2})}, {{4, 1, 1, 7}}},
    {"SUM", {0}, {{4, 5, 6, 7}}, {list("a", {1, -2})}, {{4, 7}}},
    {"REDUCE_MAX", {0}, {{4, 5}}, {list("a", {0, 1})}, {{}}},
    {"ARG_MAX", {2}, {{4, 5, 6}}, {scalar("a", -2)}, {{4, 6}}},
    {"TOPK_V2", {}, {{4, 9}}, {scalar("k", 3)}, {{4, 3}, {4, 3}}},
    {"ONE_HOT", {-1}, {{4, 5}}, {scalar("d", 7), scalar("on", 1), scalar("off", 0)}, {{4, 5, 7}}},
    {"RESHAPE", {}, {{4, 6}}, {list("s", {-1, 3})}, {{8, 3}}},
    {"RESHAPE", {2, -1}, {{4, 6}}, {}, {{2, 12}}},
    {"SQUEEZE", {}, {{4, 1, 6, 1}}, {}, {{4, 6}}},
    {"SQUEEZE", {-1}, {{4, 1, 6, 1}}, {}, {{4, 1, 6}}},
    {"EXPAND_DIMS", {}, {{4, 6}}, {scalar("a", -1)}, {{4, 6, 1}}},
    {"TRANSPOSE", {}, {{4, 5, 6}}, {list("p", {2, 0, 1})}, {{6, 4, 5}}},
    {"BROADCAST_TO", {}, {{4, 1}}, {list("s", {2, 4, 6})}, {{2, 4, 6}}},
    {"TILE", {}, {{4, 5}}, {list("r", {2, 3})}, {{8, 15}}},
    {"CONCATENATION", {-1, 0}, {{4, 5}, {4, 6}}, {}, {{4, 11}}},
    {"PACK", {2, 1}, {{4, 5}, {4, 5}}, {}, {{4, 2, 5}}},
    {"UNPACK", {2, 1}, {{4, 2, 5}}, {}, {{4, 5}, {4, 5}}},
    {"SPLIT", {}, {{4, 6}}, {}, {{4, 3}, {4, 3}}, {scalar("a", 1)}},
    {"SPLIT_V", {}, {{4, 6}}, {list("s", {2, -1}), scalar("a", 1)}, {{4, 2}, {4, 4}}},
    {"SLICE", {}, {{4, 6}}, {list("b", {1, 2}), list("s", {-1, 3})}, {{3, 3}}},
    {"STRIDED_SLICE",
     {1, 2, 0, 0, 0, 0},
     {{4, 6}},
     {list("b", {9, 1}), list("e", {-1, 9}), list("s", {1, 2})},
     {{3, 3}}},
    {"STRIDED_SLICE", {0, 0, 0, 0, 1, 0}, {{4, 6}}, {list("b", {-1}), list("e", {0}), list("s", {1})}, {{6}}},
    {"STRIDED_SLICE",
     {0, 0, 1, 2, 0, 0},
     {{4, 5, 6}},
     {list("b", {0, 0, 1}), list("e", {0, 0, 4}), list("s", {1, 1, 1})},
     {{4, 5, 1, 3}}},
    {"STRIDED_SLICE", {1, 1, 0, 0, 0, 0}, {{5}}, {list("b", {0}), list("e", {0}), list("s", {-2})}, {{3}}},
    {"PAD", {}, {{4, 6}}, {list("p", {0, 1, 2, 3})}, {{5, 11}}},
    {"MIRROR_PAD", {}, {{4, 6}}, {list("p", {0, 1, 2, 3})}, {{5, 11}}},
    {"GATHER", {1, 0}, {{4, 6, 5}}, {list("i", {0, 2, 1})}, {{4, 3, 5}}},
    {"GATHER", {1, 1}, {{4, 6, 5}, {4, 2}}, {}, {{4, 2, 5}}},
    {"GATHER_ND", {}, {{4, 6, 5}, {7, 2}}, {}, {{7, 5}}},
    {"REVERSE_V2", {}, {{4, 6}}, {list("a", {1})}, {{4, 6}}},
    {"FILL", {}, {}, {scalar("v", 1)}, {{3, 4}}, {list("s", {3, 4})}},
    {"RANGE", {}, {}, {}, {{4}}, {scalar("a", 1), scalar("b", 12), scalar("c", 3)}},
    {"EMBEDDING_LOOKUP", {}, {{9}}, {weights("w", {30, 5, 6})}, {{9, 5, 6}}},
    {"CUMSUM", {}, {{4, 6}}, {scalar("a", 1)}, {{4, 6}}},
    {"MATRIX_DIAG", {}, {{4, 6}}, {}, {{4, 6, 6}}},
    {"RFFT2D", {}, {{4, 1, 512}}, {list("l", {1, 256})}, {{4, 1, 129}}},
    {"DYNAMIC_UPDATE_SLICE", {}, {{4, 6}, {1, 6}}, {list("i", {0, 0})}, {{4, 6}}},
};

INSTANTIATE_TEST_SUITE_P(All, TfliteOperatorSizes, ::testing::ValuesIn(operator_cases),
                         [](const auto& it) { return it.param.type + "_" + std::to_string(it.index); });

/// An operator in a longer network: its type, options, inputs and outputs by name.
struct Step {
  std::string type{};
  std::vector<std::int32_t> numbers{};
  std::vector<std::string> inputs{};
  std::vector<std::string> outputs{};
};

TfliteSpec model_of(const std::vector<TfliteTensor>& tensors, const std::vector<Step>& steps,
                    const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  testing::TfliteSubgraph network{.tensors = tensors};
  const auto index_of = [&](const std::string& name) {
    const auto it = std::ranges::find(tensors, name, &TfliteTensor::name);
    EXPECT_NE(it, tensors.end()) << name;
    return static_cast<std::int32_t>(it - tensors.begin());
  };
  const auto indices_of = [&](const std::vector<std::string>& names) {
    std::vector<std::int32_t> indices;
    for (const std::string& name : names) indices.push_back(index_of(name));
    return indices;
  };
  for (const Step& step : steps)
    network.operators.push_back({.type = step.type,
                                 .inputs = indices_of(step.inputs),
                                 .outputs = indices_of(step.outputs),
                                 .numbers = step.numbers});
  network.inputs = indices_of(inputs);
  network.outputs = indices_of(outputs);
  return {.subgraphs = {network}};
}

const Tensor& tensor_named(const Graph& graph, const std::string& name) {
  return *std::ranges::find(graph.tensors, name, &Tensor::name);
}

/// y = exp(fill(shape of x)), where the file says only that y has two axes.
TfliteSpec filled_model() {
  return model_of({{.name = "x", .shape = {1, 1024}},
                   {.name = "shape", .shape = {2}, .dtype = DType::int32},
                   {.name = "one", .data = "1234"},
                   open("filled", 2),
                   open("y", 2)},
                  {{"SHAPE", {}, {"x"}, {"shape"}},
                   {"FILL", {}, {"shape", "one"}, {"filled"}},
                   {"EXP", {}, {"filled"}, {"y"}}},
                  {"x"}, {"y"});
}

TEST(TfliteSizes, FollowFromComputedShapes) {
  const Graph graph = graph_of_model(filled_model());
  EXPECT_EQ(tensor_named(graph, "filled").bytes, 4096);
  EXPECT_EQ(tensor_named(graph, "y").shape, (Shape{1, 1024}));
  EXPECT_EQ(read_model(filled_model()).note, "");
}

TEST(TfliteSizes, AreTheSameForRunning) {
  const std::string bytes = testing::tflite_model(filled_model());
  EXPECT_EQ(import::read_tflite_network({bytes}, {}).graph(), graph_of_model(filled_model()));
}

/// Frames of a signal, as spectrograms of audio networks cut them: the number of frames is computed.
TfliteSpec frames_model() {
  const DType number = DType::int32;
  return model_of(
      {{.name = "x", .shape = {1, 1000}, .signature = {-1, 1000}},
       {.name = "shape", .shape = {2}, .dtype = number},
       list("sizes", {1, 1}),
       scalar("axis", 0),
       {.name = "batch", .shape = {1}, .dtype = number},
       {.name = "length", .shape = {1}, .dtype = number},
       list("none", {}),
       {.name = "samples", .dtype = number},
       scalar("window", 256),
       scalar("step", 64),
       {.name = "rest", .dtype = number},
       {.name = "steps", .dtype = number},
       scalar("zero", 0),
       scalar("unit", 1),
       {.name = "count", .dtype = number},
       open("starts", 1, number),
       {.name = "column_shape", .shape = {2}, .dtype = number},
       open("column", 2, number),
       {.name = "window_places", .shape = {1, 256}, .dtype = number, .data = std::string(1024, '\0')},
       open("places", 2, number),
       open("frames", 3),
       {.name = "ends", .shape = {1}, .dtype = number},
       open("energy", 2)},
      {{"SHAPE", {}, {"x"}, {"shape"}},
       {"SPLIT_V", {}, {"shape", "sizes", "axis"}, {"batch", "length"}},
       {"RESHAPE", {}, {"length", "none"}, {"samples"}},
       {"SUB", {}, {"samples", "window"}, {"rest"}},
       {"FLOOR_DIV", {}, {"rest", "step"}, {"steps"}},
       {"ADD", {}, {"steps", "unit"}, {"count"}},
       {"RANGE", {}, {"zero", "count", "unit"}, {"starts"}},
       {"PACK", {2, 0}, {"count", "unit"}, {"column_shape"}},
       {"RESHAPE", {}, {"starts", "column_shape"}, {"column"}},
       {"ADD", {}, {"column", "window_places"}, {"places"}},
       {"GATHER", {1, 0}, {"x", "places"}, {"frames"}},
       {"SHAPE", {}, {"count"}, {"ends"}},
       {"SUM", {0}, {"frames", "unit"}, {"energy"}}},
      {"x"}, {"energy"});
}

TEST(TfliteSizes, FollowFromArithmeticOnShapes) {
  const Graph graph = graph_of_model(frames_model());
  EXPECT_EQ(tensor_named(graph, "frames").shape, (Shape{1, 12, 256}));
  EXPECT_EQ(tensor_named(graph, "energy").shape, (Shape{1, 256}));
  const Graph larger = graph_of_model(frames_model(), {.shapes = {{"x", {3, 1000}}}});
  EXPECT_EQ(tensor_named(larger, "frames").shape, (Shape{3, 12, 256}));
}

std::vector<std::string> types_that_run(const Graph& graph) {
  std::vector<std::string> types;
  for (const Operator& op : graph.subgraphs[0].operators)
    if (!op.folded) types.push_back(op.type);
  return types;
}

/// Sizes are no work of a run, unless they are open or the file must stay as it is.
TEST(TfliteSizes, AreConstantsWhereAllAreGiven) {
  const Input input = read_model(frames_model(), {.constants = true});
  const auto& graph = std::get<Graph>(input.content);
  EXPECT_EQ(types_that_run(graph), (std::vector<std::string>{"GATHER", "SUM"}));
  const auto id = [&](const std::string& name) {
    return static_cast<TensorId>(&tensor_named(graph, name) - graph.tensors.data());
  };
  const auto count = input.constants.of(id("count"));
  ASSERT_EQ(count.size(), sizeof(std::int32_t));
  EXPECT_EQ(count[0], std::byte{12});
  EXPECT_EQ(input.constants.of(id("starts")).size(), 12 * sizeof(std::int32_t));
  const std::size_t all = graph.subgraphs[0].operators.size();
  EXPECT_EQ(types_that_run(graph_of_model(frames_model(), {.file_shapes = true})).size(), all);
  EXPECT_EQ(
      types_that_run(graph_of_model(frames_model(), {.shapes = {{"x", {GivenSize(1, 3), 1000}}}})).size(),
      all);
}

/// A result that another rule than a shape's would give is left to the kernel.
TEST(TfliteSizes, OtherNumbersAreLeftToKernels) {
  const DType number = DType::int32;
  const auto square = [](const std::string& name, const std::vector<std::int32_t>& values) {
    std::string data(values.size() * sizeof(std::int32_t), '\0');
    std::memcpy(data.data(), values.data(), data.size());
    return TfliteTensor{.name = name, .shape = {2, 2}, .dtype = DType::int32, .data = data};
  };
  const TfliteSpec spec =
      model_of({{.name = "x", .shape = {1, 4}, .signature = {-1, 4}},
                {.name = "y", .shape = {1, 4}, .signature = {-1, 4}},
                square("a", {1, 2, 3, 4}),
                square("b", {5, 6, 7, 8}),
                list("turned", {1, 0}),
                {.name = "rows", .shape = {2}, .dtype = DType::boolean, .data = std::string("\1\0", 2)},
                scalar("large", 100'000),
                {.name = "columns", .shape = {2, 2}, .dtype = number},
                {.name = "chosen", .shape = {2, 2}, .dtype = number},
                {.name = "sum", .shape = {2, 2}, .dtype = number},
                {.name = "too_large", .dtype = number},
                {.name = "z", .shape = {2, 2}, .dtype = number}},
               {{"RELU", {}, {"x"}, {"y"}},
                {"GATHER", {1, 0}, {"a", "turned"}, {"columns"}},
                {"SELECT", {}, {"rows", "a", "b"}, {"chosen"}},
                {"ADD", {}, {"columns", "chosen"}, {"sum"}},
                {"MUL", {}, {"large", "large"}, {"too_large"}},
                {"MUL", {}, {"sum", "too_large"}, {"z"}}},
               {"x"}, {"y", "z"});
  EXPECT_EQ(types_that_run(graph_of_model(spec)).size(), 6U);
}

TfliteSpec batch_model() {
  return model_of({{.name = "x", .shape = {1, 64}, .signature = {-1, 64}},
                   {.name = "y", .shape = {1, 64}, .signature = {-1, 64}}},
                  {{"RELU", {}, {"x"}, {"y"}}}, {"x"}, {"y"});
}

TEST(TfliteSizes, OfABatchAreThoseInTheFileAndSaid) {
  const Input input = read_model(batch_model());
  EXPECT_EQ(std::get<Graph>(input.content).tensors[1].shape, (Shape{1, 64}));
  expect_has(input.note, {"x [1,64]", "--shape x=N,64"});
  const Input given = read_model(batch_model(), {.shapes = {{"x", {4, 64}}}});
  EXPECT_EQ(std::get<Graph>(given.content).tensors[1].bytes, 1024);
  EXPECT_EQ(given.note, "");
  EXPECT_EQ(read_model(batch_model(), {.shapes = {{"x", {1, 64}}}}).note, "");
}

TEST(TfliteSizes, OfInputsAreAskedForAllAtOnce) {
  const TfliteSpec spec = model_of({{.name = "a", .shape = {1, 1, 80}, .signature = {-1, -1, 80}},
                                    {.name = "b", .shape = {1}, .signature = {-1}},
                                    open("y", 3)},
                                   {{"ADD", {}, {"a", "b"}, {"y"}}}, {"a", "b"}, {"y"});
  expect_has(problem_with<Error>(spec),
             {"3 sizes open", "'a[0]' (axis 0 of 'a')", "'a[1]'", "'b[0]'", "--dim 'b[0]'=..N"});
  EXPECT_EQ(problem_with<Error>(spec, {.shapes = {{"a", {1, 7, 80}}, {"b", {80}}}}), "");
}

/// WHERE makes a row for each true element.
TfliteSpec where_model() {
  return model_of({{.name = "x", .shape = {5, 3}, .dtype = DType::boolean},
                   open("rows", 2, DType::int64),
                   open("y", 2, DType::int32),
                   open("twice", 2, DType::int32)},
                  {{"WHERE", {}, {"x"}, {"rows"}},
                   {"CAST", {}, {"rows"}, {"y"}},
                   {"CONCATENATION", {0, 0}, {"y", "y"}, {"twice"}}},
                  {"x"}, {"twice"});
}

TEST(TfliteSizes, ThatDependOnDataAreAskedForWhereTheyAreComputed) {
  expect_has(problem_with<Error>(where_model()),
             {"tensor 'rows'", "a result of operator 0 of subgraph 0 (WHERE)", "[?,2]",
              "--shape rows=N,2 (at most N)", "--shape rows=N..N,2 (exactly N)", "--bound rows=SIZE"});
  EXPECT_EQ(problem_with<Error>(where_model()).find("--shape y"), std::string::npos);
}

TEST(TfliteSizes, ThatDependOnDataAreAtMost) {
  const Graph graph = graph_of_model(where_model(), {.shapes = {{"rows", {15, 2}}}});
  const Tensor& rows = tensor_named(graph, "rows");
  const Tensor& twice = tensor_named(graph, "twice");
  EXPECT_EQ(rows.shape, (Shape{15, 2}));
  ASSERT_EQ(rows.open.size(), 1);
  EXPECT_EQ(rows.open[0].axis, 0);
  EXPECT_EQ(tensor_named(graph, "y").open, rows.open);
  EXPECT_EQ(twice.shape, (Shape{30, 2}));
  ASSERT_EQ(twice.open.size(), 1);
  EXPECT_TRUE(graph.subgraphs[0].operators[2].copies.empty());  // where the second half begins is open
  const Graph exact = graph_of_model(where_model(), {.shapes = {{"rows", {{15, 15}, 2}}}});
  EXPECT_TRUE(tensor_named(exact, "twice").open.empty());
  EXPECT_EQ(exact.subgraphs[0].operators[2].copies.size(), 2);
}

TEST(TfliteSizes, OfARangeAreOpen) {
  const TfliteSpec spec = model_of({{.name = "a", .shape = {1, 64}, .signature = {-1, 64}},
                                    {.name = "b", .shape = {1, 64}, .signature = {-1, 64}},
                                    {.name = "y", .shape = {2, 64}, .signature = {-1, 64}}},
                                   {{"CONCATENATION", {0, 0}, {"a", "b"}, {"y"}}}, {"a", "b"}, {"y"});
  const Graph exact = graph_of_model(spec, {.shapes = {{"a", {8, 64}}, {"b", {4, 64}}}});
  EXPECT_EQ(exact.subgraphs[0].operators[0].copies.size(), 2);
  EXPECT_EQ(exact.tensors[2].shape, (Shape{12, 64}));
  const Graph range = graph_of_model(spec, {.shapes = {{"a", {{1, 8}, 64}}, {"b", {4, 64}}}});
  EXPECT_EQ(range.subgraphs[0].operators[0].copies.size(), 2);  // b lies behind a, whatever a has
  EXPECT_EQ(range.tensors[2].shape, (Shape{12, 64}));
  EXPECT_EQ(range.tensors[0].open.size(), 1);
  EXPECT_TRUE(range.tensors[1].open.empty());
  EXPECT_EQ(range.tensors[2].open.size(), 1);
}

TEST(TfliteSizes, ThatAreGivenMustHaveAnEffect) {
  const auto refused = [](const TfliteSpec& spec, const ImportOptions& options) {
    return problem_with<UsageError>(spec, options);
  };
  expect_has(refused(batch_model(), {.shapes = {{"x", {4, 64}}, {"y", {4, 64}}}}),
             {"--shape 'y'", "no effect"});
  expect_has(refused(where_model(), {.shapes = {{"x", {5, 3}}, {"rows", {4, 2}}}}),
             {"--shape 'x'", "no effect"});
  expect_has(refused(batch_model(), {.bounds = {{"y", 4096}}}), {"--bound 'y'", "no effect", "256 bytes"});
  expect_has(refused(batch_model(), {.shapes = {{"x", {4, {1, 64}}}}}),
             {"--shape 'x'", "dimension 1", "range"});
}

TEST(TfliteSizes, ThatAreGivenMustAgree) {
  expect_has(problem_with<Error>(batch_model(), {.shapes = {{"x", {4, 65}}}}),
             {"tensor 'x'", "[4,65]", "[?,64]"});
  expect_has(problem_with<Error>(batch_model(), {.shapes = {{"x", {4, 64}}, {"y", {5, 64}}}}),
             {"tensor 'y'", "[5,64]", "[4,64]"});
  expect_has(problem_with<Error>(where_model(), {.shapes = {{"rows", {4, 3}}}}),
             {"tensor 'rows'", "[4,3]", "[4,2]"});
}

TEST(TfliteSizes, ThatDoNotFitTogetherAreRefused) {
  const TfliteSpec spec = model_of({{.name = "x", .shape = {1, 64}, .signature = {-1, 64}},
                                    list("s", {1, 8, 8}),
                                    {.name = "y", .shape = {1, 8, 8}}},
                                   {{"RESHAPE", {}, {"x", "s"}, {"y"}}}, {"x"}, {"y"});
  EXPECT_EQ(problem_with<Error>(spec), "");
  expect_has(problem_with<Error>(spec, {.shapes = {{"x", {4, 64}}}}),
             {"operator 0 of subgraph 0 (RESHAPE)", "256"});
}

TfliteSpec custom_model(const TfliteTensor& result) {
  return model_of({{.name = "x", .shape = {1, 64}, .signature = {-1, 64}}, result, open("z", 2)},
                  {{"MyOwn", {}, {"x"}, {"y"}}, {"NEG", {}, {"y"}, {"z"}}}, {"x"}, {"z"});
}

/// A shape without a signature holds for the inputs in the file, one with a signature for all.
TEST(TfliteSizes, OfUnknownOperatorsAreThoseInTheFileOrAskedFor) {
  const TfliteTensor fixed{.name = "y", .shape = {1, 9}};
  const TfliteTensor partly{.name = "y", .shape = {1, 9}, .signature = {-1, 9}};
  EXPECT_EQ(tensor_named(graph_of_model(custom_model(fixed)), "z").shape, (Shape{1, 9}));
  expect_has(problem_with<Error>(custom_model(fixed), {.shapes = {{"x", {4, 64}}}}),
             {"tensor 'y'", "MyOwn", "[?,?]"});
  expect_has(problem_with<Error>(custom_model(partly)), {"tensor 'y'", "MyOwn", "--shape y=N,9"});
  const Graph graph = graph_of_model(custom_model(partly), {.shapes = {{"y", {{7, 7}, 9}}}});
  EXPECT_EQ(tensor_named(graph, "z").shape, (Shape{7, 9}));
  EXPECT_EQ(problem_with<Error>(custom_model(partly), {.bounds = {{"y", 100}, {"z", 100}}}), "");
}

/// Old files do not say whether a result without dimensions is a number.
TEST(TfliteSizes, OfUnknownRankAreAskedFor) {
  TfliteTensor unranked{.name = "y"};
  unranked.has_rank = false;
  TfliteSpec spec = custom_model(unranked);
  spec.subgraphs[0].tensors[0].signature = {};
  spec.subgraphs[0].tensors[2].signature = {};
  expect_has(problem_with<Error>(spec), {"tensor 'y'", "MyOwn", "of unknown rank", "--shape y=N,..."});
  EXPECT_EQ(tensor_named(graph_of_model(spec, {.shapes = {{"y", {{3, 3}, 5}}}}), "y").bytes, 60);
  EXPECT_EQ(tensor_named(graph_of_model(spec, {.shapes = {{"y", {}}}}), "y").bytes, 4);
}

TEST(TfliteSizes, OfDetectionsFollowFromTheirOptions) {
  flexbuffers::Builder options;
  options.Map([&] {
    options.Int("max_detections", 10);
    options.Int("max_classes_per_detection", 2);
  });
  options.Finish();
  TfliteSpec spec{.subgraphs = {{.tensors = {{.name = "boxes", .shape = {1, 50, 4}},
                                             {.name = "scores", .shape = {1, 50, 3}},
                                             weights("anchors", {50, 4})},
                                 .operators = {{.type = "TFLite_Detection_PostProcess", .inputs = {0, 1, 2}}},
                                 .inputs = {0, 1}}}};
  testing::TfliteSubgraph& network = spec.subgraphs[0];
  network.operators[0].custom_options.assign(options.GetBuffer().begin(), options.GetBuffer().end());
  for (std::int32_t i = 0; i < 4; ++i) {
    TfliteTensor unranked{.name = "y" + std::to_string(i)};
    unranked.has_rank = false;
    network.tensors.push_back(unranked);
    network.operators[0].outputs.push_back(i + 3);
    network.outputs.push_back(i + 3);
  }
  const Graph graph = graph_of_model(spec);
  EXPECT_EQ(tensor_named(graph, "y0").shape, (Shape{1, 20, 4}));
  EXPECT_EQ(tensor_named(graph, "y1").shape, (Shape{1, 20}));
  EXPECT_EQ(tensor_named(graph, "y2").shape, (Shape{1, 20}));
  EXPECT_EQ(tensor_named(graph, "y3").shape, (Shape{1}));
}

TEST(TfliteSizes, OfAReshapeFollowFromItsElements) {
  const TfliteSpec spec = model_of({{.name = "x", .shape = {1, 64}, .signature = {-1, 64}},
                                    {.name = "s", .shape = {2}, .dtype = DType::int32},
                                    {.name = "y", .shape = {1, 8}, .signature = {-1, 8}}},
                                   {{"RESHAPE", {}, {"x", "s"}, {"y"}}}, {"x", "s"}, {"y"});
  EXPECT_EQ(tensor_named(graph_of_model(spec, {.shapes = {{"x", {4, 64}}}}), "y").shape, (Shape{32, 8}));
}

/// A network that runs the bodies in one operator.
TfliteSpec model_with_bodies(const std::string& type, const TfliteTensor& from, const TfliteTensor& to,
                             const std::vector<testing::TfliteSubgraph>& bodies) {
  TfliteSpec spec{
      .subgraphs = {{.tensors = {from, to, {.name = "go", .shape = {1}, .dtype = DType::boolean}},
                     .operators = {{.type = type, .inputs = {0}, .outputs = {1}, .bodies = {1, 2}}},
                     .inputs = {0},
                     .outputs = {1}}}};
  if (type == "IF") {
    spec.subgraphs[0].operators[0].inputs = {2, 0};
    spec.subgraphs[0].inputs = {2, 0};
  }
  spec.subgraphs.insert(spec.subgraphs.end(), bodies.begin(), bodies.end());
  return spec;
}

testing::TfliteSubgraph body_of(const std::string& type, std::size_t rank, std::vector<std::int32_t> inputs,
                                std::vector<std::int32_t> numbers = {}) {
  return {.tensors = {open("in of " + type, rank), open("out of " + type, rank)},
          .operators =
              {{.type = type, .inputs = std::move(inputs), .outputs = {1}, .numbers = std::move(numbers)}},
          .inputs = {0},
          .outputs = {1}};
}

testing::TfliteSubgraph condition() {
  return {.tensors = {open("tested", 2), {.name = "more", .shape = {1}, .dtype = DType::boolean}},
          .operators = {{.type = "Decide", .inputs = {0}, .outputs = {1}}},
          .inputs = {0},
          .outputs = {1}};
}

const TfliteTensor open_batch{.name = "x", .shape = {1, 64}, .signature = {-1, 64}};

TEST(TfliteSizes, AreInferredInBodies) {
  const ImportOptions four{.shapes = {{"x", {4, 64}}}};
  const TfliteSpec loop =
      model_with_bodies("WHILE", open_batch, open("y", 2), {condition(), body_of("NEG", 2, {0})});
  // Decide is unknown, and its result has a shape that holds only for the file's sizes.
  expect_has(problem_with<Error>(loop, four), {"tensor 'more'", "Decide"});
  ImportOptions both = four;
  both.shapes["more"] = {{1, 1}};
  EXPECT_EQ(tensor_named(graph_of_model(loop, both), "y").shape, (Shape{4, 64}));
  EXPECT_EQ(tensor_named(graph_of_model(loop, both), "out of NEG").shape, (Shape{4, 64}));
  const TfliteSpec branches =
      model_with_bodies("IF", open_batch, open("y", 2), {body_of("NEG", 2, {0}), body_of("ABS", 2, {0})});
  EXPECT_EQ(tensor_named(graph_of_model(branches, four), "y").shape, (Shape{4, 64}));
  EXPECT_EQ(tensor_named(graph_of_model(branches, four), "out of ABS").shape, (Shape{4, 64}));
}

TEST(TfliteSizes, OfBranchesThatDifferAreAskedFor) {
  const TfliteSpec spec = model_with_bodies(
      "IF", open_batch, open("y", 2), {body_of("NEG", 2, {0}), body_of("CONCATENATION", 2, {0, 0}, {0, 0})});
  const ImportOptions four{.shapes = {{"x", {4, 64}}}};
  expect_has(problem_with<Error>(spec, four), {"tensor 'y'", "(IF)", "--shape y=N,64"});
  ImportOptions both = four;
  both.shapes["y"] = {8, 64};
  const Graph graph = graph_of_model(spec, both);
  EXPECT_EQ(tensor_named(graph, "y").shape, (Shape{8, 64}));
  EXPECT_EQ(tensor_named(graph, "y").open.size(), 1);
  both.shapes["y"] = {7, 64};
  expect_has(problem_with<Error>(spec, both), {"(IF)", "'y'", "[7,64]", "[8,64]"});
}

TEST(TfliteSizes, ThatGrowFromRoundToRoundAreAskedFor) {
  const testing::TfliteSubgraph body{
      .tensors = {open("list", 2), weights("one", {1, 64}), open("longer", 2)},
      .operators = {{.type = "CONCATENATION", .inputs = {0, 1}, .outputs = {2}, .numbers = {0, 0}}},
      .inputs = {0},
      .outputs = {2}};
  const TfliteSpec spec = model_with_bodies("WHILE", open_batch, open("y", 2), {condition(), body});
  ImportOptions options{.shapes = {{"x", {4, 64}}, {"more", {{1, 1}}}}};
  expect_has(problem_with<Error>(spec, options),
             {"tensor 'list'", "before a round", "(WHILE)", "--shape list=N,64"});
  options.shapes["list"] = {{9, 9}, 64};
  const Graph graph = graph_of_model(spec, options);
  EXPECT_EQ(tensor_named(graph, "list").shape, (Shape{9, 64}));
  EXPECT_EQ(tensor_named(graph, "longer").shape, (Shape{10, 64}));
  EXPECT_EQ(tensor_named(graph, "y").shape, (Shape{10, 64}));
  // There may be no round, and every run tests what is there before the first one, and after the last.
  EXPECT_EQ(tensor_named(graph, "y").open.size(), 1U);
  EXPECT_EQ(tensor_named(graph, "tested").shape, (Shape{10, 64}));
  EXPECT_EQ(tensor_named(graph, "tested").open.size(), 1U);
  options.shapes["list"] = {{3, 3}, 64};
  expect_has(problem_with<Error>(spec, options), {"(WHILE)", "'list'", "[3,64]", "[4,64]"});
}

TEST(TfliteSizes, OfPartsThatAreJoinedMoveThem) {
  const auto rows = [](const std::string& name, std::int32_t count, std::int32_t open) {
    return TfliteTensor{.name = name, .shape = {count, 64}, .signature = {open, 64}};
  };
  const TfliteSpec spec = model_of({rows("a", 1, -1), rows("b", 1, -1), rows("p", 1, -1), rows("q", 1, -1),
                                    rows("c", 2, -1), rows("y", 2, -1)},
                                   {{"NEG", {}, {"a"}, {"p"}},
                                    {"NEG", {}, {"b"}, {"q"}},
                                    {"CONCATENATION", {0, 0}, {"p", "q"}, {"c"}},
                                    {"NEG", {}, {"c"}, {"y"}}},
                                   {"a", "b"}, {"y"});
  const Input range = read_model(spec, {.shapes = {{"a", {{1, 8}, 64}}, {"b", {{1, 4}, 64}}}});
  const PlanResult result = make_plan(range, {.io = Io::external, .alias = Alias::all});
  ASSERT_TRUE(result.faults.empty()) << result.faults[0].what;
  EXPECT_EQ(result.plan.copies_removed.count, 2);
  for (const std::int64_t a : {1, 3, 8}) {
    for (const std::int64_t b : {1, 4}) {
      const Graph exact = graph_of_model(spec, {.shapes = {{"a", {{a, a}, 64}}, {"b", {{b, b}, 64}}}});
      const Graph there = graph_at(std::get<Graph>(range.content), exact);
      const Plan plan = plan_at(result.plan, there);
      const Faults faults = check_plan(plan, {&there, 1});
      EXPECT_TRUE(faults.empty()) << a << "," << b << ": " << faults[0].what;
      EXPECT_EQ(plan.copies_removed.count, 2);
    }
  }
}

/// TensorFlow Lite Micro takes the shapes as they are.
TEST(TfliteSizes, AreThoseInTheFileIfThatIsAskedFor) {
  const Graph graph = graph_of_model(filled_model(), {.file_shapes = true});
  EXPECT_EQ(tensor_named(graph, "y").shape, (Shape{1, 1}));
}

/// Makes the sizes of all tensors open that are neither constants nor inputs, in place.
void open_all(std::string& bytes, const Graph& graph) {
  const auto* const model = tflite::GetModel(bytes.data());
  const auto numbers_of = [](const tflite::Tensor& it) {
    return std::array{it.shape(), it.shape_signature()};
  };
  std::set<const void*> kept;
  std::set<TensorId> inputs(graph.subgraphs[0].inputs.begin(), graph.subgraphs[0].inputs.end());
  const auto for_each = [&](const auto& visit) {
    TensorId t = 0;
    for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
      const tflite::SubGraph& subgraph = import::at(model->subgraphs(), s);
      for (std::size_t i = 0; i < import::count(subgraph.tensors()); ++i, ++t) {
        const TensorKind kind = graph.tensors[t].kind;
        visit(import::at(subgraph.tensors(), i), is_constant(kind) || kind == TensorKind::state ||
                                                     kind == TensorKind::scratch || inputs.contains(t));
      }
    }
  };
  for_each([&](const tflite::Tensor& tensor, bool is_kept) {
    if (is_kept) kept.insert(tensor.shape());
  });
  for_each([&](const tflite::Tensor& tensor, bool is_kept) {
    if (is_kept || kept.contains(tensor.shape())) return;
    for (const auto* const numbers : numbers_of(tensor)) {
      for (flatbuffers::uoffset_t d = 0; d < import::count(numbers); ++d)
        const_cast<flatbuffers::Vector<std::int32_t>*>(numbers)->Mutate(d, -1);
    }
  });
}

TEST(TfliteSizes, OfRealNetworksAreThoseInTheirFiles) {
  const std::filesystem::path folder = STOWAGE_DATA_DIR "/models/tflite";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const base::InputFile file(entry.path());
    std::string bytes(file.bytes());
    const Graph expected =
        std::get<Graph>(import::read_tflite({file.bytes()}, {.file_shapes = true}).content);
    open_all(bytes, expected);
    ImportOptions options;
    for (const Operator& op : expected.subgraphs[0].operators) {
      const auto builtins = std::span(tflite::EnumValuesBuiltinOperator());
      const auto has_name = [&](auto it) { return tflite::EnumNameBuiltinOperator(it) == op.type; };
      if (std::ranges::any_of(builtins, has_name)) continue;
      for (const auto& output : op.outputs) {
        if (expected.tensors[*output].shape->empty()) continue;
        GivenShape& shape = options.shapes[expected.tensors[*output].name];
        for (const std::int64_t size : *expected.tensors[*output].shape) shape.emplace_back(size, size);
      }
    }
    const Graph graph = std::get<Graph>(import::read_tflite({bytes}, options).content);
    for (TensorId t = 0; t < graph.tensors.size(); ++t) {
      EXPECT_EQ(graph.tensors[t], expected.tensors[t]) << entry.path() << ": " << describe(graph, t);
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace stowage
