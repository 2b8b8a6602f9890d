#include "import/tflite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/file.h"
#include "stowage/error.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using import::looks_like_tflite;
using testing::tflite_model;
using testing::TfliteRange;
using testing::TfliteSpec;
using testing::TfliteSubgraph;

Graph read_tflite(std::string_view bytes, const ImportOptions& options = {}) {
  return std::get<Graph>(import::read_tflite({bytes}, options).content);
}

Graph read(const TfliteSpec& spec, const ImportOptions& options = {}) {
  return read_tflite(tflite_model(spec), options);
}

/// What an exception of that type says; empty when there is none.
template <typename Exception>
std::string message_of(const TfliteSpec& spec, const ImportOptions& options = {}) {
  try {
    (void)read(spec, options);
  } catch (const Exception& error) {
    return error.what();
  }
  return "";
}

std::string error_of(const TfliteSpec& spec, const ImportOptions& options = {}) {
  return message_of<Error>(spec, options);
}

std::string usage_error_of(const TfliteSpec& spec, const ImportOptions& options = {}) {
  return message_of<UsageError>(spec, options);
}

void expect_says(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "'" << message << "' does not say '" << part << "'";
  }
}

/// A convolution x, w → y and a ReLU y → z.
TfliteSpec small_model() {
  return {.subgraphs = {
              {.tensors = {{.name = "x", .shape = {1, 4, 4, 1}, .dtype = DType::int8},
                           {.name = "w", .shape = {2, 1, 1, 1}, .dtype = DType::int8, .data = "ab"},
                           {.name = "y", .shape = {1, 4, 4, 2}, .dtype = DType::int8},
                           {.name = "z", .shape = {1, 4, 4, 2}, .dtype = DType::int8}},
               .operators =
                   {{.type = "CONV_2D", .inputs = {0, 1, -1}, .outputs = {2}, .numbers = {0, 1, 1, 0, 1, 1}},
                    {.type = "RELU", .inputs = {2}, .outputs = {3}}},
               .inputs = {0},
               .outputs = {3},
               .name = "main"}}};
}

/// Subgraph 0 runs the bodies, which copy their input, in one operator.
TfliteSpec model_with_bodies(const std::string& type, const std::vector<std::int32_t>& bodies) {
  const TfliteSubgraph body{.tensors = {{.name = "from", .shape = {4}}, {.name = "to", .shape = {4}}},
                            .operators = {{.type = "ABS", .inputs = {0}, .outputs = {1}}},
                            .inputs = {0},
                            .outputs = {1}};
  TfliteSpec spec{.subgraphs = {body, body, body}};
  spec.subgraphs[0].operators = {{.type = type, .inputs = {0}, .outputs = {1}, .bodies = bodies}};
  return spec;
}

const Operator& first_operator(const Graph& graph) { return graph.subgraphs.at(0).operators.at(0); }

TEST(Tflite, ReadsANetwork) {
  const Graph graph = read(small_model());
  const Graph expected{
      .tensors = {{"x", TensorKind::input, DType::int8, Shape{1, 4, 4, 1}, 16},
                  {"w", TensorKind::weight, DType::int8, Shape{2, 1, 1, 1}, 2},
                  {"y", TensorKind::temporary, DType::int8, Shape{1, 4, 4, 2}, 32},
                  {"z", TensorKind::output, DType::int8, Shape{1, 4, 4, 2}, 32}},
      .subgraphs = {{.name = "main",
                     .inputs = {0},
                     .outputs = {3},
                     .operators = {{.type = "CONV_2D", .inputs = {0, 1, std::nullopt}, .outputs = {2}},
                                   {.type = "RELU", .inputs = {2}, .outputs = {3}}}}}};
  EXPECT_EQ(graph, expected);
}

TEST(Tflite, KnowsItsFilesByTheirIdentifier) {
  const std::string bytes = tflite_model(small_model());
  EXPECT_TRUE(looks_like_tflite(bytes));
  EXPECT_TRUE(looks_like_tflite(std::string_view(bytes).substr(0, 8)));
  EXPECT_FALSE(looks_like_tflite(std::string_view(bytes).substr(0, 7)));
  EXPECT_FALSE(looks_like_tflite(""));
  EXPECT_FALSE(looks_like_tflite("id,lower,upper,size\n"));
  EXPECT_THROW((void)read_tflite(""), Error);
  EXPECT_THROW((void)read_tflite("id,lower,upper,size\n"), Error);
}

