// Kernels of ONNX operators that networks are made of: convolutions, pools, products, normalisations,
// recurrence, quantised operators; and which of all kernels may write over an input.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "kernel_calls.h"
#include "stowage/error.h"
#include "stowage/graph.h"

namespace stowage {
namespace {

using kernels::onnx_ops::Half;
using kernels::onnx_ops::Truth;
using testing::array;
using testing::KernelCall;
using testing::outputs_of;
using testing::refusal_of;
using testing::result;
using testing::values_of;
using Integers = std::vector<std::int64_t>;
using Reals = std::vector<double>;

Array floats(const Shape& shape, const Reals& values) { return array<float>(shape, values); }

void expect_near(const KernelCall& call, const Reals& expected, double tolerance = 1e-5) {
  SCOPED_TRACE(call.type);
  ASSERT_EQ(refusal_of(call), "");
  const Reals values = values_of<float>(outputs_of(call).at(0));
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], tolerance) << "element " << i;
}

void expect_refused(const KernelCall& call, const std::string& words) {
  EXPECT_NE(refusal_of(call).find(words), std::string::npos) << refusal_of(call);
}

Array counting(const Shape& shape, double from = 1) {
  Reals values;
  for (std::int64_t i = 0; i < kernels::count_of(shape); ++i) values.push_back(static_cast<double>(i) + from);
  return floats(shape, values);
}

/// How a convolution over one axis of a picture of two moves.
struct WindowMoves {
  std::int64_t size;
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t dilation;
  std::int64_t begin;
  std::int64_t end;

  [[nodiscard]] std::int64_t places() const {
    return (size + begin + end - (kernel - 1) * dilation - 1) / stride + 1;
  }
};

/// A convolution of random sizes and numbers, and its result straight from the definition.
struct RandomConvolution {
  KernelCall call{};
  Reals expected{};
};

RandomConvolution random_convolution(std::mt19937& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const auto draw_all = [&](const Shape& shape) {
    Reals values;
    for (std::int64_t i = 0; i < kernels::count_of(shape); ++i)
      values.push_back(static_cast<double>(draw(-4, 4)));
    return values;
  };
  const std::int64_t groups = draw(1, 3);
  const std::int64_t in = draw(1, 3);
  const std::int64_t out = draw(1, 3);
  WindowMoves moves[2];
  for (WindowMoves& one : moves)
    one = {draw(5, 9), draw(1, 3), draw(1, 3), draw(1, 2), draw(0, 3), draw(0, 3)};
  const auto& [y, x] = moves;
  const Shape input{2, groups * in, y.size, x.size};
  const Shape weights{groups * out, in, y.kernel, x.kernel};
  const Shape output{2, groups * out, y.places(), x.places()};
  const Reals data = draw_all(input);
  const Reals w = draw_all(weights);
  const Reals bias = draw_all({groups * out});
  RandomConvolution made{
      .call = {.type = "Conv",
               .inputs = {floats(input, data), floats(weights, w), floats({groups * out}, bias)},
               .outputs = {result<float>(output)},
               .attributes = {{"group", groups},
                              {"strides", Integers{y.stride, x.stride}},
                              {"dilations", Integers{y.dilation, x.dilation}},
                              {"pads", Integers{y.begin, x.begin, y.end, x.end}}}}};
  const auto at = [](const Reals& values, const Shape& shape, std::int64_t a, std::int64_t b, std::int64_t c,
                     std::int64_t d) {
    return values[static_cast<std::size_t>(((a * shape[1] + b) * shape[2] + c) * shape[3] + d)];
  };
  for (std::int64_t i = 0; i < kernels::count_of(output); ++i) {
    const std::int64_t n = i / (output[1] * output[2] * output[3]);
    const std::int64_t channel = i / (output[2] * output[3]) % output[1];
    double total = bias[static_cast<std::size_t>(channel)];
    for (std::int64_t c = 0; c < in; ++c) {
      for (std::int64_t ky = 0; ky < y.kernel; ++ky) {
        for (std::int64_t kx = 0; kx < x.kernel; ++kx) {
          const std::int64_t py = i / output[3] % output[2] * y.stride + ky * y.dilation - y.begin;
          const std::int64_t px = i % output[3] * x.stride + kx * x.dilation - x.begin;
          if (py < 0 || px < 0 || py >= y.size || px >= x.size) continue;
          total += at(data, input, n, channel / out * in + c, py, px) * at(w, weights, channel, c, ky, kx);
        }
      }
    }
    made.expected.push_back(total);
  }
  return made;
}

