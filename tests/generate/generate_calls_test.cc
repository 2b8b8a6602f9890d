// Operators whose numbers are computed, and others that few networks have, as C: what the interpreter gives, bit for
// bit, or what is said here.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "c_packages.h"
#include "kernel_calls.h"
#include "many_calls.h"
#include "onnx_models.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "temporary.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using testing::array;
using testing::attribute;
using testing::Call;
using testing::ManyCalls;
using testing::node;
using testing::Settings;
using testing::tensor_value;
using enum DType;

Attributes::Value number(std::int64_t value) { return value; }

Call call_of(const std::string& type, const std::vector<Shape>& data, const std::vector<DType>& types,
             const Shape& output, DType result, const Settings& settings = {}, std::int64_t version = 17) {
  return {.type = type,
          .data = data,
          .output = output,
          .settings = settings,
          .version = version,
          .dtypes = types,
          .output_dtype = result};
}

/// Operators on elements.
std::vector<Call> element_calls() {
  const Shape small{3, 4};
  std::vector<Call> all;
  for (const DType dtype : {uint8, uint16, uint32, uint64}) {
    for (const char* const way : {"LEFT", "RIGHT"})
      all.push_back(
          call_of("BitShift", {small, {4}}, {dtype, dtype}, small, dtype, {{"direction", std::string(way)}}));
    for (const char* const type : {"Add", "Sub", "Mul", "Div", "Max", "BitwiseXor"})
      all.push_back(call_of(type, {small, {4}}, {dtype, dtype}, small, dtype));
    all.push_back(call_of("Less", {small, {4}}, {dtype, dtype}, small, boolean));
    for (const DType other : {float32, float64, int32, int64, boolean}) {
      all.push_back(call_of("Cast", {small}, {dtype}, small, other));
      all.push_back(call_of("Cast", {small}, {other}, small, dtype));
    }
  }
  for (const std::int64_t is_fmod : {0, 1})
    for (const DType dtype : {float32, int8, uint8, int32, int64, uint32, uint64}) {
      if (dtype == float32 && is_fmod == 0) continue;
      all.push_back(call_of("Mod", {small, {4}}, {dtype, dtype}, small, dtype, {{"fmod", number(is_fmod)}}));
    }
  for (const DType dtype : {float32, float64}) {
    all.push_back(call_of("Mod", {small, {4}}, {dtype, dtype}, small, dtype, {{"fmod", number(1)}}));
    all.push_back(call_of("Mean", {small, {4}, {3, 1}}, {dtype, dtype, dtype}, small, dtype));
    all.push_back(call_of("Selu", {small}, {dtype}, small, dtype));
    for (const std::int64_t above : {0, 1}) {
      const Settings settings{{"detect_positive", number(above)}, {"detect_negative", number(1)}};
      all.push_back(call_of("IsInf", {{4}}, {dtype}, {4}, boolean, settings));
    }
  }
  all.push_back(call_of("Mod", {small, {4}}, {}, small, float32, {{"fmod", number(0)}}));
  all.push_back(call_of("Selu", {small}, {}, small, float32, {}, 1));
  all.push_back(call_of("Mean", {small}, {}, small, float32));
  return all;
}

/// Norms and sums along axes, and reductions.
std::vector<Call> axis_calls() {
  const Shape shape{2, 3, 4};
  std::vector<Call> all;
  for (const std::int64_t axis : {0, 1, 2}) {
    const Settings along{{"axis", number(axis)}};
    for (const DType dtype : {float32, float64}) {
      for (const std::int64_t version : {11, 13})
        all.push_back(call_of("Hardmax", {shape}, {dtype}, shape, dtype, along, version));
      for (const std::int64_t p : {1, 2})
        all.push_back(call_of("LpNormalization", {shape}, {dtype}, shape, dtype,
                              {{"axis", number(axis)}, {"p", number(p)}}));
      Shape kept = shape;
      kept[static_cast<std::size_t>(axis)] = 1;
      all.push_back(call_of("ReduceLogSumExp", {shape}, {dtype}, kept, dtype, {{"axes", Shape{axis}}}, 11));
    }
    const Shape rest(shape.begin() + axis, shape.end());
    for (const char* const type : {"RMSNormalization", "SimplifiedLayerNormalization"})
      all.push_back(call_of(type, {shape, rest}, {}, shape, float32, along, 23));
    for (const DType dtype : {float32, float64, int32, int64, uint32})
      for (const std::int64_t reverse : {0, 1}) {
        all.push_back(call_of("CumSum", {shape}, {dtype}, shape, dtype,
                              {{"reverse", number(reverse)}, {"exclusive", number(1 - axis % 2)}}));
        all.back().constants = {array<std::int64_t>({}, {static_cast<double>(axis)})};
      }
  }
  all.push_back(call_of("ReduceLogSumExp", {shape}, {}, {1, 1, 1}, float32, {}, 11));
  all.push_back(call_of("com.microsoft.SkipLayerNormalization", {shape, shape, {4}, {4}, {4}}, {}, shape,
                        float32, {{"epsilon", 1e-5F}}, 1));
  all.push_back(call_of("com.microsoft.SkipSimplifiedLayerNormalization", {shape, shape, {4}}, {}, shape,
                        float32, {}, 1));
  return all;
}

