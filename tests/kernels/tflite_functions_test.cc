// TFLite kernels of functions: sums, choices, norms and tables, on cases that can be checked by hand, or whose results
// are those of LiteRT 2.3; and their C.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "c_packages.h"
#include "many_calls.h"
#include "stowage/network.h"
#include "temporary.h"
#include "tflite_cases.h"
#include "tflite_models.h"

namespace stowage::kernels {
namespace {

using namespace cases;

void expect_near(const Floats& found, const Floats& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

TEST(TfliteFunctions, AddAnyNumberOfTensors) {
  const Value a = real({2}, {1, 2});
  EXPECT_EQ(Case("ADD_N", {a, real({2}, {3, 4}), real({2}, {5, 6})}, {real({2})}).get<float>(),
            (Floats{9, 12}));
  EXPECT_EQ(Case("ADD_N", {a}, {real({2})}).get<float>(), (Floats{1, 2}));
  EXPECT_EQ(Case("ADD_N", {ints({1, 2}), ints({3, -4})}, {ints({0, 0})}).get<std::int32_t>(), (Ints{4, -2}));
  EXPECT_EQ(refusal("ADD_N", {a, real({1, 2})}, {real({2})}), "its input has shape [1,2], expected [2]");
  EXPECT_EQ(refusal("ADD_N", {int8({2}, 1, 0)}, {int8({2}, 1, 0)}), "element type int8 is not supported");
}

TEST(TfliteFunctions, ChooseElementsOrRows) {
  const Value a = real({2, 2}, {1, 2, 3, 4});
  const Value b = real({2, 2}, {5, 6, 7, 8});
  const auto chosen = [&](const Value& condition) {
    return Case("SELECT", {condition, a, b}, {real({2, 2})}).get<float>();
  };
  EXPECT_EQ(chosen(truths({2, 2}, {1, 0, 0, 1})), (Floats{1, 6, 7, 4}));
  EXPECT_EQ(chosen(truths({2}, {1, 0})), (Floats{1, 2, 7, 8}));
  EXPECT_EQ(chosen(truths({}, {0})), (Floats{5, 6, 7, 8}));
}

TEST(TfliteFunctions, TakeLogarithmsOfShares) {
  const float half = std::log(0.5F);
  expect_near(Case("LOG_SOFTMAX", {real({2, 2}, {3, 3, 0, 1})}, {real({2, 2})}).get<float>(),
              {half, half, -1.31326163F, -0.313261628F});
}

TEST(TfliteFunctions, PoolRootsOfSquares) {
  Options options = window(valid, 1);
  options["filter_height"] = std::int64_t{1};
  options["filter_width"] = std::int64_t{2};
  expect_near(
      Case("L2_POOL_2D", {real({1, 1, 3, 1}, {3, 4, -5})}, {real({1, 1, 2, 1})}, options).get<float>(),
      {std::sqrt(12.5F), std::sqrt(20.5F)});
}

TEST(TfliteFunctions, NormalizeByTheChannelsNextToEachOther) {
  const Options options{{"radius", std::int64_t{1}}, {"bias", 1.0F}, {"alpha", 1.0F}, {"beta", 1.0F}};
  expect_near(
      Case("LOCAL_RESPONSE_NORMALIZATION", {real({1, 3}, {1, 2, 3})}, {real({1, 3})}, options).get<float>(),
      {1.0F / 6, 2.0F / 15, 3.0F / 14});
}

TEST(TfliteFunctions, WeighByTheNormalDistribution) {
  const auto gelu = [](std::int64_t is_by_tanh) {
    return Case("GELU", {real({3}, {-2, 0, 1})}, {real({3})}, {{"approximate", is_by_tanh}}).get<float>();
  };
  expect_near(gelu(0), {-0.0455002636F, 0, 0.841344774F});
  expect_near(gelu(1), {-0.0454022288F, 0, 0.841192007F});
}

TEST(TfliteFunctions, AreTablesOfInt8) {
  const auto made = [](const std::string& type, const Bytes8& numbers, float scale, std::int64_t zero) {
    const auto count = static_cast<std::int64_t>(numbers.size());
    return Case(type, {int8({count}, 0.05F, 0, numbers)}, {int8({count}, scale, zero)}).get<std::int8_t>();
  };
  EXPECT_EQ(made("EXP", {-128, -8, 127}, 0.03F, -20), (Bytes8{-20, 2, 127}));
  // What has no logarithm becomes the least number.
  EXPECT_EQ(made("LOG", {-128, 0, 1, 127}, 0.03F, -20), (Bytes8{-128, -128, -120, 42}));
  EXPECT_EQ(made("GELU", {-128, -8, 127}, 0.03F, -20), (Bytes8{-20, -25, 127}));
}

TEST(TfliteFunctions, RescaleWhatTheyCutOff) {
  const auto made = [](const std::string& type) {
    return Case(type, {int8({5}, 0.5F, 5, {-128, 5, 6, 8, 127})}, {int8({5}, 0.2F, 10)}).get<std::int8_t>();
  };
  // 0.5 / 0.2 is 2.5 in single precision and less in double precision, in which TensorFlow Lite Micro divides.
  EXPECT_EQ(made("RELU6"), (Bytes8{10, 10, 13, 18, 40}));
  EXPECT_EQ(made("RELU_N1_TO_1"), (Bytes8{5, 10, 13, 15, 15}));
  EXPECT_EQ(made("RELU"), (Bytes8{10, 10, 12, 17, 127}));
  using Bytes = std::vector<std::uint8_t>;
  const Value x = scaled<std::uint8_t>(DType::uint8, {4}, 0.5F, 105, {104, 105, 106, 108});
  EXPECT_EQ(Case("PRELU", {x, scaled<std::uint8_t>(DType::uint8, {1}, 0.5F, 0, {2})},
                 {scaled<std::uint8_t>(DType::uint8, {4}, 0.2F, 110)})
                .get<std::uint8_t>(),
            (Bytes{108, 110, 113, 118}));
}

TEST(TfliteFunctions, NormalizeUnsignedBytesWithMoreBits) {
  using Bytes = std::vector<std::uint8_t>;
  const Value x = scaled<std::uint8_t>(DType::uint8, {1, 4}, 0.5F, 100, {0, 90, 101, 255});
  EXPECT_EQ(Case("L2_NORMALIZATION", {x}, {scaled<std::uint8_t>(DType::uint8, {1, 4}, 1.0F / 128, 128)})
                .get<std::uint8_t>(),
            (Bytes{59, 121, 129, 235}));
}

/// A network with each of these operators between `tensors`; those of float32 have no scale.
Network network_of_functions() {
  const auto quantized = [](std::string name, std::vector<std::int32_t> shape, float scale, std::int64_t zero,
                            DType dtype = DType::int8) {
    return testing::TfliteTensor{.name = std::move(name),
                                 .shape = std::move(shape),
                                 .dtype = dtype,
                                 .scale = {scale},
                                 .zero_point = {zero}};
  };
  testing::TfliteSubgraph main;
  main.tensors = {{.name = "condition", .shape = {4}, .dtype = DType::boolean},
                  {.name = "a", .shape = {4, 6}},
                  {.name = "b", .shape = {4, 6}},
                  {.name = "chosen", .shape = {4, 6}},
                  {.name = "gelu", .shape = {4, 6}},
                  {.name = "response", .shape = {4, 6}},
                  quantized("x", {2, 5, 7}, 0.5F, 5),
                  quantized("y", {2, 7, 3}, 0.02F, -9),
                  quantized("product", {2, 5, 3}, 0.1F, 4),
                  quantized("cut", {2, 5, 7}, 0.2F, 10),
                  quantized("unit", {2, 5, 7}, 1.0F / 128, 0),
                  quantized("u", {2, 40}, 0.5F, 105, DType::uint8),
                  quantized("v", {1, 40}, 0.3F, 100, DType::uint8),
                  quantized("sloped", {2, 40}, 0.2F, 110, DType::uint8),
                  {.name = "less", .shape = {2, 40}, .dtype = DType::boolean},
                  quantized("unsigned_unit", {2, 40}, 1.0F / 128, 128, DType::uint8)};
  main.operators = {
      {.type = "SELECT", .inputs = {0, 1, 2}, .outputs = {3}},
      {.type = "GELU", .inputs = {3}, .outputs = {4}, .numbers = {1}},
      {.type = "LOCAL_RESPONSE_NORMALIZATION", .inputs = {1}, .outputs = {5}, .numbers = {2, 1, 2, 1}},
      {.type = "BATCH_MATMUL", .inputs = {6, 7}, .outputs = {8}, .numbers = {0, 0}},
      {.type = "RELU6", .inputs = {6}, .outputs = {9}},
      {.type = "L2_NORMALIZATION", .inputs = {6}, .outputs = {10}},
      {.type = "PRELU", .inputs = {11, 12}, .outputs = {13}},
      {.type = "LESS_EQUAL", .inputs = {11, 12}, .outputs = {14}},
      {.type = "L2_NORMALIZATION", .inputs = {11}, .outputs = {15}}};
  main.inputs = {0, 1, 2, 6, 7, 11, 12};
  main.outputs = {4, 5, 8, 9, 10, 13, 14, 15};
  return parse_network(testing::tflite_model({.subgraphs = {main}}), "m.tflite", {.constants = true});
}

/// Convolutions of images of real numbers with weights of int8.
Network hybrid_network(std::int32_t images) {
  const auto weights = [](std::string name, std::vector<std::int32_t> shape, std::size_t scales, int axis) {
    testing::TfliteTensor tensor{.name = std::move(name), .shape = std::move(shape), .dtype = DType::int8};
    std::int32_t count = 1;
    for (const std::int32_t extent : tensor.shape) count *= extent;
    for (std::int32_t i = 0; i < count; ++i) tensor.data.push_back(static_cast<char>(i * 37 % 255 - 127));
    for (std::size_t c = 0; c < scales; ++c) tensor.scale.push_back(0.01F * static_cast<float>(c + 1));
    tensor.zero_point.resize(scales, 0);
    tensor.quantized_dimension = axis;
    return tensor;
  };
  testing::TfliteSubgraph main;
  main.tensors = {{.name = "x", .shape = {images, 7, 6, 4}},  weights("w1", {3, 3, 3, 4}, 3, 0),
                  {.name = "y1", .shape = {images, 4, 3, 3}}, weights("w2", {4, 3, 2, 2}, 1, 0),
                  {.name = "y2", .shape = {images, 5, 5, 4}}, weights("w3", {1, 3, 3, 8}, 8, 3),
                  {.name = "y3", .shape = {images, 7, 6, 8}}};
  main.operators = {
      {.type = "CONV_2D", .inputs = {0, 1, -1}, .outputs = {2}, .numbers = {0, 2, 2, 1, 1, 1}},
      {.type = "CONV_2D", .inputs = {0, 3, -1}, .outputs = {4}, .numbers = {1, 1, 1, 0, 1, 1}},
      {.type = "DEPTHWISE_CONV_2D", .inputs = {0, 5, -1}, .outputs = {6}, .numbers = {0, 1, 1, 2, 3, 2, 2}}};
  main.inputs = {0};
  main.outputs = {2, 4, 6};
  return parse_network(testing::tflite_model({.subgraphs = {main}}), "m.tflite", {.constants = true});
}

/// Its numbers are rounded by what is in a whole image, so it has no rows.
TEST(TfliteFunctions, RoundWholeImages) {
  const Network network = hybrid_network(2);
  for (const Operator& op : network.graph().subgraphs[0].operators)
    EXPECT_TRUE(op.row_axes.empty()) << op.type;
}

TEST(TfliteFunctions, RoundWithAZeroPointBeforeDepthwiseConvolutions) {
  const std::vector<Value> operands{real({1, 1, 4, 1}, {0, 1, 2, 255}), int8({1, 1, 1, 1}, 1, 0, {1})};
  const Options options{{"padding", valid},
                        {"stride_w", std::int64_t{1}},
                        {"stride_h", std::int64_t{1}},
                        {"depth_multiplier", std::int64_t{1}}};
  EXPECT_EQ(Case("DEPTHWISE_CONV_2D", operands, {real({1, 1, 4, 1})}, options).get<float>(),
            (Floats{0, 1, 2, 255}));
  const float unit = 255.0F / 127;
  EXPECT_EQ(Case("CONV_2D", operands, {real({1, 1, 4, 1})}, options).get<float>(),
            (Floats{0, 0, unit, 127 * unit}));
}

TEST(TfliteFunctions, AreTheSameAsC) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  for (const char* const name : {"first", "second", "third"})  // one for each compiler
    packages.add(name, testing::package_of(network_of_functions(), name));
  for (const char* const name : {"hybrid", "hybrid_2", "hybrid_3"})
    packages.add(name, testing::package_of(hybrid_network(2), name));
  packages.add("no_image", testing::package_of(hybrid_network(0), "no_image"));
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace stowage::kernels