TEST(Tflite, ReadsBytesAtAnyAddress) {
  const std::string bytes = tflite_model(small_model());
  const Graph expected = read_tflite(bytes);
  for (std::size_t shift = 1; shift < 8; ++shift) {
    const std::string shifted = std::string(shift, ' ') + bytes;
    EXPECT_EQ(read_tflite(std::string_view(shifted).substr(shift)), expected) << shift;
  }
}

TEST(Tflite, RefusesOtherVersions) {
  for (const std::uint32_t version : {0U, 2U, 4U}) {
    TfliteSpec spec = small_model();
    spec.version = version;
    expect_says(error_of(spec), {"version " + std::to_string(version), "expected 3"});
  }
}

TEST(Tflite, RefusesAModelWithoutSubgraphs) { expect_says(error_of({}), {"no subgraph"}); }

TEST(Tflite, TakesTheLargerOfBothOperatorNumbers) {
  TfliteSpec spec = small_model();
  auto& op = spec.subgraphs[0].operators[0];
  const std::vector<std::pair<std::pair<int, int>, std::string>> cases{{{3, 0}, "CONV_2D"},
                                                                       {{0, 3}, "CONV_2D"},
                                                                       {{3, 3}, "CONV_2D"},
                                                                       {{127, 130}, "BROADCAST_TO"},
                                                                       {{0, 209}, "STABLEHLO_CASE"},
                                                                       {{127, 210}, "BUILTIN_210"},
                                                                       {{0, 100000}, "BUILTIN_100000"},
                                                                       {{-1, -2}, "BUILTIN_-1"}};
  for (const auto& [codes, type] : cases) {
    op.codes = codes;
    EXPECT_EQ(first_operator(read(spec)).type, type);
  }
}

TEST(Tflite, PlansCustomOperatorsLikeAnyOther) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].operators[0].type = "MyOwnOperator";
  const Graph graph = read(spec);
  EXPECT_EQ(first_operator(graph).type, "MyOwnOperator");
  EXPECT_EQ(first_operator(graph).outputs.size(), 1U);
  spec.subgraphs[0].operators[0].type = "";  // no name in the file
  EXPECT_EQ(first_operator(read(spec)).type, "CUSTOM");
}

TEST(Tflite, RefusesOperatorCodesThatDoNotExist) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].operators[1].code_index = 7;
  expect_says(error_of(spec), {"1 of subgraph 0", "code 7", "2 operator codes"});
}

TEST(Tflite, RefusesTensorsThatDoNotExist) {
  for (const std::int32_t index :
       {-2, 4, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
    const std::string name = "tensor " + std::to_string(index);
    TfliteSpec spec = small_model();
    spec.subgraphs[0].operators[0].inputs[1] = index;
    expect_says(error_of(spec), {"CONV_2D", "0 of subgraph 0", name, "4 tensors"});
    spec = small_model();
    spec.subgraphs[0].operators[1].outputs[0] = index;
    expect_says(error_of(spec), {"RELU", "1 of subgraph 0", name});
    spec = small_model();
    spec.subgraphs[0].inputs[0] = index;
    expect_says(error_of(spec), {"inputs of subgraph 0", name});
    spec = small_model();
    spec.subgraphs[0].outputs[0] = index;
    expect_says(error_of(spec), {"outputs of subgraph 0", name});
  }
  TfliteSpec spec = small_model();
  spec.subgraphs[0].outputs[0] = -1;
  expect_says(error_of(spec), {"outputs of subgraph 0", "tensor -1"});
}

TEST(Tflite, AllowsOutputsNobodyWants) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].operators[1].outputs = {3, -1};
  const Graph graph = read(spec);
  EXPECT_EQ(graph.subgraphs[0].operators[1].outputs, (std::vector<std::optional<TensorId>>{3, std::nullopt}));
}