TEST(OnnxKernels, ConvolutionsAreWhatTheyAreDefinedAs) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const RandomConvolution made = random_convolution(random);
    expect_near(made.call, made.expected, 0);
  }
}

TEST(OnnxKernels, Convolution) {
  const KernelCall same{.type = "Conv",
                        .inputs = {counting({1, 1, 4}), floats({1, 1, 2}, {1, 10})},
                        .outputs = {result<float>({1, 1, 4})},
                        .attributes = {{"auto_pad", std::string("SAME_LOWER")}}};
  expect_near(same, {10, 21, 32, 43});
  KernelCall upper = same;
  upper.attributes = {{"auto_pad", std::string("SAME_UPPER")}};
  expect_near(upper, {21, 32, 43, 4});
  KernelCall wrong = same;
  wrong.attributes = {};
  expect_refused(wrong, "the window takes 3 places, but the output has 4");
  wrong = same;
  wrong.attributes = {{"group", std::int64_t{2}}};
  expect_refused(wrong, "group 2 does not divide 1");
  wrong = same;
  wrong.inputs[0] = counting({1, 2, 4});
  expect_refused(wrong, "weights are for 1 channels, expected 2");
  wrong = same;
  wrong.inputs[0] = counting({1, 1, 4, 1});
  expect_refused(wrong, "does not fit");
  wrong = same;
  wrong.attributes = {{"strides", Integers{0}}};
  expect_refused(wrong, "out of range");
}

TEST(OnnxKernels, TransposedConvolution) {
  const KernelCall call{.type = "ConvTranspose",
                        .inputs = {floats({1, 1, 3}, {1, 2, 3}), floats({1, 1, 2}, {1, 10})},
                        .outputs = {result<float>({1, 1, 7})},
                        .attributes = {{"strides", Integers{2}}, {"output_padding", Integers{1}}}};
  expect_near(call, {1, 10, 2, 20, 3, 30, 0});
  KernelCall told = call;
  told.outputs = {result<float>({1, 1, 5})};
  told.attributes = {{"strides", Integers{2}}, {"output_shape", Integers{5}}};
  expect_near(told, {10, 2, 20, 3, 30});
  KernelCall grouped = call;
  grouped.inputs = {floats({1, 2, 1}, {1, 2}), floats({2, 1, 2}, {1, 2, 3, 4}), floats({2}, {100, 200})};
  grouped.outputs = {result<float>({1, 2, 2})};
  grouped.attributes = {{"group", std::int64_t{2}}};
  expect_near(grouped, {101, 102, 206, 208});
  KernelCall wrong = call;
  wrong.outputs = {result<float>({1, 1, 8})};
  expect_refused(wrong, "reaches 7 places, but the output has 8");
}

TEST(OnnxKernels, Pools) {
  const Array x = floats({1, 1, 5}, {1, 5, 2, 4, 3});
  const std::pair<std::string, Attributes::Value> kernel{"kernel_shape", Integers{2}};
  const std::pair<std::string, Attributes::Value> stride{"strides", Integers{2}};
  const std::pair<std::string, Attributes::Value> ceils{"ceil_mode", std::int64_t{1}};
  const KernelCall call{.type = "MaxPool",
                        .inputs = {x},
                        .outputs = {result<float>({1, 1, 3}), result<std::int64_t>({1, 1, 3})},
                        .attributes = {kernel, stride, ceils}};
  expect_near(call, {5, 4, 3});
  EXPECT_EQ(values_of<std::int64_t>(outputs_of(call)[1]), (Reals{1, 3, 4}));
  expect_near({.type = "AveragePool",
               .inputs = {x},
               .outputs = {result<float>({1, 1, 3})},
               .attributes = {kernel, stride, ceils}},
              {3, 3, 3});
  const std::pair<std::string, Attributes::Value> pads{"pads", Integers{1, 0}};
  // A third window would begin in the padding behind.
  const std::pair<std::string, Attributes::Value> padded_behind{"pads", Integers{0, 1}};
  expect_refused({.type = "MaxPool",
                  .inputs = {floats({1, 1, 4}, {1, 5, 2, 4})},
                  .outputs = {result<float>({1, 1, 3})},
                  .attributes = {kernel, stride, ceils, padded_behind}},
                 "takes 2 places, but the output has 3");
  expect_near({.type = "AveragePool",
               .inputs = {x},
               .outputs = {result<float>({1, 1, 3})},
               .attributes = {kernel, stride, pads}},
              {1, 3.5, 3.5});
  expect_near({.type = "AveragePool",
               .inputs = {x},
               .outputs = {result<float>({1, 1, 3})},
               .attributes = {kernel, stride, pads, {"count_include_pad", std::int64_t{1}}}},
              {0.5, 3.5, 3.5});
  expect_near({.type = "LpPool",
               .inputs = {x},
               .outputs = {result<float>({1, 1, 2})},
               .attributes = {kernel, stride}},
              {std::sqrt(26), std::sqrt(20)});
  expect_near({.type = "GlobalAveragePool", .inputs = {x}, .outputs = {result<float>({1, 1, 1})}}, {3});
  expect_near({.type = "GlobalMaxPool", .inputs = {x}, .outputs = {result<float>({1, 1, 1})}}, {5});
  expect_near({.type = "GlobalLpPool",
               .inputs = {x},
               .outputs = {result<float>({1, 1, 1})},
               .attributes = {{"p", std::int64_t{1}}}},
              {15});
  expect_refused(
      {.type = "MaxPool", .inputs = {x}, .outputs = {result<float>({1, 1, 9})}, .attributes = {kernel}},
      "the window takes 4 places");
}