/// Slices and ranges by numbers that are computed, from 0 to 3; sequences, triangles and updates.
std::vector<Call> moving_calls() {
  std::vector<Call> all;
  for (const DType dtype : {int32, int64}) {
    all.push_back(call_of("ReverseSequence", {{4, 2, 3}, {2}}, {float32, int64}, {4, 2, 3}, float32,
                          {{"time_axis", number(0)}, {"batch_axis", number(1)}}));
    all.push_back(call_of("ReverseSequence", {{2, 4, 3}, {2}}, {dtype, int64}, {2, 4, 3}, dtype,
                          {{"time_axis", number(1)}, {"batch_axis", number(0)}}));
    for (const char* const reduction : {"none", "add", "mul", "max", "min"}) {
      const Settings how{{"reduction", std::string(reduction)}};
      all.push_back(
          call_of("ScatterND", {{5, 6, 3}, {4, 2}, {4, 3}}, {dtype, int64, dtype}, {5, 6, 3}, dtype, how));
      all.push_back(call_of("ScatterElements", {{5, 4}, {5, 3}, {5, 3}}, {float32, dtype, float32}, {5, 4},
                            float32, {{"axis", number(1)}, {"reduction", std::string(reduction)}}));
    }
    all.push_back(
        call_of("ScatterND", {{5, 6, 3}, {2, 2, 1}, {2, 2, 6, 3}}, {int8, dtype, int8}, {5, 6, 3}, int8));
  }
  all.push_back(call_of("Scatter", {{5, 4}, {5, 3}, {5, 3}}, {float32, int64, float32}, {5, 4}, float32,
                        {{"axis", number(1)}}, 9));
  for (const std::int64_t upper : {0, 1}) {
    all.push_back(call_of("Trilu", {{2, 3, 4}}, {}, {2, 3, 4}, float32, {{"upper", number(upper)}}));
    all.push_back(call_of("Trilu", {{3, 3}, {}}, {int64, int64}, {3, 3}, int64, {{"upper", number(upper)}}));
  }
  for (const char* const mode : {"edge", "wrap", "reflect"}) {
    all.push_back(call_of("Pad", {{2, 3, 4}}, {}, {2, 8, 7}, float32, {{"mode", std::string(mode)}}, 19));
    all.back().constants = {testing::integers({0, 2, 1, 0, 2 + 1, 2})};
    if (std::string(mode) == "reflect") all.back().constants = {testing::integers({0, 2, 1, 0, 2, 2})};
    if (std::string(mode) == "reflect") all.back().output = {2, 7, 7};
    all.push_back(call_of("Pad", {{5, 4}}, {int8}, {3, 5}, int8, {{"mode", std::string(mode)}}, 19));
    all.back().constants = {testing::integers({-1, 2, -1, -1})};
  }
  all.push_back(call_of("Pad", {{5, 4}}, {}, {3, 5}, float32, {}, 19));
  all.back().constants = {testing::integers({-1, 2, -1, -1})};
  all.push_back(
      call_of("Pad", {{3, 4}}, {}, {5, 4}, float32, {{"pads", Shape{1, 0, 1, 0}}, {"value", 0.5F}}, 2));
  return all;
}

