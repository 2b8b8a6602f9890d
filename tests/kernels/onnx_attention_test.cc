// Attention and RotaryEmbedding: random calls against the formulas of the specification, number by number;
// numbers worked out by hand; and what is refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernel_calls.h"

namespace stowage {
namespace {

using kernels::onnx_ops::Truth;
using testing::array;
using testing::KernelCall;
using testing::outputs_of;
using testing::refusal_of;
using testing::result;
using testing::values_of;
using Reals = std::vector<double>;

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

Array reals_of(const Shape& shape, const Reals& values) { return array<float>(shape, values); }

std::size_t place(std::int64_t at) { return static_cast<std::size_t>(at); }

void expect_values(const Array& got, const Reals& expected) {
  const Reals values = values_of<float>(got);
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], 2e-5) << "element " << i;
}

/// Sizes and options of a random attention.
struct Sizes {
  std::int64_t batches, heads, share, queries, old, keys, size, value_size;
  bool has_heads, is_causal, has_mask, has_truths, has_lengths;
  std::int64_t columns, left, right, shown;
  float cap;

  [[nodiscard]] std::int64_t total() const { return old + keys; }
  [[nodiscard]] std::int64_t query_heads() const { return heads * share; }
  /// The place of an element of heads in the layout of the call.
  [[nodiscard]] std::size_t at(std::int64_t all_heads, std::int64_t rows, std::int64_t length, std::int64_t b,
                               std::int64_t h, std::int64_t row, std::int64_t k) const {
    return place(has_heads ? ((b * all_heads + h) * rows + row) * length + k
                           : ((b * rows + row) * all_heads + h) * length + k);
  }
  [[nodiscard]] Shape shape(std::int64_t all_heads, std::int64_t rows, std::int64_t length) const {
    return has_heads ? Shape{batches, all_heads, rows, length} : Shape{batches, rows, all_heads * length};
  }
};

Sizes random_sizes(std::mt19937& random) {
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const auto flip = [&] { return draw(0, 1) == 1; };
  Sizes it{};
  it.batches = draw(1, 2), it.heads = draw(1, 2), it.share = draw(1, 3), it.queries = draw(1, 4);
  it.old = flip() ? draw(1, 3) : 0, it.keys = draw(1, 5), it.size = draw(1, 4), it.value_size = draw(1, 3);
  it.has_heads = flip(), it.is_causal = flip(), it.has_mask = flip(), it.has_truths = flip();
  it.has_lengths = it.old == 0 && flip();
  it.columns = flip() ? it.total() : draw(1, static_cast<int>(it.total()));
  it.left = draw(-1, 3), it.right = draw(-1, 3), it.shown = draw(0, 3);
  it.cap = flip() ? 2.0F : 0.0F;
  return it;
}

/// The operands of a random attention; all numbers as float64.
struct Numbers {
  Reals queries, keys, values, old_keys, old_values, mask;
  std::vector<std::int64_t> lengths;
};

Numbers random_numbers(const Sizes& it, std::mt19937& random) {
  const auto draw = [&](std::int64_t count) {
    Reals values;
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<float>(std::uniform_int_distribution<int>(-8, 8)(random)) / 4);
    return values;
  };
  Numbers numbers{.queries = draw(it.batches * it.query_heads() * it.queries * it.size),
                  .keys = draw(it.batches * it.heads * it.keys * it.size),
                  .values = draw(it.batches * it.heads * it.keys * it.value_size),
                  .old_keys = draw(it.batches * it.heads * it.old * it.size),
                  .old_values = draw(it.batches * it.heads * it.old * it.value_size),
                  .mask = draw(it.queries * it.columns),
                  .lengths = {}};
  for (double& one : numbers.mask) {
    if (it.has_truths) one = one > 0 ? 1 : 0;
  }
  for (std::int64_t b = 0; b < it.batches; ++b)
    numbers.lengths.push_back(std::uniform_int_distribution<std::int64_t>(0, it.total())(random));
  return numbers;
}