TEST(OnnxKernels, Products) {
  const Array a = counting({2, 3});
  const Array b = counting({3, 2});
  expect_near({.type = "MatMul", .inputs = {a, b}, .outputs = {result<float>({2, 2})}}, {22, 28, 49, 64});
  expect_near({.type = "MatMul", .inputs = {counting({3}), b}, .outputs = {result<float>({2})}}, {22, 28});
  expect_near({.type = "MatMul", .inputs = {a, counting({3})}, .outputs = {result<float>({2})}}, {14, 32});
  expect_near({.type = "MatMul",
               .inputs = {counting({2, 1, 1, 3}), counting({2, 3, 1})},
               .outputs = {result<float>({2, 2, 1, 1})}},
              {14, 32, 32, 77});
  expect_near({.type = "Gemm",
               .inputs = {counting({3, 2}), counting({2, 3}), floats({2, 1}, {1, 2})},
               .outputs = {result<float>({2, 2})},
               .attributes = {{"transA", std::int64_t{1}},
                              {"transB", std::int64_t{1}},
                              {"alpha", 0.5F},
                              {"beta", 2.0F}}},
              {13, 26.5, 18, 36});
  expect_near({.type = "com.microsoft.FusedMatMul",
               .inputs = {a, a},
               .outputs = {result<float>({2, 2})},
               .attributes = {{"transB", std::int64_t{1}}, {"alpha", 0.5F}}},
              {7, 16, 16, 38.5});
  // What is the batch of both is between their rows and columns.
  expect_near({.type = "com.microsoft.FusedMatMul",
               .inputs = {counting({3, 2, 2}), counting({2, 2, 3})},
               .outputs = {result<float>({2, 2, 2})},
               .attributes = {{"transBatchA", std::int64_t{1}},
                              {"transA", std::int64_t{1}},
                              {"transB", std::int64_t{1}}}},
              {38, 83, 44, 98, 176, 239, 200, 272});
  expect_near({.type = "com.microsoft.TransposeMatMul",
               .inputs = {counting({2, 2, 1, 3}), counting({2, 2, 1, 3})},
               .outputs = {result<float>({2, 1, 2, 2})},
               .attributes = {{"transBatchA", std::int64_t{1}},
                              {"transBatchB", std::int64_t{1}},
                              {"transB", std::int64_t{1}},
                              {"alpha", 0.5F}}},
              {7, 25, 25, 97, 38.5, 83.5, 83.5, 182.5});
  expect_refused({.type = "MatMul", .inputs = {a, a}, .outputs = {result<float>({2, 3})}}, "is not defined");
  expect_refused(
      {.type = "Gemm", .inputs = {a, b, floats({3}, {1, 2, 3})}, .outputs = {result<float>({2, 2})}},
      "is not broadcast");
  expect_near({.type = "Einsum",
               .inputs = {a, b},
               .outputs = {result<float>({2, 2})},
               .attributes = {{"equation", std::string("ij,jk->ki")}}},
              {22, 49, 28, 64});
  expect_near({.type = "Einsum",
               .inputs = {counting({2, 2, 2})},
               .outputs = {result<float>({2})},
               .attributes = {{"equation", std::string("...ii->...")}}},
              {5, 13});
  expect_refused({.type = "Einsum",
                  .inputs = {a},
                  .outputs = {result<float>({2})},
                  .attributes = {{"equation", std::string("ijk->i")}}},
                 "is not of rank 2");
}

