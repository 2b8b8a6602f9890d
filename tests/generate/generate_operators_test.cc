// Single operators as C: many of them in one network give what the interpreter gives, bit for bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "c_packages.h"
#include "kernel_calls.h"
#include "kernels/kernels.h"
#include "long_tests.h"
#include "many_calls.h"
#include "onnx_models.h"
#include "onnx_samples.h"
#include "row_calls.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "temporary.h"
#include "tflite_models.h"
#include "tflite_samples.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::is_generated;
using testing::ManyCalls;
using testing::node;
using testing::package_of;

/// Puts the nodes of a model behind those of another one; names get a prefix.
void append(onnx::GraphProto& all, onnx::GraphProto one, const std::string& prefix) {
  const auto rename = [&](auto* value) { value->set_name(prefix + value->name()); };
  for (auto& value : *one.mutable_input()) rename(&value);
  for (auto& value : *one.mutable_output()) rename(&value);
  for (auto& value : *one.mutable_initializer()) rename(&value);
  for (auto& own : *one.mutable_node()) {
    rename(&own);
    for (auto& name : *own.mutable_input())
      if (!name.empty()) name = prefix + name;
    for (auto& name : *own.mutable_output()) name = prefix + name;
  }
  all.mutable_input()->MergeFrom(one.input());
  all.mutable_output()->MergeFrom(one.output());
  all.mutable_initializer()->MergeFrom(one.initializer());
  all.mutable_node()->MergeFrom(one.node());
}

Network read(const onnx::ModelProto& model) {
  return parse_network(model.SerializeAsString(), "m.onnx", {.constants = true});
}

/// Not if the size of a result is unknown, either.
bool is_generated(const onnx::ModelProto& sample) {
  try {
    return is_generated(read(sample));
  } catch (const Error&) {
    return false;
  }
}

/// Samples with an operator of which C is generated.
std::vector<std::pair<std::string, onnx::ModelProto>> generated_samples(int operator_set) {
  std::vector<std::pair<std::string, onnx::ModelProto>> all;
  std::vector<std::string> types;
  for (const auto& [type, prepare] : kernels::onnx_kernels())
    if (type.find('.') == std::string_view::npos) types.emplace_back(type);
  std::ranges::sort(types);
  for (const std::string& type : types) {
    const auto sample = testing::sample_of(type, operator_set);
    if (!sample) continue;
    if (is_generated(*sample)) all.emplace_back(type, *sample);
  }
  return all;
}