TEST(Tflite, TellsTheKindsOfTensors) {
  const Graph graph =
      read({.subgraphs = {{.tensors = {{.name = "through", .shape = {4}},
                                       {.name = "constant output", .shape = {1}, .data = "1234"},
                                       {.name = "variable", .shape = {4}, .is_variable = true},
                                       {.name = "started", .shape = {1}, .data = "1234", .is_variable = true},
                                       {.name = "elsewhere", .shape = {9}, .external_buffer = 1},
                                       {.name = "empty", .shape = {0}, .claim = TfliteRange{0, 0}},
                                       {.name = "orphan", .shape = {4}}},
                           .operators = {{.type = "ADD", .inputs = {2, 5}}},
                           .inputs = {0},
                           .outputs = {0, 1}}}});
  const std::vector<TensorKind> expected{TensorKind::input,    TensorKind::weight, TensorKind::state,
                                         TensorKind::state,    TensorKind::weight, TensorKind::temporary,
                                         TensorKind::temporary};
  ASSERT_EQ(graph.tensors.size(), expected.size());
  for (std::size_t t = 0; t < expected.size(); ++t) {
    EXPECT_EQ(graph.tensors[t].kind, expected[t]) << graph.tensors[t].name;
  }
  EXPECT_EQ(graph.tensors[4].bytes, 36);
}

TEST(Tflite, KeepsKindsInBodies) {
  const Graph graph = read(model_with_bodies("IF", {1, 2}));
  ASSERT_EQ(graph.tensors.size(), 6U);
  EXPECT_EQ(graph.tensors[0].kind, TensorKind::input);
  EXPECT_EQ(graph.tensors[1].kind, TensorKind::output);
  for (std::size_t t = 2; t < 6; ++t) EXPECT_EQ(graph.tensors[t].kind, TensorKind::temporary) << t;
}

TEST(Tflite, KnowsEveryElementType) {
  const std::map<DType, Bytes> expected{
      {DType::boolean, 5},  {DType::int2, 2},     {DType::int4, 3},         {DType::uint4, 3},
      {DType::int8, 5},     {DType::uint8, 5},    {DType::float8e4m3fn, 5}, {DType::float8e5m2, 5},
      {DType::int16, 10},   {DType::uint16, 10},  {DType::float16, 10},     {DType::bfloat16, 10},
      {DType::int32, 20},   {DType::uint32, 20},  {DType::float32, 20},     {DType::int64, 40},
      {DType::uint64, 40},  {DType::float64, 40}, {DType::complex64, 40},   {DType::complex128, 80},
      {DType::resource, 20}};
  TfliteSubgraph subgraph;
  for (const auto& [dtype, bytes] : expected) subgraph.tensors.push_back({.shape = {5}, .dtype = dtype});
  const Graph graph = read({.subgraphs = {subgraph}});
  for (const Tensor& tensor : graph.tensors)
    EXPECT_EQ(tensor.bytes, expected.at(tensor.dtype)) << name_of(tensor.dtype);
}

TEST(Tflite, RefusesTypesWithoutASize) {
  for (const auto& [type, name] :
       std::map<int, std::string>{{14, "VARIANT"}, {23, "unknown"}, {-1, "unknown"}, {5, "STRING"}}) {
    TfliteSpec spec = small_model();
    spec.subgraphs[0].tensors[2].type = type;
    expect_says(error_of(spec), {"tensor 'y'", std::to_string(type), name});
  }
}

TEST(Tflite, MeasuresStringsByTheirData) {
  TfliteSpec spec = small_model();
  auto& weight = spec.subgraphs[0].tensors[1];
  weight.dtype = DType::string;
  weight.data = "seven b";
  EXPECT_EQ(read(spec).tensors[1].bytes, 7);
  EXPECT_EQ(read(spec).tensors[1].dtype, DType::string);
  weight.is_outside = true;
  EXPECT_EQ(read(spec).tensors[1].bytes, 7);
  weight = {.name = "w", .dtype = DType::string, .external_buffer = 1};
  expect_says(error_of(spec), {"tensor 'w'", "STRING"});
  weight = {.name = "w", .dtype = DType::string, .data = "abc", .is_variable = true};
  expect_says(error_of(spec), {"tensor 'w'", "STRING"});
}

TEST(Tflite, AcceptsDataOfAnotherSizeThanTheShapes) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].tensors[1].data = "a";
  EXPECT_EQ(read(spec).tensors[1].bytes, 2);
  spec.subgraphs[0].tensors[1].data = "abcdef";
  EXPECT_EQ(read(spec).tensors[1].bytes, 2);
}

TEST(Tflite, ReadsDataOutsideTheFlatbuffer) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].tensors[1].is_outside = true;
  const std::string bytes = tflite_model(spec);
  EXPECT_TRUE(bytes.ends_with("ab"));
  EXPECT_EQ(read_tflite(bytes), read(small_model()));
  EXPECT_THROW((void)read_tflite(bytes.substr(0, bytes.size() - 1), {}), Error);
}