TEST(OnnxKernels, Normalisations) {
  const Array x = floats({1, 2, 2}, {1, 3, 2, 6});
  const Array two = floats({2}, {2, 1});
  const Array shift = floats({2}, {1, -1});
  const auto zero = std::pair<std::string, Attributes::Value>{"epsilon", 0.0F};
  expect_near({.type = "BatchNormalization",
               .inputs = {x, two, shift, floats({2}, {1, 2}), floats({2}, {4, 16})},
               .outputs = {result<float>({1, 2, 2})},
               .attributes = {zero}},
              {1, 3, -1, 0});
  expect_near({.type = "InstanceNormalization",
               .inputs = {x, two, shift},
               .outputs = {result<float>({1, 2, 2})},
               .attributes = {zero}},
              {-1, 3, -2, 0});
  const double deviation = std::sqrt(3.5);
  expect_near({.type = "GroupNormalization",
               .inputs = {x, floats({1}, {1}), floats({1}, {0})},
               .outputs = {result<float>({1, 2, 2})},
               .attributes = {zero, {"num_groups", std::int64_t{1}}},
               .version = 18},
              {-2 / deviation, 0, -1 / deviation, 3 / deviation});
  expect_near({.type = "LayerNormalization",
               .inputs = {x, two, shift},
               .outputs = {result<float>({1, 2, 2})},
               .attributes = {zero}},
              {-1, 0, -1, 0});
  expect_near({.type = "RMSNormalization",
               .inputs = {floats({1, 2}, {1, 7}), two},
               .outputs = {result<float>({1, 2})},
               .attributes = {zero}},
              {0.4, 1.4});
  expect_near({.type = "com.microsoft.SkipLayerNormalization",
               .inputs = {floats({1, 2}, {1, 2}), floats({1, 2}, {0, 1}), two, shift},
               .outputs = {result<float>({1, 2})},
               .attributes = {zero}},
              {-1, 0});
  const KernelCall words{
      .type = "com.microsoft.EmbedLayerNormalization",
      .inputs = {array<std::int32_t>({1, 2}, {1, 0}), array<std::int32_t>({1, 2}, {0, 0}),
                 floats({2, 2}, {1, 2, 3, 5}), floats({2, 2}, {0, 0, 1, 0}), floats({1, 2}, {1, 1}), two,
                 shift, array<std::int32_t>({1, 2}, {1, 0}), array<std::int32_t>({1, 2}, {0, 1})},
      .outputs = {result<float>({1, 2, 2}), result<std::int32_t>({1}), result<float>({1, 2, 2})},
      .attributes = {{"epsilon", 1.0F}}};
  expect_near(words, {1 - std::sqrt(2), -1 + std::sqrt(0.5), 1, -1});
  EXPECT_EQ(values_of<std::int32_t>(outputs_of(words)[1]), (Reals{1}));
  EXPECT_EQ(values_of<float>(outputs_of(words)[2]), (Reals{4, 6, 3, 3}));
  KernelCall by_order = words;  // without segments, mask and places
  by_order.inputs.resize(7);
  by_order.inputs[1] = by_order.inputs[4] = std::nullopt;
  EXPECT_EQ(values_of<std::int32_t>(outputs_of(by_order)[1]), (Reals{0}));
  EXPECT_EQ(values_of<float>(outputs_of(by_order)[2]), (Reals{3, 5, 2, 2}));
  by_order.inputs[0] = array<std::int32_t>({1, 2}, {1, 2});
  EXPECT_THROW(static_cast<void>(outputs_of(by_order)), Error);
  expect_near({.type = "LpNormalization", .inputs = {floats({2}, {3, -4})}, .outputs = {result<float>({2})}},
              {0.6, -0.8});
  expect_near({.type = "LRN",
               .inputs = {floats({1, 2, 1}, {1, 2})},
               .outputs = {result<float>({1, 2, 1})},
               .attributes = {{"size", std::int64_t{3}}, {"alpha", 3.0F}, {"beta", 1.0F}}},
              {1.0 / 6, 2.0 / 6});
  expect_near({.type = "MeanVarianceNormalization",
               .inputs = {floats({2, 1}, {1, 3})},
               .outputs = {result<float>({2, 1})},
               .attributes = {{"axes", Integers{0}}}},
              {-1, 1});
  expect_refused({.type = "BatchNormalization",
                  .inputs = {x, floats({3}, {1, 1, 1}), shift, two, two},
                  .outputs = {result<float>({1, 2, 2})}},
                 "expected [2]");
  expect_refused({.type = "GroupNormalization",
                  .inputs = {x, two, two},
                  .outputs = {result<float>({1, 2, 2})},
                  .attributes = {{"num_groups", std::int64_t{3}}}},
                 "does not divide 2 channels");
}

