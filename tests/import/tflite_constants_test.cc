// Constants that a TFLite file stores in a smaller form: float16 or integers behind DEQUANTIZE, sparse ones with or
// without DENSIFY.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "import/tflite.h"
#include "share/equal_data.h"
#include "stowage/error.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "tflite_models.h"

namespace stowage {
namespace {

using testing::TfliteLevel;
using testing::TfliteSparsity;
using testing::TfliteSpec;
using testing::TfliteTensor;

template <typename Element>
std::string text_of(const std::vector<Element>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(Element)};
}

template <typename Element>
std::vector<Element> elements_in(std::span<const std::byte> bytes) {
  std::vector<Element> elements(bytes.size() / sizeof(Element));
  if (!elements.empty()) std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(Element));
  return elements;
}

/// y = x + DEQUANTIZE(w)
TfliteSpec decoded(const TfliteTensor& w) {
  return {.subgraphs = {{.tensors = {{.name = "x", .shape = w.shape},
                                     w,
                                     {.name = "d", .shape = w.shape},
                                     {.name = "y", .shape = w.shape}},
                         .operators = {{.type = "DEQUANTIZE", .inputs = {1}, .outputs = {2}},
                                       {.type = "ADD", .inputs = {0, 2}, .outputs = {3}}},
                         .inputs = {0},
                         .outputs = {3}}}};
}

TfliteTensor half(const std::vector<std::uint16_t>& bits) {
  return {.name = "w",
          .shape = {static_cast<std::int32_t>(bits.size())},
          .dtype = DType::float16,
          .data = text_of(bits)};
}

/// The only output when the only input is zeros, in the plan of these options.
std::vector<float> result_of(const TfliteSpec& spec, const PlanOptions& options = {}) {
  const Network network = parse_network(testing::tflite_model(spec), "m.tflite");
  const Graph& graph = network.graph();
  const Tensor& x = graph.tensors[graph.subgraphs[0].inputs.at(0)];
  const Array zeros{
      .dtype = x.dtype, .shape = *x.shape, .data = std::vector<std::byte>(static_cast<std::size_t>(x.bytes))};
  const RunResult result =
      run_plan(network, make_plan(network.input, options).plan,
               {.kernels = KernelSet::plain, .check = RunCheck::tensors, .inputs = {{x.name, zeros}}});
  EXPECT_FALSE(result.fault) << result.fault->what;
  return elements_in<float>(result.outputs.at(0).array.data);
}