KernelCall call_of(const Sizes& it, const Numbers& numbers) {
  KernelCall call{.type = "Attention",
                  .inputs = {reals_of(it.shape(it.query_heads(), it.queries, it.size), numbers.queries),
                             reals_of(it.shape(it.heads, it.keys, it.size), numbers.keys),
                             reals_of(it.shape(it.heads, it.keys, it.value_size), numbers.values),
                             std::nullopt, std::nullopt, std::nullopt, std::nullopt},
                  .outputs = {result<float>(it.shape(it.query_heads(), it.queries, it.value_size)),
                              result<float>({it.batches, it.heads, it.total(), it.size}),
                              result<float>({it.batches, it.heads, it.total(), it.value_size}),
                              result<float>({it.batches, it.query_heads(), it.queries, it.total()})},
                  .attributes = {{"is_causal", std::int64_t{it.is_causal}},
                                 {"softcap", it.cap},
                                 {"scale", 0.5F},
                                 {"qk_matmul_output_mode", it.shown},
                                 {"left_window_size", it.left},
                                 {"right_window_size", it.right}},
                  .version = 25};
  if (!it.has_heads) {
    call.attributes.emplace_back("q_num_heads", it.query_heads());
    call.attributes.emplace_back("kv_num_heads", it.heads);
  }
  const Shape mask{it.queries, it.columns};
  if (it.has_mask)
    call.inputs[3] = it.has_truths ? array<Truth>(mask, numbers.mask) : reals_of(mask, numbers.mask);
  if (it.old > 0) {
    call.inputs[4] = reals_of({it.batches, it.heads, it.old, it.size}, numbers.old_keys);
    call.inputs[5] = reals_of({it.batches, it.heads, it.old, it.value_size}, numbers.old_values);
  }
  if (it.has_lengths) {
    Reals lengths(numbers.lengths.begin(), numbers.lengths.end());
    call.inputs[6] = array<std::int64_t>({it.batches}, lengths);
  }
  return call;
}

/// The definition, with a mask that has a number for each query and key.
class Definition {
 public:
  Definition(const Sizes& sizes, const Numbers& numbers) : it_(sizes), numbers_(numbers) {
    output.resize(place(it_.batches * it_.queries * it_.query_heads() * it_.value_size));
    for (std::int64_t b = 0; b < it_.batches; ++b) {
      for (std::int64_t h = 0; h < it_.query_heads(); ++h) {
        for (std::int64_t i = 0; i < it_.queries; ++i) attend(b, h, i);
      }
    }
  }

  Reals output{};
  Reals shown{};

 private:
  [[nodiscard]] double key(std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t k) const {
    if (j < it_.old) return numbers_.old_keys[place(((b * it_.heads + h) * it_.old + j) * it_.size + k)];
    return numbers_.keys[it_.at(it_.heads, it_.keys, it_.size, b, h, j - it_.old, k)];
  }
  [[nodiscard]] double value(std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t k) const {
    const std::int64_t size = it_.value_size;
    if (j < it_.old) return numbers_.old_values[place(((b * it_.heads + h) * it_.old + j) * size + k)];
    return numbers_.values[it_.at(it_.heads, it_.keys, size, b, h, j - it_.old, k)];
  }

  [[nodiscard]] double added(std::int64_t b, std::int64_t i, std::int64_t j) const {
    double sum = 0;
    if (it_.has_mask && j >= it_.columns) return minus_infinity;
    if (it_.has_mask) {
      const double one = numbers_.mask[place(i * it_.columns + j)];
      sum = it_.has_truths ? (one != 0 ? 0 : minus_infinity) : one;
    }
    const std::int64_t offset = it_.has_lengths ? numbers_.lengths[place(b)] - it_.queries : it_.old;
    const std::int64_t ahead = j - (i + offset);
    if (it_.is_causal && ahead > 0) sum = minus_infinity;
    if (it_.left >= 0 && -ahead > it_.left) sum = minus_infinity;
    if (it_.right >= 0 && ahead > it_.right) sum = minus_infinity;
    if (it_.has_lengths && j >= numbers_.lengths[place(b)]) sum = minus_infinity;
    return sum;
  }