/// Two steps of one cell each, worked out with the formulas of the specification.
TEST(OnnxKernels, Recurrence) {
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  const Array x = floats({2, 1, 1}, {1, -1});
  const double h1 = std::tanh(0.5 + 0.1);
  const KernelCall rnn{
      .type = "RNN",
      .inputs = {x, floats({1, 1, 1}, {0.5}), floats({1, 1, 1}, {2}), floats({1, 2}, {0.1, 0})},
      .outputs = {result<float>({2, 1, 1, 1}), result<float>({1, 1, 1})},
      .attributes = {{"hidden_size", std::int64_t{1}}}};
  expect_near(rnn, {h1, std::tanh(-0.5 + 2 * h1 + 0.1)});
  KernelCall backwards = rnn;
  backwards.attributes.emplace_back("direction", std::string("reverse"));
  const double last = std::tanh(-0.5 + 0.1);
  expect_near(backwards, {std::tanh(0.5 + 2 * last + 0.1), last});
  KernelCall shorter = rnn;
  shorter.inputs.emplace_back(array<std::int32_t>({1}, {1}));
  expect_near(shorter, {h1, 0});
  shorter.inputs.back() = array<std::int32_t>({1}, {3});
  expect_refused(shorter, "length is 3, expected 0 to 2");
  // Gates z, r, h with weights 1, 2, 3 and nothing from a state of 0 but in the second step.
  const double z1 = sigmoid(1);
  const double g1 = (1 - z1) * std::tanh(3);
  const double z2 = sigmoid(-1 + g1);
  const double g2 = (1 - z2) * std::tanh(-3 + sigmoid(-2 + g1) * g1) + z2 * g1;
  expect_near({.type = "GRU",
               .inputs = {x, floats({1, 3, 1}, {1, 2, 3}), floats({1, 3, 1}, {1, 1, 1})},
               .outputs = {result<float>({2, 1, 1, 1})}},
              {g1, g2});
  // Gates i, o, f, c with weights 1, 2, 3, 4.
  const double c1 = sigmoid(1) * std::tanh(4);
  const double l1 = sigmoid(2) * std::tanh(c1);
  const double c2 = sigmoid(-3 + l1) * c1 + sigmoid(-1 + l1) * std::tanh(-4 + l1);
  expect_near({.type = "LSTM",
               .inputs = {x, floats({1, 4, 1}, {1, 2, 3, 4}), floats({1, 4, 1}, {1, 1, 1, 1})},
               .outputs = {result<float>({2, 1, 1, 1})}},
              {l1, sigmoid(-2 + l1) * std::tanh(c2)});
  expect_refused({.type = "LSTM",
                  .inputs = {x, floats({1, 4, 1}, {1, 2, 3, 4}), floats({1, 4, 2}, Reals(8, 1))},
                  .outputs = {result<float>({2, 1, 1, 1})}},
                 "input 2 is [1,4,2], expected [1,4,1]");
}

