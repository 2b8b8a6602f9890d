// Kernels of ONNX operators against numbers worked out by hand from the formulas of the specification, what
// they refuse, and that they may write over an input where planning says so.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "kernel_calls.h"

namespace stowage {
namespace {

using testing::array;
using testing::KernelCall;
using testing::outputs_of;
using testing::refusal_of;
using testing::result;
using testing::values_of;
using Reals = std::vector<double>;

Array floats(const Shape& shape, const Reals& values) { return array<float>(shape, values); }
Array longs(const Shape& shape, const Reals& values) { return array<std::int64_t>(shape, values); }

/// The first output of a call, whose elements are float32 and near to those.
void expect_near(const KernelCall& call, const Reals& expected) {
  SCOPED_TRACE(call.type);
  Reals values;
  ASSERT_EQ(refusal_of(call), "");
  values = values_of<float>(outputs_of(call).at(0));
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], 2e-6) << "element " << i;
}

template <typename Element>
void expect_equal(const KernelCall& call, const Reals& expected) {
  SCOPED_TRACE(call.type);
  ASSERT_EQ(refusal_of(call), "");
  EXPECT_EQ(values_of<Element>(outputs_of(call).at(0)), expected);
}

void expect_refused(const KernelCall& call, const std::string& words) {
  SCOPED_TRACE(call.type);
  EXPECT_NE(refusal_of(call).find(words), std::string::npos) << refusal_of(call);
}

KernelCall unary(std::string_view type, const Reals& values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return {.type = type, .inputs = {floats(shape, values)}, .outputs = {result<float>(shape)}};
}

TEST(OnnxKernels, Unary) {
  expect_near(unary("Abs", {-2, 0, 3}), {2, 0, 3});
  expect_near(unary("Round", {-2.5, -0.5, 0.5, 1.5, 2.4, -3.6}), {-2, 0, 0, 2, 2, -4});
  expect_near(unary("Sign", {-2, 0, 3}), {-1, 0, 1});
  expect_near(unary("HardSigmoid", {-3, 0, 1, 4}), {0, 0.5, 0.7, 1});
  expect_near(unary("HardSwish", {-4, 0, 1, 4}), {0, 0, 2.0 / 3, 4});
  expect_near(unary("Softplus", {0, 100}), {std::log(2), 100});
  expect_near(unary("Softsign", {-1, 3}), {-0.5, 0.75});
  expect_near(unary("Elu", {-1, 2}), {std::exp(-1) - 1, 2});
  expect_near(unary("Celu", {-1, 2}), {std::exp(-1) - 1, 2});
  expect_near(unary("Selu", {-1, 1}),
              {1.0507009873554805 * 1.6732632423543772 * (std::exp(-1) - 1), 1.0507009873});
  expect_near(unary("ThresholdedRelu", {0.5, 1, 1.5}), {0, 0, 1.5});
  expect_near(unary("LeakyRelu", {-1, 1}), {-0.01, 1});
  expect_near(unary("Sigmoid", {0, 2}), {0.5, 1 / (1 + std::exp(-2))});
  expect_near(unary("Mish", {1}), {std::tanh(std::log(1 + std::exp(1)))});
  expect_near(unary("Swish", {1}), {1 / (1 + std::exp(-1))});
  expect_near(unary("Gelu", {1, -1}), {0.8413447461, -0.1586552539});
  expect_near(unary("com.microsoft.Gelu", {1}), {0.8413447461});
  expect_near(unary("com.microsoft.FastGelu", {1}), {0.8411919906});
  KernelCall shrink = unary("Shrink", {-2, 0.25, 2});
  shrink.attributes = {{"bias", 1.5F}, {"lambd", 0.5F}};
  expect_near(shrink, {-0.5, 0, 0.5});
  KernelCall biased = unary("com.microsoft.BiasGelu", {0, 2});
  biased.inputs.emplace_back(floats({2}, {1, -3}));
  expect_near(biased, {0.8413447461, -0.1586552539});
}