/// Windows that image kernels do not take.
std::vector<Call> window_calls() {
  std::vector<Call> all;
  const Settings taps{
      {"kernel_shape", Shape{2, 3, 2}}, {"pads", Shape{0, 1, 1, 1, 1, 0}}, {"strides", Shape{1, 2, 1}}};
  const Shape volume{2, 4, 4, 5, 3};
  all.push_back(
      call_of("Conv", {volume, {6, 2, 2, 3, 2}, {6}}, {}, {2, 6, 4, 3, 3}, float32,
              {{"group", number(2)}, {"pads", Shape{0, 1, 1, 1, 1, 0}}, {"strides", Shape{1, 2, 1}}}));
  all.push_back(
      call_of("Conv", {{1, 3, 5, 6}, {4, 3, 2, 3}}, {}, {1, 4, 3, 4}, float32, {{"dilations", Shape{2, 1}}}));
  all.push_back(call_of("Conv", {{2, 3, 7}, {2, 3, 3}, {2}}, {}, {2, 2, 4}, float32,
                        {{"strides", Shape{2}}, {"pads", Shape{1, 1}}}));
  for (const char* const type : {"MaxPool", "AveragePool", "LpPool"})
    all.push_back(call_of(type, {volume}, {}, {2, 4, 4, 3, 3}, float32, taps));
  all.push_back(call_of("LpPool", {{1, 2, 5, 5}}, {}, {1, 2, 4, 4}, float32,
                        {{"kernel_shape", Shape{2, 2}}, {"p", number(3)}}));
  for (const char* const type : {"GlobalLpPool", "GlobalAveragePool", "GlobalMaxPool"})
    all.push_back(call_of(type, {volume}, {}, {2, 4, 1, 1, 1}, float32));
  return all;
}

TEST(GenerateCalls, FurtherOperatorsGiveWhatTheInterpreterGives) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  ManyCalls wholes(false);
  for (const std::vector<Call>& calls : {element_calls(), axis_calls(), moving_calls(), window_calls()})
    for (const Call& call : calls) EXPECT_TRUE(wholes.add(call)) << call.type << " " << call.version;
  wholes.add_to(packages);
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

Network read(const testing::OnnxParts& parts, int operator_set = testing::newest_known_set) {
  return parse_network(testing::onnx_model(parts, operator_set).SerializeAsString(), "m.onnx",
                       {.constants = true});
}

/// A package whose test has these inputs.
Package package_with(Network network, const std::string& name, std::map<std::string, Array> inputs) {
  PlanOptions options;
  options.solve.effort = 1;
  add_scratch_of_kernels(network, CKernels::portable, false);
  return generate_package(network, make_plan(network.input, options).plan,
                          {.name = name, .inputs = std::move(inputs)});
}

TEST(GenerateCalls, SlicesByComputedNumbers) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  const auto slice_of = [&](const std::string& name, const std::vector<double>& begin,
                            const std::vector<double>& end, const std::vector<double>& step) {
    const Network network =
        read({.nodes = {node("Slice", {"x", "b", "e", "a", "s"}, {"y"})},
              .inputs = {tensor_value("x", {4, 5, 2}), tensor_value("b", {2}, onnx::TensorProto::INT64),
                         tensor_value("e", {2}, onnx::TensorProto::INT64),
                         tensor_value("s", {2}, onnx::TensorProto::INT64)},
              .outputs = {tensor_value("y", {2, 3, 2})},
              .initializers = {testing::vector_of("a", {1, 0})}});
    packages.add(name, package_with(network, name,
                                    {{"b", testing::integers(begin)},
                                     {"e", testing::integers(end)},
                                     {"s", testing::integers(step)}}));
  };
  slice_of("forward", {1, 0}, {4, 4}, {1, 2});
  slice_of("backward", {-1, 3}, {-100, 0}, {-2, -2});
  slice_of("far", {0, -100}, {9'000'000'000, 2}, {2, 1});
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

/// A slice within a frame of a sound, a range of numbers, and a spectrum whose real parts are wanted.
std::string spectrum_model(std::int32_t height, std::int32_t width) {
  const auto numbers = [](const std::vector<std::int32_t>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int32_t));
  };
  const std::int32_t kept = width / 2 + 1;
  testing::TfliteSubgraph main;
  main.tensors = {{.name = "x", .shape = {2, 3, 20}},
                  {.name = "begin", .shape = {3}, .dtype = int32},
                  {.name = "end", .shape = {3}, .dtype = int32},
                  {.name = "strides", .shape = {3}, .dtype = int32, .data = numbers({1, 1, 2})},
                  {.name = "part", .shape = {2, 2, 5}},
                  {.name = "sizes", .shape = {2}, .dtype = int32, .data = numbers({height, width})},
                  {.name = "spectrum", .shape = {2, height, kept}, .dtype = complex64},
                  {.name = "flat", .shape = {2, height * kept}, .dtype = complex64},
                  {.name = "to", .shape = {2}, .dtype = int32, .data = numbers({2, height * kept})},
                  {.name = "real", .shape = {2, height * kept}},
                  {.name = "start", .shape = {}},
                  {.name = "limit", .shape = {}},
                  {.name = "delta", .shape = {}},
                  {.name = "range", .shape = {4}}};
  main.operators = {
      {.type = "STRIDED_SLICE", .inputs = {0, 1, 2, 3}, .outputs = {4}, .numbers = {1, 1, 0, 0, 0, 0}},
      {.type = "RFFT2D", .inputs = {4, 5}, .outputs = {6}},
      {.type = "RESHAPE", .inputs = {6, 8}, .outputs = {7}},
      {.type = "CAST", .inputs = {7}, .outputs = {9}},
      {.type = "RANGE", .inputs = {10, 11, 12}, .outputs = {13}}};
  main.inputs = {0, 1, 2, 10, 11, 12};
  main.outputs = {9, 13};
  return testing::tflite_model({.subgraphs = {main}});
}