TEST(OnnxKernels, Quantised) {
  using Byte = std::uint8_t;
  const auto bytes = [](const Shape& shape, const Reals& values) { return array<Byte>(shape, values); };
  const KernelCall quantize{.type = "QuantizeLinear",
                            .inputs = {floats({5}, {-300, 1, 3, 5, 900}), floats({}, {2}), bytes({}, {10})},
                            .outputs = {result<Byte>({5})}};
  EXPECT_EQ(values_of<Byte>(outputs_of(quantize)[0]), (Reals{0, 10, 12, 12, 255}));  // ties go to even
  expect_near({.type = "DequantizeLinear",
               .inputs = {bytes({2, 2}, {0, 1, 2, 3}), floats({2}, {1, 10}), bytes({2}, {0, 1})},
               .outputs = {result<float>({2, 2})}},
              {0, 0, 2, 20});
  const KernelCall matrix{
      .type = "MatMulInteger",
      .inputs = {bytes({1, 2}, {5, 7}), bytes({2, 1}, {3, 4}), bytes({}, {1}), bytes({}, {2})},
      .outputs = {result<std::int32_t>({1, 1})}};
  EXPECT_EQ(values_of<std::int32_t>(outputs_of(matrix)[0]), Reals{16});
  const KernelCall scaled{
      .type = "QLinearMatMul",
      .inputs = {bytes({1, 2}, {5, 7}), floats({}, {0.5}), bytes({}, {1}), bytes({2, 1}, {3, 4}),
                 floats({}, {1}), bytes({}, {2}), floats({}, {2}), bytes({}, {100})},
      .outputs = {result<Byte>({1, 1})}};
  EXPECT_EQ(values_of<Byte>(outputs_of(scaled)[0]), Reals{104});
  const KernelCall convolution{.type = "ConvInteger",
                               .inputs = {bytes({1, 1, 2}, {3, 4}), bytes({1, 1, 2}, {1, 2}), bytes({}, {1})},
                               .outputs = {result<std::int32_t>({1, 1, 3})},
                               .attributes = {{"pads", Integers{1, 1}}}};
  EXPECT_EQ(values_of<std::int32_t>(outputs_of(convolution)[0]), (Reals{4, 8, 3}));
  const KernelCall dynamic{.type = "DynamicQuantizeLinear",
                           .inputs = {floats({3}, {-1, 0, 254})},
                           .outputs = {result<Byte>({3}), result<float>({}), result<Byte>({})}};
  EXPECT_EQ(values_of<Byte>(outputs_of(dynamic)[0]), (Reals{0, 1, 255}));
  expect_refused({.type = "QuantizeLinear",
                  .inputs = {floats({2}, {1, 2}), floats({3}, {1, 1, 1})},
                  .outputs = {result<Byte>({2})},
                  .attributes = {{"axis", std::int64_t{0}}}},
                 "the scale is [3], expected [2]");
}

TEST(OnnxKernels, FunctionsOfBytes) {
  using Byte = std::uint8_t;
  const auto of = [](const char* type, const Array& x, float scale, const Array& zero, float output_scale,
                     const Array& output_zero) {
    return KernelCall{.type = type,
                      .inputs = {x, floats({}, {scale}), zero, floats({}, {output_scale}), output_zero},
                      .outputs = {Array{x.dtype, x.shape, std::vector<std::byte>(x.data.size())}}};
  };
  KernelCall relu = of("com.microsoft.QLinearLeakyRelu", array<Byte>({4}, {0, 128, 130, 255}), 0.1F,
                       array<Byte>({}, {128}), 0.05F, array<Byte>({}, {100}));
  relu.attributes = {{"alpha", 0.1F}};
  EXPECT_EQ(values_of<Byte>(outputs_of(relu)[0]), (Reals{74, 100, 104, 255}));
  const auto signed_bytes = [](const Shape& shape, const Reals& x) { return array<std::int8_t>(shape, x); };
  const KernelCall sigmoid = of("com.microsoft.QLinearSigmoid", signed_bytes({3}, {-128, 0, 64}), 0.05F,
                                signed_bytes({}, {0}), 1.0F / 256, signed_bytes({}, {-128}));
  EXPECT_EQ(values_of<std::int8_t>(outputs_of(sigmoid)[0]), (Reals{-128, 0, 118}));
  KernelCall softmax = of("com.microsoft.QLinearSoftmax", signed_bytes({2, 2}, {0, 0, 10, -10}), 0.1F,
                          signed_bytes({}, {0}), 1.0F / 256, signed_bytes({}, {-128}));
  softmax.attributes = {{"axis", std::int64_t{0}}};
  EXPECT_EQ(values_of<std::int8_t>(outputs_of(softmax)[0]), (Reals{-59, 59, 59, -59}));
  softmax.attributes.emplace_back("opset", std::int64_t{12});  // all from the axis on is one row
  EXPECT_EQ(values_of<std::int8_t>(outputs_of(softmax)[0]), (Reals{-78, -78, 9, -109}));
  // All of a run is 142 steps of 0.007, and not 143.
  softmax = of("com.microsoft.QLinearSoftmax", array<Byte>({2, 2}, {0, 255, 10, 10}), 0.05F,
               array<Byte>({}, {3}), 0.007F, array<Byte>({}, {7}));
  EXPECT_EQ(values_of<Byte>(outputs_of(softmax)[0]), (Reals{7, 149, 78, 78}));
  softmax = of("com.microsoft.QLinearSoftmax", signed_bytes({2, 2}, {-128, 127, 5, 5}), 0.05F,
               signed_bytes({}, {3}), 0.002F, signed_bytes({}, {-128}));
  EXPECT_EQ(values_of<std::int8_t>(outputs_of(softmax)[0]), (Reals{-128, 127, 122, 122}));
  expect_refused({.type = "com.microsoft.QLinearSigmoid",
                  .inputs = {signed_bytes({2}, {1, 2}), floats({2}, {1, 1}), signed_bytes({}, {0}),
                             floats({}, {1}), signed_bytes({}, {0})},
                  .outputs = {result<std::int8_t>({2})}},
                 "input 1 is not one scale");
}