TEST(Tflite, RefusesDataOutsideTheFile) {
  constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  for (const TfliteRange range :
       {TfliteRange{2, 1'000'000}, TfliteRange{1'000'000, 2}, TfliteRange{largest, 2},
        TfliteRange{2, largest}, TfliteRange{largest, largest}, TfliteRange{1'000'000, 0}}) {
    TfliteSpec spec = small_model();
    spec.subgraphs[0].tensors[1].claim = range;
    expect_says(error_of(spec),
                {"tensor 'w'", "buffer 1", std::to_string(range.offset), std::to_string(range.size)});
  }
}

TEST(Tflite, RefusesBuffersThatDoNotExist) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].tensors[2].buffer = 9;
  expect_says(error_of(spec), {"tensor 'y'", "buffer 9", "2 buffers"});
}

TEST(Tflite, NamesTensorsWithoutANameByTheirNumber) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].tensors[2].name = "";
  spec.subgraphs[0].tensors[2].buffer = 9;
  expect_says(error_of(spec), {"tensor 2", "buffer 9"});
}

TEST(Tflite, RefusesNegativeDimensions) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].tensors[2].shape = {1, -4, 4, 2};
  expect_says(error_of(spec), {"tensor 'y'", "[1,-4,4,2]", "-1 for an open one"});
}

TEST(Tflite, RefusesSizesThatOverflow) {
  constexpr std::int32_t large = std::numeric_limits<std::int32_t>::max();
  TfliteSpec spec = small_model();
  spec.subgraphs[0].tensors[2].shape = {large, large, large};
  expect_says(error_of(spec), {"tensor 'y'", "overflows"});
  spec.subgraphs[0].tensors[2].shape = {large, large, large, 0};
  EXPECT_EQ(read(spec).tensors[2].bytes, 0);
  spec.subgraphs[0].tensors[2].shape = std::vector<std::int32_t>(1001, 1);
  expect_says(error_of(spec), {"tensor 'y'", "1001 dimensions"});
}

TEST(Tflite, TakesAnEmptyShapeForAScalar) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].tensors[2].shape = {};
  const Graph graph = read(spec);
  EXPECT_EQ(graph.tensors[2].shape, Shape{});
  EXPECT_EQ(graph.tensors[2].bytes, 1);
}

TEST(Tflite, TakesTheStaticShapeUnlessAnotherIsGiven) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].tensors[0].signature = {-1, 4, 4, 1};
  EXPECT_EQ(read(spec).tensors[0].shape, (Shape{1, 4, 4, 1}));
  const Graph graph = read(spec, {.shapes = {{"x", {3, 4, 4, 1}}}});
  EXPECT_EQ(graph.tensors[0].shape, (Shape{3, 4, 4, 1}));
  EXPECT_EQ(graph.tensors[0].bytes, 48);
  EXPECT_EQ(graph.tensors[2].bytes, 96);
  EXPECT_EQ(graph.tensors[3].bytes, 96);
}

/// The model with another operator in place of the convolution, whose result has an open shape.
TfliteSpec model_with_open_result() {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].operators[0].type = "Own";
  spec.subgraphs[0].tensors[2].shape = {1, -1, 4, 2};
  return spec;
}

TEST(Tflite, TakesAShapeForAnOpenOne) {
  const TfliteSpec spec = model_with_open_result();
  EXPECT_EQ(read(spec, {.shapes = {{"y", {1, 6, 4, 2}}}}).tensors[2].bytes, 48);
  expect_says(error_of(spec, {.shapes = {{"y", {2, 6, 4, 2}}}}), {"tensor 'y'", "[2,6,4,2]", "[1,6,4,2]"});
}

TEST(Tflite, RefusesShapesThatContradictTheModel) {
  TfliteSpec spec = small_model();
  const ImportOptions larger{.shapes = {{"x", {1, 5, 4, 1}}}};
  const ImportOptions of_lower_rank{.shapes = {{"x", {1, 4, 4}}}};
  expect_says(error_of(spec, larger), {"tensor 'x'", "[1,5,4,1]", "[1,4,4,1]"});
  expect_says(error_of(spec, of_lower_rank), {"tensor 'x'", "[1,4,4]", "[1,4,4,1]"});
  expect_says(usage_error_of(spec, {.shapes = {{"x", {1, 4, 4, 1}}}}), {"--shape 'x'", "no effect"});
  spec.subgraphs[0].tensors[0].signature = {-1, 4, 4, 1};
  expect_says(error_of(spec, larger), {"tensor 'x'", "[1,5,4,1]", "[?,4,4,1]"});
}