  void attend(std::int64_t b, std::int64_t h, std::int64_t i) {
    Reals weights;
    Reals stages[4];
    double total = 0;
    for (std::int64_t j = 0; j < it_.total(); ++j) {
      double product = 0;
      for (std::int64_t k = 0; k < it_.size; ++k)
        product += 0.5 * key(b, h / it_.share, j, k) *
                   numbers_.queries[it_.at(it_.query_heads(), it_.queries, it_.size, b, h, i, k)];
      const double cap = static_cast<double>(it_.cap);
      const double capped = cap > 0 ? cap * std::tanh(product / cap) : product;
      const double score = capped + added(b, i, j);
      weights.push_back(std::exp(score));
      total += weights.back();
      stages[0].push_back(product);
      stages[1].push_back(capped);
      stages[2].push_back(score);
    }
    for (double& weight : weights) weight = total > 0 ? weight / total : 0;
    stages[3] = weights;
    const Reals& wanted = stages[it_.shown];
    shown.insert(shown.end(), wanted.begin(), wanted.end());
    for (std::int64_t k = 0; k < it_.value_size; ++k) {
      double sum = 0;
      for (std::int64_t j = 0; j < it_.total(); ++j) sum += weights[place(j)] * value(b, h / it_.share, j, k);
      output[it_.at(it_.query_heads(), it_.queries, it_.value_size, b, h, i, k)] = sum;
    }
  }

  const Sizes& it_;
  const Numbers& numbers_;
};

TEST(OnnxAttention, IsWhatItIsDefinedAs) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const Sizes sizes = random_sizes(random);
    const Numbers numbers = random_numbers(sizes, random);
    const KernelCall call = call_of(sizes, numbers);
    ASSERT_EQ(refusal_of(call), "");
    const std::vector<Array> outputs = outputs_of(call);
    const Definition expected(sizes, numbers);
    expect_values(outputs[0], expected.output);
    const Reals scores = values_of<float>(outputs[3]);
    ASSERT_EQ(scores.size(), expected.shown.size());
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (std::isinf(expected.shown[i])) {
        EXPECT_EQ(scores[i], expected.shown[i]) << i;
      } else {
        EXPECT_NEAR(scores[i], expected.shown[i], 2e-5) << i;
      }
    }
    // The one head of one batch has its rows one after the other in every layout.
    if (sizes.batches == 1 && sizes.heads == 1) {
      Reals all = numbers.old_keys;
      all.insert(all.end(), numbers.keys.begin(), numbers.keys.end());
      expect_values(outputs[1], all);
    }
  }
}

KernelCall small_attention() {
  const Array one = reals_of({1, 1, 1, 2}, {1, 0});
  const Array two = reals_of({1, 1, 2, 2}, {0, 0, 2, 0});
  return {.type = "Attention",
          .inputs = {one, two, two},
          .outputs = {result<float>({1, 1, 1, 2})},
          .version = 23};
}

TEST(OnnxAttention, ScalesByTheRootOfTheSize) {
  const double second = std::exp(2 / std::sqrt(2.0));
  expect_values(outputs_of(small_attention())[0], {2 * second / (1 + second), 0});
  KernelCall scaled = small_attention();
  scaled.attributes = {{"scale", 0.0F}};
  expect_values(outputs_of(scaled)[0], {1, 0});
}

