// Kernels of oneDNN against plain loops, on operands that lie between pages nobody may touch: machine code
// that oneDNN makes as it goes is not seen by sanitizers. Results must not depend on where operands are.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <dnnl.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernels.h"
#include "stowage/error.h"
#include "stowage/graph.h"

namespace stowage::kernels {
namespace {

using Numbers = std::vector<std::int64_t>;

enum class Side : std::uint8_t { begin, end };

/// Bytes with untouchable pages before and behind them, that begin or end where these do.
class Fenced {
 public:
  Fenced(std::size_t size, Side side) : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    const std::size_t inner = std::max<std::size_t>((size + page_ - 1) / page_, 1) * page_;
    whole_ = inner + 2 * page_;
    void* const mapped = ::mmap(nullptr, whole_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(mapped);
    if (::mprotect(base_ + page_, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = base_ + page_ + (side == Side::end ? inner - size : 0);
    // What surrounds the bytes within their pages.
    std::memset(base_ + page_, fill, inner);
    size_ = size;
  }
  ~Fenced() { ::munmap(base_, whole_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  Fenced(Fenced&&) = delete;
  Fenced& operator=(Fenced&&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }

  /// Whether only the bytes themselves were written.
  [[nodiscard]] bool is_margin_whole() const {
    const auto is_filled = [](std::byte b) { return b == std::byte{fill}; };
    return std::all_of(base_ + page_, data_, is_filled) &&
           std::all_of(data_ + size_, base_ + whole_ - page_, is_filled);
  }

 private:
  static constexpr unsigned char fill = 0xa5;

  std::size_t page_;
  std::size_t whole_ = 0;
  std::size_t size_ = 0;
  std::byte* base_ = nullptr;
  std::byte* data_ = nullptr;
};

/// An operator with its operands' shapes.
struct Trial {
  std::string type;
  std::vector<Shape> inputs;
  Shape output;
  std::vector<std::pair<std::string, Attributes::Value>> attributes{};
  std::int64_t version = 19;
  std::set<std::size_t> constants{};  ///< Inputs that never change.
  float low = -1;                     ///< Elements are from here to `high`.
  float high = 1;

  [[nodiscard]] std::string describe() const {
    std::string text = fmt::format("{} {}", type, version);
    for (const Shape& shape : inputs) text += fmt::format(" [{}]", fmt::join(shape, ","));
    text += fmt::format(" -> [{}]", fmt::join(output, ","));
    for (const auto& [name, value] : attributes) {
      text += " " + name;
      if (const auto* const numbers = std::get_if<Numbers>(&value))
        text += fmt::format("=[{}]", fmt::join(*numbers, ","));
      if (const auto* const number = std::get_if<std::int64_t>(&value)) text += fmt::format("={}", *number);
    }
    return text;
  }
};

using Floats = std::vector<float>;

[[nodiscard]] std::size_t size_of(const Floats& values) { return values.size() * sizeof(float); }

/// What a trial runs on.
struct Operands {
  explicit Operands(const Trial& trial, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> element(trial.low, trial.high);
    for (const auto& [name, value] : trial.attributes) attributes.set(name, value);
    for (const Shape& shape : trial.inputs) {
      Floats values(static_cast<std::size_t>(count_of(shape)));
      for (float& value : values) value = element(random);
      inputs.push_back(std::move(values));
    }
  }

  Attributes attributes{};
  std::vector<Floats> inputs{};
};

[[nodiscard]] Signature signature_of(const Trial& trial, const Operands& operands) {
  Signature signature{.type = trial.type, .version = trial.version, .attributes = operands.attributes};
  for (std::size_t i = 0; i < trial.inputs.size(); ++i) {
    Argument argument{.dtype = DType::float32, .shape = trial.inputs[i]};
    argument.is_constant = trial.constants.contains(i);
    if (argument.is_constant) argument.constant = std::as_bytes(std::span(operands.inputs[i]));
    signature.inputs.emplace_back(std::move(argument));
  }
  signature.outputs.emplace_back(Argument{.dtype = DType::float32, .shape = trial.output});
  return signature;
}

/// The output, with every operand on that side of its pages and the output at that input's place, if any.
[[nodiscard]] Floats run(const Trial& trial, const Operands& operands, const Kernel& kernel, Side side,
                         std::optional<std::size_t> in_place = std::nullopt) {
  std::vector<std::unique_ptr<Fenced>> memories;
  std::vector<const std::byte*> inputs;
  for (std::size_t i = 0; i < operands.inputs.size(); ++i) {
    const Floats& values = operands.inputs[i];
    memories.push_back(std::make_unique<Fenced>(size_of(values), side));
    std::memcpy(memories.back()->data(), values.data(), size_of(values));
    inputs.push_back(memories.back()->data());
  }
  Floats result(static_cast<std::size_t>(count_of(trial.output)));
  const Fenced fresh(size_of(result), side);
  std::byte* const output = in_place ? memories[*in_place]->data() : fresh.data();
  constexpr std::size_t alignment = 64;
  const auto scratch_size = static_cast<std::size_t>(kernel.scratch);
  EXPECT_EQ(scratch_size % alignment, 0U);
  const Fenced scratch(scratch_size, Side::end);
  kernel.run({.inputs = inputs, .outputs = std::span(&output, 1), .scratch = scratch.data()});
  std::memcpy(result.data(), output, size_of(result));
  EXPECT_TRUE(fresh.is_margin_whole());
  EXPECT_TRUE(scratch.is_margin_whole());
  for (std::size_t i = 0; i < memories.size(); ++i) {
    EXPECT_TRUE(memories[i]->is_margin_whole());
    if (i == in_place) continue;
    EXPECT_EQ(std::memcmp(memories[i]->data(), operands.inputs[i].data(), size_of(operands.inputs[i])), 0);
  }
  return result;
}

void expect_close(const Floats& values, const Floats& expected) {
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  ASSERT_GT(largest, 0) << "this trial cannot fail";
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_LE(std::abs(values[i] - expected[i]), 1e-4F * largest) << "element " << i;
}

void expect_same_bits(const Floats& a, const Floats& b) {
  EXPECT_EQ(std::memcmp(a.data(), b.data(), size_of(a)), 0);
}

[[nodiscard]] std::string why_not(const Trial& trial, std::uint32_t seed = 0) {
  const Operands operands(trial, seed);
  try {
    (void)dnnl_kernels().at(trial.type)(signature_of(trial, operands));
  } catch (const Unsupported& unsupported) {
    return unsupported.reason.empty() ? "no reason" : unsupported.reason;
  }
  return "";
}

[[nodiscard]] bool has_all_instructions() {
  return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
}

/// oneDNN runs it, gives what plain loops give, and the same wherever operands are.
void expect_right(const Trial& trial, std::uint32_t seed = 1) {
  SCOPED_TRACE(trial.describe());
  const std::string why = why_not(trial);
  // Which loops are optimised goes by the processor.
  if (!has_all_instructions() && why.find("reference loops") != std::string::npos) return;
  ASSERT_EQ(why, "");
  const Operands operands(trial, seed);
  const Signature signature = signature_of(trial, operands);
  const Kernel fast = dnnl_kernels().at(trial.type)(signature);
  const Floats result = run(trial, operands, fast, Side::begin);
  const Kernel plain = prepare(signature, KernelSet::plain);
  expect_close(result, run(trial, operands, plain, Side::begin));
  expect_same_bits(result, run(trial, operands, fast, Side::end));
  Operator op{.type = trial.type};
  for (std::size_t i = 0; i < trial.inputs.size(); ++i) op.inputs.emplace_back(i);
  op.outputs = {trial.inputs.size()};
  for (std::size_t i = 0; i < trial.inputs.size(); ++i) {
    if (!updates_in_place(op, i) || trial.inputs[i] != trial.output || trial.constants.contains(i)) continue;
    SCOPED_TRACE(fmt::format("in place of input {}", i));
    expect_same_bits(result, run(trial, operands, fast, Side::begin, i));
    expect_same_bits(result, run(trial, operands, fast, Side::end, i));
  }
}

void expect_refused(const Trial& trial, std::string_view reason) {
  const std::string why = why_not(trial);
  EXPECT_NE(why.find(reason), std::string::npos)
      << trial.describe() << ": '" << why << "' does not say '" << reason << "'";
}

TEST(DnnlConv, OfOneToThreeDimensions) {
  expect_right({"Conv", {{2, 3, 20}, {4, 3, 5}, {4}}, {2, 4, 18}, {{"pads", Numbers{1, 1}}}});
  expect_right({"Conv", {{1, 3, 17, 19}, {8, 3, 3, 3}}, {1, 8, 15, 17}, {}, 11, {1}});
  expect_right({"Conv", {{1, 16, 9, 9}, {5, 16, 3, 3}, {5}}, {1, 5, 7, 7}, {}, 11, {1, 2}});
  expect_right({"Conv", {{1, 2, 5, 6, 7}, {3, 2, 2, 3, 3}}, {1, 3, 4, 4, 5}, {}, 11, {1}});
}

TEST(DnnlConv, OfOneElementOfTheKernelOnShortAndLongRows) {
  for (const std::int64_t side : {7, 14, 20, 28}) {
    const Shape input{1, 24, side, side};
    expect_right({"Conv", {input, {40, 24, 1, 1}, {40}}, {1, 40, side, side}, {}, 11, {1}});
    expect_right({"Conv", {{2, 24, side, side}, {40, 24, 1, 1}}, {2, 40, side, side}});
  }
}

TEST(DnnlConv, WithGroupsAndOfEachChannelByItself) {
  expect_right(
      {"Conv", {{1, 6, 9, 9}, {4, 3, 3, 3}, {4}}, {1, 4, 7, 7}, {{"group", std::int64_t{2}}}, 11, {1}});
  expect_right(
      {"Conv", {{1, 32, 9, 9}, {64, 16, 1, 1}}, {1, 64, 9, 9}, {{"group", std::int64_t{2}}}, 11, {1}});
  for (const std::int64_t channels : {16, 19, 32})
    expect_right({"Conv",
                  {{1, channels, 12, 12}, {channels, 1, 3, 3}, {channels}},
                  {1, channels, 10, 10},
                  {{"group", channels}},
                  11,
                  {1}});
}

TEST(DnnlConv, PadsAutomatically) {
  const std::vector<Shape> inputs{{1, 3, 10, 11}, {4, 3, 4, 3}};
  for (const std::string pad : {"SAME_UPPER", "SAME_LOWER"})
    expect_right({"Conv", inputs, {1, 4, 5, 6}, {{"auto_pad", pad}, {"strides", Numbers{2, 2}}}});
  expect_right({"Conv", inputs, {1, 4, 7, 9}, {{"auto_pad", "VALID"}}});
}

TEST(DnnlConv, OfRandomShapes) {
  std::mt19937 random(5);
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  int run = 0;
  for (std::uint32_t i = 0; i < 60; ++i) {
    const std::int64_t group = draw(1, 3);
    const std::int64_t source = draw(1, 20);
    const std::int64_t target = draw(1, 20);
    Trial trial{"Conv", {{draw(1, 2), group * source}, {group * target, source}}, {}};
    trial.output = {trial.inputs[0][0], group * target};
    Numbers strides;
    Numbers dilations;
    Numbers begin;
    Numbers end;
    for (int d = 0; d < 2; ++d) {
      const std::int64_t size = draw(4, 16);
      const std::int64_t kernel = draw(1, 4);
      strides.push_back(draw(1, 3));
      dilations.push_back(draw(1, 2));
      const std::int64_t extent = (kernel - 1) * dilations.back() + 1;
      begin.push_back(draw(0, std::min<std::int64_t>(extent - 1, 3)));
      end.push_back(draw(0, std::min<std::int64_t>(extent - 1, 3)));
      const std::int64_t free = size + begin.back() + end.back() - extent;
      trial.inputs[0].push_back(size);
      trial.inputs[1].push_back(kernel);
      trial.output.push_back(free < 0 ? 0 : free / strides.back() + 1);
    }
    if (count_of(trial.output) == 0) continue;
    begin.insert(begin.end(), end.begin(), end.end());
    trial.attributes = {{"strides", strides}, {"dilations", dilations}, {"pads", begin}, {"group", group}};
    if (draw(0, 1) == 1) trial.inputs.push_back({group * target});
    if (draw(0, 1) == 1) trial.constants = {1};
    expect_right(trial, i);
    ++run;
  }
  EXPECT_GT(run, 40);
}

TEST(DnnlConv, RefusesWhatDoesNotGoTogether) {
  const std::vector<Shape> inputs{{1, 4, 8, 8}, {6, 4, 3, 3}};
  const Shape output{1, 6, 6, 6};
  ASSERT_EQ(why_not({"Conv", inputs, output}), "");
  expect_refused({"Conv", inputs, {1, 6, 6, 7}}, "output is [1,6,6,7], expected [1,6,6,6]");
  expect_refused({"Conv", inputs, {1, 6, 36}}, "expected [1,6,6,6]");
  expect_refused({"Conv", {{1, 4, 8, 8}, {6, 5, 3, 3}}, output}, "5 channels of weights, expected 4");
  expect_refused({"Conv", {{1, 4, 8, 8}, {6, 4, 9}}, output}, "3 dimensions of weights");
  expect_refused({"Conv", {{1, 4, 8, 8}, {6, 4, 3, 3}, {5}}, output}, "bias is no list of 6");
  expect_refused({"Conv", {{4, 8}, {6, 4}}, output}, "2 dimensions");
  expect_refused({"Conv", {{1, 4, 8, 8}}, output}, "1 inputs");
  expect_refused({"Conv", {{1, 4, 0, 8}, {6, 4, 3, 3}}, output}, "input 0 is empty");
  const auto with = [&](const std::string& name, const Attributes::Value& value) {
    return Trial{"Conv", inputs, output, {{name, value}}};
  };
  expect_refused(with("group", std::int64_t{0}), "group 0");
  expect_refused(with("group", std::int64_t{5}), "group 5 does not divide");
  expect_refused(with("group", std::int64_t{2}), "4 channels of weights, expected 2");
  expect_refused(with("strides", Numbers{0, 1}), "strides has 0");
  expect_refused(with("strides", Numbers{1}), "strides has 1 numbers");
  expect_refused(with("dilations", Numbers{std::int64_t{1} << 62, 1}), "dilations has");
  expect_refused(with("pads", Numbers{-1, 0, 0, 0}), "pads has -1");
  expect_refused(with("pads", Numbers{3, 0, 0, 0}), "pads has 3");
  expect_refused(with("kernel_shape", Numbers{3, 2}), "kernel_shape is not");
  expect_refused(with("kernel_shape", Numbers{3}), "kernel_shape has 1");
  expect_refused(with("auto_pad", "SOME"), "auto_pad is SOME");
  expect_refused(with("auto_pad", std::int64_t{1}), "another type");
}

TEST(DnnlConvTranspose, WithAndWithoutGroups) {
  expect_right({"ConvTranspose", {{1, 3, 5, 6}, {3, 4, 3, 3}, {4}}, {1, 4, 7, 8}, {}, 11, {1}});
  expect_right(
      {"ConvTranspose",
       {{1, 3, 5, 6}, {3, 4, 3, 3}},
       {1, 4, 10, 12},
       {{"strides", Numbers{2, 2}}, {"pads", Numbers{1, 1, 1, 1}}, {"output_padding", Numbers{1, 1}}}});
  expect_right({"ConvTranspose",
                {{2, 8, 5, 5}, {8, 3, 2, 2}},
                {2, 6, 10, 10},
                {{"strides", Numbers{2, 2}}, {"group", std::int64_t{2}}},
                11,
                {1}});
  expect_right({"ConvTranspose", {{1, 4, 9}, {4, 2, 3}}, {1, 2, 13}, {{"dilations", Numbers{2}}}});
  expect_refused({"ConvTranspose", {{1, 3, 5, 6}, {3, 4, 3, 3}}, {1, 4, 7, 9}}, "expected [1,4,7,8]");
  expect_refused(
      {"ConvTranspose", {{1, 3, 5, 6}, {3, 4, 3, 3}}, {1, 4, 8, 8}, {{"output_padding", Numbers{1, 0}}}},
      "output_padding 1");
}

TEST(DnnlPool, OfWindows) {
  for (const std::string type : {"MaxPool", "AveragePool"}) {
    expect_right(
        {type, {{1, 5, 9, 11}}, {1, 5, 4, 5}, {{"kernel_shape", Numbers{3, 3}}, {"strides", Numbers{2, 2}}}});
    expect_right(
        {type,
         {{2, 3, 10, 10}},
         {2, 3, 5, 5},
         {{"kernel_shape", Numbers{3, 3}}, {"strides", Numbers{2, 2}}, {"pads", Numbers{1, 1, 1, 1}}}});
    expect_right({type, {{1, 3, 10}}, {1, 3, 9}, {{"kernel_shape", Numbers{2}}}});
    expect_right({type, {{1, 2, 4, 6, 8}}, {1, 2, 3, 5, 7}, {{"kernel_shape", Numbers{2, 2, 2}}}});
    expect_right(
        {type,
         {{1, 3, 10, 10}},
         {1, 3, 5, 5},
         {{"kernel_shape", Numbers{3, 3}}, {"strides", Numbers{2, 2}}, {"ceil_mode", std::int64_t{1}}}});
    expect_right({type,
                  {{1, 16, 7, 7}},
                  {1, 16, 4, 4},
                  {{"kernel_shape", Numbers{3, 3}}, {"strides", Numbers{2, 2}}, {"auto_pad", "SAME_UPPER"}}});
  }
  expect_right({"AveragePool",
                {{1, 3, 10, 10}},
                {1, 3, 5, 5},
                {{"kernel_shape", Numbers{3, 3}},
                 {"strides", Numbers{2, 2}},
                 {"pads", Numbers{1, 1, 1, 1}},
                 {"count_include_pad", std::int64_t{1}}}});
}

TEST(DnnlPool, RefusesWhatDoesNotGoTogether) {
  const std::vector<Shape> input{{1, 3, 10, 10}};
  expect_refused(
      {"MaxPool", input, {1, 3, 6, 6}, {{"kernel_shape", Numbers{3, 3}}, {"dilations", Numbers{2, 2}}}},
      "gaps");
  expect_refused({"MaxPool", input, {1, 3, 9, 9}}, "kernel has 0 dimensions, expected 2");
  expect_refused({"MaxPool", input, {1, 3, 9, 9}, {{"kernel_shape", Numbers{2, 3}}}}, "expected [1,3,9,8]");
  expect_refused({"MaxPool", input, {1, 3, 1, 1}, {{"kernel_shape", Numbers{11, 10}}}},
                 "larger than its input");
  expect_refused({"AveragePool",
                  input,
                  {1, 3, 5, 5},
                  {{"kernel_shape", Numbers{3, 3}},
                   {"strides", Numbers{2, 2}},
                   {"ceil_mode", std::int64_t{1}},
                   {"count_include_pad", std::int64_t{1}}}},
                 "beyond the padding");
}

TEST(DnnlPool, OfEverything) {
  for (const std::string type : {"GlobalAveragePool", "GlobalMaxPool"}) {
    expect_right({type, {{1, 20, 7, 7}}, {1, 20, 1, 1}});
    expect_right({type, {{2, 3, 11}}, {2, 3, 1}});
    expect_right({type, {{1, 2, 3, 4, 5}}, {1, 2, 1, 1, 1}});
    expect_refused({type, {{1, 20, 7, 7}}, {1, 20}}, "expected [1,20,1,1]");
  }
}

TEST(DnnlMatMul, WithBatchesThatAreBroadcast) {
  expect_right({"MatMul", {{5, 7}, {7, 3}}, {5, 3}});
  expect_right({"MatMul", {{2, 3, 5, 7}, {7, 3}}, {2, 3, 5, 3}, {}, 13, {1}});
  expect_right({"MatMul", {{2, 3, 5, 7}, {2, 3, 7, 4}}, {2, 3, 5, 4}});
  expect_right({"MatMul", {{3, 5, 7}, {2, 1, 7, 4}}, {2, 3, 5, 4}});
  expect_right({"MatMul", {{2, 1, 5, 7}, {3, 7, 4}}, {2, 3, 5, 4}});
  expect_right({"MatMul", {{7}, {7, 3}}, {3}});
  expect_right({"MatMul", {{5, 7}, {7}}, {5}});
  expect_right({"MatMul", {{7}, {7}}, {}, {}, 13, {}, 0.5F});
  expect_right({"MatMul", {{2, 5, 7}, {7}}, {2, 5}});
  expect_right({"MatMul", {{7}, {2, 7, 3}}, {2, 3}});
  expect_right({"MatMul", {{65, 129}, {129, 33}}, {65, 33}});
  expect_refused({"MatMul", {{5, 7}, {6, 3}}, {5, 3}}, "7 columns and 6 rows");
  expect_refused({"MatMul", {{5, 7}, {7, 3}}, {3, 5}}, "expected [5,3]");
  expect_refused({"MatMul", {{2, 5, 7}, {3, 7, 3}}, {3, 5, 3}}, "batches");
}

TEST(DnnlGemm, ScaledTransposedAndWithAddend) {
  for (const std::int64_t a : {0, 1}) {
    for (const std::int64_t b : {0, 1}) {
      for (const Shape& addend : {Shape{}, Shape{6}, Shape{1, 6}, Shape{5, 6}}) {
        Trial trial{"Gemm", {a == 0 ? Shape{5, 9} : Shape{9, 5}, b == 0 ? Shape{9, 6} : Shape{6, 9}}, {5, 6}};
        trial.attributes = {{"transA", a}, {"transB", b}};
        expect_right(trial);
        trial.inputs.push_back(addend);
        expect_right(trial);
        trial.attributes.emplace_back("alpha", 0.25F);
        expect_right(trial);
      }
    }
  }
  for (const auto& [rows, columns] : {std::pair{1, 6}, std::pair{5, 1}, std::pair{1, 1}}) {
    for (const Shape& addend : {Shape{}, Shape{columns}, Shape{rows, columns}})
      expect_right(
          {"Gemm", {{rows, 9}, {9, columns}, addend}, {rows, columns}, {{"alpha", 0.5F}}, 13, {}, 0.5F});
  }
  expect_right({"Gemm", {{1, 300}, {200, 300}, {200}}, {1, 200}, {{"transB", std::int64_t{1}}}, 9, {1, 2}});
  expect_refused({"Gemm", {{5, 9}, {6, 9}}, {5, 6}}, "9 columns and 6 rows");
  expect_refused({"Gemm", {{5, 9}, {9, 6}, {5}}, {5, 6}}, "does not spread");
  expect_refused({"Gemm", {{5, 9}, {9, 6}}, {6, 5}}, "expected [5,6]");
}

TEST(DnnlNormalization, OfBatchesWithKnownStatistics) {
  for (const Shape& shape : {Shape{1, 6, 5, 5}, Shape{3, 17, 9}, Shape{4, 7}, Shape{1, 7}, Shape{3, 7, 1, 1},
                             Shape{7, 1, 5}, Shape{16, 16, 16}, Shape{2, 3, 2, 3, 4}}) {
    const Shape list{shape[1]};
    const Trial trial{"BatchNormalization",
                      {shape, list, list, list, list},
                      shape,
                      {{"epsilon", 1e-3F}},
                      15,
                      {1, 2, 3, 4},
                      0.5F,
                      2.0F};
    expect_right(trial);
  }
  const Shape shape{1, 6, 5, 5};
  expect_refused({"BatchNormalization", {shape, {6}, {6}, {6}, {6}}, shape}, "no constant");
  expect_refused({"BatchNormalization", {shape, {6}, {5}, {6}, {6}}, shape, {}, 15, {1, 2, 3, 4}},
                 "no list of 6");
  expect_refused(
      {"BatchNormalization", {shape, {6}, {6}, {6}, {6}}, shape, {{"training_mode", std::int64_t{1}}}},
      "computed while it runs");
}

TEST(DnnlNormalization, OfLayers) {
  expect_right({"LayerNormalization", {{2, 5, 33}, {33}, {33}}, {2, 5, 33}});
  expect_right({"LayerNormalization", {{2, 5, 16}, {16}}, {2, 5, 16}, {{"epsilon", 1e-2F}}});
  expect_right({"LayerNormalization", {{2, 5, 6}, {5, 6}, {5, 6}}, {2, 5, 6}, {{"axis", std::int64_t{1}}}});
  expect_refused({"LayerNormalization", {{2, 5, 6}, {1}}, {2, 5, 6}}, "not the shape that is normalized");
}

TEST(DnnlNormalization, OfNeighbouringChannels) {
  expect_right(
      {"LRN", {{1, 20, 6, 6}}, {1, 20, 6, 6}, {{"size", std::int64_t{5}}, {"alpha", 0.5F}, {"bias", 2.0F}}});
  expect_right({"LRN", {{2, 3, 7}}, {2, 3, 7}, {{"size", std::int64_t{3}}, {"alpha", 0.5F}, {"beta", 0.5F}}});
  expect_refused({"LRN", {{1, 20, 6, 6}}, {1, 20, 6, 6}, {{"size", std::int64_t{4}}}}, "size is 4");
}

TEST(DnnlSoftmax, OverOneAxisOrAllFromItOn) {
  for (const std::string type : {"Softmax", "LogSoftmax"}) {
    for (const std::int64_t axis : {-1, 2})
      expect_right({type, {{3, 5, 19}}, {3, 5, 19}, {{"axis", axis}}, 13, {}, -5, 5});
    for (const std::int64_t axis : {-3, -1, 0, 1, 2})
      expect_right({type, {{3, 5, 19}}, {3, 5, 19}, {{"axis", axis}}, 11, {}, -5, 5});
    expect_right({type, {{1000}}, {1000}, {{"axis", std::int64_t{0}}}});
    expect_refused({type, {{3, 5}}, {5, 3}}, "expected [3,5]");
    expect_refused({type, {{3, 5}}, {3, 5}, {{"axis", std::int64_t{2}}}}, "axis is 2");
    expect_refused({type, {{3, 5}}, {3, 5}, {{"axis", std::int64_t{0}}}}, "not the last");
  }
}

TEST(DnnlElementwise, Functions) {
  for (const std::string type : {"Abs", "Elu", "Exp", "Gelu", "HardSwish", "LeakyRelu", "Mish", "Relu",
                                 "Sigmoid", "Softplus", "Tanh"}) {
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{2, 3, 33}, Shape{1, 16, 4, 4}})
      expect_right({type, {shape}, shape, {}, 22, {}, shape.empty() ? 1.0F : -8.0F, 8});
    expect_refused({type, {{3, 5}}, {15}}, "expected [3,5]");
  }
  expect_right({"Sqrt", {{77}}, {77}, {}, 13, {}, 0});
  expect_right({"Gelu", {{77}}, {77}, {{"approximate", "tanh"}}, 20, {}, -4, 4});
  expect_right({"Elu", {{77}}, {77}, {{"alpha", 0.3F}}});
  expect_right({"LeakyRelu", {{77}}, {77}, {{"alpha", 0.3F}}});
  expect_right({"Swish", {{77}}, {77}, {{"alpha", 0.3F}}, 24});
}

TEST(DnnlElementwise, Clips) {
  expect_right({"Clip", {{77}}, {77}, {{"min", -0.25F}, {"max", 0.5F}}, 6});
  expect_right({"Clip", {{77}}, {77}, {{"min", 0.1F}}, 6});
  expect_refused({"Clip", {{77}, {}}, {77}}, "input 1 is no constant");
  expect_refused({"Clip", {{77}}, {77}, {{"min", 1.0F}, {"max", 0.0F}}, 6}, "the least is not below");
}

TEST(DnnlElementwise, PairsThatAreBroadcast) {
  for (const std::string type : {"Add", "Sub", "Mul", "Div", "Max", "Min"}) {
    for (const Shape& spread : {Shape{}, Shape{1}, Shape{2, 9, 5, 7}, Shape{9, 1, 1}, Shape{1, 9, 1, 1},
                                Shape{7}, Shape{5, 7}, Shape{1, 1, 1, 1}})
      expect_right({type, {{2, 9, 5, 7}, spread}, {2, 9, 5, 7}, {}, 14, {}, 0.5F, 2.0F});
    expect_right({type, {{33}, {33}}, {33}, {}, 14, {}, 0.5F, 2.0F});
    expect_right({type, {{5, 7}, {7}}, {5, 7}, {}, 14, {1}, 0.5F, 2.0F});
    expect_refused({type, {{5, 7}, {5}}, {5, 7}}, "5 does not spread over 7");
    expect_refused({type, {{5, 7}, {5, 7}}, {7, 5}}, "no first operand");
  }
  for (const std::string type : {"Add", "Mul", "Max", "Min"}) expect_right({type, {{7}, {5, 7}}, {5, 7}});
}

TEST(DnnlElementwise, RandomPairs) {
  constexpr std::array<std::int64_t, 6> sizes{1, 2, 3, 8, 16, 17};
  std::mt19937 random(7);
  int run = 0;
  for (std::uint32_t i = 0; i < 100; ++i) {
    Trial trial{i % 2 == 0 ? "Add" : "Div", {{}, {}}, {}};
    trial.low = 0.5F;
    const std::size_t rank = 1 + random() % 5;
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t size = sizes.at(random() % sizes.size());
      trial.output.push_back(size);
      trial.inputs[1].push_back(random() % 2 == 0 ? size : 1);
    }
    trial.inputs[0] = trial.output;
    // oneDNN has not every way to spread.
    if (why_not(trial).find("reference loops") != std::string::npos) continue;
    expect_right(trial, i);
    ++run;
  }
  EXPECT_GT(run, has_all_instructions() ? 50 : 0);
}

TEST(DnnlElementwise, ListsOfOperands) {
  for (const std::string type : {"Sum", "Max", "Min"}) {
    expect_right({type, {{2, 33}, {2, 33}}, {2, 33}});
    expect_right({type, {{2, 33}, {2, 33}, {2, 33}, {2, 33}}, {2, 33}});
    expect_right({type, {{2, 33}, {33}, {1}}, {2, 33}});
  }
}

/// What is no finite number is none where plain loops give none, and only there.
void expect_same_kinds(const Trial& trial, const Floats& numbers) {
  SCOPED_TRACE(trial.describe());
  if (!why_not(trial).empty()) return;  // which loops are optimised goes by the processor
  Operands operands(trial, 1);
  for (std::size_t i = 0; i < operands.inputs.size(); ++i)
    for (std::size_t k = 0; k < numbers.size(); ++k)
      operands.inputs[i][(7 * (i + 2 * k) + 3) % operands.inputs[i].size()] = numbers[k];
  const Signature signature = signature_of(trial, operands);
  const Floats fast = run(trial, operands, dnnl_kernels().at(trial.type)(signature), Side::begin);
  const Floats plain = run(trial, operands, prepare(signature, KernelSet::plain), Side::begin);
  for (std::size_t i = 0; i < fast.size(); ++i) {
    EXPECT_EQ(std::isnan(fast[i]), std::isnan(plain[i])) << "element " << i;
    EXPECT_EQ(std::isinf(fast[i]), std::isinf(plain[i])) << "element " << i;
  }
}

TEST(DnnlKernels, NumbersThatAreNoneStay) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const Shape image{2, 4, 5, 3};
  for (const Floats& numbers :
       {Floats{nan, nan}, Floats{nan, infinity, -infinity}, Floats{infinity, -infinity}}) {
    for (const char* const type : {"Abs", "Elu", "Exp", "Gelu", "HardSwish", "LeakyRelu", "LogSoftmax",
                                   "Mish", "Relu", "Sigmoid", "Softmax", "Softplus", "Sqrt", "Swish", "Tanh"})
      expect_same_kinds({type, {image}, image, {}, 24, {}, 0.5F, 2.0F}, numbers);
    expect_same_kinds({"Clip", {image}, image, {{"min", -0.25F}, {"max", 0.5F}}, 6}, numbers);
    for (const char* const type : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Sum"}) {
      expect_same_kinds({type, {image, image}, image, {}, 14, {}, 0.5F, 2.0F}, numbers);
      expect_same_kinds({type, {image, {3}}, image, {}, 14, {}, 0.5F, 2.0F}, {nan});
    }
    for (const char* const type : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"})
      expect_same_kinds({type, {image}, {2, 4, 1, 1}, {{"axes", Numbers{2, 3}}}, 11}, numbers);
    for (const char* const type : {"MaxPool", "AveragePool"})
      expect_same_kinds({type, {image}, {2, 4, 4, 2}, {{"kernel_shape", Numbers{2, 2}}}}, numbers);
  }
  expect_same_kinds({"Softmax", {{5, 3}}, {5, 3}}, Floats(15, -infinity));
}

TEST(DnnlKernels, OfLongRowsAndKernels) {
  expect_right({"Conv", {{1, 3, 1034}, {17, 3, 1024}, {17}}, {1, 17, 11}, {}, 11, {1}});
  expect_right({"Conv", {{1, 16, 3, 310}, {16, 16, 3, 300}}, {1, 16, 1, 11}});
  for (const std::string type : {"MaxPool", "AveragePool"})
    expect_right({type, {{1, 17, 3, 1034}}, {1, 17, 1, 11}, {{"kernel_shape", Numbers{3, 1024}}}, 19, {}, 0});
  expect_right({"GlobalAveragePool", {{1, 17, 70000}}, {1, 17, 1}, {}, 19, {}, 0});
  expect_right({"Softmax", {{2, 70000}}, {2, 70000}});
  expect_right({"LayerNormalization", {{2, 70000}, {70000}}, {2, 70000}});
  expect_right({"Gemm", {{3, 70000}, {70000, 5}}, {3, 5}, {}, 19, {1}, 0});
  expect_refused({"LayerNormalization", {{1, 300000}, {300000}}, {1, 300000}},
                 "300000 elements are normalized");
}

TEST(DnnlReduce, TrailingAndOtherDimensions) {
  for (const std::string type : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"}) {
    const std::int64_t version = type == "ReduceSum" ? 11 : 13;
    const auto axes = [](Numbers numbers) {
      return std::pair{std::string("axes"), Attributes::Value(numbers)};
    };
    expect_right({type, {{3, 5, 7, 9}}, {3, 5, 1, 1}, {axes({2, 3})}, version});
    expect_right({type, {{3, 5, 7, 9}}, {3, 5, 7}, {axes({-1}), {"keepdims", std::int64_t{0}}}, version});
    expect_right({type, {{3, 5, 7, 9}}, {1, 1, 1, 1}, {}, version, {}, 0.5F});
    expect_refused({type, {{3, 5}}, {3}, {axes({1})}, version}, "expected [3,1]");
    expect_refused({type, {{3, 5}}, {3, 1}, {axes({2})}, version}, "axis is 2");
  }
}

}  // namespace
}  // namespace stowage::kernels