TEST(Tflite, PlansForABound) {
  TfliteSpec spec = model_with_open_result();
  const ImportOptions both{.bounds = {{"y", 1000}, {"z", 999}}};
  spec.subgraphs[0].tensors[3].shape = {1, -1, 4, 2};
  const Graph graph = read(spec, both);
  EXPECT_EQ(graph.tensors[2].shape, std::nullopt);
  EXPECT_EQ(graph.tensors[2].bytes, 1000);
  EXPECT_EQ(graph.tensors[3].bytes, 999);
  spec.subgraphs[0].tensors[2].dtype = DType::string;
  EXPECT_EQ(read(spec, both).tensors[2].bytes, 1000);
  expect_says(usage_error_of(small_model(), {.bounds = {{"y", 1000}}}),
              {"--bound 'y'", "no effect", "32 bytes"});
}

TEST(Tflite, RefusesOptionsForWhatTheModelHasNot) {
  const TfliteSpec spec = small_model();
  expect_says(usage_error_of(spec, {.dims = {{"batch", 4}}}), {"--dim", "batch"});
  expect_says(usage_error_of(spec, {.shapes = {{"nobody", {4}}}}), {"--shape", "nobody"});
  expect_says(usage_error_of(spec, {.bounds = {{"nobody", 4}}}), {"--bound", "nobody"});
  expect_says(usage_error_of(spec, {.shapes = {{"x", {1, 4, 4, 1}}}, .bounds = {{"x", 4}}}),
              {"'x'", "--shape", "--bound"});
  expect_says(usage_error_of(spec, {.states = {{"nobody", "x"}}}), {"--state", "nobody"});
  expect_says(usage_error_of(spec, {.states = {{"z", "nobody"}}}), {"--state", "nobody"});
  expect_says(usage_error_of(spec, {.states = {{"y", "x"}}}), {"--state", "'y'"});
  expect_says(usage_error_of(spec, {.scratch = {{.subgraph = 0, .op = 2, .bytes = 1}}}), {"--scratch", "2"});
  expect_says(usage_error_of(spec, {.scratch = {{.subgraph = 5, .op = 0, .bytes = 1}}}), {"--scratch", "5"});
}

TEST(Tflite, TiesStates) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].tensors[0].shape = {1, 4, 4, 2};
  const Graph graph = read(spec, {.states = {{"z", "x"}}});
  EXPECT_EQ(graph.ties, (std::vector<StateTie>{{.output = 3, .input = 0}}));
  spec.subgraphs[0].tensors[0].shape = {1, 4, 3, 1};  // a state grows along one axis
  expect_says(error_of(spec, {.states = {{"z", "x"}}}), {"tensor 'z'", "tensor 'x'"});
}

TEST(Tflite, AddsScratch) {
  const ImportOptions options{.scratch = {{.subgraph = 0, .op = 0, .bytes = 100},
                                          {.subgraph = 1, .op = 0, .bytes = 8},
                                          {.subgraph = 0, .op = 0, .bytes = 7}}};
  const Graph graph = read(model_with_bodies("IF", {1, 2}), options);
  ASSERT_EQ(graph.tensors.size(), 9U);
  EXPECT_EQ(graph.tensors[6],
            (Tensor{"scratch of operator 0", TensorKind::scratch, DType::uint8, Shape{100}, 100}));
  EXPECT_EQ(graph.tensors[7].name, "scratch of operator 0 of subgraph 1");
  EXPECT_NE(graph.tensors[8].name, graph.tensors[6].name);
  EXPECT_EQ(first_operator(graph).scratch, (std::vector<TensorId>{6, 8}));
  EXPECT_EQ(graph.subgraphs[1].operators[0].scratch, (std::vector<TensorId>{7}));
}