std::string problem_of(const TfliteSpec& spec) {
  try {
    (void)import::read_tflite_network({testing::tflite_model(spec)}, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TfliteConstants, BehindDequantizeAreWeights) {
  const std::string bytes = testing::tflite_model(decoded(half({0x3C00, 0, 0x8000, 0x4000})));
  const Input input = parse_input(bytes, "m.tflite", {.constants = true});
  const Graph& graph = std::get<Graph>(input.content);
  EXPECT_TRUE(graph.subgraphs[0].operators[0].folded);
  EXPECT_FALSE(graph.subgraphs[0].operators[1].folded);
  EXPECT_EQ(graph.tensors[2].kind, TensorKind::weight);
  EXPECT_EQ(import::read_tflite_network({bytes}, {}).graph(),
            std::get<Graph>(import::read_tflite({bytes}, {}).content));
  const Plan plan = make_plan(input).plan;
  EXPECT_EQ(plan.summary.peak, 16);  // x, over which y is written
  EXPECT_TRUE(plan.tensors[2].views.empty());
}

TEST(TfliteConstants, AreDequantizedInEachRunByTensorFlowLiteMicro) {
  const Input input =
      parse_input(testing::tflite_model(decoded(half({0, 0, 0, 0}))), "m.tflite", {.file_shapes = true});
  const Graph& graph = std::get<Graph>(input.content);
  EXPECT_FALSE(graph.subgraphs[0].operators[0].folded);
  EXPECT_EQ(graph.tensors[2].kind, TensorKind::temporary);
}

TEST(TfliteConstants, StayResultsIfTheCallerOrAVariableHasThem) {
  TfliteSpec spec = decoded(half({0x3C00, 0x3800}));
  spec.subgraphs[0].outputs = {3, 2};
  const Input input = parse_input(testing::tflite_model(spec), "m.tflite");
  EXPECT_FALSE(std::get<Graph>(input.content).subgraphs[0].operators[0].folded);
  EXPECT_EQ(result_of(spec), (std::vector<float>{1, 0.5F}));
  spec = decoded(half({0x3C00, 0x3800}));
  spec.subgraphs[0].tensors[2].is_variable = true;
  EXPECT_FALSE(std::get<Graph>(parse_input(testing::tflite_model(spec), "m.tflite").content)
                   .subgraphs[0]
                   .operators[0]
                   .folded);
}

/// The value of a half by its definition.
double value_of_half(std::uint16_t bits) {
  const int exponent = bits >> 10U & 0x1F;
  const int fraction = bits & 0x3FF;
  const double size = exponent == 0      ? std::ldexp(fraction, -24)
                      : exponent == 0x1F ? (fraction == 0 ? INFINITY : NAN)
                                         : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000U) != 0 ? -size : size;
}

TEST(TfliteConstants, OfFloat16HaveExactlyTheirValues) {
  std::vector<std::uint16_t> all(1U << 16U);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  TfliteSpec spec = decoded(half(all));  // ADD limits what is infinite, so they are copied
  spec.subgraphs[0].tensors[3].shape[0] *= 2;
  spec.subgraphs[0].operators[1] = {
      .type = "CONCATENATION", .inputs = {2, 0}, .outputs = {3}, .numbers = {0, 0}};
  const auto expect_values = [&](const std::vector<float>& numbers) {
    ASSERT_EQ(numbers.size(), 2 * all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double expected = value_of_half(all[i]);
      ASSERT_TRUE(std::isnan(expected) ? std::isnan(numbers[i]) : static_cast<double>(numbers[i]) == expected)
          << all[i] << " gives " << numbers[i];
    }
  };
  expect_values(result_of(spec));
  // As an input: the kernel runs in each step, by rows, too.
  spec.subgraphs[0] = {
      .tensors = {{.name = "x", .shape = {4, 2}, .dtype = DType::float16}, {.name = "y", .shape = {4, 2}}},
      .operators = {{.type = "DEQUANTIZE", .inputs = {0}, .outputs = {1}}},
      .inputs = {0},
      .outputs = {1}};
  EXPECT_EQ(result_of(spec), std::vector<float>(8, 0));
  PlanOptions rows;
  rows.stream = StreamOptions{};
  EXPECT_EQ(result_of(spec, rows), std::vector<float>(8, 0));
}

TEST(TfliteConstants, OfIntegersAreScaledAsAWholeOrByChannel) {
  TfliteTensor w{.name = "w",
                 .shape = {2, 3},
                 .dtype = DType::int8,
                 .data = text_of<std::int8_t>({-128, 0, 127, 1, 2, 3})};
  w.scale = {0.5F};
  w.zero_point = {1};
  EXPECT_EQ(result_of(decoded(w)), (std::vector<float>{-64.5F, -0.5F, 63, 0, 0.5F, 1}));
  w.scale = {0.5F, 2};
  w.zero_point = {1, 0};
  EXPECT_EQ(result_of(decoded(w)), (std::vector<float>{-64.5F, -0.5F, 63, 2, 4, 6}));
  w.scale = {1, 2, 4};
  w.zero_point = {0, 0, 0};
  w.quantized_dimension = 1;
  EXPECT_EQ(result_of(decoded(w)), (std::vector<float>{-128, 0, 508, 1, 4, 12}));
  w.dtype = DType::uint8;
  w.scale = {0.25F};
  w.zero_point = {128};
  EXPECT_EQ(result_of(decoded(w)), (std::vector<float>{0, -32, -0.25F, -31.75F, -31.5F, -31.25F}));
}

/// The classes of equal constants with more than one member.
std::size_t shared_by(const TfliteTensor& a, const TfliteTensor& b) {
  std::vector<Input> inputs;
  for (const TfliteTensor* const w : {&a, &b})
    inputs.push_back(parse_input(testing::tflite_model(decoded(*w)), "m.tflite", {.constants = true}));
  const auto classes = share::equal_data(inputs);
  return static_cast<std::size_t>(
      std::ranges::count_if(classes, [](const auto& it) { return it.size() > 1; }));
}

TEST(TfliteConstants, AreEqualIfEqualBytesAreDecodedAlike) {
  const TfliteTensor ones = half({0x3C00, 0x3C01, 0x3C02});
  EXPECT_EQ(shared_by(ones, ones), 2U);
  EXPECT_EQ(shared_by(ones, half({0x3C00, 0x3C01, 0x3C03})), 0U);
  TfliteTensor w{
      .name = "w", .shape = {3}, .dtype = DType::int8, .data = "abc", .scale = {0.5F}, .zero_point = {0}};
  EXPECT_EQ(shared_by(w, w), 2U);
  TfliteTensor other = w;
  other.scale = {0.25F};
  EXPECT_EQ(shared_by(w, other), 1U);
  other = w;
  other.zero_point = {1};
  EXPECT_EQ(shared_by(w, other), 1U);
}

// Sparse constants

/// A matrix of 0 7 0, 5 0 6: the rows are dense.
TfliteSparsity small_sparsity(std::uint8_t type = 1) {
  return {.order = {0, 1},
          .levels = {{.extent = 2},
                     {.is_dense = false, .segments = {0, 1, 3}, .indices = {1, 0, 2}, .type = type}}};
}

TfliteTensor small_sparse() {
  return {.name = "w", .shape = {2, 3}, .data = text_of<float>({7, 5, 6}), .sparsity = small_sparsity()};
}

/// y = x + w
TfliteSpec added(const TfliteTensor& w) {
  return {.subgraphs = {{.tensors = {{.name = "x", .shape = w.shape, .dtype = w.dtype},
                                     w,
                                     {.name = "y", .shape = w.shape, .dtype = w.dtype}},
                         .operators = {{.type = "ADD", .inputs = {0, 1}, .outputs = {2}}},
                         .inputs = {0},
                         .outputs = {2}}}};
}

TEST(TfliteConstants, ThatAreSparseAreExpanded) {
  const std::vector<float> dense{0, 7, 0, 5, 0, 6};
  TfliteTensor w = small_sparse();
  for (const std::uint8_t type : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
    w.sparsity = small_sparsity(type);
    EXPECT_EQ(result_of(added(w)), dense);
  }
  const Input input = parse_input(testing::tflite_model(added(w)), "m.tflite", {.constants = true});
  EXPECT_EQ(elements_in<float>(input.constants.of(1)), dense);
  // Columns outside, rows inside.
  w.sparsity = TfliteSparsity{
      .order = {1, 0},
      .levels = {{.extent = 3}, {.is_dense = false, .segments = {0, 1, 2, 3}, .indices = {1, 0, 1}}}};
  w.data = text_of<float>({5, 7, 6});
  EXPECT_EQ(result_of(added(w)), dense);
}

TEST(TfliteConstants, ThatAreSparseHaveBlocks) {
  // 2 by 4 in blocks of 1 by 2, of which there are those at (0, 1) and (1, 0).
  TfliteTensor w{.name = "w", .shape = {2, 4}, .data = text_of<float>({1, 2, 3, 4})};
  w.sparsity = TfliteSparsity{
      .order = {0, 1, 2},
      .blocks = {1},
      .levels = {
          {.extent = 2}, {.is_dense = false, .segments = {0, 1, 2}, .indices = {1, 0}}, {.extent = 2}}};
  EXPECT_EQ(result_of(added(w)), (std::vector<float>{0, 0, 1, 2, 3, 4, 0, 0}));
}

/// Writes a dense tensor as a sparse one, level by level: the slow way.
class Compression {
 public:
  Compression(const std::vector<std::uint16_t>& dense, const std::vector<std::int32_t>& shape,
              TfliteSparsity form, const std::vector<std::int32_t>& block_sizes)
      : dense_(dense), shape_(shape), form_(std::move(form)), sizes_(block_sizes) {
    for (TfliteLevel& level : form_.levels)
      if (!level.is_dense) level.segments = {0};
    std::vector<std::int32_t> index;
    visit(index);
  }

  [[nodiscard]] const TfliteSparsity& form() const { return form_; }
  [[nodiscard]] const std::vector<std::uint16_t>& stored() const { return stored_; }

 private:
  /// The element at these indices of all levels.
  [[nodiscard]] std::uint16_t element(const std::vector<std::int32_t>& index) const {
    std::vector<std::int32_t> at(shape_.size());
    for (std::size_t l = 0; l < shape_.size(); ++l) at[static_cast<std::size_t>(form_.order[l])] = index[l];
    for (std::size_t l = shape_.size(); l < index.size(); ++l) {
      const auto block = static_cast<std::size_t>(form_.order[l]) - shape_.size();
      auto& coordinate = at[static_cast<std::size_t>(form_.blocks[block])];
      coordinate = coordinate * sizes_[block] + index[l];
    }
    std::size_t place = 0;
    for (std::size_t d = 0; d < shape_.size(); ++d)
      place = place * static_cast<std::size_t>(shape_[d]) + static_cast<std::size_t>(at[d]);
    return dense_[place];
  }

  [[nodiscard]] bool has_numbers(std::vector<std::int32_t>& index) const {
    if (index.size() == form_.levels.size()) return element(index) != 0;
    bool found = false;
    for (std::int32_t i = 0; i < form_.levels[index.size()].extent && !found; ++i) {
      index.push_back(i);
      found = has_numbers(index);
      index.pop_back();
    }
    return found;
  }

  void visit(std::vector<std::int32_t>& index) {
    if (index.size() == form_.levels.size()) {
      stored_.push_back(element(index));
      return;
    }
    TfliteLevel& level = form_.levels[index.size()];
    for (std::int32_t i = 0; i < level.extent; ++i) {
      index.push_back(i);
      if (level.is_dense || has_numbers(index)) {
        if (!level.is_dense) level.indices.push_back(i);
        visit(index);
      }
      index.pop_back();
    }
    if (!level.is_dense) level.segments.push_back(static_cast<std::int32_t>(level.indices.size()));
  }

  const std::vector<std::uint16_t>& dense_;
  const std::vector<std::int32_t>& shape_;
  TfliteSparsity form_;
  const std::vector<std::int32_t>& sizes_;
  std::vector<std::uint16_t> stored_{};
};

TEST(TfliteConstants, OfRandomFormsAreWhatWasCompressed) {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same each time
  const auto draw = [&](std::int32_t most) {
    return static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(most));
  };
  for (int round = 0; round < 300; ++round) {
    const std::int32_t rank = 1 + draw(4);
    std::vector<std::int32_t> shape;
    std::vector<std::int32_t> sizes;
    std::vector<std::int32_t> extents;  // by expanded dimension
    TfliteSparsity form;
    for (std::int32_t d = 0; d < rank; ++d) {
      const std::int32_t block = draw(2) == 0 ? 0 : 1 + draw(3);
      extents.push_back(1 + draw(3));
      shape.push_back(extents.back() * std::max(block, 1));
      form.order.push_back(d);
      if (block == 0) continue;
      form.blocks.push_back(d);
      sizes.push_back(block);
    }
    std::shuffle(form.order.begin(), form.order.end(), random);
    for (std::size_t b = 0; b < sizes.size(); ++b) {
      extents.push_back(sizes[b]);
      form.order.push_back(rank + static_cast<std::int32_t>(b));
    }
    for (const std::int32_t dimension : form.order) {
      const bool is_block = dimension >= rank;
      form.levels.push_back({.is_dense = is_block || draw(2) == 0,
                             .extent = extents[static_cast<std::size_t>(dimension)],
                             .type = static_cast<std::uint8_t>(1 + draw(3))});
    }
    std::vector<std::uint16_t> dense(
        static_cast<std::size_t>(std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>())));
    for (std::uint16_t& number : dense)
      if (draw(3) == 0) number = static_cast<std::uint16_t>(1 + draw(60000));
    const Compression compressed(dense, shape, form, sizes);
    if (compressed.stored().empty()) continue;
    TfliteTensor w{.name = "w", .shape = shape, .dtype = DType::int16, .data = text_of(compressed.stored())};
    w.sparsity = compressed.form();
    const Network network = import::read_tflite_network({testing::tflite_model(added(w))}, {});
    EXPECT_EQ(elements_in<std::uint16_t>(network.input.constants.of(1)), dense) << round;
  }
}