/// The elements of a call's only output that are NaN.
std::vector<bool> none_of(const KernelCall& call) {
  const auto values = values_of<float>(outputs_of(call).at(0));
  std::vector<bool> none;
  for (const double value : values) none.push_back(std::isnan(value));
  return none;
}

TEST(OnnxKernels, WhatIsNoNumberStays) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const char* const type : {"Abs", "Celu", "Elu", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu",
                                 "Mish", "Relu", "Selu", "Sigmoid", "Sign", "Softplus", "Swish", "Tanh"})
    EXPECT_EQ(none_of(unary(type, {nan, 1, infinity})), (std::vector{true, false, false})) << type;
  expect_near(unary("HardSigmoid", {-infinity, infinity}), {0, 1});
  const auto rows = [](std::string_view type, const Shape& out) {
    return KernelCall{
        .type = type,
        .inputs = {floats({4, 2}, {1, infinity, infinity, nan, -infinity, -infinity, -infinity, 0})},
        .outputs = {result<float>(out)},
        .attributes = {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", std::int64_t{0}}},
        .version = 13};
  };
  EXPECT_EQ(none_of(rows("ReduceLogSumExp", {4})), (std::vector{false, true, false, false}));
  EXPECT_EQ(values_of<float>(outputs_of(rows("ReduceLogSumExp", {4}))[0])[2], -infinity);
  for (const char* const type : {"Softmax", "LogSoftmax"})
    EXPECT_EQ(none_of(rows(type, {4, 2})), (std::vector{true, true, true, true, true, true, false, false}))
        << type;
}

TEST(OnnxKernels, UnaryOfWholeNumbersAndTruths) {
  const double least = std::numeric_limits<std::int32_t>::min();
  for (const char* const type : {"Abs", "Neg"}) {
    expect_equal<std::int32_t>({.type = type,
                                .inputs = {array<std::int32_t>({2}, {-5, least})},
                                .outputs = {result<std::int32_t>({2})}},
                               {5, least});
  }
  expect_equal<std::uint8_t>({.type = "BitwiseNot",
                              .inputs = {array<std::uint8_t>({2}, {0, 0xF0})},
                              .outputs = {result<std::uint8_t>({2})}},
                             {255, 15});
  using kernels::onnx_ops::Truth;
  Array odd = array<Truth>({2}, {0, 1});
  odd.data[1] = std::byte{0x7F};
  expect_equal<std::uint8_t>({.type = "Not", .inputs = {odd}, .outputs = {result<Truth>({2})}}, {1, 0});
  const double infinite = std::numeric_limits<double>::infinity();
  expect_equal<std::uint8_t>({.type = "IsInf",
                              .inputs = {floats({3}, {-infinite, 1, infinite})},
                              .outputs = {result<Truth>({3})},
                              .attributes = {{"detect_negative", std::int64_t{0}}}},
                             {0, 0, 1});
}

/// float16 and bfloat16 to float32 and back, every pattern of bits.
TEST(OnnxKernels, NumbersOf16BitsKeepTheirBits) {
  using kernels::onnx_ops::BFloat;
  using kernels::onnx_ops::Half;
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const BFloat wide{static_cast<std::uint16_t>(bits)};
    if (!std::isnan(kernels::onnx_ops::value_of(half))) {
      ASSERT_EQ(kernels::onnx_ops::half_of(kernels::onnx_ops::value_of(half)).bits, bits);
    }
    if (!std::isnan(kernels::onnx_ops::value_of(wide))) {
      ASSERT_EQ(kernels::onnx_ops::bfloat_of(kernels::onnx_ops::value_of(wide)).bits, bits);
    }
  }
  EXPECT_EQ(kernels::onnx_ops::half_of(1.0F + 1.0F / 2048).bits, 0x3C00U);  // a tie goes to even
  EXPECT_EQ(kernels::onnx_ops::half_of(1.0F + 3.0F / 2048).bits, 0x3C02U);
  EXPECT_EQ(kernels::onnx_ops::half_of(65520.0F).bits, 0x7C00U);
  EXPECT_EQ(kernels::onnx_ops::half_of(65519.0F).bits, 0x7BFFU);
}

