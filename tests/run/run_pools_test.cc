// Pools of ONNX, with windows that hang over the end of their input: shapes and numbers are those of the formulas, in
// all operator sets. ONNX Runtime gives the same (run_oracle_test.cc).

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "onnx_models.h"
#include "stowage/network.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage {
namespace {

using testing::attribute;

/// A pool over one axis of one channel, which is the height or the width of an image.
struct DrawnPool {
  std::string type{};
  int set = 0;
  std::int64_t extent = 1;
  std::int64_t taps = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;
  std::int64_t after = 0;
  bool ceils = false;
  bool is_valid = false;
  bool counts_padding = false;
  std::int64_t power = 2;
  bool is_height = false;

  [[nodiscard]] std::int64_t reach() const { return (taps - 1) * dilation + 1; }
};

/// The outputs: each window that begins in the input or in the padding before it, until one reaches the end.
std::vector<float> expected_of(const DrawnPool& pool, const std::vector<float>& x) {
  std::vector<float> y;
  const std::int64_t end = pool.extent + pool.after;
  for (std::int64_t begin = -pool.before; begin < pool.extent; begin += pool.stride) {
    const bool fits = begin + pool.reach() <= end;
    if (!fits && (!pool.ceils || begin - pool.stride + pool.reach() >= end)) break;
    double total = pool.type == "MaxPool" ? -std::numeric_limits<double>::infinity() : 0;
    int inside = 0;
    int padded = 0;
    for (std::int64_t k = 0; k < pool.taps; ++k) {
      const std::int64_t place = begin + k * pool.dilation;
      if (place < end) ++padded;
      if (place < 0 || place >= pool.extent) continue;
      ++inside;
      const double value = x[static_cast<std::size_t>(place)];
      if (pool.type == "MaxPool") total = std::max(total, value);
      if (pool.type == "AveragePool") total += value;
      if (pool.type == "LpPool") total += std::pow(std::abs(value), static_cast<double>(pool.power));
    }
    if (pool.type == "AveragePool") total /= pool.counts_padding ? padded : inside;
    if (pool.type == "LpPool") total = std::pow(total, 1.0 / static_cast<double>(pool.power));
    y.push_back(static_cast<float>(total));
  }
  return y;
}

onnx::ModelProto model_of(const DrawnPool& pool) {
  const auto both = [&](std::int64_t value) {
    return pool.is_height ? std::vector<std::int64_t>{value, 1} : std::vector<std::int64_t>{1, value};
  };
  testing::NodeAttributes attributes{attribute("kernel_shape", both(pool.taps)),
                                     attribute("strides", both(pool.stride)),
                                     attribute("ceil_mode", std::int64_t{pool.ceils ? 1 : 0})};
  if (pool.dilation > 1) attributes.push_back(attribute("dilations", both(pool.dilation)));
  if (pool.is_valid) {
    attributes.push_back(attribute("auto_pad", std::string("VALID")));
  } else {
    const bool h = pool.is_height;
    attributes.push_back(
        attribute("pads", std::vector<std::int64_t>{h ? pool.before : 0, h ? 0 : pool.before,
                                                    h ? pool.after : 0, h ? 0 : pool.after}));
  }
  if (pool.counts_padding) attributes.push_back(attribute("count_include_pad", std::int64_t{1}));
  if (pool.type == "LpPool") attributes.push_back(attribute("p", pool.power));
  const std::int64_t high = pool.is_height ? pool.extent : 1;
  return testing::onnx_model({.nodes = {testing::node(pool.type, {"x"}, {"y"}, attributes)},
                              .inputs = {testing::tensor_value("x", {1, 1, high, pool.extent / high})},
                              .outputs = {testing::value_of_any_shape("y")}},
                             pool.set);
}

/// With a last window that would begin behind the input, or in the padding behind it.
bool has_window_outside(const DrawnPool& pool) {
  const std::int64_t free = pool.extent + pool.before + pool.after - pool.reach();
  const std::int64_t places = (free + pool.stride - 1) / pool.stride + 1;
  return pool.ceils && (places - 1) * pool.stride >= pool.extent + pool.before;
}

DrawnPool drawn(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  constexpr std::array types{"MaxPool", "AveragePool", "LpPool"};
  constexpr std::array sets{11, 13, 17, 18, 19, 21, 22};
  DrawnPool pool{.type = types[static_cast<std::size_t>(pick(0, 2))],
                 .set = sets[static_cast<std::size_t>(pick(0, 6))],
                 .extent = pick(1, 9),
                 .taps = pick(1, 4),
                 .stride = pick(1, 4),
                 .ceils = pick(0, 3) > 0,
                 .is_valid = pick(0, 3) == 0,
                 .power = pick(1, 2),
                 .is_height = pick(0, 1) == 0};
  if (pool.type == "LpPool") pool.set = std::max(pool.set, 18);
  if (pool.type != "AveragePool" || pool.set >= 19) pool.dilation = pick(1, 3);
  pool.counts_padding = pool.type == "AveragePool" && pick(0, 1) == 0;
  if (!pool.is_valid) {
    pool.before = pick(0, pool.taps - 1);
    pool.after = pick(0, pool.taps - 1);
  }
  return pool;
}

TEST(RunPools, WindowsThatBeginOutsideAreNone) {
  std::mt19937_64 random(5);
  int with_window_outside = 0;
  for (int i = 0; i < 600; ++i) {
    const DrawnPool pool = drawn(random);
    if (pool.extent + pool.before + pool.after < pool.reach()) continue;  // no window at all: refused
    const std::string words = model_of(pool).ShortDebugString();
    std::vector<float> x(static_cast<std::size_t>(pool.extent));
    for (float& value : x) value = static_cast<float>(static_cast<int>(random() % 199) - 99) / 8;
    Array given{
        .dtype = DType::float32, .shape = {}, .data = std::vector<std::byte>(x.size() * sizeof(float))};
    given.shape = pool.is_height ? Shape{1, 1, pool.extent, 1} : Shape{1, 1, 1, pool.extent};
    std::memcpy(given.data.data(), x.data(), given.data.size());
    const std::vector<float> expected = expected_of(pool, x);
    const Network network =
        parse_network(model_of(pool).SerializeAsString(), "pool.onnx", {.constants = true});
    const auto count = static_cast<std::int64_t>(expected.size());
    const Shape shape = pool.is_height ? Shape{1, 1, count, 1} : Shape{1, 1, 1, count};
    ASSERT_EQ(testing::tensor_named(network.graph(), "y").shape, shape) << words;
    with_window_outside += has_window_outside(pool) ? 1 : 0;
    for (const KernelSet kernels : {KernelSet::fast, KernelSet::plain}) {
      const RunResult result =
          run_plan(network, make_plan(network.input).plan, {.kernels = kernels, .inputs = {{"x", given}}});
      ASSERT_FALSE(result.fault) << result.fault->what << words;
      std::vector<float> y(expected.size());
      ASSERT_EQ(result.outputs.at(0).array.data.size(), y.size() * sizeof(float)) << words;
      std::memcpy(y.data(), result.outputs[0].array.data.data(), y.size() * sizeof(float));
      for (std::size_t o = 0; o < y.size(); ++o) {
        if (y[o] == expected[o])
          continue;  // also an infinite number, of a window with gaps that reads nothing
        EXPECT_NEAR(y[o], expected[o], 1e-4) << o << " of " << words;
      }
    }
  }
  EXPECT_GT(with_window_outside, 30);
}

}  // namespace
}  // namespace stowage
