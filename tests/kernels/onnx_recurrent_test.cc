// LSTM of onnxruntime with weights of bytes: expected numbers are those of onnxruntime 1.32.0 in one thread: with
// more it takes ranges of fewer sequences.

#include <gtest/gtest.h>

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

/// Numbers that differ: (i * factor % modulus - less) / divisor.
template <typename Element>
Array drawn(const Shape& shape, int factor, int modulus, int less = 0, double divisor = 1) {
  Reals values;
  for (int i = 0; i < kernels::count_of(shape); ++i)
    values.push_back((i * factor % modulus - less) / divisor);
  return array<Element>(shape, values);
}

/// Three steps of two sequences in both directions, with all operands. The weights of the input have a scale for each
/// column, those of the state one for each direction.
KernelCall with_all_operands() {
  using Byte = std::uint8_t;
  return {.type = "com.microsoft.DynamicQuantizeLSTM",
          .inputs = {drawn<float>({3, 2, 3}, 7, 11, 5, 4), drawn<Byte>({2, 3, 8}, 37, 256),
                     drawn<Byte>({2, 2, 8}, 53, 256), drawn<float>({2, 16}, 5, 9, 4, 16), std::nullopt,
                     drawn<float>({2, 2, 2}, 3, 7, 3, 4), drawn<float>({2, 2, 2}, 2, 5, 2, 4),
                     drawn<float>({2, 6}, 3, 7, 3, 8), drawn<float>({2, 8}, 1, 16, -10, 1000),
                     array<Byte>({2, 8}, Reals(16, 128)), array<float>({2}, {0.01, 0.02}),
                     array<Byte>({2}, {100, 140})},
          .outputs = {result<float>({3, 2, 2, 2}), result<float>({2, 2, 2}), result<float>({2, 2, 2})},
          .attributes = {{"hidden_size", std::int64_t{2}}, {"direction", std::string("bidirectional")}}};
}

void expect_all_near(const Array& output, const Reals& expected) {
  const Reals values = values_of<float>(output);
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-6) << i;
}

TEST(OnnxRecurrent, WeightsOfBytes) {
  ASSERT_EQ(refusal_of(with_all_operands()), "");
  const std::vector<Array> outputs = outputs_of(with_all_operands());
  const Reals steps{-0.373104, 0.228017,  0.104025, -0.131127, 0.021738,  -0.003900, -0.376669, -0.326744,
                    0.071636,  0.074303,  0.123740, -0.064885, -0.324097, -0.048289, -0.273703, 0.056296,
                    0.165793,  -0.184888, 0.248446, -0.005227, 0.029714,  0.466164,  0.015059,  0.706121};
  expect_all_near(outputs.at(0), steps);
  // After the last step forward, and after the first one, which is the last one backward.
  Reals last(steps.begin() + 16, steps.begin() + 20);
  last.insert(last.end(), steps.begin() + 4, steps.begin() + 8);
  expect_all_near(outputs.at(1), last);
  expect_all_near(outputs.at(2),
                  {0.328602, -0.278981, 0.446663, -0.008183, 0.043313, -0.228966, -0.412888, -0.373604});
}

TEST(OnnxRecurrent, WeightsOfBytesThatDoNotFit) {
  const auto expect_refused = [](std::size_t input, const std::optional<Array>& other,
                                 const std::string& words) {
    KernelCall call = with_all_operands();
    call.inputs[input] = other;
    EXPECT_NE(refusal_of(call).find(words), std::string::npos) << refusal_of(call);
  };
  expect_refused(1, drawn<std::uint8_t>({2, 8, 3}, 1, 256), "hidden_size does not fit");
  expect_refused(2, drawn<std::uint8_t>({2, 8, 2}, 1, 256), "input 2 is [2,8,2], expected [2,2,8]");
  expect_refused(4, array<std::int32_t>({2}, {3, 3}), "lengths of their own");
  expect_refused(8, array<float>({1}, {1}), "input 8 is [1], expected [2]");
  expect_refused(9, array<std::int8_t>({2}, {0, 0}), "zero point");
  expect_refused(10, std::nullopt, "");
}

}  // namespace
}  // namespace stowage