KernelCall binary(std::string_view type, const Array& a, const Array& b, const Shape& shape) {
  return {.type = type, .inputs = {a, b}, .outputs = {{{.dtype = a.dtype, .shape = shape, .data = {}}}}};
}

TEST(OnnxKernels, BinaryBroadcasts) {
  const Array column = floats({2, 1}, {10, 20});
  const Array row = floats({3}, {1, 2, 3});
  expect_near(binary("Add", column, row, {2, 3}), {11, 12, 13, 21, 22, 23});
  expect_near(binary("Sub", column, row, {2, 3}), {9, 8, 7, 19, 18, 17});
  expect_near(binary("Div", column, floats({}, {4}), {2, 1}), {2.5, 5});
  expect_near(binary("Pow", row, floats({1}, {2}), {3}), {1, 4, 9});
  expect_near(binary("PRelu", floats({2, 2}, {-1, 2, -3, 4}), floats({2}, {0.5, 0.25}), {2, 2}),
              {-0.5, 2, -1.5, 4});
  KernelCall old = binary("Add", floats({2, 3}, {0, 0, 0, 0, 0, 0}), floats({2}, {1, 2}), {2, 3});
  old.version = 6;
  old.attributes = {{"axis", std::int64_t{0}}, {"broadcast", std::int64_t{1}}};
  expect_near(old, {1, 1, 1, 2, 2, 2});
  expect_refused(binary("Add", row, floats({2}, {1, 2}), {3}), "is not broadcast");
  expect_refused(binary("Mul", row, longs({3}, {1, 2, 3}), {3}), "is of type int64, expected float32");
}

TEST(OnnxKernels, BinaryOfWholeNumbers) {
  const Array a = longs({4}, {7, -7, 7, -7});
  const Array b = longs({4}, {3, 3, -3, -3});
  expect_equal<std::int64_t>(binary("Mod", a, b, {4}), {1, 2, -2, -1});
  KernelCall fmod = binary("Mod", a, b, {4});
  fmod.attributes = {{"fmod", std::int64_t{1}}};
  expect_equal<std::int64_t>(fmod, {1, -1, 1, -1});
  expect_equal<std::int64_t>(binary("Div", a, longs({4}, {2, 2, 0, -1}), {4}), {3, -3, 0, 7});
  expect_equal<std::int8_t>(binary("Add", array<std::int8_t>({1}, {127}), array<std::int8_t>({1}, {1}), {1}),
                            {-128});
  expect_equal<std::uint8_t>(
      binary("BitwiseXor", array<std::uint8_t>({1}, {12}), array<std::uint8_t>({1}, {10}), {1}), {6});
  KernelCall shift =
      binary("BitShift", array<std::uint8_t>({3}, {16, 4, 1}), array<std::uint8_t>({3}, {1, 2, 9}), {3});
  shift.attributes = {{"direction", std::string("LEFT")}};
  expect_equal<std::uint8_t>(shift, {32, 16, 0});
  using kernels::onnx_ops::Truth;
  expect_equal<std::uint8_t>({.type = "Less", .inputs = {a, b}, .outputs = {result<Truth>({4})}},
                             {0, 1, 0, 1});
  expect_equal<std::int64_t>({.type = "Where",
                              .inputs = {array<Truth>({2, 1}, {1, 0}), longs({2}, {1, 2}), longs({}, {9})},
                              .outputs = {result<std::int64_t>({2, 2})}},
                             {1, 2, 9, 9});
}