/// As pruned networks in float16 have it: DENSIFY, and then DEQUANTIZE.
TEST(TfliteConstants, MayBeSparseAndOfFloat16) {
  TfliteTensor w{.name = "w",
                 .shape = {2, 3},
                 .dtype = DType::float16,
                 .data = text_of<std::uint16_t>({0x3C00, 0x3800, 0xC000})};
  w.sparsity = small_sparsity(3);
  TfliteSpec spec{.subgraphs = {{.tensors = {{.name = "x", .shape = w.shape},
                                             w,
                                             {.name = "s", .shape = w.shape, .dtype = DType::float16},
                                             {.name = "d", .shape = w.shape},
                                             {.name = "y", .shape = w.shape}},
                                 .operators = {{.type = "DENSIFY", .inputs = {1}, .outputs = {2}},
                                               {.type = "DEQUANTIZE", .inputs = {2}, .outputs = {3}},
                                               {.type = "ADD", .inputs = {0, 3}, .outputs = {4}}},
                                 .inputs = {0},
                                 .outputs = {4}}}};
  EXPECT_EQ(result_of(spec), (std::vector<float>{0, 1, 0, 0.5F, 0, -2}));
  const Input input = parse_input(testing::tflite_model(spec), "m.tflite", {.constants = true});
  EXPECT_EQ(input.constants.of(2).data(), input.constants.of(1).data());
  ASSERT_NE(input.constants.recipe_of(3), nullptr);
  EXPECT_EQ(make_plan(input).plan.summary.peak, 32);
}