TEST(OnnxKernels, Pictures) {
  const Array x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto resize = [&](const std::string& mode, const Shape& shape, const Reals& scales) {
    return KernelCall{.type = "Resize",
                      .inputs = {x, std::nullopt, floats({4}, scales)},
                      .outputs = {result<float>(shape)},
                      .attributes = {{"mode", mode}}};
  };
  expect_near(resize("nearest", {1, 1, 2, 4}, {1, 1, 1, 2}), {1, 1, 2, 2, 3, 3, 4, 4});
  expect_near(resize("linear", {1, 1, 2, 4}, {1, 1, 1, 2}), {1, 1.25, 1.75, 2, 3, 3.25, 3.75, 4});
  expect_near({.type = "Upsample",
               .inputs = {x},
               .outputs = {result<float>({1, 1, 2, 4})},
               .attributes = {{"scales", std::vector<float>{1, 1, 1, 2}}, {"mode", std::string("linear")}},
               .version = 7},
              {1, 1.5, 2, 2, 3, 3.5, 4, 4});
  expect_refused(resize("curved", {1, 1, 2, 4}, {1, 1, 1, 2}), "there is no mode curved");
  expect_near({.type = "GridSample",
               .inputs = {x, floats({1, 1, 2, 2}, {0, 0, 1, 1})},
               .outputs = {result<float>({1, 1, 1, 2})},
               .attributes = {{"align_corners", std::int64_t{1}}}},
              {2.5, 4});
  expect_near({.type = "Det", .inputs = {x}, .outputs = {result<float>({1, 1})}}, {-2});
  expect_near({.type = "MaxUnpool",
               .inputs = {floats({1, 1, 1, 1}, {7}), array<std::int64_t>({1, 1, 1, 1}, {2})},
               .outputs = {result<float>({1, 1, 2, 3})},
               .attributes = {{"kernel_shape", Integers{2, 2}}}},
              {0, 0, 0, 7, 0, 0});
}

/// What an operator that may write over an input is called with, where three inputs of float32 will not do.
std::map<std::string_view, KernelCall> special_calls() {
  const Shape shape{2, 3};
  const auto of = [&](auto element, int count) {
    using Element = decltype(element);
    KernelCall call{.outputs = {result<Element>(shape)}};
    for (int i = 0; i < count; ++i) {
      Reals values;
      for (int j = 0; j < 6; ++j) values.push_back((j * 5 + i) % 7);
      call.inputs.emplace_back(array<Element>(shape, values));
    }
    return call;
  };
  std::map<std::string_view, KernelCall> calls;
  for (const char* const type : {"And", "Or", "Xor"}) calls[type] = of(Truth{}, 2);
  calls["Not"] = of(Truth{}, 1);
  for (const char* const type : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"})
    calls[type] = of(std::int32_t{}, 2);
  calls["BitwiseNot"] = of(std::int32_t{}, 1);
  calls["BitShift"] = of(std::uint8_t{}, 2);
  calls["BitShift"].attributes = {{"direction", std::string("LEFT")}};
  for (const char* const type : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}) {
    calls[type] = of(std::uint8_t{}, 2);
    calls[type].outputs = {result<Truth>(shape)};
  }
  calls["Where"] = of(Truth{}, 3);
  for (const char* const type : {"Add", "Div", "Mod", "Mul", "PRelu", "Pow", "Sub"})
    calls[type] = of(float{}, 2);
  calls["Mod"].attributes = {{"fmod", std::int64_t{1}}};
  calls["Clip"] = of(float{}, 1);
  calls["Clip"].inputs.insert(calls["Clip"].inputs.end(), {floats({}, {1}), floats({}, {3})});
  calls["Cast"] = of(float{}, 1);
  calls["Cast"].outputs = {result<std::int32_t>(shape)};
  calls["CastLike"] = calls["Cast"];
  calls["QuantizeLinear"] = of(Half{}, 1);
  calls["QuantizeLinear"].inputs.emplace_back(array<Half>({}, {0.5}));
  calls["QuantizeLinear"].outputs = {result<std::int16_t>(shape)};
  calls["DequantizeLinear"] = of(std::int32_t{}, 1);
  calls["DequantizeLinear"].inputs.emplace_back(floats({}, {0.5}));
  calls["DequantizeLinear"].outputs = {result<float>(shape)};
  for (const char* const type :
       {"com.microsoft.QLinearAdd", "com.microsoft.QLinearMul", "stowage.QLinearSub"}) {
    KernelCall& call = calls[type] = of(std::uint8_t{}, 2);
    const auto second = call.inputs[1];
    call.inputs.resize(1);
    for (int i = 0; i < 3; ++i) {
      if (i == 1) call.inputs.push_back(second);
      call.inputs.emplace_back(floats({}, {0.5}));
      call.inputs.emplace_back(array<std::uint8_t>({}, {2}));
    }
  }
  for (const char* const type :
       {"com.microsoft.QLinearLeakyRelu", "com.microsoft.QLinearSigmoid", "stowage.Requantize"}) {
    KernelCall& call = calls[type] = of(std::uint8_t{}, 1);
    for (int i = 0; i < 2; ++i) {
      call.inputs.emplace_back(floats({}, {0.5}));
      call.inputs.emplace_back(array<std::uint8_t>({}, {2}));
    }
  }
  calls["BatchNormalization"] = of(float{}, 1);
  for (int i = 0; i < 4; ++i) calls["BatchNormalization"].inputs.emplace_back(floats({3}, {1, 2, 3}));
  for (const char* const type : {"Scatter", "ScatterElements", "ScatterND"}) {
    calls[type] = of(float{}, 1);
    calls[type].inputs.emplace_back(array<std::int64_t>({1, 1}, {1}));
    calls[type].inputs.emplace_back(floats(std::string_view(type) == "ScatterND" ? Shape{1, 3} : Shape{1, 1},
                                           Reals(type[7] == 'N' ? 3 : 1, 8)));
  }
  return calls;
}