TEST(Tflite, ReadsBodies) {
  const Graph branches = read(model_with_bodies("IF", {2, 1}));
  EXPECT_EQ(first_operator(branches).bodies, (std::vector<std::size_t>{2, 1}));
  EXPECT_EQ(first_operator(branches).body_use, BodyUse::once);
  EXPECT_FALSE(first_operator(branches).stateful);
  EXPECT_EQ(branches.subgraphs[2].operators[0].inputs, (std::vector<std::optional<TensorId>>{4}));
  EXPECT_EQ(branches.subgraphs[2].outputs, (std::vector<TensorId>{5}));

  const Graph loop = read(model_with_bodies("WHILE", {1, 2}));
  EXPECT_EQ(first_operator(loop).bodies, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(first_operator(loop).body_use, BodyUse::repeated);
  EXPECT_FALSE(first_operator(loop).stateful);

  const Graph once = read(model_with_bodies("CALL_ONCE", {2}));
  EXPECT_EQ(first_operator(once).bodies, (std::vector<std::size_t>{2}));
  EXPECT_EQ(first_operator(once).body_use, BodyUse::once);
  EXPECT_TRUE(first_operator(once).stateful);
}

TEST(Tflite, RefusesBodiesThatDoNotExist) {
  for (const std::int32_t body : {0, 3, -1}) {
    expect_says(error_of(model_with_bodies("WHILE", {1, body})),
                {"WHILE", "0 of subgraph 0", "body " + std::to_string(body), "1 to 2"});
    expect_says(error_of(model_with_bodies("CALL_ONCE", {body})),
                {"CALL_ONCE", "body " + std::to_string(body)});
  }
}

TEST(Tflite, RefusesBodiesThatRunThemselves) {
  TfliteSpec spec = model_with_bodies("IF", {1, 2});
  spec.subgraphs[2].operators[0] = {.type = "IF", .inputs = {0}, .outputs = {1}, .bodies = {1, 2}};
  expect_says(error_of(spec), {"subgraph 2"});
}

TEST(Tflite, RefusesBodiesThatNobodyNames) {
  for (const std::string type : {"IF", "WHILE", "CALL_ONCE"}) {
    TfliteSpec spec = model_with_bodies(type, {1, 2});
    auto& op = spec.subgraphs[0].operators[0];
    op.options = "";
    expect_says(error_of(spec), {type, "0 of subgraph 0", "type 0"});
    op.options = type == "IF" ? "WHILE" : "IF";
    expect_says(error_of(spec), {type, "0 of subgraph 0", type == "IF" ? "type 93" : "type 92"});
  }
}

TEST(Tflite, KeepsTheOrderOfOperatorsWithEffects) {
  const Graph graph =
      read({.subgraphs = {{.tensors = {{.name = "handle", .dtype = DType::resource},
                                       {.name = "value", .shape = {4}},
                                       {.name = "x", .shape = {4}},
                                       {.name = "variable", .shape = {4}, .is_variable = true},
                                       {.name = "y", .shape = {4}},
                                       {.name = "found", .shape = {4}},
                                       {.name = "number", .dtype = DType::int32}},
                           .operators = {{.type = "VAR_HANDLE", .outputs = {0}},
                                         {.type = "ASSIGN_VARIABLE", .inputs = {0, 2}},
                                         {.type = "READ_VARIABLE", .inputs = {0}, .outputs = {1}},
                                         {.type = "SVDF", .inputs = {2, 3}, .outputs = {4}},
                                         {.type = "HASHTABLE_FIND", .inputs = {0, 2}, .outputs = {5}},
                                         {.type = "READ_VARIABLE", .inputs = {6}},
                                         {.type = "ABS", .inputs = {2}}},
                           .inputs = {2, 6},
                           .outputs = {4}}}});
  std::vector<bool> stateful;
  for (const Operator& op : graph.subgraphs[0].operators) stateful.push_back(op.stateful);
  EXPECT_EQ(stateful, (std::vector<bool>{false, true, true, true, true, true, false}));
}

TEST(Tflite, GivesOperatorsTheEffectsOfTheirBodies) {
  TfliteSpec spec = model_with_bodies("IF", {1, 1});
  spec.subgraphs[1].operators = {{.type = "IF", .inputs = {0}, .outputs = {1}, .bodies = {2, 2}}};
  EXPECT_EQ(first_operator(read(spec)).bodies, std::vector<std::size_t>{1}) << "only one branch runs";
  EXPECT_FALSE(first_operator(read(spec)).stateful);
  spec.subgraphs[2].tensors[0].is_variable = true;
  const Graph graph = read(spec);
  EXPECT_TRUE(first_operator(graph).stateful);
  EXPECT_TRUE(graph.subgraphs[1].operators[0].stateful);
}

TEST(Tflite, TakesInputsOfAcceleratorsThatNobodyWritesForScratch) {
  TfliteSpec spec = small_model();
  auto& subgraph = spec.subgraphs[0];
  subgraph.tensors.push_back({.name = "arena", .shape = {500}, .dtype = DType::uint8});
  for (auto& op : subgraph.operators) {
    op.type = "ethos-u";
    op.inputs.insert(op.inputs.end(), {4, 4});
  }
  const Graph graph = read(spec);
  EXPECT_EQ(graph.tensors[4].kind, TensorKind::scratch);
  EXPECT_EQ(graph.tensors[4].bytes, 500);
  for (const Operator& op : graph.subgraphs[0].operators) EXPECT_EQ(op.scratch, (std::vector<TensorId>{4}));
  EXPECT_EQ(graph.subgraphs[0].operators[1].inputs,
            (std::vector<std::optional<TensorId>>{2, std::nullopt, std::nullopt}));
  subgraph.operators[0].type = "another";
  expect_says(error_of(spec), {"tensor 'arena'", "another"});
}

TEST(Tflite, TakesTheFirstInputOfAcceleratorsForInstructions) {
  TfliteSpec spec{
      .subgraphs = {{.tensors = {{.name = "stream", .shape = {3}, .dtype = DType::uint8, .data = "abc"},
                                 {.name = "flash", .shape = {2}, .dtype = DType::uint8, .data = "de"},
                                 {.name = "x", .shape = {4}, .dtype = DType::uint8},
                                 {.name = "y", .shape = {4}, .dtype = DType::uint8}},
                     .operators = {{.type = "ethos-u", .inputs = {0, 1, 2}, .outputs = {3}}},
                     .inputs = {2},
                     .outputs = {3}}}};
  const Graph graph = read(spec);
  EXPECT_EQ(graph.tensors[0].kind, TensorKind::instruction);
  EXPECT_EQ(graph.tensors[1].kind, TensorKind::weight);
  spec.subgraphs[0].operators[0].type = "another";
  EXPECT_EQ(read(spec).tensors[0].kind, TensorKind::weight);
}

TEST(Tflite, RefusesTwoProducers) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].operators.push_back({.type = "RELU", .inputs = {0}, .outputs = {2}});
  expect_says(error_of(spec), {"tensor 'y'", "CONV_2D", "RELU"});
}