TEST(GenerateOperators, SamplesOfOnnxGiveWhatTheInterpreterGives) {
  constexpr int operator_set = 20;
  constexpr std::size_t packages_in_all = 3;  // one for each compiler
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  const auto samples = generated_samples(operator_set);
  EXPECT_GE(samples.size(), 90U);
  for (std::size_t p = 0; p < packages_in_all; ++p) {
    onnx::ModelProto model;
    for (std::size_t i = p; i < samples.size(); i += packages_in_all) {
      const auto& [type, sample] = samples[i];
      if (model.opset_import_size() == 0) {
        model = sample;
        model.mutable_graph()->Clear();
      }
      append(*model.mutable_graph(), sample.graph(), type + "_");
    }
    const std::string name = "samples_" + std::to_string(p);
    packages.add(name, package_of(read(model), name));
  }
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

using testing::array;
using testing::Call;
using testing::Settings;
using enum DType;

/// Calls that those for rows lack: other types, places that are computed, general matrices.
std::vector<Call> further_calls() {
  std::mt19937_64 random(5);
  const auto call = [](const std::string& type, const std::vector<Shape>& data,
                       const std::vector<DType>& types, const Shape& output, DType result,
                       const Settings& settings = {}, std::int64_t version = 17) {
    return Call{.type = type,
                .data = data,
                .output = output,
                .settings = settings,
                .version = version,
                .dtypes = types,
                .output_dtype = result};
  };
  const auto number = [](std::int64_t value) { return Attributes::Value{value}; };
  const Shape small{3, 4};
  std::vector<Call> all;
  for (const DType dtype : {int8, uint8, int32, int64}) {
    for (const char* const type : {"Max", "Min", "Add", "Sub", "Mul"})
      all.push_back(call(type, {{2, 3, 4}, {3, 1}}, {dtype, dtype}, {2, 3, 4}, dtype));
    for (const char* const type : {"ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd"})
      all.push_back(call(type, {{2, 3, 4}}, {dtype}, {2, 1, 4}, dtype, {{"axes", Shape{1}}}, 11));
    for (const DType to : {float32, int8, int32, int64, boolean})
      all.push_back(call("Cast", {small}, {dtype}, small, to));
    all.push_back(call("Cast", {small}, {float32}, small, dtype));
    all.push_back(call("CAST", {small}, {float32}, small, dtype, {}, 1));
    all.push_back(call("CAST", {small}, {dtype}, small, float32, {}, 1));
    all.push_back(call("Where", {{4}, {3, 1}, {3, 4}}, {boolean, dtype, dtype}, small, dtype));
    all.push_back(call("SELECT_V2", {{3, 1}, {4}, {3, 4}}, {boolean, dtype, dtype}, small, dtype, {}, 1));
    all.push_back(call("LESS", {small, {1}}, {dtype, dtype}, small, boolean, {}, 1));
    all.push_back(call("MAXIMUM", {small, {4}}, {dtype, dtype}, small, dtype, {}, 1));
    all.push_back(call("Expand", {{3, 1}}, {dtype}, {2, 3, 4}, dtype));
    all.back().constants = {testing::integers({2, 3, 4})};
    all.push_back(call("Relu", {small}, {dtype}, small, dtype));
    all.push_back(call("ArgMax", {{2, 3, 4}}, {dtype}, {2, 1, 4}, int64, {{"axis", number(1)}}));
    all.push_back(call("Equal", {small, {4}}, {dtype, dtype}, small, boolean));
  }
  for (const DType dtype : {int32, int64}) {
    all.push_back(call("Div", {small, small}, {dtype, dtype}, small, dtype));
    for (const char* const type : {"ADD", "SUB", "MUL", "SQUARED_DIFFERENCE"})
      if (dtype == int32) all.push_back(call(type, {small, {4}}, {dtype, dtype}, small, dtype, {}, 1));
    all.push_back(
        call("Gather", {{2, 64, 3}, {2, 2}}, {float32, dtype}, {2, 2, 2, 3}, float32, {{"axis", number(1)}}));
    all.push_back(call("GATHER", {{2, 64, 3}, {2, 5}}, {int8, dtype}, {2, 5, 3}, int8,
                       {{"axis", number(1)}, {"batch_dims", number(1)}}, 1));
    all.push_back(call("GatherElements", {{2, 64, 3}, {2, 5, 3}}, {float32, dtype}, {2, 5, 3}, float32,
                       {{"axis", number(1)}}));
    all.push_back(call("GatherND", {{64, 64, 3}, {2, 2}}, {int64, dtype}, {2, 3}, int64));
    all.push_back(call("GATHER_ND", {{64, 64, 3}, {4, 1}}, {int8, dtype}, {4, 64, 3}, int8, {}, 1));
    all.push_back(call("OneHot", {{2, 3}}, {dtype}, {2, 5, 3}, float32, {{"axis", number(1)}}));
    all.back().constants = {array<std::int64_t>({1}, {5}), array<float>({2}, {-1, 2})};
  }
  for (const char* const type : {"Exp", "Abs", "Softmax", "LogSoftmax", "Neg", "Relu"})
    all.push_back(call(type, {small}, {float64}, small, float64));
  for (const char* const type : {"Mul", "Add", "Max", "Div"})
    all.push_back(call(type, {small, {4}}, {float64, float64}, small, float64));
  for (const char* const type : {"ReduceSum", "ReduceMean", "ReduceMax"})
    all.push_back(call(type, {small}, {float64}, {3, 1}, float64, {{"axes", Shape{1}}}, 11));
  for (const DType dtype : {float32, int64, boolean}) {
    all.push_back(call("Cast", {small}, {float64}, small, dtype));
    all.push_back(call("Cast", {small}, {dtype}, small, float64));
  }
  for (const char* const mode : {"constant", "reflect"}) {
    all.push_back(call("Pad", {{3, 4}}, {int64}, {4, 7}, int64, {{"mode", std::string(mode)}}));
    all.back().constants = {testing::integers({0, 2, 1, 1}), array<std::int64_t>({}, {7})};
  }
  for (const DType dtype : {float32, float64, int8, uint8, int16, uint16, int32, int64}) {
    for (const std::int64_t largest : {0, 1}) {
      all.push_back(call("TopK", {{2, 9, 3}}, {dtype}, {2, 4, 3}, dtype,
                         {{"axis", number(1)}, {"largest", number(largest)}}));
      all.back().constants = {testing::integers({4})};
      all.back().more_outputs = {{{2, 4, 3}, int64}};
    }
  }
  all.push_back(call("ScatterElements", {{2, 64, 3}, {2, 5, 3}, {2, 5, 3}}, {float32, int64, float32},
                     {2, 64, 3}, float32, {{"axis", number(1)}}));
  all.push_back(call("Gather", {{6, 3}}, {uint8}, {4, 3}, uint8));
  all.back().constants = {testing::integers({-1, 2, -6, 5})};
  all.push_back(call("Clip", {small}, {int64}, small, int64));
  all.back().constants = {array<std::int64_t>({}, {2}), array<std::int64_t>({}, {4})};
  all.push_back(call("Clip", {small, {}, {}}, {float32, float32, float32}, small, float32));
  all.push_back(call("Max", {small, {4}, {3, 1}, {}}, {}, small, float32));
  all.push_back(call("Pow", {small, {4}}, {float32, int32}, small, float32));
  all.push_back(call("DIV", {small, {4}}, {}, small, float32, {{"fused_activation_function", number(3)}}, 1));
  for (const Shape& axes : {Shape{0, 2}, Shape{1, 3}, Shape{3}, Shape{0, 1, 2, 3}}) {
    Shape kept{2, 3, 4, 5};
    for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
    for (const char* const type : {"ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin",
                                   "ReduceProd", "ReduceSum", "ReduceSumSquare"})
      all.push_back(call(type, {{2, 3, 4, 5}}, {}, kept, float32, {{"axes", axes}}, 11));
    const Array narrow =
        testing::narrow({axes.begin(), axes.end()}, {static_cast<std::int64_t>(axes.size())});
    for (const char* const type : {"MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"}) {
      all.push_back(call(type, {{2, 3, 4, 5}}, {}, kept, float32, {{"keep_dims", number(1)}}, 1));
      all.back().constants = {narrow};
    }
  }
  for (const char* const type : {"Softmax", "LogSoftmax"})
    for (const std::int64_t axis : {0, 1, 2})
      all.push_back(call(type, {{2, 3, 4}}, {}, {2, 3, 4}, float32, {{"axis", number(axis)}}));
  for (const std::int64_t axis : {1, 2, 3}) {
    const Shape image{2, 3, 4, 5};
    const Shape rest(image.begin() + axis, image.end());
    all.push_back(
        call("LayerNormalization", {image, rest, rest}, {}, image, float32, {{"axis", number(axis)}}));
  }
  all.push_back(call("L2_NORMALIZATION", {small}, {}, small, float32, {}, 1));
  all.push_back(call("MatMul", {{2, 1, 3, 4}, {5, 4, 2}}, {}, {2, 5, 3, 2}, float32));
  all.push_back(call("MatMul", {{4}, {5, 4, 2}}, {}, {5, 2}, float32));
  all.push_back(call("MatMul", {{5, 3, 4}, {4}}, {}, {5, 3}, float32));
  for (const std::int64_t turned : {0, 1}) {
    const Shape a = turned == 0 ? Shape{3, 4} : Shape{4, 3};
    const Shape b = turned == 0 ? Shape{2, 4} : Shape{4, 2};
    const Settings settings{
        {"transA", number(turned)}, {"transB", number(1 - turned)}, {"alpha", 0.5F}, {"beta", 0.3F}};
    all.push_back(call("Gemm", {a, b, {3, 1}}, {}, {3, 2}, float32, settings));
    all.push_back(
        call("BATCH_MATMUL",
             {turned == 0 ? Shape{2, 3, 4} : Shape{2, 4, 3}, turned == 0 ? Shape{1, 2, 4} : Shape{1, 4, 2}},
             {}, {2, 3, 2}, float32, {{"adj_x", number(turned)}, {"adj_y", number(1 - turned)}}, 1));
  }
  all.push_back(call("Gemm", {{2, 4}}, {}, {2, 2}, float32));
  all.back().constants = {testing::random_array(random, {4, 2}), testing::random_array(random, {2, 1})};
  for (const DType dtype : {float32, int32}) {
    for (const char* const type :
         {"UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_MIN", "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_SUM"}) {
      all.push_back(call(type, {{4, 2, 3}}, {dtype}, {5, 2, 3}, dtype, {}, 1));
      all.back().constants = {testing::narrow({4, 1, -1, 4}, {4}), testing::narrow({5}, {})};
      all.push_back(call(type, {{2, 2, 3}}, {dtype}, {3, 3}, dtype, {}, 1));
      all.back().constants = {testing::narrow({0, 2, 2, 0}, {2, 2}), testing::narrow({3}, {})};
    }
    for (const Shape& shape : {Shape{3, 4}, Shape{}}) {
      all.push_back(call("FILL", {}, {}, shape, dtype, {}, 1));
      const std::vector<double> extents(shape.begin(), shape.end());
      all.back().constants = {testing::narrow(extents, {static_cast<std::int64_t>(shape.size())}),
                              dtype == float32 ? array<float>({}, {0.5}) : array<std::int32_t>({}, {-7})};
    }
    all.push_back(call("REDUCE_PROD", {{2, 3, 4}}, {dtype}, {2, 4}, dtype, {{"keep_dims", number(0)}}, 1));
    all.back().constants = {testing::narrow({1}, {1})};
    for (const char* const type : {"FLOOR_DIV", "FLOOR_MOD"}) {
      all.push_back(call(type, {small}, {dtype}, small, dtype, {}, 1));
      all.back().constants = {dtype == float32 ? array<float>({4}, {-2.5, 3, 1, -1})
                                               : array<std::int32_t>({4}, {-3, 2, 1, -1})};
    }
    all.push_back(call("REVERSE_V2", {{2, 3, 4}}, {dtype}, {2, 3, 4}, dtype, {}, 1));
    all.back().constants = {testing::narrow({1}, {1})};
  }
  const std::vector<std::pair<const char*, std::vector<Shape>>> sums_of_products{
      {"btgi,gih->btgh", {{2, 3, 2, 4}, {2, 4, 3}}},
      {"ij,jk->ki", {{2, 3}, {3, 4}}},
      {"ii->i", {{3, 3}}},
      {"...i,i", {{2, 3, 4}, {4}}},
      {"i,j,ij->", {{2}, {3}, {2, 3}}}};
  const std::vector<Shape> of_sums{{2, 3, 2, 3}, {4, 2}, {3}, {2, 3}, {}};
  for (std::size_t i = 0; i < of_sums.size(); ++i)
    all.push_back(call("Einsum", sums_of_products[i].second, {}, of_sums[i], float32,
                       {{"equation", std::string(sums_of_products[i].first)}}));
  all.push_back(call("SHAPE", {{2, 3, 4}}, {}, {3}, int32, {}, 1));
  all.push_back(call("BatchNormalization", {{2, 3, 4}, {3}, {3}, {3}}, {}, {2, 3, 4}, float32));
  all.back().constants = {array<float>({3}, {1, 0.5, 2})};
  all.push_back(call("Split", {{2, 5, 3}}, {}, {2, 2, 3}, float32, {{"axis", number(1)}}));
  all.back().constants = {testing::integers({2, 3})};
  all.back().more_outputs = {{{2, 3, 3}, float32}};
  return all;
}

/// Of both formats, with operands that are repeated, along all axes, of several types. In a hurry, of those with rows
/// every fourth.
TEST(GenerateOperators, CallsGiveWhatTheInterpreterGives) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  ManyCalls wholes(false);
  ManyCalls rows(true);
  for (const Call& call : further_calls()) EXPECT_TRUE(wholes.add(call)) << call.type;
  const std::vector<Call> calls = testing::all_row_calls();
  const std::size_t step = testing::has_time() ? 1 : 4;
  for (std::size_t i = 0; i < calls.size(); i += step) {
    wholes.add(calls[i]);
    rows.add(calls[i]);
  }
  EXPECT_GE(wholes.count(), 300U);
  EXPECT_GE(rows.count(), 140U);
  wholes.add_to(packages);
  rows.add_to(packages);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

/// None if there is none, or if sizes of results follow from data.
std::optional<Network> quantized_sample(const std::string& type, DType dtype) {
  const auto sample = testing::tflite_sample_of(type, dtype);
  if (!sample) return std::nullopt;
  ImportOptions options = sample->options;
  options.constants = true;
  try {
    return parse_network(sample->content, "x.tflite", options);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Operators of TFLite on quantized numbers.
TEST(GenerateOperators, QuantizedSamplesOfTfliteGiveWhatTheInterpreterGives) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  std::map<DType, std::size_t> counts;
  ManyCalls wholes(false);
  ManyCalls rows(true);
  std::set<std::string_view> types;
  for (const auto& [type, prepare] : kernels::tflite_kernels()) types.insert(type);
  for (const std::string_view type : types) {
    for (const DType dtype : {int8, uint8, int16}) {
      const auto network = quantized_sample(std::string(type), dtype);
      if (!network) continue;
      counts[dtype] += wholes.add(*network) ? 1 : 0;
      rows.add(*network);
    }
  }
  EXPECT_GE(counts[int8], 50U);
  EXPECT_GE(counts[uint8], 50U);
  EXPECT_GE(counts[int16], 40U);
  wholes.add_to(packages);
  rows.add_to(packages);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

/// Numbers of two scales, and their result of a third; the second input is repeated.
TEST(GenerateOperators, SquaredDifferencesOfBytesGiveWhatTheInterpreterGives) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  const auto bytes = [](const char* name, const std::vector<std::int32_t>& shape, float scale,
                        std::int64_t zero_point) {
    return testing::TfliteTensor{
        .name = name, .shape = shape, .dtype = DType::int8, .scale = {scale}, .zero_point = {zero_point}};
  };
  for (const auto& [name, shape] : std::vector<std::pair<std::string, std::vector<std::int32_t>>>{
           {"alike", {2, 5, 3}}, {"repeated", {3}}, {"one", {1}}}) {
    const testing::TfliteSubgraph network{
        .tensors = {bytes("a", {2, 5, 3}, 0.03F, 7), bytes("b", shape, 0.05F, -20),
                    bytes("y", {2, 5, 3}, 0.2F, -128)},
        .operators = {{.type = "SQUARED_DIFFERENCE", .inputs = {0, 1}, .outputs = {2}}},
        .inputs = {0, 1},
        .outputs = {2}};
    const Network parsed =
        parse_network(testing::tflite_model({.subgraphs = {network}}), "m.tflite", {.constants = true});
    packages.add(name, package_of(parsed, name));
  }
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

/// At one index and at several, along every axis.
TEST(GenerateOperators, GathersByRowsGiveWhatTheInterpreterGives) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  ManyCalls rows(true);
  for (const Call& call : testing::all_row_calls())
    if (call.type == "Gather" || call.type == "GATHER") rows.add(call);
  EXPECT_GE(rows.count(), 8U);
  rows.add_to(packages);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

/// Infinities and what is no number, as constants, attributes and outputs of float32 and float64.
Network network_of_special_numbers(bool by_rows) {
  testing::OnnxParts parts;
  onnx::TensorProto& weights = parts.initializers.emplace_back();
  weights.set_name("w");
  weights.set_data_type(onnx::TensorProto::FLOAT);
  weights.add_dims(4);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float number : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity, 1.0F})
    weights.add_float_data(number);
  onnx::TensorProto& ones = parts.initializers.emplace_back();
  ones.set_name("m");
  ones.set_data_type(onnx::TensorProto::FLOAT);
  ones.add_dims(4);
  ones.add_dims(2);
  for (int i = 0; i < 8; ++i) ones.add_float_data(1);
  parts.inputs = {testing::tensor_value("x", {3, 4})};
  parts.nodes = {node("Add", {"x", "w"}, {"y"}),
                 node("Sub", {"y", "y"}, {"d"}),  // whose NaN has the sign that processors choose
                 node("Cast", {"d"}, {"z"}, {attribute("to", std::int64_t{onnx::TensorProto::DOUBLE})})};
  parts.outputs = {testing::tensor_value("y", {3, 4}),
                   testing::tensor_value("z", {3, 4}, onnx::TensorProto::DOUBLE)};
  onnx::TensorProto& mask = parts.initializers.emplace_back();
  mask.set_name("k");
  mask.set_data_type(onnx::TensorProto::FLOAT);
  mask.add_dims(4);
  for (const float number : {-infinity, -infinity, 0.0F, infinity}) mask.add_float_data(number);
  parts.nodes.push_back(node("Min", {"x", "k"}, {"masked"}));
  parts.nodes.push_back(node("Max", {"x", "k"}, {"endless"}));
  for (const char* const type : {"Celu", "HardSigmoid", "HardSwish", "Relu", "Softmax", "LogSoftmax"}) {
    for (const char* const of : {"y", "masked", "endless"}) {
      const std::string name = std::string(type) + of;
      parts.nodes.push_back(node(type, {of}, {name}));
      parts.outputs.push_back(testing::tensor_value(name, {3, 4}));
    }
  }
  if (!by_rows) {
    parts.nodes.push_back(
        node("Gemm", {"x", "m"}, {"a"}, {attribute("alpha", std::numeric_limits<float>::quiet_NaN())}));
    parts.outputs.push_back(testing::tensor_value("a", {3, 2}));
  }
  return read(testing::onnx_model(parts));
}

/// In whole and by rows, which arrive and leave.
TEST(GenerateOperators, NumbersThatAreNoneGiveWhatTheInterpreterGives) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  packages.add("whole", package_of(network_of_special_numbers(false), "whole"));
  const Network network = network_of_special_numbers(true);
  PlanOptions options;
  options.solve.effort = 1;
  options.stream = StreamOptions{};
  options.io = Io::rows;
  packages.add("rows", generate_package(network, make_plan(network.input, options).plan, {.name = "rows"}));
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace stowage