/// The same with one input of float32, or several for operators of any number.
KernelCall call_for(std::string_view type) {
  static const std::map<std::string_view, KernelCall> special = special_calls();
  const auto known = special.find(type);
  KernelCall call;
  if (known != special.end()) call = known->second;
  call.type = type;
  call.has_constants = false;
  if (known != special.end()) return call;
  const bool is_variadic = type == "Max" || type == "Mean" || type == "Min" || type == "Sum";
  for (int i = 0; i < (is_variadic ? 3 : 1); ++i)
    call.inputs.emplace_back(floats({2, 3}, {-2, -0.5, 0, 0.25, 1.0 + i, 3}));
  call.outputs = {result<float>({2, 3})};
  return call;
}

/// Whether planning lets the call's output be at the place of an input.
bool is_in_place(const KernelCall& call, std::size_t input) {
  Graph graph;
  Operator op{.type = std::string(call.type)};
  for (const auto& operand : call.inputs) {
    op.inputs.emplace_back(graph.tensors.size());
    graph.tensors.push_back({.dtype = operand->dtype,
                             .shape = operand->shape,
                             .bytes = bytes_of(operand->dtype, operand->shape)});
  }
  const Array& output = *call.outputs[0];
  op.outputs.emplace_back(graph.tensors.size());
  graph.tensors.push_back(
      {.dtype = output.dtype, .shape = output.shape, .bytes = bytes_of(output.dtype, output.shape)});
  return in_place_output(graph, op, input).has_value();
}

TEST(OnnxKernels, WriteOverWhatTheyMay) {
  int checked = 0;
  for (const auto& [type, prepare] : kernels::onnx_kernels()) {
    SCOPED_TRACE(type);
    const bool is_asked = !updates_in_place({.type = std::string(type)}, 0);
    if (is_asked) continue;
    const KernelCall call = call_for(type);
    const bool is_truth = type == "IsInf" || type == "IsNaN";  // an output of other size
    if (is_truth) continue;
    ASSERT_EQ(refusal_of(call), "");
    const Array apart = outputs_of(call)[0];
    bool is_checked = false;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      if (!is_in_place(call, i)) continue;
      KernelCall over = call;
      over.in_place = i;
      EXPECT_EQ(outputs_of(over)[0], apart) << "input " << i;
      is_checked = true;
      ++checked;
    }
    EXPECT_TRUE(is_checked);
  }
  EXPECT_EQ(checked, 113);
}

}  // namespace
}  // namespace stowage
