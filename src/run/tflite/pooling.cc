// AVERAGE_POOL_2D and MAX_POOL_2D of int8 and float32.
//
// Idea. What is in the padding does not take part: an average is of the numbers that are there, of integers
// rounded with halves away from zero.
//
// Cost: output elements * taps. Source: TensorFlow Lite's reference kernels.

#include <algorithm>
#include <limits>
#include <type_traits>

#include "run/tflite/families.h"
#include "run/tflite/fixed_point.h"
#include "run/tflite/window.h"

namespace stowage::run {
namespace {

struct Pool {
  Window height{};
  Window width{};
  std::int64_t batches = 1;
  std::int64_t channels = 1;
};

Pool pool_of(const Operands& operands) {
  operands.expect_counts(1, 1);
  operands.expect_alike(0);
  const Shape& in = operands.input(0).shape;
  const Shape& out = operands.output().shape;
  if (in.size() != 4 || out.size() != 4 || in[0] != out[0] || in[3] != out[3])
    unsupported("its input has {} dimensions, its output {}, expected 4 with the same batches and channels",
                in.size(), out.size());
  const bool is_same = is_padding_same(operands);
  const WindowOptions height{
      .taps = operands.integer("filter_height"), .stride = operands.integer("stride_h"), .is_same = is_same};
  const WindowOptions width{
      .taps = operands.integer("filter_width"), .stride = operands.integer("stride_w"), .is_same = is_same};
  return {.height = window_of(in[1], out[1], height),
          .width = window_of(in[2], out[2], width),
          .batches = in[0],
          .channels = in[3]};
}

/// The average of `count` integers whose sum this is.
std::int32_t average(std::int32_t sum, std::int32_t count) {
  return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
}

float average(float sum, std::int32_t count) { return sum / static_cast<float>(count); }

/// `begin` is what each result starts from, `add` adds an element, `finish` makes the output of a sum and the
/// number of elements in it.
template <typename Element, typename Sum, typename Add, typename Finish>
Kernel pool_kernel(const Pool& it, Sum begin, const Add& add, const Finish& finish) {
  const auto run = [it, begin, add, finish](const Pointers& at) {
    auto* const sums = reinterpret_cast<Sum*>(at.scratch);
    auto* output = at.output<Element>(0);
    for (std::int64_t b = 0; b < it.batches; ++b)
      for (std::int64_t y = 0; y < it.height.out; ++y)
        for (std::int64_t x = 0; x < it.width.out; ++x, output += it.channels) {
          std::fill_n(sums, it.channels, begin);
          std::int32_t count = 0;
          for (std::int64_t tap = 0; tap < it.height.taps * it.width.taps; ++tap) {
            const std::int64_t in_y = it.height.place(y, tap / it.width.taps);
            const std::int64_t in_x = it.width.place(x, tap % it.width.taps);
            if (!it.height.has(in_y) || !it.width.has(in_x)) continue;
            ++count;
            const Element* const input =
                at.input<Element>(0) + ((b * it.height.in + in_y) * it.width.in + in_x) * it.channels;
            for (std::int64_t c = 0; c < it.channels; ++c) sums[c] = add(sums[c], input[c]);
          }
          for (std::int64_t c = 0; c < it.channels; ++c) output[c] = finish(sums[c], count);
        }
  };
  return {.run = run, .scratch = it.channels * static_cast<Bytes>(sizeof(Sum))};
}

/// So that sums of integers, and their numbers, fit 32 bits.
void expect_few_taps(const Pool& it) {
  constexpr std::int64_t most = 1 << 22;
  if (it.height.taps > most || it.width.taps > most || it.height.taps * it.width.taps > most)
    unsupported("its filter is {} by {}", it.height.taps, it.width.taps);
}

template <bool is_average>
Kernel prepare_pool(const Signature& signature) {
  const Operands operands(signature);
  const Pool it = pool_of(operands);
  expect_few_taps(it);
  if (operands.output().dtype == DType::float32) {
    const RealLimits limits = real_activation_limits(operands);
    if constexpr (is_average) {
      return pool_kernel<float>(
          it, 0.0F, [](float sum, float number) { return sum + number; },
          [limits](float sum, std::int32_t count) { return limits.clamp(average(sum, count)); });
    } else {
      return pool_kernel<float>(
          it, std::numeric_limits<float>::lowest(),
          [](float most, float number) { return std::max(most, number); },
          [limits](float most, std::int32_t) { return limits.clamp(most); });
    }
  }
  if (operands.output().dtype != DType::int8)
    unsupported("element type {} is not supported", name_of(operands.output().dtype));
  expect_same_quantization(operands.input(0), operands.output());
  const Limits limits = activation_limits(operands, limits_of<std::int8_t>());
  if constexpr (is_average) {
    return pool_kernel<std::int8_t>(
        it, std::int32_t{0}, [](std::int32_t sum, std::int8_t number) { return sum + number; },
        [limits](std::int32_t sum, std::int32_t count) {
          return static_cast<std::int8_t>(limits.clamp(average(sum, count)));
        });
  } else {
    return pool_kernel<std::int8_t>(
        it, std::int32_t{std::numeric_limits<std::int8_t>::lowest()},
        [](std::int32_t most, std::int8_t number) { return std::max<std::int32_t>(most, number); },
        [limits](std::int32_t most, std::int32_t) { return static_cast<std::int8_t>(limits.clamp(most)); });
  }
}

}  // namespace

void add_pooling(KernelTable& table) {
  table.insert({{"AVERAGE_POOL_2D", prepare_pool<true>}, {"MAX_POOL_2D", prepare_pool<false>}});
}

}  // namespace stowage::run
