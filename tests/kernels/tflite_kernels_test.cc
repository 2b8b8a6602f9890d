// TFLite kernels on small cases that can be checked by hand, what they refuse, and that those which may write
// over an input give the same when they do.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernels.h"
#include "stowage/error.h"
#include "tflite_cases.h"

namespace stowage::kernels {
namespace {

using namespace cases;

TEST(TfliteKernelsTest, ConvolvesRealNumbers) {
  const Value input = real({1, 2, 2, 1}, {1, 2, 3, 4});
  const Value weights = real({1, 2, 2, 1}, {1, 1, 1, 1});
  EXPECT_EQ(
      Case("CONV_2D", {input, weights, real({1}, {10})}, {real({1, 1, 1, 1})}, window(valid, 1)).get<float>(),
      (Floats{20}));
  // The padding is behind: 1 column and 1 row.
  EXPECT_EQ(Case("CONV_2D", {input, weights}, {real({1, 2, 2, 1})}, window(same, 1)).get<float>(),
            (Floats{10, 6, 7, 4}));
  Options clamped = window(same, 1);
  clamped["fused_activation_function"] = relu6;
  EXPECT_EQ(Case("CONV_2D", {input, weights}, {real({1, 2, 2, 1})}, clamped).get<float>(),
            (Floats{6, 6, 6, 4}));
}

TEST(TfliteKernelsTest, ConvolvesWithDilationAndInGroups) {
  Options dilated = window(valid, 1);
  dilated["dilation_w_factor"] = std::int64_t{2};
  EXPECT_EQ(Case("CONV_2D", {real({1, 1, 4, 1}, {1, 2, 3, 4}), real({1, 1, 2, 1}, {10, 1})},
                 {real({1, 1, 2, 1})}, dilated)
                .get<float>(),
            (Floats{13, 24}));
  // The first output has the first input channel, the second the second.
  EXPECT_EQ(Case("CONV_2D", {real({1, 1, 1, 2}, {3, 5}), real({2, 1, 1, 1}, {10, 100})}, {real({1, 1, 1, 2})},
                 window(valid, 1))
                .get<float>(),
            (Floats{30, 500}));
}

TEST(TfliteKernelsTest, ConvolvesInt8) {
  // 0.5 * 0.5 / 0.25 is a factor of 1: (1 + 2 + 3 + 4) + 5 - 3.
  const Value input = int8({1, 2, 2, 1}, 0.5F, 1, {2, 3, 4, 5});
  const Value weights = int8({1, 2, 2, 1}, 0.5F, 0, {1, 1, 1, 1});
  EXPECT_EQ(Case("CONV_2D", {input, weights, bias({5})}, {int8({1, 1, 1, 1}, 0.25F, -3)}, window(valid, 1))
                .get<std::int8_t>(),
            (Bytes8{12}));
  // Padding counts as the zero point, not as 0.
  EXPECT_EQ(
      Case("CONV_2D", {input, weights}, {int8({1, 2, 2, 1}, 0.25F, 0)}, window(same, 1)).get<std::int8_t>(),
      (Bytes8{10, 6, 7, 4}));
}

TEST(TfliteKernelsTest, ConvolvesUnsignedBytesWhoseWeightsHaveAZeroPoint) {
  using Bytes = std::vector<std::uint8_t>;
  const auto bytes = [](Shape shape, float scale, std::int64_t zero, const Bytes& data = {}) {
    return scaled(DType::uint8, std::move(shape), scale, zero, data);
  };
  // Reals: x = 1, 2, 3 and weights 1, -1; in the padding x is 0. Sums 1 - 2, 2 - 3, 3; bias 1.
  const Value x = bytes({1, 1, 3, 1}, 0.5F, 100, {102, 104, 106});
  const Value w = bytes({1, 1, 2, 1}, 0.25F, 128, {132, 124});
  const Value b = bias({8});
  EXPECT_EQ(Case("CONV_2D", {x, w, b}, {bytes({1, 1, 3, 1}, 0.5F, 10)}, window(same, 1)).get<std::uint8_t>(),
            (Bytes{10, 10, 18}));
  EXPECT_EQ(Case("DEPTHWISE_CONV_2D", {x, w, b}, {bytes({1, 1, 3, 1}, 0.5F, 10)}, window(same, 1))
                .get<std::uint8_t>(),
            (Bytes{10, 10, 18}));
  const Value row = bytes({1, 2}, 0.5F, 100, {102, 106});
  const Value weights = bytes({2, 2}, 0.25F, 128, {132, 132, 124, 132});
  EXPECT_EQ(
      Case("FULLY_CONNECTED", {row, weights, bias({0, 0})}, {bytes({1, 2}, 0.5F, 0)}).get<std::uint8_t>(),
      (Bytes{8, 4}));
}

TEST(TfliteKernelsTest, ConvolvesInt16WithSumsOf64Bits) {
  using Shorts = std::vector<std::int16_t>;
  const auto shorts = [](Shape shape, float scale, const Shorts& data = {}) {
    return scaled(DType::int16, std::move(shape), scale, 0, data);
  };
  const Value x = shorts({1, 1, 3, 1}, 1, {1000, 2000, -3000});
  const Value w = int8({1, 1, 2, 1}, 1, 0, {100, -100});
  // 2^32 of a bias does not get lost: sums -100000, 500000, -300000.
  const Value b{DType::int64, {1}, bytes_from(std::vector<std::int64_t>{std::int64_t{1} << 32})};
  const Shorts expected{16384, 16386, 16383};  // (2^32 + sum) / 2^18
  EXPECT_EQ(Case("CONV_2D", {x, w, b}, {shorts({1, 1, 3, 1}, 262144)}, window(same, 1)).get<std::int16_t>(),
            expected);
  EXPECT_EQ(Case("DEPTHWISE_CONV_2D", {x, w, b}, {shorts({1, 1, 3, 1}, 262144)}, window(same, 1))
                .get<std::int16_t>(),
            expected);
  EXPECT_EQ(
      Case("CONV_2D", {x, w, bias({0})}, {shorts({1, 1, 3, 1}, 100)}, window(same, 1)).get<std::int16_t>(),
      (Shorts{-1000, 5000, -3000}));
  EXPECT_EQ(Case("FULLY_CONNECTED", {shorts({1, 2}, 1, {2000, 1}), int8({1, 2}, 1, 0, {100, 1}), b},
                 {shorts({1, 1}, 262144)})
                .get<std::int16_t>(),
            Shorts{16385});
  EXPECT_EQ(refusal("CONV_2D", {scaled<std::int16_t>(DType::int16, {1, 1, 3, 1}, 1, 5), w, b},
                    {shorts({1, 1, 3, 1}, 1)}, window(same, 1)),
            "its numbers of int16 have a zero point");
}

TEST(TfliteKernelsTest, ScalesEachChannelOfItsOwn) {
  Value weights = int8({2, 1, 1, 1}, 1, 0, {1, 1});
  weights.quantization = Quantization{{1, 0.5F}, {0, 0}, 0};
  EXPECT_EQ(
      Case("CONV_2D", {int8({1, 1, 1, 1}, 1, 0, {7}), weights}, {int8({1, 1, 1, 2}, 1, 0)}, window(valid, 1))
          .get<std::int8_t>(),
      (Bytes8{7, 4}));  // 3.5 away from zero
}

// As LiteRT 2.3 computes it, with its reference kernels.
TEST(TfliteKernelsTest, RoundsEachImageOfRealsToBytesUnderWeightsOfBytes) {
  const Value images = real({2, 1, 2, 1}, {1, -3.05F, 0.2F, 5});
  const auto made = [&](const std::string& type, const Shape& shape, const Quantization& scales) {
    Value weights = int8(shape, 1, 0, {50, -7});
    weights.quantization = scales;
    return Case(type, {images, weights, real({2}, {0.5F, 0})}, {real({2, 1, 2, 2})}, window(same, 1))
        .get<float>();
  };
  const auto expect_near = [](const Floats& found, const Floats& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
  };
  expect_near(
      made("CONV_2D", {2, 1, 1, 1}, {{0.01F}, {0}, 0}),
      {1.00433064F, -0.0706062913F, -1.02499986F, 0.213499978F, 0.59842521F, -0.0137795275F, 3, -0.35F});
  const Floats by_channels{1.00029421F, -0.140082359F, -1.024706F, 0.426917672F,
                           0.59803921F, -0.027450981F, 3,          -0.7F};
  expect_near(made("CONV_2D", {2, 1, 1, 1}, {{0.01F, 0.02F}, {0, 0}, 0}), by_channels);
  expect_near(made("DEPTHWISE_CONV_2D", {1, 1, 1, 2}, {{0.01F, 0.02F}, {0, 0}, 3}), by_channels);
  EXPECT_EQ(
      refusal("CONV_2D", {images, int8({1, 1, 1, 1}, 0.5F, 1, {5})}, {real({2, 1, 2, 1})}, window(valid, 1)),
      "its weights have zero point 1, expected 0");
}

// As LiteRT 2.3 computes it, with its reference kernels and with its others.
TEST(TfliteKernelsTest, RoundsEachRowOfRealsToBytesBeforeItMultipliesBytes) {
  Value weights = int8({2, 2}, 0.5F, 0, {2, 1, -4, 3});
  const Value rows = real({3, 2}, {3, -1, 0, 0, 0.5F, 2});
  const float first = 3.0F / 127;  // -1 is -42 of these
  const float last = 2.0F / 127;   // 0.5 is 32 of these
  const Floats expected{100 + (254 - 42) * (first * 0.5F), -7 + (-508 - 126) * (first * 0.5F), 100, -7,
                        100 + (64 + 127) * (last * 0.5F),  -7 + (-128 + 381) * (last * 0.5F)};
  EXPECT_EQ(Case("FULLY_CONNECTED", {rows, weights, real({2}, {100, -7})}, {real({3, 2})}).get<float>(),
            expected);
  weights.quantization = Quantization{{0.5F, 2}, {0, 0}, 0};
  EXPECT_EQ(Case("FULLY_CONNECTED", {real({1, 2}, {0, 127}), weights}, {real({1, 2})}).get<float>(),
            (Floats{63.5F, 762}));
  // With a zero point: -0.5 to 2 in 256 steps.
  const float step = 2.5F / 255;
  EXPECT_EQ(Case("FULLY_CONNECTED", {real({1, 2}, {-0.5F, 2}), int8({1, 2}, 1, 0, {1, 10})}, {real({1, 1})},
                 {{"asymmetric_quantize_inputs", std::int64_t{1}}})
                .get<float>(),
            (Floats{(-51 + 10 * 204) * step}));
  EXPECT_EQ(refusal("FULLY_CONNECTED", {real({1, 1}), int8({1, 1}, 0.5F, 1)}, {real({1, 1})}),
            "its weights have zero point 1, expected 0");
}

TEST(TfliteKernelsTest, RoundsNumbersThatAreNoneToTheLeastByte) {
  constexpr float none = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinite = std::numeric_limits<float>::infinity();
  const auto sum_of = [](float x, std::int64_t has_zero) {
    return Case("FULLY_CONNECTED", {real({1, 2}, {x, 1}), int8({1, 2}, 1, 0, {1, 1})}, {real({1, 1})},
                {{"asymmetric_quantize_inputs", has_zero}})
        .get<float>()
        .at(0);
  };
  EXPECT_EQ(sum_of(none, 0), 0);                             // -127 + 127
  constexpr float most = std::numeric_limits<float>::max();  // of outputs, even without an activation
  EXPECT_EQ(sum_of(infinite, 0), -most);
  EXPECT_EQ(sum_of(-infinite, 0), -most);
  EXPECT_FLOAT_EQ(sum_of(none, 1), 1);  // 0 + 255
  EXPECT_TRUE(std::isnan(sum_of(infinite, 1)));
  EXPECT_EQ(sum_of(-infinite, 1), -most);  // its zero point is 127
}

TEST(TfliteKernelsTest, ConvolvesDepthwise) {
  // Two outputs of each of two inputs.
  const Floats expected{1, 2, 60, 80};
  EXPECT_EQ(Case("DEPTHWISE_CONV_2D", {real({1, 1, 1, 2}, {1, 20}), real({1, 1, 1, 4}, {1, 2, 3, 4})},
                 {real({1, 1, 1, 4})}, window(valid, 1))
                .get<float>(),
            expected);
  EXPECT_EQ(
      Case("DEPTHWISE_CONV_2D",
           {int8({1, 1, 1, 2}, 1, -1, {0, 19}), int8({1, 1, 1, 4}, 1, 0, {1, 2, 3, 4}), bias({0, 0, 1, 1})},
           {int8({1, 1, 1, 4}, 1, 0)}, window(valid, 1))
          .get<std::int8_t>(),
      (Bytes8{1, 2, 61, 81}));
}

TEST(TfliteKernelsTest, ConvolvesBackwards) {
  // Each input becomes two outputs.
  EXPECT_EQ(
      Case("TRANSPOSE_CONV", {ints({1, 1, 4, 1}), real({1, 1, 2, 1}, {1, 10}), real({1, 1, 2, 1}, {3, 4})},
           {real({1, 1, 4, 1})},
           {{"padding", valid}, {"stride_w", std::int64_t{2}}, {"stride_h", std::int64_t{1}}})
          .get<float>(),
      (Floats{3, 30, 4, 40}));
}

TEST(TfliteKernelsTest, RefusesConvolutionsThatDoNotFit) {
  const Value input = real({1, 2, 2, 1});
  const Value weights = real({1, 2, 2, 1});
  const Value output = real({1, 1, 1, 1});
  const auto conv = [&](const Value& i, const Value& w, const Value& o, const Options& options) {
    return refusal("CONV_2D", {i, w}, {o}, options);
  };
  EXPECT_EQ(conv(input, weights, output, window(valid, 1)), "");
  EXPECT_EQ(conv(input, weights, output, window(valid, 0)), "its stride is 0");
  EXPECT_EQ(conv(input, weights, output, window(2, 1)), "its padding is 2");
  EXPECT_EQ(conv(input, weights, output, window(same, 1)), "its output has extent 1, expected 2");
  EXPECT_EQ(conv(real({1, 2, 2, 3}), real({1, 2, 2, 2}), output, window(valid, 1)),
            "its weights are for 2 input channels, expected a divisor of 3");
  EXPECT_EQ(conv(input, real({2, 2, 2, 1}), output, window(valid, 1)),
            "its weights are for 2 output channels, expected 1");
  EXPECT_EQ(conv(real({2, 2, 1}), weights, output, window(valid, 1)),
            "its input, weights and output have 3, 4 and 4 dimensions, expected 4");
  EXPECT_EQ(refusal("CONV_2D", {input, weights, bias({1})}, {output}, window(valid, 1)),
            "its bias has 1 numbers of type int32, expected 1 of float32");
  Options tanh = window(valid, 1);
  tanh["fused_activation_function"] = std::int64_t{4};
  EXPECT_EQ(conv(input, weights, output, tanh), "fused activation 4 is not supported");
  const Value huge{DType::float32, {std::int64_t{1} << 31, 1 << 20, 1, 0}};
  EXPECT_NE(conv(huge, weights, output, window(valid, 1)), "");
}

TEST(TfliteKernelsTest, RefusesQuantizationsThatDoNotFit) {
  Value input = int8({1, 1}, 1, 0);
  Value weights = int8({2, 1}, 1, 0);
  const Value output = int8({1, 2}, 1, 0);
  weights.quantization = Quantization{{1, 1, 1}, {0, 0, 0}, 0};
  EXPECT_EQ(refusal("FULLY_CONNECTED", {input, weights}, {output}),
            "its weights have 3 scales on dimension 0, expected 2 on 0");
  weights.quantization = Quantization{{1, 1}, {0, 3}, 0};
  EXPECT_EQ(refusal("FULLY_CONNECTED", {input, weights}, {output}),
            "channel 1 of its weights has zero point 3");
  weights.quantization.reset();
  EXPECT_EQ(refusal("FULLY_CONNECTED", {input, weights}, {output}), "its weights have no scale");
  input.quantization.reset();
  EXPECT_EQ(refusal("FULLY_CONNECTED", {input, weights}, {output}), "a tensor of int8 has no scale");
}

TEST(TfliteKernelsTest, ConnectsFully) {
  EXPECT_EQ(Case("FULLY_CONNECTED", {real({2, 2}, {1, 2, 3, 4}), real({1, 2}, {10, 1}), real({1}, {100})},
                 {real({2, 1})})
                .get<float>(),
            (Floats{112, 134}));
  // A zero point of the weights, too: (3 - 1) * (5 - 2) + (4 - 1) * (2 - 2), relu.
  EXPECT_EQ(Case("FULLY_CONNECTED", {int8({1, 2}, 1, 1, {3, 4}), int8({1, 2}, 1, 2, {5, 2})},
                 {int8({1, 1}, 1, -9)}, {{"fused_activation_function", relu}})
                .get<std::int8_t>(),
            (Bytes8{-3}));
  EXPECT_EQ(refusal("FULLY_CONNECTED", {real({2, 3}), real({1, 2})}, {real({2, 1})}),
            "its input has 6 numbers, expected 2 rows of 2");
}

TEST(TfliteKernelsTest, MultipliesMatrices) {
  const Value a = real({2, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(Case("BATCH_MATMUL", {a, real({2, 1}, {1, 10})}, {real({2, 1, 1})}).get<float>(),
            (Floats{21, 43}));
  EXPECT_EQ(Case("BATCH_MATMUL", {a, real({1, 2}, {1, 10})}, {real({2, 1, 1})}, {{"adj_y", std::int64_t{1}}})
                .get<float>(),
            (Floats{21, 43}));
  EXPECT_EQ(refusal("BATCH_MATMUL", {a, real({3, 1})}, {real({2, 1, 1})}),
            "matrices of 1 by 2 and 3 by 1 do not make one of 1 by 1");
}

TEST(TfliteKernelsTest, Pools) {
  Options options = window(valid, 1);
  options["filter_width"] = std::int64_t{2};
  options["filter_height"] = std::int64_t{2};
  const auto pool = [&](const std::string& type, const Bytes8& data) {
    return Case(type, {int8({1, 2, 2, 1}, 1, 0, data)}, {int8({1, 1, 1, 1}, 1, 0)}, options)
        .get<std::int8_t>();
  };
  EXPECT_EQ(pool("AVERAGE_POOL_2D", {1, 2, 3, 4}), Bytes8{3});  // 2.5 away from zero
  EXPECT_EQ(pool("AVERAGE_POOL_2D", {-1, -2, -3, -4}), Bytes8{-3});
  EXPECT_EQ(pool("MAX_POOL_2D", {-1, -2, -3, -4}), Bytes8{-1});
  options["padding"] = same;
  // What is in the padding does not count.
  EXPECT_EQ(
      Case("AVERAGE_POOL_2D", {real({1, 2, 2, 1}, {1, 2, 3, 6})}, {real({1, 2, 2, 1})}, options).get<float>(),
      (Floats{3, 4, 4.5F, 6}));
  EXPECT_EQ(refusal("MAX_POOL_2D", {int8({1, 2, 2, 1}, 1, 0)}, {int8({1, 2, 2, 1}, 2, 0)}, options),
            "input and output are quantized differently");
}

TEST(TfliteKernelsTest, Softmax) {
  const Options options{{"beta", 1.0F}};
  EXPECT_FLOAT_EQ(
      Case("SOFTMAX", {real({2, 2}, {3, 3, 0, std::log(3.0F)})}, {real({2, 2})}, options).get<float>()[3],
      0.75F);
  EXPECT_EQ(Case("SOFTMAX", {int8({1, 2}, 0.1F, 0, {5, 5})}, {int8({1, 2}, 1.0F / 256, -128)}, options)
                .get<std::int8_t>(),
            (Bytes8{0, 0}));
  EXPECT_EQ(Case("SOFTMAX", {int8({1, 2}, 1, 0, {-128, 127})}, {int8({1, 2}, 1.0F / 256, -128)}, options)
                .get<std::int8_t>(),
            (Bytes8{-128, 127}));
  // So many that each rounds to the least.
  const auto flat =
      Case("SOFTMAX", {int8({1, 4000}, 1, 0, Bytes8(4000, 1))}, {int8({1, 4000}, 1.0F / 256, -128)}, options)
          .get<std::int8_t>();
  EXPECT_EQ(flat, Bytes8(4000, -128));
  EXPECT_EQ(refusal("SOFTMAX", {int8({1, 2}, 1, 0)}, {int8({1, 2}, 0.5F, -128)}, options),
            "its output has scale 0.5 and zero point -128, expected 0.00390625 and -128");
  EXPECT_EQ(refusal("SOFTMAX", {int8({1, 4096}, 1, 0)}, {int8({1, 4096}, 1.0F / 256, -128)}, options),
            "its rows have 4096 numbers, expected fewer than 4096");
}

TEST(TfliteKernelsTest, AddsOnACommonScale) {
  // 10 * 1 + 4 * 0.5 = 12, which is 24 of 0.5.
  const Value a = int8({2}, 1, 0, {10, 100});
  const Value b = int8({1}, 0.5F, -1, {3});
  EXPECT_EQ(Case("ADD", {a, b}, {int8({2}, 0.5F, 0)}).get<std::int8_t>(), (Bytes8{24, 127}));
  EXPECT_EQ(Case("SUB", {a, b}, {int8({2}, 0.5F, 0)}).get<std::int8_t>(), (Bytes8{16, 127}));
  EXPECT_EQ(Case("MUL", {a, b}, {int8({2}, 1, 5)}).get<std::int8_t>(), (Bytes8{25, 127}));
  EXPECT_EQ(Case("ADD", {real({2, 1}, {1, 2}), real({3}, {10, 20, 30})}, {real({2, 3})}).get<float>(),
            (Floats{11, 21, 31, 12, 22, 32}));
  EXPECT_EQ(refusal("ADD", {real({2}), real({3})}, {real({3})}),
            "an input has extent 2 where the output has 3");
  EXPECT_EQ(refusal("ADD", {real({3}), ints({1, 2, 3})}, {real({3})}), "its inputs are float32 and int32");
}

TEST(TfliteKernelsTest, AddsIntegersModuloTheirRange) {
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(Case("ADD", {bias({most}), bias({1})}, {bias({0})}).get<std::int32_t>(), Ints{least});
  EXPECT_EQ(Case("SUB", {bias({least}), bias({1})}, {bias({0})}).get<std::int32_t>(), Ints{most});
  EXPECT_EQ(Case("MUL", {bias({most}), bias({2})}, {bias({0})}).get<std::int32_t>(), Ints{-2});
}

TEST(TfliteKernelsTest, ComparesAndSelects) {
  // 4 * 0.5 and 2 * 1 are equal.
  EXPECT_EQ(
      Case("EQUAL", {int8({2}, 0.5F, 0, {4, 2}), int8({2}, 1, 0, {2, 2})}, {truths({2})}).get<std::uint8_t>(),
      (std::vector<std::uint8_t>{1, 0}));
  EXPECT_EQ(Case("LESS", {real({2}, {1, 2}), real({1}, {2})}, {truths({2})}).get<std::uint8_t>(),
            (std::vector<std::uint8_t>{1, 0}));
  EXPECT_EQ(
      Case("SELECT_V2", {truths({2}, {1, 0}), real({1}, {7}), real({2}, {8, 9})}, {real({2})}).get<float>(),
      (Floats{7, 9}));
  EXPECT_EQ(Case("FLOOR_MOD", {real({2}, {-7, 7}), real({1}, {3})}, {real({2})}).get<float>(),
            (Floats{2, 1}));
}

TEST(TfliteKernelsTest, Activates) {
  const auto squash = [](const std::string& type, std::int64_t zero_point) {
    return Case(type, {int8({3}, 0.1F, 0, {-128, 0, 127})}, {int8({3}, 1.0F / 256, zero_point)})
        .get<std::int8_t>();
  };
  EXPECT_EQ(squash("LOGISTIC", -128), (Bytes8{-128, 0, 127}));
  EXPECT_EQ(squash("TANH", 0), (Bytes8{-128, 0, 127}));
  EXPECT_EQ(refusal("TANH", {int8({1}, 1, 0)}, {int8({1}, 1, 5)}), "its output has zero point 5, expected 0");
  EXPECT_EQ(Case("RELU6", {int8({3}, 0.5F, 1, {-5, 5, 50})}, {int8({3}, 0.5F, 1)}).get<std::int8_t>(),
            (Bytes8{1, 5, 13}));
  EXPECT_EQ(Case("LEAKY_RELU", {int8({2}, 1, 0, {-10, 10})}, {int8({2}, 1, 0)}, {{"alpha", 0.5F}})
                .get<std::int8_t>(),
            (Bytes8{-5, 10}));
  EXPECT_EQ(Case("HARD_SWISH", {real({3}, {-4, 3, 0})}, {real({3})}).get<float>(), (Floats{0, 3, 0}));
  EXPECT_EQ(Case("RELU_N1_TO_1", {real({2}, {-4, 3})}, {real({2})}).get<float>(), (Floats{-1, 1}));
}

TEST(TfliteKernelsTest, Reduces) {
  const Options keep{{"keep_dims", std::int64_t{1}}};
  const Value input = real({2, 2}, {1, 2, 3, 5});
  EXPECT_EQ(Case("MEAN", {input, ints({0})}, {real({1, 2})}, keep).get<float>(), (Floats{2, 3.5F}));
  EXPECT_EQ(Case("SUM", {input, ints({-1})}, {real({2})}).get<float>(), (Floats{3, 8}));
  EXPECT_EQ(Case("REDUCE_MAX", {input, ints({0, 1})}, {real({})}).get<float>(), (Floats{5}));
  EXPECT_EQ(Case("REDUCE_MIN", {input, ints({1})}, {real({2})}).get<float>(), (Floats{1, 3}));
  // (10 - 2 + 20 - 2) / 2 = 13, of twice the scale, and 1.
  EXPECT_EQ(Case("MEAN", {int8({2}, 1, 2, {10, 20}), ints({0})}, {int8({}, 2, 1)}).get<std::int8_t>(),
            (Bytes8{8}));
  EXPECT_EQ(Case("ARG_MAX", {real({1, 3}, {1, 7, 7}), ints({1})}, {bias({0})}).get<std::int32_t>(), Ints{1});
  EXPECT_EQ(Case("CUMSUM", {real({3}, {1, 2, 3}), ints({0})}, {real({3})}, {{"reverse", std::int64_t{1}}})
                .get<float>(),
            (Floats{6, 5, 3}));
  EXPECT_EQ(refusal("MEAN", {input, ints({2})}, {real({2})}), "axis 2 is not in a tensor of rank 2");
  EXPECT_EQ(refusal("MEAN", {input, bias({1})}, {real({2})}), "its axes are not constant");
  EXPECT_EQ(refusal("MEAN", {input, ints({1})}, {real({2})}, keep),
            "its output has shape [2], expected [2,1]");
}

TEST(TfliteKernelsTest, Moves) {
  const Value matrix = int8({2, 3}, 1, 9, {1, 2, 3, 4, 5, 6});
  const auto like = [](Shape shape) { return int8(std::move(shape), 1, 9); };
  EXPECT_EQ(Case("TRANSPOSE", {matrix, ints({1, 0})}, {like({3, 2})}).get<std::int8_t>(),
            (Bytes8{1, 4, 2, 5, 3, 6}));
  Value paddings = ints({0, 1, 1, 0});
  paddings.shape = {2, 2};
  EXPECT_EQ(Case("PAD", {matrix, paddings}, {like({3, 4})}).get<std::int8_t>(),
            (Bytes8{9, 1, 2, 3, 9, 4, 5, 6, 9, 9, 9, 9}));
  EXPECT_EQ(Case("MIRROR_PAD", {matrix, paddings}, {like({3, 4})}).get<std::int8_t>(),
            (Bytes8{2, 1, 2, 3, 5, 4, 5, 6, 2, 1, 2, 3}));
  EXPECT_EQ(Case("STRIDED_SLICE", {matrix, ints({-1, 2}), ints({0, 0}), ints({-1, -2})}, {like({1, 1})})
                .get<std::int8_t>(),
            (Bytes8{6}));
  EXPECT_EQ(Case("TILE", {matrix, ints({1, 2})}, {like({2, 6})}).get<std::int8_t>(),
            (Bytes8{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(Case("CONCATENATION", {matrix, int8({2, 1}, 1, 9, {7, 8})}, {like({2, 4})},
                 {{"axis", std::int64_t{-1}}})
                .get<std::int8_t>(),
            (Bytes8{1, 2, 3, 7, 4, 5, 6, 8}));
  const Case split("SPLIT_V", {matrix, ints({2, -1}), ints({1})}, {like({2, 2}), like({2, 1})});
  EXPECT_EQ(split.get<std::int8_t>(0), (Bytes8{1, 2, 4, 5}));
  EXPECT_EQ(split.get<std::int8_t>(1), (Bytes8{3, 6}));
  EXPECT_EQ(
      refusal("CONCATENATION", {matrix, int8({2, 1}, 2, 9)}, {like({2, 4})}, {{"axis", std::int64_t{1}}}),
      "input and output are quantized differently");
  EXPECT_EQ(refusal("TRANSPOSE", {matrix, ints({1, 1})}, {like({3, 3})}), "its order has dimension 1 twice");
  EXPECT_EQ(refusal("RESHAPE", {matrix}, {like({5})}), "its input has 6 elements, its output 5");
  EXPECT_EQ(refusal("SLICE", {matrix, ints({0, 2}), ints({2, 2})}, {like({2, 2})}),
            "it takes 2 from 2 on of 3");
  EXPECT_EQ(refusal("STRIDED_SLICE", {matrix, ints({0}), ints({2}), ints({0})}, {like({2, 3})}),
            "its stride is 0");
  EXPECT_EQ(refusal("SPLIT", {ints({1}), matrix}, {like({2, 1}), like({2, 1})}), "2 parts do not divide 3");
}

TEST(TfliteKernelsTest, ComputesIntegersForShapes) {
  EXPECT_EQ(Case("FLOOR_DIV", {bias({7, -7, 7, -6}), bias({2, 2, -2, -2})}, {bias({0, 0, 0, 0})})
                .get<std::int32_t>(),
            (Ints{3, -4, -4, 3}));
  EXPECT_EQ(Case("FLOOR_MOD", {bias({7, -7, 7, -6}), bias({2, 2, -2, -2})}, {bias({0, 0, 0, 0})})
                .get<std::int32_t>(),
            (Ints{1, 1, -1, 0}));
  EXPECT_THROW((void)Case("FLOOR_DIV", {bias({7}), bias({0})}, {bias({0})}).run(), Error);
  EXPECT_EQ(Case("REDUCE_PROD", {bias({2, -3, 5}), ints({0})}, {Value{DType::int32, {}}}).get<std::int32_t>(),
            Ints{-30});
  EXPECT_EQ(Case("RANGE", {bias({7}), bias({0}), bias({-3})}, {bias({0, 0, 0})}).get<std::int32_t>(),
            (Ints{7, 4, 1}));
  EXPECT_EQ(Case("RANGE", {real({}, {0}), real({}, {1}), real({}, {0.5F})}, {real({2})}).get<float>(),
            (Floats{0, 0.5F}));
  EXPECT_THROW((void)Case("RANGE", {bias({7}), bias({0}), bias({-3})}, {bias({0, 0})}).run(), Error);
}

TEST(TfliteKernelsTest, SlicesByComputedNumbers) {
  const Value line = real({4}, {1, 2, 3, 4});
  EXPECT_EQ(Case("STRIDED_SLICE", {line, bias({1}), bias({3}), ints({1})}, {real({2})}).get<float>(),
            (Floats{2, 3}));
  EXPECT_THROW((void)Case("STRIDED_SLICE", {line, bias({1}), bias({4}), ints({1})}, {real({2})}).run(),
               Error);
  const Value matrix = real({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Case("REVERSE_V2", {matrix, ints({-1})}, {real({2, 3})}).get<float>(),
            (Floats{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(Case("REVERSE_V2", {matrix, ints({0, 1})}, {real({2, 3})}).get<float>(),
            (Floats{6, 5, 4, 3, 2, 1}));
}

TEST(TfliteKernelsTest, TransformsWhatFitsIntoItsLengths) {
  // Rows 1 2 3 4 and 5 6 7 8, and straight from the definition: 8 lengths, of which the input has 4.
  const Value image = real({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto spectrum = [&](std::int64_t high, std::int64_t wide) {
    const Value output{DType::complex64, {high, wide / 2 + 1}};
    return Case("RFFT2D", {image, ints({static_cast<std::int32_t>(high), static_cast<std::int32_t>(wide)})},
                {output})
        .get<float>();
  };
  for (const auto& [high, wide] : {std::pair{2, 4}, std::pair{1, 2}, std::pair{4, 8}}) {
    const Floats found = spectrum(high, wide);
    for (int v = 0; v < high; ++v)
      for (int u = 0; u <= wide / 2; ++u) {
        double re = 0, im = 0;
        for (int y = 0; y < std::min(high, 2); ++y)
          for (int x = 0; x < std::min(wide, 4); ++x) {
            const double turn =
                -2 * M_PI * (static_cast<double>(u * x) / wide + static_cast<double>(v * y) / high);
            re += (4 * y + x + 1) * std::cos(turn);
            im += (4 * y + x + 1) * std::sin(turn);
          }
        const auto at = static_cast<std::size_t>(2 * (v * (wide / 2 + 1) + u));
        EXPECT_NEAR(found[at], re, 1e-5) << high << " " << v << " " << u;
        EXPECT_NEAR(found[at + 1], im, 1e-5) << high << " " << v << " " << u;
      }
  }
  const Value numbers{DType::complex64, {2}, bytes_from(Floats{1, 2, 3, 4})};
  EXPECT_EQ(Case("CAST", {numbers}, {real({2})}).get<float>(), (Floats{1, 3}));
  EXPECT_EQ(refusal("RFFT2D", {image, ints({2, 3})}, {Value{DType::complex64, {2, 2}}}),
            "it transforms 3 elements, expected a power of two");
}

TEST(TfliteKernelsTest, MovesBlocks) {
  const Value input = int8({1, 2, 2, 1}, 1, 0, {1, 2, 3, 4});
  const Options two{{"block_size", std::int64_t{2}}};
  EXPECT_EQ(Case("SPACE_TO_DEPTH", {input}, {int8({1, 1, 1, 4}, 1, 0)}, two).get<std::int8_t>(),
            (Bytes8{1, 2, 3, 4}));
  Value margins = ints({0, 0, 1, 1});
  margins.shape = {2, 2};
  const Bytes8 batches{0, 2, 1, 0, 0, 4, 3, 0};
  EXPECT_EQ(Case("SPACE_TO_BATCH_ND", {input, ints({2, 2}), margins}, {int8({4, 1, 2, 1}, 1, 0)})
                .get<std::int8_t>(),
            batches);
  EXPECT_EQ(Case("BATCH_TO_SPACE_ND", {int8({4, 1, 2, 1}, 1, 0, batches), ints({2, 2}), margins},
                 {int8({1, 2, 2, 1}, 1, 0)})
                .get<std::int8_t>(),
            (Bytes8{1, 2, 3, 4}));
}

TEST(TfliteKernelsTest, ChecksIndicesWhenItRuns) {
  const Value table = real({3}, {10, 20, 30});
  EXPECT_EQ(Case("GATHER", {table, bias({2, 0})}, {real({2})}).get<float>(), (Floats{30, 10}));
  for (const std::int32_t index : {-1, 3})
    EXPECT_THROW((void)Case("GATHER", {table, bias({index})}, {real({1})}).run(), Error) << index;
  Value places{DType::int32, {1, 1}, bytes_from(Ints{3})};
  EXPECT_THROW((void)Case("GATHER_ND", {table, places}, {real({1})}).run(), Error);
  // An update that would stick out is moved in.
  EXPECT_EQ(Case("DYNAMIC_UPDATE_SLICE", {table, real({2}, {1, 2}), bias({5})}, {real({3})}).get<float>(),
            (Floats{10, 1, 2}));
}

TEST(TfliteKernelsTest, Resizes) {
  const Value input = real({1, 1, 2, 1}, {0, 8});
  EXPECT_EQ(Case("RESIZE_NEAREST_NEIGHBOR", {input, ints({1, 4})}, {real({1, 1, 4, 1})}).get<float>(),
            (Floats{0, 0, 8, 8}));
  EXPECT_EQ(Case("RESIZE_BILINEAR", {input, ints({1, 4})}, {real({1, 1, 4, 1})}).get<float>(),
            (Floats{0, 4, 8, 8}));
  EXPECT_EQ(refusal("RESIZE_BILINEAR", {input, ints({2, 4})}, {real({1, 1, 4, 1})}),
            "its size is not that of its output, 1 by 4");
}

TEST(TfliteKernelsTest, QuantizesWithinTheRange) {
  const Value input = real({5}, {1, -0.25F, 1e30F, -1e30F, std::nanf("")});
  EXPECT_EQ(Case("QUANTIZE", {input}, {int8({5}, 0.5F, 3)}).get<std::int8_t>(), (Bytes8{5, 2, 127, -128, 3}));
  EXPECT_EQ(Case("DEQUANTIZE", {int8({1}, 0.5F, 3, {5})}, {real({1})}).get<float>(), (Floats{1}));
  EXPECT_EQ(Case("QUANTIZE", {int8({1}, 1, 3, {5})}, {int8({1}, 0.5F, 0)}).get<std::int8_t>(), (Bytes8{4}));
  EXPECT_EQ(Case("CAST", {real({3}, {-1.9F, 1e30F, std::nanf("")})}, {bias({0, 0, 0})}).get<std::int32_t>(),
            (Ints{-1, std::numeric_limits<std::int32_t>::max(), 0}));
}

TEST(TfliteKernelsTest, SvdfMovesItsStateOn) {
  const Case svdf("SVDF",
                  {int8({1, 2}, 1, 0, {3, 4}), int8({1, 2}, 1, 0, {1, 1}), int8({1, 2}, 1, 0, {10, 1}),
                   bias({2}), int8({1, 2}, 1, 0, {100, 5})},
                  {int8({1, 1}, 1, 0)}, {{"rank", std::int64_t{1}}});
  // The state becomes 5, 7: 10 * 5 + 1 * 7 + 2.
  EXPECT_EQ(svdf.get<std::int8_t>(), (Bytes8{59}));
}

TEST(TfliteKernelsTest, TakesTensorsWithoutElements) {
  EXPECT_TRUE(Case("ADD", {real({0, 3}), real({3}, {1, 2, 3})}, {real({0, 3})}).get<float>().empty());
  EXPECT_TRUE(Case("RESHAPE", {real({0})}, {real({2, 0})}).get<float>().empty());
  EXPECT_TRUE(Case("TRANSPOSE", {real({0, 2}), ints({1, 0})}, {real({2, 0})}).get<float>().empty());
  EXPECT_TRUE(Case("SOFTMAX", {real({2, 0})}, {real({2, 0})}, {{"beta", 1.0F}}).get<float>().empty());
}

Value like(DType dtype, const Shape& shape, int seed) {
  const std::int64_t count = count_of(shape);
  Floats reals;
  Bytes8 small;
  Ints large;
  std::vector<std::uint8_t> bools;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<int>((i * 37 + seed * 11) % 100);
    reals.push_back(static_cast<float>(number) / 7 + 0.5F);
    small.push_back(static_cast<std::int8_t>(number - 50));
    large.push_back(number * 1000);
    bools.push_back(number % 2 == 0 ? 1 : 0);
  }
  if (dtype == DType::float32) return real(shape, reals);
  if (dtype == DType::int8) return int8(shape, 0.1F, 0, small);
  if (dtype == DType::boolean) return truths(shape, bools);
  return {DType::int32, shape, bytes_from(large), Quantization{{0.1F}, {0}}};
}

/// What an operator that may write over its inputs has for operands.
struct Recipe {
  std::vector<DType> inputs{};
  DType output = DType::unknown;
};

std::vector<Recipe> recipes_of(const std::string& type) {
  using enum DType;
  static const std::map<std::string, std::vector<Recipe>> special{
      {"CAST", {{{int32}, float32}, {{float32}, int32}}},
      {"DEQUANTIZE", {{{int32}, float32}}},
      {"QUANTIZE", {{{int8}, int8}, {{float32}, int32}}},
      {"LOGICAL_AND", {{{boolean, boolean}, boolean}}},
      {"LOGICAL_OR", {{{boolean, boolean}, boolean}}},
      {"LOGICAL_NOT", {{{boolean}, boolean}}},
      {"SELECT_V2", {{{boolean, int8, int8}, int8}, {{boolean, float32, float32}, float32}}}};
  if (const auto it = special.find(type); it != special.end()) return it->second;
  for (const std::string comparison :
       {"EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"})
    if (type == comparison) return {{{int8, int8}, boolean}, {{boolean, boolean}, boolean}};
  return {{{float32}, float32},
          {{int8}, int8},
          {{float32, float32}, float32},
          {{int8, int8}, int8},
          {{int32, int32}, int32}};
}

/// The case of a recipe with one input, or none, that is stretched; nothing where the kernel does not take
/// it.
std::optional<Case> case_of(const std::string& type, const Recipe& recipe,
                            std::optional<std::size_t> stretched) {
  const Shape shape{4, 3};
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < recipe.inputs.size(); ++i)
    inputs.push_back(like(recipe.inputs[i], i == stretched ? Shape{3} : shape, static_cast<int>(i)));
  try {
    Value output = like(recipe.output, shape, 0);
    if (type == "LOGISTIC" && recipe.output == DType::int8) output = int8(shape, 1.0F / 256, -128);
    return std::optional<Case>(std::in_place, type, inputs, std::vector<Value>{output},
                               Options{{"alpha", 0.3F}});
  } catch (const Unsupported&) {
    return std::nullopt;
  }
}

TEST(TfliteKernelsTest, GivesTheSameInPlaceOfEachInput) {
  int compared = 0;
  for (const auto& [name, unused] : tflite_kernels()) {
    const std::string type(name);
    if (type == "DYNAMIC_UPDATE_SLICE" || !updates_in_place({.type = type}, 0)) continue;
    int of_this = 0;
    for (const Recipe& recipe : recipes_of(type)) {
      for (std::size_t stretched = 0; stretched <= recipe.inputs.size(); ++stretched) {
        const auto it = case_of(type, recipe, stretched);
        if (!it) continue;
        const auto expected = it->run();
        for (std::size_t i = 0; i < recipe.inputs.size(); ++i) {
          if (i == stretched || bits_of(recipe.inputs[i]) != bits_of(recipe.output)) continue;
          if (!updates_in_place({.type = type}, i)) continue;
          EXPECT_EQ(it->run(i), expected) << type << " in place of input " << i;
          ++of_this;
        }
      }
    }
    EXPECT_GT(of_this, 0) << type;
    compared += of_this;
  }
  EXPECT_GT(compared, 100);
}

TEST(TfliteKernelsTest, UpdatesSlicesInPlace) {
  const Case it("DYNAMIC_UPDATE_SLICE",
                {real({2, 3}, {1, 2, 3, 4, 5, 6}), real({1, 2}, {8, 9}), bias({1, 1})}, {real({2, 3})});
  EXPECT_EQ(elements_of<float>(it.run(0)[0]), (Floats{1, 2, 3, 4, 8, 9}));
  EXPECT_EQ(it.run(0), it.run());
}

}  // namespace
}  // namespace stowage::kernels