TEST(OnnxKernels, VariadicAndClip) {
  const std::vector<std::optional<Array>> three{floats({2}, {1, 5}), floats({1}, {3}), floats({2}, {2, -4})};
  for (const auto& [type, expected] : std::map<std::string_view, Reals>{
           {"Max", {3, 5}}, {"Min", {1, -4}}, {"Sum", {6, 4}}, {"Mean", {2, 4.0 / 3}}})
    expect_near({.type = type, .inputs = three, .outputs = {result<float>({2})}}, expected);
  expect_near({.type = "Sum", .inputs = {three[1]}, .outputs = {result<float>({2})}}, {3, 3});
  const Array x = floats({3}, {-5, 0.5, 5});
  expect_near({.type = "Clip", .inputs = {x, std::nullopt, floats({}, {1})}, .outputs = {result<float>({3})}},
              {-5, 0.5, 1});
  expect_near({.type = "Clip",
               .inputs = {x},
               .outputs = {result<float>({3})},
               .attributes = {{"min", 0.0F}},
               .version = 6},
              {0, 0.5, 5});
}

TEST(OnnxKernels, Cast) {
  const Array x = floats({4}, {-1.9, 300.7, std::nan(""), 0.4});
  expect_equal<std::int32_t>({.type = "Cast", .inputs = {x}, .outputs = {result<std::int32_t>({4})}},
                             {-1, 300, 0, 0});
  expect_equal<std::uint8_t>(
      {.type = "Cast", .inputs = {x}, .outputs = {result<kernels::onnx_ops::Truth>({4})}}, {1, 1, 1, 1});
  expect_equal<std::int64_t>(
      {.type = "Cast", .inputs = {floats({2}, {1e30, -1e30})}, .outputs = {result<std::int64_t>({2})}},
      {9223372036854775807.0, -9223372036854775808.0});
}

TEST(OnnxKernels, Copies) {
  const Array x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_near({.type = "Reshape", .inputs = {x}, .outputs = {result<float>({3, 2})}}, {1, 2, 3, 4, 5, 6});
  expect_near({.type = "Concat",
               .inputs = {x, floats({2, 1}, {7, 8})},
               .outputs = {result<float>({2, 4})},
               .attributes = {{"axis", std::int64_t{-1}}}},
              {1, 2, 3, 7, 4, 5, 6, 8});
  const KernelCall split{.type = "Split",
                         .inputs = {x},
                         .outputs = {result<float>({2, 1}), result<float>({2, 2})},
                         .attributes = {{"axis", std::int64_t{1}}}};
  EXPECT_EQ(outputs_of(split)[0], floats({2, 1}, {1, 4}));
  EXPECT_EQ(outputs_of(split)[1], floats({2, 2}, {2, 3, 5, 6}));
  expect_refused({.type = "Concat",
                  .inputs = {x},
                  .outputs = {result<float>({2, 4})},
                  .attributes = {{"axis", std::int64_t{1}}}},
                 "do not fill");
  expect_refused({.type = "Concat",
                  .inputs = {x},
                  .outputs = {result<float>({2, 3})},
                  .attributes = {{"axis", std::int64_t{2}}}},
                 "axis 2 is not in a tensor of rank 2");
  expect_refused({.type = "Flatten", .inputs = {x}, .outputs = {result<float>({2, 4})}},
                 "not as many elements");
  const KernelCall dropout{.type = "Dropout",
                           .inputs = {x},
                           .outputs = {result<float>({2, 3}), result<kernels::onnx_ops::Truth>({2, 3})}};
  EXPECT_EQ(values_of<std::uint8_t>(outputs_of(dropout)[1]), Reals(6, 1));
}

TEST(OnnxKernels, Constants) {
  const Array x = floats({2, 3}, Reals(6, 0));
  expect_equal<std::int64_t>({.type = "Shape",
                              .inputs = {x},
                              .outputs = {result<std::int64_t>({1})},
                              .attributes = {{"start", std::int64_t{-1}}}},
                             {3});
  expect_equal<std::int64_t>({.type = "Size", .inputs = {x}, .outputs = {result<std::int64_t>({})}}, {6});
  expect_equal<std::int64_t>({.type = "Constant",
                              .outputs = {result<std::int64_t>({2})},
                              .attributes = {{"value_ints", std::vector<std::int64_t>{4, 5}}}},
                             {4, 5});
  expect_equal<std::int64_t>({.type = "ConstantOfShape",
                              .outputs = {result<std::int64_t>({2})},
                              .attributes = {{"value", longs({1}, {7})}}},
                             {7, 7});
  expect_near({.type = "Range",
               .inputs = {floats({}, {1}), floats({}, {2}), floats({}, {0.5})},
               .outputs = {result<float>({2})}},
              {1, 1.5});
  expect_near({.type = "EyeLike",
               .inputs = {x},
               .outputs = {result<float>({2, 3})},
               .attributes = {{"k", std::int64_t{1}}}},
              {0, 1, 0, 0, 0, 1});
  expect_near({.type = "HannWindow", .outputs = {result<float>({4})}}, {0, 0.5, 1, 0.5});
}

