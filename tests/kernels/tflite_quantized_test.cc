// TFLite kernels of uint8 and int16: what those of int8 compute, moved or finer, and what is their own.

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernels.h"
#include "tflite_cases.h"

namespace stowage::kernels {
namespace {

using namespace cases;
using Bytes = std::vector<std::uint8_t>;
using Shorts = std::vector<std::int16_t>;

Value uint8(Shape shape, float scale, std::int64_t zero_point, const Bytes& data = {}) {
  return scaled(DType::uint8, std::move(shape), scale, zero_point, data);
}

Value int16(Shape shape, float scale, const Shorts& data = {}) {
  return scaled(DType::int16, std::move(shape), scale, 0, data);
}

/// The same reals of uint8.
Value unsigned_of(Value value) {
  if (value.dtype != DType::int8) return value;
  value.dtype = DType::uint8;
  for (std::int64_t& zero : value.quantization->zero_points) zero += 128;
  for (std::byte& byte : value.data) byte ^= std::byte{128};
  return value;
}

struct Call {
  std::string type{};
  std::vector<Value> inputs{};
  Value output{};
  Options options{};
};

Value drawn(const Shape& shape, float scale, std::int64_t zero_point) {
  static std::mt19937 random(7);
  std::uniform_int_distribution<int> any(-128, 127);
  Bytes8 data;
  for (std::int64_t i = 0; i < count_of(shape); ++i) data.push_back(static_cast<std::int8_t>(any(random)));
  return int8(shape, scale, zero_point, data);
}

/// With scales whose products are exact, and results that do not depend on the sign of sums.
std::vector<Call> calls() {
  const Shape image{1, 4, 5, 4};
  const Value x = drawn(image, 0.25F, 5);
  const auto like = [&](float scale, std::int64_t zero_point) { return int8(image, scale, zero_point); };
  Options windows = window(same, 1);
  windows["filter_width"] = windows["filter_height"] = std::int64_t{3};
  windows["fused_activation_function"] = relu;
  Value shape = ints({1, 4, 5, 4});
  return {{"CONV_2D", {x, drawn({4, 3, 3, 4}, 0.125F, 0), bias({1, -90, 7, 300})}, like(2, -9), windows},
          {"DEPTHWISE_CONV_2D", {x, drawn({1, 3, 3, 4}, 0.125F, 0)}, like(1, -9), windows},
          {"TRANSPOSE_CONV", {shape, drawn({4, 3, 3, 4}, 0.125F, 0), x}, like(2, 9), window(same, 1)},
          {"FULLY_CONNECTED",
           {drawn({3, 8}, 0.25F, -7), drawn({5, 8}, 0.125F, 11), bias({1, 2, 3, 4, 5})},
           int8({3, 5}, 1, 4)},
          {"BATCH_MATMUL", {drawn({3, 8}, 0.25F, -7), drawn({8, 5}, 0.125F, 11)}, int8({3, 5}, 1, 4)},
          {"ADD", {x, drawn({4}, 0.5F, -7)}, like(0.5F, 3), {{"fused_activation_function", relu}}},
          {"SUB", {x, drawn({4}, 0.5F, -7)}, like(0.5F, 3)},
          {"MUL", {x, drawn({4}, 0.5F, -7)}, like(4, 3)},
          {"SQUARED_DIFFERENCE", {x, drawn({4}, 0.5F, -7)}, like(8, -100)},
          {"PRELU", {x, drawn({4}, 0.5F, -7)}, like(0.5F, 3)},
          {"MAX_POOL_2D", {x}, like(0.25F, 5), windows},
          {"MAXIMUM", {x, drawn(image, 0.25F, 5)}, like(0.25F, 5)},
          {"LESS", {x, drawn(image, 0.5F, -5)}, truths(image)},
          {"RELU", {x}, like(0.3F, -3)},
          {"RELU6", {x}, like(0.25F, 5)},
          {"RELU_N1_TO_1", {x}, like(0.01F, 3)},
          {"LEAKY_RELU", {x}, like(0.2F, -3), {{"alpha", 0.3F}}},
          {"HARD_SWISH", {x}, like(0.3F, -3)},
          {"ELU", {x}, like(0.3F, -3)},
          {"ABS", {x}, like(0.5F, -120)},
          {"MEAN", {x, ints({1, 2})}, int8({1, 4}, 0.1F, 9)},
          {"SUM", {x, ints({3})}, int8({1, 4, 5}, 1, 9)},
          {"REDUCE_MAX", {x, ints({3})}, int8({1, 4, 5}, 0.25F, 5)},
          {"SOFTMAX", {drawn({3, 9}, 0.125F, 5)}, int8({3, 9}, 1.0F / 256, -128), {{"beta", 1.0F}}},
          {"QUANTIZE", {x}, like(0.3F, 7)}};
}

TEST(TfliteQuantizedTest, UnsignedBytesGiveWhatSignedOnesGive) {
  for (const Call& call : calls()) {
    const auto expected = Case(call.type, call.inputs, {call.output}, call.options).run()[0];
    std::vector<Value> inputs;
    for (const Value& input : call.inputs) inputs.push_back(unsigned_of(input));
    auto found = Case(call.type, inputs, {unsigned_of(call.output)}, call.options).run()[0];
    if (call.output.dtype == DType::int8)
      for (std::byte& byte : found) byte ^= std::byte{128};
    EXPECT_EQ(found, expected) << call.type;
    EXPECT_GT(std::set(found.begin(), found.end()).size(), 1U) << call.type << " says nothing";
  }
}

TEST(TfliteQuantizedTest, AveragesOfUnsignedBytesRoundUp) {
  Options options = window(valid, 1);
  options["filter_width"] = options["filter_height"] = std::int64_t{2};
  const auto average = [&](const Bytes& data) {
    return Case("AVERAGE_POOL_2D", {uint8({1, 2, 2, 1}, 1, 128, data)}, {uint8({1, 1, 1, 1}, 1, 128)},
                options)
        .get<std::uint8_t>();
  };
  EXPECT_EQ(average({1, 2, 3, 4}), Bytes{3});
  EXPECT_EQ(average({127, 126, 125, 124}), Bytes{126});  // of int8 -2.5, which is -3
  EXPECT_EQ(
      Case("AVERAGE_POOL_2D", {int16({1, 2, 2, 1}, 1, {-1, -2, -3, -4})}, {int16({1, 1, 1, 1}, 1)}, options)
          .get<std::int16_t>(),
      Shorts{-3});
}

TEST(TfliteQuantizedTest, SquashesUnsignedBytesAsRealNumbers) {
  const Value x = uint8({3}, 0.5F, 100, {0, 102, 255});
  // 1 / (1 + 1 / e) = 0.7311, of 1/256; tanh(1) = 0.7616, of 1/128.
  EXPECT_EQ(Case("LOGISTIC", {x}, {uint8({3}, 1.0F / 256, 0)}).get<std::uint8_t>(), (Bytes{0, 187, 255}));
  EXPECT_EQ(Case("TANH", {x}, {uint8({3}, 1.0F / 128, 128)}).get<std::uint8_t>(), (Bytes{0, 225, 255}));
}

TEST(TfliteQuantizedTest, SquashesInt16ByATable) {
  constexpr float unit = 1.0F / 32768;
  const Value x = int16({4}, 1.0F / 4096, {-32768, 0, 4096, 32767});  // up to 8
  EXPECT_EQ(Case("LOGISTIC", {x}, {int16({4}, unit)}).get<std::int16_t>(), (Shorts{11, 16384, 23956, 32757}));
  EXPECT_EQ(Case("TANH", {x}, {int16({4}, unit)}).get<std::int16_t>(), (Shorts{-32767, 0, 24956, 32767}));
  // Of another scale: 1 is 1000.
  EXPECT_EQ(Case("LOGISTIC", {int16({1}, 0.001F, {1000})}, {int16({1}, unit)}).get<std::int16_t>(),
            Shorts{23956});
  EXPECT_EQ(refusal("TANH", {x}, {int16({4}, 0.5F)}), "its output has scale 0.5, expected 3.0517578e-05");
  EXPECT_EQ(refusal("TANH", {scaled<std::int16_t>(DType::int16, {4}, 1, 5)}, {int16({4}, unit)}),
            "its input has a zero point");
}

TEST(TfliteQuantizedTest, SoftmaxOfInt16) {
  const Options options{{"beta", 1.0F}};
  constexpr float unit = 1.0F / 32768;
  // Shares of 1 / 2, and of 3 / 4 and 1 / 4: ln 3 is 4500 of 1/4096.
  const auto found =
      Case("SOFTMAX", {int16({2, 2}, 1.0F / 4096, {7, 7, 0, 4500})}, {int16({2, 2}, unit)}, options)
          .get<std::int16_t>();
  const Shorts expected{16384, 16384, 8192, 24576};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 4) << i;
  EXPECT_EQ(Case("SOFTMAX", {int16({1, 2}, 1, {-32768, 32767})}, {int16({1, 2}, unit)}, options)
                .get<std::int16_t>(),
            (Shorts{2, 32766}));  // e^-10
  EXPECT_EQ(refusal("SOFTMAX", {int16({1, 2}, 1)}, {int16({1, 2}, 0.5F)}, options),
            "its output has scale 0.5 and zero point 0, expected 3.0517578e-05 and 0");
}

// The ratio of these scales is 1.5 in single precision, less in double precision.
TEST(TfliteQuantizedTest, DividesScalesOfAbsLikeWhatItFollows) {
  const float scale = 0x1.0cccd2p+1F;
  const float other = 0x1.66666ep+0F;
  EXPECT_EQ(Case("ABS", {int8({2}, scale, 0, {1, -3})}, {int8({2}, other, 0)}).get<std::int8_t>(),
            (Bytes8{1, 4}));
  EXPECT_EQ(Case("ABS", {int16({2}, scale, {1, -3})}, {int16({2}, other)}).get<std::int16_t>(),
            (Shorts{2, 5}));
}

TEST(TfliteQuantizedTest, ActivatesInt16) {
  const Value x = int16({3}, 0.5F, {-1000, 3, 1000});
  EXPECT_EQ(Case("RELU6", {x}, {int16({3}, 0.25F)}).get<std::int16_t>(), (Shorts{0, 6, 24}));
  EXPECT_EQ(Case("LEAKY_RELU", {x}, {int16({3}, 0.5F)}, {{"alpha", 0.5F}}).get<std::int16_t>(),
            (Shorts{-500, 3, 1000}));
  EXPECT_EQ(Case("ABS", {x}, {int16({3}, 0.5F)}).get<std::int16_t>(), (Shorts{1000, 3, 1000}));
  EXPECT_EQ(refusal("HARD_SWISH", {x}, {int16({3}, 0.5F)}), "element type int16 is not supported");
}

TEST(TfliteQuantizedTest, ConvolvesBackwardsWithSumsOf64Bits) {
  const Value b{DType::int64, {1}, bytes_from(std::vector<std::int64_t>{std::int64_t{1} << 32})};
  const Options options{{"padding", valid}, {"stride_w", std::int64_t{2}}, {"stride_h", std::int64_t{1}}};
  const Value x = int16({1, 1, 2, 1}, 1, {1000, -3000});
  const Value w = int8({1, 1, 2, 1}, 1, 0, {100, -100});
  // (2^32 + 100000) / 2^18 and so on.
  EXPECT_EQ(Case("TRANSPOSE_CONV", {ints({1, 1, 4, 1}), w, x, b}, {int16({1, 1, 4, 1}, 262144)}, options)
                .get<std::int16_t>(),
            (Shorts{16384, 16384, 16383, 16385}));
  EXPECT_EQ(Case("TRANSPOSE_CONV", {ints({1, 1, 4, 1}), w, x}, {int16({1, 1, 4, 1}, 100)}, options)
                .get<std::int16_t>(),
            (Shorts{1000, -1000, -3000, 3000}));
}

TEST(TfliteQuantizedTest, JoinsUnsignedBytesOfDifferentScales) {
  // Reals 1, 2 and 1, 190.
  const Value a = uint8({1, 2}, 0.5F, 100, {102, 104});
  const Value b = uint8({1, 2}, 1, 10, {11, 200});
  EXPECT_EQ(
      Case("CONCATENATION", {a, b}, {uint8({1, 4}, 1, 10)}, {{"axis", std::int64_t{1}}}).get<std::uint8_t>(),
      (Bytes{11, 12, 11, 200}));
  EXPECT_EQ(Case("CONCATENATION", {a, b}, {uint8({1, 4}, 0.25F, 0)}, {{"axis", std::int64_t{1}}})
                .get<std::uint8_t>(),
            (Bytes{4, 8, 4, 255}));
}

}  // namespace
}  // namespace stowage::kernels