TEST(TfliteConstants, ThatAreSparseAndDamagedAreRefused) {
  const auto with = [](const auto& change) {
    TfliteTensor w = small_sparse();
    change(w, *w.sparsity);
    return problem_of(added(w));
  };
  using Form = TfliteSparsity;
  EXPECT_EQ(with([](auto& w, Form&) { w.data += "abcd"; }),
            "tensor 'w': is sparse and has 16 bytes of data, expected 3 elements of 4");
  EXPECT_EQ(with([](auto&, Form& it) { it.order = {0}; }),
            "tensor 'w': is sparse and has a traversal order of 1, expected its 2 dimensions and 0 blocks");
  EXPECT_EQ(
      with([](auto&, Form& it) {
        it.order = {0, 0};
      }),
      "tensor 'w': is sparse and has 0 in its traversal order, expected numbers from 0 to 1, each once");
  EXPECT_EQ(
      with([](auto&, Form& it) {
        it.order = {0, -1};
      }),
      "tensor 'w': is sparse and has -1 in its traversal order, expected numbers from 0 to 1, each once");
  EXPECT_EQ(with([](auto&, Form& it) { it.levels.pop_back(); }),
            "tensor 'w': is sparse and describes 1 dimensions, expected its 2 and 0 blocks");
  EXPECT_EQ(with([](auto&, Form& it) {
              it.order = {0, 1, 2};
              it.blocks = {2};
              it.levels.push_back({.extent = 1});
            }),
            "tensor 'w': is sparse and has 2 in its block map, expected numbers from 0 to 1, each once");
  for (const std::int32_t size : {2, 0, -3}) {
    EXPECT_EQ(with([&](auto&, Form& it) {
                it.order = {0, 1, 2};
                it.blocks = {1};
                it.levels.push_back({.extent = size});
              }),
              "tensor 'w': is sparse and has blocks of " + std::to_string(size) +
                  " along dimension 1 of 3, expected a divisor");
  }
  EXPECT_EQ(
      with([](auto&, Form& it) {
        it.order = {0, 2, 1};
        it.blocks = {1};
        it.levels.push_back({.extent = 1});
      }),
      "tensor 'w': is sparse and has 2 in its traversal order, expected numbers from 0 to 1, each once");
  EXPECT_EQ(with([](auto&, Form& it) { it.levels[0].extent = 3; }),
            "tensor 'w': is sparse and has extent 3 at level 0, expected 2");
  EXPECT_EQ(with([](auto&, Form& it) { it.levels[1].format = 2; }),
            "tensor 'w': is sparse and has format 2 at level 1, expected 0 or 1");
  EXPECT_EQ(with([](auto&, Form& it) {
              it.levels[1].segments = {0, 3};
            }),
            "tensor 'w': is sparse and has 2 segments at level 1, expected 3");
  for (const std::vector<std::int32_t>& segments :
       {std::vector{0, 4, 3}, {1, 1, 3}, {0, 1, 2}, {0, -1, 3}, {0, 1, 4}})
    EXPECT_EQ(with([&](auto&, Form& it) { it.levels[1].segments = segments; }),
              "tensor 'w': is sparse and has segments at level 1 that do not ascend from 0 to its 3 indices");
  for (const std::vector<std::int32_t>& indices : {std::vector{3, 0, 2}, {1, 2, 0}, {1, 2, 2}, {-1, 0, 2}})
    EXPECT_TRUE(with([&](auto&, Form& it) {
                  it.levels[1].indices = indices;
                }).ends_with("at level 1, expected ascending ones below 3"));
  EXPECT_EQ(with([](auto& w, Form&) { w.dtype = DType::int4; }),
            "tensor 'w': is sparse and of type int4, expected one of whole bytes");
  EXPECT_EQ(
      with([](auto& w, Form&) {
        w.shape = {1 << 15, 1 << 15};
      }),
      "tensor 'w': is sparse and has 4294967296 bytes, expected at most 1073741824 of all sparse tensors");
}

/// Any damage is an Error, or makes another model.
TEST(TfliteConstants, SurviveDamageToAnyByte) {
  TfliteTensor w{.name = "w", .shape = {2, 4}, .dtype = DType::float16, .data = std::string(8, 'x')};
  w.sparsity =
      TfliteSparsity{.order = {1, 0, 2},
                     .blocks = {1},
                     .levels = {{.is_dense = false, .segments = {0, 2}, .indices = {0, 1}, .type = 2},
                                {.is_dense = false, .segments = {0, 1, 2}, .indices = {1, 0}, .type = 3},
                                {.extent = 2}}};
  const std::string bytes = testing::tflite_model(decoded(w));
  ASSERT_NO_THROW((void)import::read_tflite_network({bytes}, {}));
  std::size_t errors = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int value : {0, 1, 2, 3, 0x7F, 0x80, 0xFE, 0xFF}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(value);
      try {
        (void)import::read_tflite_network({damaged}, {});
      } catch (const Error&) {
        ++errors;
      }
    }
  }
  EXPECT_GT(errors, 100U);
}

}  // namespace
}  // namespace stowage
