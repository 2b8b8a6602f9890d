// Inputs that give sizes: a run compares the shapes that they really give with the planned ones.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "onnx_models.h"
#include "stowage/error.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using testing::attribute;
using testing::expect_message;
using testing::node;
using testing::scalar;
using testing::tensor_value;
using testing::untyped_value;
using testing::vector_of;

template <typename Element>
Array array_of(DType dtype, const Shape& shape, const std::vector<Element>& elements) {
  Array array{
      .dtype = dtype, .shape = shape, .data = std::vector<std::byte>(elements.size() * sizeof(Element))};
  std::memcpy(array.data.data(), elements.data(), array.data.size());
  return array;
}

/// What the error says that a run ends with; empty if it ends well.
std::string error_of_run(const Network& network, const std::string& input, const Array& value) {
  const Plan plan = make_plan(network.input).plan;
  RunOptions options;
  options.check = RunCheck::tensors;
  options.inputs = {{input, value}};
  try {
    const RunResult result = run_plan(network, plan, options);
    return result.fault ? "fault: " + result.fault->what : "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// A network of one operator whose input "s" gives the shape of "y".
struct SizeCase {
  std::string type;
  std::vector<std::string> inputs;
  std::vector<onnx::ValueInfoProto> values;
  Shape shape;  ///< Planned.
  Shape right;  ///< Values of "s" that give it.
  Shape wrong;
  std::vector<onnx::TensorProto> constants{};
  std::vector<onnx::AttributeProto> attributes{};
  bool is_scalar = false;
  int set = 17;
};

void PrintTo(const SizeCase& it, std::ostream* out) { *out << it.type; }

std::vector<SizeCase> size_cases() {
  const auto sizes = [](std::int64_t count) {
    return tensor_value("s", count == 0 ? testing::Dimensions{} : testing::Dimensions{count},
                        onnx::TensorProto::INT64);
  };
  const auto data = [](const testing::Dimensions& dimensions) { return tensor_value("x", dimensions); };
  return {
      {"Range",
       {"zero", "s", "one"},
       {sizes(0)},
       {8},
       {8},
       {5},
       {scalar("zero", 0), scalar("one", 1)},
       {},
       true},
      {"TopK", {"x", "s"}, {data({8}), sizes(1)}, {4}, {4}, {3}},
      {"Reshape", {"x", "s"}, {data({2, 6}), sizes(2)}, {3, 4}, {3, 4}, {4, 3}},
      {"Expand", {"x", "s"}, {data({1, 4}), sizes(2)}, {3, 4}, {3, 4}, {2, 4}},
      {"Tile", {"x", "s"}, {data({2}), sizes(1)}, {6}, {3}, {2}},
      {"ConstantOfShape", {"s"}, {sizes(1)}, {6}, {6}, {5}},
      {"Squeeze", {"x", "s"}, {data({1, 4, 1}), sizes(1)}, {4, 1}, {0}, {2}},
      {"Unsqueeze", {"x", "s"}, {data({4}), sizes(1)}, {1, 4}, {0}, {1}},
      {"Slice", {"x", "zero", "s"}, {data({8}), sizes(1)}, {6}, {6}, {5}, {vector_of("zero", {0})}},
      {"Pad", {"x", "s"}, {data({4}), sizes(2)}, {7}, {1, 2}, {1, 1}},
  };
}

class SizesOfRuns : public ::testing::TestWithParam<SizeCase> {};

TEST_P(SizesOfRuns, AreThePlannedOnes) {
  const SizeCase& it = GetParam();
  std::vector<std::string> outputs{"y"};
  if (it.type == "TopK") outputs.emplace_back("places");
  testing::OnnxParts parts{.nodes = {node(it.type, it.inputs, outputs, it.attributes)},
                           .inputs = it.values,
                           .outputs = {untyped_value("y")},
                           .initializers = it.constants};
  GivenShape exact;
  for (const std::int64_t size : it.shape) exact.emplace_back(size, size);
  ImportOptions options{.shapes = {{"y", exact}}};
  if (it.type == "TopK") options.shapes.emplace("places", exact);
  const Network network =
      parse_network(testing::onnx_model(parts, it.set).SerializeAsString(), "m.onnx", options);
  const Shape shape = it.is_scalar ? Shape{} : Shape{std::ssize(it.right)};
  EXPECT_EQ(error_of_run(network, "s", array_of(DType::int64, shape, it.right)), "");
  expect_message(error_of_run(network, "s", array_of(DType::int64, shape, it.wrong)),
                 {"(" + it.type, "tensor 'y'", "tensor 's' is " + std::to_string(it.wrong[0]), "planned"});
}

INSTANTIATE_TEST_SUITE_P(Onnx, SizesOfRuns, ::testing::ValuesIn(size_cases()),
                         [](const auto& it) { return it.param.type; });

/// An operator of TFLite whose input "s", of integers, gives the shape of "y".
struct TfliteSizeCase {
  std::string type;
  std::vector<std::int32_t> x;  ///< The shape of the other input.
  std::vector<std::int32_t> y;  ///< Planned.
  std::vector<std::int32_t> right;
  std::vector<std::int32_t> wrong;
  bool is_first = false;  ///< "s" is the first input.
};

void PrintTo(const TfliteSizeCase& it, std::ostream* out) { *out << it.type; }

class SizesOfTfliteRuns : public ::testing::TestWithParam<TfliteSizeCase> {};

TEST_P(SizesOfTfliteRuns, AreThePlannedOnes) {
  const TfliteSizeCase& it = GetParam();
  const auto count = static_cast<std::int32_t>(it.right.size());
  const testing::TfliteSpec spec{
      .subgraphs = {{.tensors = {{.name = "x", .shape = it.x},
                                 {.name = "s", .shape = {count}, .dtype = DType::int32},
                                 {.name = "y", .shape = it.y}},
                     .operators = {{.type = it.type,
                                    .inputs = it.is_first ? std::vector<std::int32_t>{1, 0}
                                                          : std::vector<std::int32_t>{0, 1},
                                    .outputs = {2}}},
                     .inputs = {0, 1},
                     .outputs = {2}}}};
  const Network network = parse_network(testing::tflite_model(spec), "m.tflite");
  const Shape shape{count};
  EXPECT_EQ(error_of_run(network, "s", array_of(DType::int32, shape, it.right)), "");
  expect_message(error_of_run(network, "s", array_of(DType::int32, shape, it.wrong)),
                 {"(" + it.type, "tensor 'y'", "tensor 's' is " + std::to_string(it.wrong[0]), "planned"});
}

INSTANTIATE_TEST_SUITE_P(Tflite, SizesOfTfliteRuns,
                         ::testing::Values(TfliteSizeCase{"RESHAPE", {2, 6}, {3, 4}, {3, 4}, {4, 3}},
                                           TfliteSizeCase{"FILL", {}, {3, 4}, {3, 4}, {3, 3}, true},
                                           TfliteSizeCase{"EXPAND_DIMS", {4}, {1, 4}, {0}, {1}},
                                           TfliteSizeCase{"BROADCAST_TO", {1, 4}, {3, 4}, {3, 4}, {2, 4}}),
                         [](const auto& it) { return it.param.type; });

}  // namespace
}  // namespace stowage