TEST(OnnxKernels, Views) {
  const Array x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_near({.type = "Transpose", .inputs = {x}, .outputs = {result<float>({3, 2})}}, {1, 4, 2, 5, 3, 6});
  expect_near({.type = "Tile", .inputs = {x}, .outputs = {result<float>({2, 6})}},
              {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  expect_near({.type = "Expand", .inputs = {floats({2, 1}, {1, 2})}, .outputs = {result<float>({2, 2})}},
              {1, 1, 2, 2});
  for (const bool is_constant : {true, false}) {
    expect_near(
        {.type = "Slice",
         .inputs = {x, longs({2}, {1, 5}), longs({2}, {9, -9}), longs({2}, {0, 1}), longs({2}, {1, -2})},
         .outputs = {result<float>({1, 2})},
         .has_constants = is_constant},
        {6, 4});
    expect_refused({.type = "Slice",
                    .inputs = {x, longs({1}, {0}), longs({1}, {2})},
                    .outputs = {result<float>({1, 3})},
                    .has_constants = is_constant},
                   "is [1,3], expected [2,3]");
  }
  expect_near({.type = "Slice",
               .inputs = {x},
               .outputs = {result<float>({2, 1})},
               .attributes = {{"axes", std::vector<std::int64_t>{1}},
                              {"starts", std::vector<std::int64_t>{-1}},
                              {"ends", std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max()}}},
               .version = 1},
              {3, 6});
  const Array deep = floats({1, 4, 1, 2}, {0, 1, 10, 11, 20, 21, 30, 31});
  const std::pair<std::string, Attributes::Value> blocks{"blocksize", std::int64_t{2}};
  expect_near({.type = "DepthToSpace",
               .inputs = {deep},
               .outputs = {result<float>({1, 1, 2, 4})},
               .attributes = {blocks}},
              {0, 10, 1, 11, 20, 30, 21, 31});
  expect_near({.type = "SpaceToDepth",
               .inputs = {floats({1, 1, 2, 4}, {0, 10, 1, 11, 20, 30, 21, 31})},
               .outputs = {result<float>({1, 4, 1, 2})},
               .attributes = {blocks}},
              {0, 1, 10, 11, 20, 21, 30, 31});
  expect_near({.type = "Trilu", .inputs = {x, longs({}, {1})}, .outputs = {result<float>({2, 3})}},
              {0, 2, 3, 0, 0, 6});
  expect_refused({.type = "Transpose",
                  .inputs = {x},
                  .outputs = {result<float>({3, 2})},
                  .attributes = {{"perm", std::vector<std::int64_t>{0, 0}}}},
                 "named twice");
}

TEST(OnnxKernels, Pad) {
  const auto pad = [](const std::string& mode, const Reals& pads, std::int64_t size) {
    return KernelCall{.type = "Pad",
                      .inputs = {floats({3}, {1, 2, 3}), longs({2}, pads), floats({}, {9})},
                      .outputs = {result<float>({size})},
                      .attributes = {{"mode", mode}},
                      .version = 19};
  };
  expect_near(pad("constant", {1, 2}, 6), {9, 1, 2, 3, 9, 9});
  expect_near(pad("constant", {-1, 1}, 3), {2, 3, 9});
  expect_near(pad("edge", {1, 2}, 6), {1, 1, 2, 3, 3, 3});
  expect_near(pad("reflect", {2, 1}, 6), {3, 2, 1, 2, 3, 2});
  expect_near(pad("wrap", {1, 2}, 6), {3, 1, 2, 3, 1, 2});
  expect_refused(pad("edge", {1, 2}, 5), "do not make 5 of 3");
  expect_refused(pad("middle", {1, 2}, 6), "there is no mode middle");
}

TEST(OnnxKernels, GatherAndScatter) {
  const Array x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  expect_near({.type = "Gather", .inputs = {x, longs({2}, {-1, 0})}, .outputs = {result<float>({2, 2})}},
              {5, 6, 1, 2});
  expect_near(
      {.type = "GatherElements", .inputs = {x, longs({1, 2}, {2, 1})}, .outputs = {result<float>({1, 2})}},
      {5, 4});
  expect_near(
      {.type = "GatherND", .inputs = {x, longs({2, 2}, {0, 1, 2, 0})}, .outputs = {result<float>({2})}},
      {2, 5});
  expect_near({.type = "OneHot",
               .inputs = {longs({2}, {1, -1}), longs({}, {3}), floats({2}, {0, 5})},
               .outputs = {result<float>({2, 3})}},
              {0, 5, 0, 0, 0, 5});
  const Array updates = floats({1, 2}, {10, 20});
  expect_near({.type = "ScatterElements",
               .inputs = {x, longs({1, 2}, {2, 0}), updates},
               .outputs = {result<float>({3, 2})}},
              {1, 20, 3, 4, 10, 6});
  expect_near({.type = "ScatterElements",
               .inputs = {x, longs({1, 2}, {2, 0}), updates},
               .outputs = {result<float>({3, 2})},
               .attributes = {{"reduction", std::string("add")}}},
              {1, 22, 3, 4, 15, 6});
  expect_near({.type = "ScatterND",
               .inputs = {x, longs({1, 1}, {1}), updates},
               .outputs = {result<float>({3, 2})},
               .attributes = {{"reduction", std::string("mul")}}},
              {1, 2, 30, 80, 5, 6});
  for (const char* const type : {"Gather", "GatherElements"})
    expect_refused(
        {.type = type,
         .inputs = {x, longs({1, 2}, {3, 0})},
         .outputs = {result<float>(std::string_view(type) == "Gather" ? Shape{1, 2, 2} : Shape{1, 2})}},
        "index is 3, expected one of 3 elements");
  expect_refused(
      {.type = "ScatterND", .inputs = {x, longs({1, 1}, {-4}), updates}, .outputs = {result<float>({3, 2})}},
      "index is -4");
  expect_refused({.type = "Gather", .inputs = {x, longs({1}, {0})}, .outputs = {result<float>({2, 2})}},
                 "expected [1,2]");
}

TEST(OnnxKernels, Reductions) {
  const Array x = floats({2, 3}, {1, 2, 3, 4, 5, -6});
  const auto reduce = [&](std::string_view type) {
    return KernelCall{.type = type,
                      .inputs = {x},
                      .outputs = {result<float>({2})},
                      .attributes = {{"axes", std::vector<std::int64_t>{-1}}, {"keepdims", std::int64_t{0}}},
                      .version = 11};
  };
  expect_near(reduce("ReduceSum"), {6, 3});
  expect_near(reduce("ReduceMean"), {2, 1});
  expect_near(reduce("ReduceMax"), {3, 5});
  expect_near(reduce("ReduceMin"), {1, -6});
  expect_near(reduce("ReduceProd"), {6, -120});
  expect_near(reduce("ReduceL1"), {6, 15});
  expect_near(reduce("ReduceL2"), {std::sqrt(14), std::sqrt(77)});
  expect_near(reduce("ReduceSumSquare"), {14, 77});
  expect_near(reduce("ReduceLogSum"), {std::log(6), std::log(3)});
  expect_near(reduce("ReduceLogSumExp"), {std::log(std::exp(1) + std::exp(2) + std::exp(3)),
                                          std::log(std::exp(4) + std::exp(5) + std::exp(-6))});
  for (const bool is_constant : {true, false})
    expect_near({.type = "ReduceSum",
                 .inputs = {x, longs({1}, {0})},
                 .outputs = {result<float>({1, 3})},
                 .has_constants = is_constant},
                {5, 7, -3});
  expect_near({.type = "ReduceSum",
               .inputs = {x, longs({0}, {})},
               .outputs = {result<float>({2, 3})},
               .attributes = {{"noop_with_empty_axes", std::int64_t{1}}}},
              {1, 2, 3, 4, 5, -6});
  const std::pair<std::string, Attributes::Value> last{"axis", std::int64_t{1}};
  const std::pair<std::string, Attributes::Value> drops{"keepdims", std::int64_t{0}};
  expect_equal<std::int64_t>(
      {.type = "ArgMin", .inputs = {x}, .outputs = {result<std::int64_t>({2})}, .attributes = {last, drops}},
      {0, 2});
  expect_near({.type = "CumSum",
               .inputs = {x, longs({}, {1})},
               .outputs = {result<float>({2, 3})},
               .attributes = {{"reverse", std::int64_t{1}}, {"exclusive", std::int64_t{1}}}},
              {5, 3, 0, -1, -6, 0});
  const KernelCall top{.type = "TopK",
                       .inputs = {x, longs({1}, {2})},
                       .outputs = {result<float>({2, 2}), result<std::int64_t>({2, 2})}};
  EXPECT_EQ(outputs_of(top)[0], floats({2, 2}, {3, 2, 5, 4}));
  EXPECT_EQ(outputs_of(top)[1], longs({2, 2}, {2, 1, 1, 0}));
  KernelCall wrong = reduce("ReduceSum");
  wrong.attributes[0].second = std::vector<std::int64_t>{2};
  expect_refused(wrong, "axis 2 is not in a tensor of rank 2");
}

TEST(OnnxKernels, Softmax) {
  const double e = std::exp(1);
  const Array x = floats({1, 2, 2}, {0, 1, 0, 1});
  const KernelCall call{.type = "Softmax", .inputs = {x}, .outputs = {result<float>({1, 2, 2})}};
  expect_near(call, {1 / (1 + e), e / (1 + e), 1 / (1 + e), e / (1 + e)});
  KernelCall old = call;  // all from the axis on is one row
  old.version = 11;
  expect_near(old, {0.5 / (1 + e), 0.5 * e / (1 + e), 0.5 / (1 + e), 0.5 * e / (1 + e)});
  expect_near({.type = "LogSoftmax", .inputs = {floats({2}, {1000, 1001})}, .outputs = {result<float>({2})}},
              {-std::log(1 + e), 1 - std::log(1 + e)});
  expect_near({.type = "Hardmax", .inputs = {floats({3}, {1, 3, 3})}, .outputs = {result<float>({3})}},
              {0, 1, 0});
}

/// Boxes of a grid of halves, whose scores are often equal.
struct Boxes {
  std::int64_t count = 0;
  Reals edges{};   ///< top, left, bottom, right of each
  Reals scores{};  ///< of two classes
};

/// By the definition: the best box that is left is taken, and all that overlap with it go.
Reals taken_by_definition(const Boxes& it, double most, double share, double least) {
  Reals taken;
  for (std::int64_t one = 0; one < 2; ++one) {
    std::vector<bool> is_left(static_cast<std::size_t>(it.count), true);
    for (double number = 0; number < most; ++number) {
      std::optional<std::size_t> best;
      for (std::size_t i = 0; i < is_left.size(); ++i) {
        const double score = it.scores[static_cast<std::size_t>(one) * is_left.size() + i];
        if (is_left[i] && score > least &&
            (!best || score > it.scores[static_cast<std::size_t>(one) * is_left.size() + *best]))
          best = i;
      }
      if (!best) break;
      taken.insert(taken.end(), {0, static_cast<double>(one), static_cast<double>(*best)});
      const auto edge = [&](std::size_t box, std::size_t e) { return it.edges[4 * box + e]; };
      const auto area = [&](std::size_t box) {
        return (edge(box, 2) - edge(box, 0)) * (edge(box, 3) - edge(box, 1));
      };
      for (std::size_t i = 0; i < is_left.size(); ++i) {
        const double high = std::min(edge(i, 2), edge(*best, 2)) - std::max(edge(i, 0), edge(*best, 0));
        const double wide = std::min(edge(i, 3), edge(*best, 3)) - std::max(edge(i, 1), edge(*best, 1));
        const double both = std::max(high, 0.0) * std::max(wide, 0.0);
        if (i == *best || both / (area(i) + area(*best) - both) > share) is_left[i] = false;
      }
    }
  }
  return taken;
}

KernelCall suppression(const Boxes& it, const Reals& edges, std::int64_t most, double share, double least,
                       std::int64_t rows, std::int64_t has_center) {
  return {.type = "NonMaxSuppression",
          .inputs = {floats({1, it.count, 4}, edges), floats({1, 2, it.count}, it.scores),
                     longs({1}, {static_cast<double>(most)}), floats({1}, {share}), floats({}, {least})},
          .outputs = {result<std::int64_t>({rows, 3})},
          .attributes = {{"center_point_box", has_center}}};
}

TEST(OnnxKernels, NonMaxSuppressionIsAsDefined) {
  std::mt19937 random(7);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int trial = 0; trial < 200; ++trial) {
    Boxes it{.count = draw(1, 12)};
    Reals turned;   // corners in any order
    Reals centers;  // x, y, width, height
    for (std::int64_t i = 0; i < it.count; ++i) {
      const double top = draw(0, 6) / 2.0, left = draw(0, 6) / 2.0;
      const double high = draw(1, 6) / 2.0, wide = draw(1, 6) / 2.0;
      it.edges.insert(it.edges.end(), {top, left, top + high, left + wide});
      if (draw(0, 1) == 0)
        turned.insert(turned.end(), {top + high, left, top, left + wide});
      else
        turned.insert(turned.end(), {top, left + wide, top + high, left});
      centers.insert(centers.end(), {left + wide / 2, top + high / 2, wide, high});
    }
    for (std::int64_t i = 0; i < 2 * it.count; ++i) it.scores.push_back(draw(0, 8) / 8.0);
    const std::int64_t most = draw(0, 6);
    const double share = draw(0, 3) / 4.0 + 0.03, least = draw(0, 3) / 8.0;
    const Reals taken = taken_by_definition(it, static_cast<double>(most), share, least);
    const auto rows = static_cast<std::int64_t>(taken.size()) / 3;
    expect_equal<std::int64_t>(suppression(it, it.edges, most, share, least, rows, 0), taken);
    expect_equal<std::int64_t>(suppression(it, turned, most, share, least, rows, 0), taken);
    expect_equal<std::int64_t>(suppression(it, centers, most, share, least, rows, 1), taken);
    expect_refused(suppression(it, it.edges, most, share, least, rows + 1, 0),
                   "the rows of its output in the plan");
  }
}

TEST(OnnxKernels, RefusesWhatIsNoShape) {
  expect_refused(
      {.type = "Relu", .inputs = {Array{DType::float32, {-1}, {}}}, .outputs = {result<float>({0})}},
      "is negative");
  const std::int64_t large = std::int64_t{1} << 40;
  expect_refused({.type = "Relu",
                  .inputs = {Array{DType::float32, {large, large, 0}, {}}},
                  .outputs = {result<float>({0})}},
                 "overflows");
  expect_refused({.type = "Relu", .inputs = {}, .outputs = {result<float>({1})}}, "input 0 is missing");
  expect_refused({.type = "Relu",
                  .inputs = {array<kernels::onnx_ops::Truth>({1}, {1})},
                  .outputs = {result<kernels::onnx_ops::Truth>({1})}},
                 "no kernel for elements of type bool");
  expect_refused({.type = "Concat",
                  .inputs = {floats({1}, {1})},
                  .outputs = {result<float>({1})},
                  .attributes = {{"axis", 1.0F}}},
                 "is of another type");
}

}  // namespace
}  // namespace stowage