TEST(GenerateCalls, SpectraOfComputedSlicesAndRanges) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  for (const auto& [height, width] :
       std::vector<std::pair<std::int32_t, std::int32_t>>{{1, 8}, {4, 4}, {8, 1}}) {
    const std::string name = "spectrum_" + std::to_string(height);
    packages.add(
        name,
        package_with(parse_network(spectrum_model(height, width), "m.tflite", {.constants = true}), name,
                     {{"begin", testing::narrow({0, 1, 5}, {3})},
                      {"end", testing::narrow({2, 3, 15}, {3})},
                      {"start", array<float>({}, {0.5})},
                      {"limit", array<float>({}, {1.7})},
                      {"delta", array<float>({}, {0.3})}}));
  }
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

/// A plan that has no room for the scratch memory of RFFT2D is refused, and says so.
TEST(GenerateCalls, SpectraNeedScratchMemoryInThePlan) {
  const Network network = parse_network(spectrum_model(1, 8), "m.tflite", {.constants = true});
  try {
    static_cast<void>(generate_package(network, make_plan(network.input, {}).plan, {.name = "m"}));
    FAIL();
  } catch (const Error& error) {
    testing::expect_message(error.what(), {"RFFT2D", "its plan has no scratch memory for it"});
  }
}

Array boxes_of(std::int64_t count, const std::vector<double>& values) {
  return array<float>({1, count, 4}, values);
}