TEST(Tflite, RefusesAMissingProducer) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].operators.erase(spec.subgraphs[0].operators.begin());
  expect_says(error_of(spec), {"tensor 'y'", "RELU"});
  spec.subgraphs[0].tensors[2].shape = {0};
  EXPECT_EQ(read(spec).tensors[2].bytes, 0);
}

TEST(Tflite, RefusesACycle) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].operators[0].inputs[0] = 3;
  expect_says(error_of(spec), {"tensor 'z'", "cycle", "CONV_2D"});
}

TEST(Tflite, QuotesUntrustedNames) {
  TfliteSpec spec = small_model();
  spec.subgraphs[0].tensors[2].name = "\x1b[31m" + std::string(10'000, 'y');
  spec.subgraphs[0].tensors[2].buffer = 9;
  const std::string message = error_of(spec);
  expect_says(message, {"\\x1b[31m", "buffer 9"});
  EXPECT_LT(message.size(), 300U);
}

/// Many references to one part make a model much larger than its file.
TEST(Tflite, RefusesFilesThatRepeatThemselves) {
  TfliteSpec spec{.subgraphs = {{.tensors = std::vector<testing::TfliteTensor>(1000)}}};
  EXPECT_EQ(read(spec).tensors.size(), 1000U);
  spec.repeats = 1000;
  EXPECT_LT(tflite_model(spec).size(), 100'000U);
  EXPECT_NE(error_of(spec), "");
  TfliteSpec named{.subgraphs = {{.tensors = {{.name = std::string(10'000, 'n')}}}}};
  EXPECT_EQ(read(named).tensors.size(), 1U);
  named.repeats = 100;
  expect_says(error_of(named), {"repeats"});
}

/// A model with a bit of everything, so that damage to any field is tried.
TfliteSpec model_of_everything() {
  TfliteSpec spec = model_with_bodies("WHILE", {1, 2});
  auto& network = spec.subgraphs[0];
  network.tensors.push_back({.name = "w", .shape = {2}, .dtype = DType::int4, .data = "w"});
  network.tensors.push_back(
      {.name = "o", .shape = {4}, .dtype = DType::int8, .data = "data", .is_outside = true});
  network.tensors.push_back({.name = "v", .shape = {1, 1}, .signature = {-1, 1}, .is_variable = true});
  network.operators.push_back({.type = "Own", .inputs = {2, -1, 3, 4}});
  network.operators.push_back({.type = "IF", .inputs = {2, 0}, .bodies = {1, 2}});
  network.operators.push_back({.type = "CALL_ONCE", .bodies = {3}});
  spec.subgraphs.push_back({.tensors = {{.name = "set", .shape = {2}, .dtype = DType::int8, .data = "ab"}}});
  return spec;
}

/// Damaged files give a graph or an Error; anything else ends the test.
bool is_readable(std::string_view bytes) {
  try {
    (void)read_tflite(bytes);
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(Tflite, SurvivesTruncation) {
  const std::string bytes = tflite_model(model_of_everything());
  EXPECT_TRUE(is_readable(bytes));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<char> exact(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(is_readable({exact.data(), exact.size()})) << size;
  }
}

TEST(Tflite, SurvivesDamageToAnyByte) {
  const std::string bytes = tflite_model(model_of_everything());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int flip : {0x01, 0x02, 0x04, 0x10, 0x40, 0x80, 0xff}) {
      std::vector<char> damaged(bytes.begin(), bytes.end());
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      (void)is_readable({damaged.data(), damaged.size()});
    }
  }
}

/// The folder of real models, or nothing where there is none.
std::filesystem::path real_models() {
  const char* const variable = std::getenv("STOWAGE_DATA");
  std::filesystem::path data = variable != nullptr ? variable : "";
#ifdef STOWAGE_DATA_DIR
  if (data.empty()) data = STOWAGE_DATA_DIR;
#endif
  const std::filesystem::path models = data / "models" / "tflite";
  return !data.empty() && std::filesystem::is_directory(models) ? models : std::filesystem::path{};
}

/// Numbers of tensors and operators as counted by the format's public Python reader.
TEST(Tflite, ReadsRealModels) {
  const std::filesystem::path models = real_models();
  if (models.empty()) GTEST_SKIP() << "no models: STOWAGE_DATA names no folder with models/tflite";
  const std::map<std::string, std::pair<std::size_t, std::size_t>> expected{
      {"ad01_int8", {31, 10}},
      {"audio_preprocessor_int8", {43, 22}},
      {"hello_world_int8", {10, 3}},
      {"keyword_scrambled_8bit", {54, 15}},
      {"kws_ref_model", {35, 13}},
      {"kws_ref_model_float32", {35, 13}},
      {"mcunet_vww", {163, 63}},
      {"mcunetv2_large", {380, 163}},
      {"micro_speech_quantized", {10, 4}},
      {"mobilenet_v2_int8_224", {212, 84}},
      {"person_detect", {89, 31}},
      {"person_detect_vela", {6, 1}},
      {"pretrainedResnet_quant", {38, 16}},
      {"trained_lstm_int8", {27, 4}},
      {"vww_96_float", {89, 31}},
      {"vww_96_int8", {89, 31}}};
  for (const auto& [name, counts] : expected) {
    const base::InputFile file(models / (name + ".tflite"));
    const Graph graph = read_tflite(file.bytes());
    EXPECT_EQ(graph.subgraphs.size(), 1U) << name;
    EXPECT_EQ(graph.tensors.size(), counts.first) << name;
    EXPECT_EQ(graph.subgraphs[0].operators.size(), counts.second) << name;
  }
}

TEST(Tflite, ReadsAKeywordSpotterWithVariables) {
  const std::filesystem::path models = real_models();
  if (models.empty()) GTEST_SKIP() << "no models: STOWAGE_DATA names no folder with models/tflite";
  const base::InputFile file(models / "keyword_scrambled_8bit.tflite");
  const Graph graph = read_tflite(file.bytes());
  const auto variables = std::ranges::count(graph.tensors, TensorKind::state, &Tensor::kind);
  const auto stateful = std::ranges::count(graph.subgraphs[0].operators, true, &Operator::stateful);
  EXPECT_EQ(variables, 7);
  EXPECT_EQ(stateful, 7);
  for (const Operator& op : graph.subgraphs[0].operators)
    EXPECT_EQ(op.stateful, op.type == "SVDF") << op.type;
}

}  // namespace
}  // namespace stowage