/// What is not seen does not count, even if it is no number; who sees nothing gets zeros.
TEST(OnnxAttention, LeavesOutWhatIsNotSeen) {
  KernelCall call = small_attention();
  const double nan = std::nan("");
  call.inputs[1] = reals_of({1, 1, 2, 2}, {1, 1, nan, nan});
  call.inputs[2] = reals_of({1, 1, 2, 2}, {5, 6, nan, nan});
  call.inputs.emplace_back(array<Truth>({1, 2}, {1, 0}));
  expect_values(outputs_of(call)[0], {5, 6});
  call.inputs[3] = reals_of({1, 2}, {minus_infinity, minus_infinity});
  expect_values(outputs_of(call)[0], {0, 0});
  call.inputs[3] = array<Truth>({1}, {1});  // the second key is behind it
  expect_values(outputs_of(call)[0], {5, 6});
}

TEST(OnnxAttention, RefusesWhatDoesNotFit) {
  const auto expect_refusal = [](const KernelCall& call, const std::string& words) {
    EXPECT_NE(refusal_of(call).find(words), std::string::npos) << refusal_of(call);
  };
  const Array one = reals_of({1, 1, 1, 2}, {1, 0});
  KernelCall call = small_attention();
  call.inputs[1] = one;
  expect_refusal(call, "not as many keys as values");
  call = small_attention();
  call.inputs[0] = reals_of({1, 2, 1}, {1, 2});
  expect_refusal(call, "0 heads do not divide");
  call = small_attention();
  call.inputs[1] = reals_of({1, 2, 1, 2}, {1, 2, 3, 4});
  call.inputs[2] = call.inputs[1];
  expect_refusal(call, "2 heads of keys do not divide 1");
  call = small_attention();
  call.inputs.emplace_back(reals_of({1, 3}, {1, 2, 3}));
  expect_refusal(call, "more columns than keys");
  call = small_attention();
  call.inputs.resize(5);
  call.inputs[4] = one;
  expect_refusal(call, "a cache of keys without one of values");
  call = small_attention();
  call.inputs.resize(7);
  call.inputs[6] = array<std::int64_t>({1}, {3});
  expect_refusal(call, "length is 3, expected 0 to 2");
  call = small_attention();
  call.attributes = {{"qk_matmul_output_mode", std::int64_t{4}}};
  expect_refusal(call, "expected 0 to 3");
  call = small_attention();
  call.attributes = {{"left_window_size", std::int64_t{-2}}};
  expect_refusal(call, "expected -1 or more");
}

TEST(OnnxRotary, TurnsPairs) {
  const Array x = reals_of({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Array cosines = reals_of({2, 2}, {1, 1, 0, 0.5});
  const Array sines = reals_of({2, 2}, {0, 0, 1, 0.5});
  const Array places = array<std::int64_t>({1, 2}, {1, 0});
  KernelCall call{.type = "RotaryEmbedding",
                  .inputs = {x, cosines, sines, places},
                  .outputs = {result<float>({1, 1, 2, 4})},
                  .version = 23};
  expect_values(outputs_of(call)[0], {-3, -1, 1, 3, 5, 6, 7, 8});
  call.attributes = {{"interleaved", std::int64_t{1}}};
  expect_values(outputs_of(call)[0], {-2, 1, -0.5, 3.5, 5, 6, 7, 8});
  call.inputs[3] = array<std::int64_t>({1, 2}, {0, 2});
  EXPECT_NE(refusal_of(call).find("index is 2, expected one of 2"), std::string::npos) << refusal_of(call);
  // One angle of each place, for half of each head; heads are parts of the last dimension.
  call = {.type = "RotaryEmbedding",
          .inputs = {reals_of({1, 1, 8}, {1, 2, 3, 4, 5, 6, 7, 8}), reals_of({1, 1, 1}, {0}),
                     reals_of({1, 1, 1}, {1})},
          .outputs = {result<float>({1, 1, 8})},
          .attributes = {{"num_heads", std::int64_t{2}}, {"rotary_embedding_dim", std::int64_t{2}}},
          .version = 23};
  expect_values(outputs_of(call)[0], {-2, 1, 3, 4, -6, 5, 7, 8});
  call.attributes[1].second = std::int64_t{3};
  EXPECT_NE(refusal_of(call).find("expected an even number"), std::string::npos) << refusal_of(call);
}

}  // namespace
}  // namespace stowage