TEST(GenerateCalls, BoxesThatAreTaken) {
  const std::vector<double> corners{0, 0,  1, 1,  0, 0.1,  1, 1.1,  0, -0.1, 1, 0.9,
                                    0, 10, 1, 11, 1, 11.1, 0, 10.1, 0, 100,  1, 101};
  const std::vector<double> centers{0.5, 0.5,  1, 1, 0.5, 0.6,  1, 1, 0.5, 0.4,   1, 1,
                                    0.5, 10.5, 1, 1, 0.5, 10.6, 1, 1, 0.5, 100.5, 1, 1};
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  for (const std::int64_t has_center : {0, 1}) {
    const Network network =
        read({.nodes = {node("NonMaxSuppression", {"boxes", "scores", "most", "share", "least"}, {"y"},
                             {attribute("center_point_box", has_center)})},
              .inputs = {tensor_value("boxes", {1, 6, 4}), tensor_value("scores", {1, 2, 6}),
                         tensor_value("most", {1}, onnx::TensorProto::INT64), tensor_value("share", {1}),
                         tensor_value("least", {1})},
              .outputs = {tensor_value("y", {5, 3}, onnx::TensorProto::INT64)}});
    const std::string name = "boxes_" + std::to_string(has_center);
    packages.add(name, package_with(network, name,
                                    {{"boxes", boxes_of(6, has_center == 0 ? corners : centers)},
                                     {"scores", array<float>({1, 2, 6}, {0.9, 0.75, 0.6, 0.95, 0.5, 0.3,  //
                                                                         0.2, 0.75, 0.75, 0.1, 0.5, 0.35})},
                                     {"most", testing::integers({3})},
                                     {"share", array<float>({1}, {0.5})},
                                     {"least", array<float>({1}, {0.32})}}));
  }
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

/// A Loop whose number of rounds is an input: random numbers may not fit what the plan has room for.
TEST(GenerateCalls, InputsOfTheTestAreGiven) {
  testing::OnnxParts body{
      .nodes = {node("Identity", {"go"}, {"on"}), node("Add", {"old", "step"}, {"new"}),
                node("Identity", {"old"}, {"row"})},
      .inputs = {tensor_value("round", {}, onnx::TensorProto::INT64),
                 tensor_value("go", {}, onnx::TensorProto::BOOL), tensor_value("old", {})},
      .outputs = {tensor_value("on", {}, onnx::TensorProto::BOOL), tensor_value("new", {}),
                  tensor_value("row", {})},
      .name = "body"};
  const Network network = read({.nodes = {node("Loop", {"most", "", "x"}, {"last", "rows"},
                                               {attribute("body", testing::onnx_graph(body))})},
                                .inputs = {tensor_value("most", {}, onnx::TensorProto::INT64),
                                           tensor_value("x", {}), tensor_value("step", {})},
                                .outputs = {tensor_value("last", {}), tensor_value("rows", {5})}});
  const Plan plan = make_plan(network.input, {}).plan;
  const auto attempt = [&](std::map<std::string, Array> inputs) {
    return generate_package(network, plan, {.name = "m", .cases = 2, .inputs = std::move(inputs)});
  };
  try {
    static_cast<void>(attempt({}));
    FAIL();
  } catch (const Error& error) {
    testing::expect_message(error.what(), {"rounds", "--input gives the test other inputs, --cases 0 none"});
  }
  EXPECT_THROW(static_cast<void>(attempt({{"none", array<float>({}, {1})}})), UsageError);
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  packages.add("m", attempt({{"most", array<std::int64_t>({}, {5})}}));
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

/// A classifier of ai.onnx.ml, with what it says of six features.
Network classifier_of(std::int64_t targets, std::int64_t labels, const std::string& transform,
                      const std::string& norm) {
  onnx::NodeProto classifier = node("LinearClassifier", {"x"}, {"label", "scores"},
                                    {attribute("post_transform", transform)}, "ai.onnx.ml");
  auto* const coefficients = classifier.add_attribute();
  coefficients->set_name("coefficients");
  coefficients->set_type(onnx::AttributeProto::FLOATS);
  for (std::int64_t i = 0; i < 6 * targets; ++i)
    coefficients->add_floats(static_cast<float>(i * 7 % 5) * 0.25F - 0.5F);
  auto* const intercepts = classifier.add_attribute();
  intercepts->set_name("intercepts");
  intercepts->set_type(onnx::AttributeProto::FLOATS);
  for (std::int64_t i = 0; i < targets; ++i) intercepts->add_floats(static_cast<float>(i) * 0.125F);
  std::vector<std::int64_t> names;
  for (std::int64_t i = 0; i < labels; ++i) names.push_back(10 + i);
  *classifier.add_attribute() = attribute("classlabels_ints", names);
  onnx::ModelProto model = testing::onnx_model(
      {.nodes = {classifier, node("Normalizer", {"scores"}, {"y"}, {attribute("norm", norm)}, "ai.onnx.ml")},
       .inputs = {tensor_value("x", {4, 6})},
       .outputs = {tensor_value("label", {4}, onnx::TensorProto::INT64), tensor_value("y", {4, labels})}});
  auto* const set = model.add_opset_import();
  set->set_domain("ai.onnx.ml");
  set->set_version(1);
  return parse_network(model.SerializeAsString(), "m.onnx", {.constants = true});
}

TEST(GenerateCalls, Classifiers) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  int number = 0;
  for (const auto& [targets, labels] : std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 3}, {1, 2}}) {
    for (const char* const transform : {"NONE", "LOGISTIC", "SOFTMAX"}) {
      const std::string name = "classifier_" + std::to_string(number);
      const Network network =
          classifier_of(targets, labels, transform, std::vector{"MAX", "L1", "L2"}[number % 3]);
      packages.add(name, testing::package_of(network, name));
      ++number;
    }
  }
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace stowage
