// AVERAGE_POOL_2D and MAX_POOL_2D of int8, uint8, int16 and float32, and L2_POOL_2D of float32.
//
// Ignores the padding: an average only counts elements of the input; averages of integers round with
// halves away from zero.
//
// Cost: output elements * taps. Source: TensorFlow Lite's reference kernels.

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/rows.h"
#include "kernels/tflite/families.h"
#include "kernels/tflite/fixed_point.h"
#include "kernels/tflite/window.h"

namespace stowage::kernels {
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
    refuse("its input has {} dimensions, its output {}, expected 4 with the same batches and channels",
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

/// The average of `count` integers with this sum.
std::int32_t average(std::int32_t sum, std::int32_t count) {
  return (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
}

float average(float sum, std::int32_t count) { return sum / static_cast<float>(count); }

/// `first` starts each result, `add` adds an element, `finish` makes the output from a sum and its number of
/// elements.
template <typename Element, typename Sum, typename Add, typename Finish>
struct PoolOf {
  Pool it;
  Sum first;
  Add add;
  Finish finish;

  [[nodiscard]] std::int64_t sums() const { return it.width.out * it.channels; }  ///< Of a row of the output.

  /// Adds one input row to the sums of the windows in an output row.
  void add_row(const Element* row, Sum* to) const {
    for (std::int64_t x = 0; x < it.width.out; ++x, to += it.channels)
      for (std::int64_t tap = 0; tap < it.width.taps; ++tap) {
        const std::int64_t in_x = it.width.place(x, tap);
        if (!it.width.has(in_x)) continue;
        const Element* const from = row + in_x * it.channels;
        for (std::int64_t c = 0; c < it.channels; ++c) to[c] = add(to[c], from[c]);
      }
  }

  void finish_row(std::int64_t y, const Sum* from, Element* output) const {
    const std::int64_t rows = it.height.taps_inside(y);
    for (std::int64_t x = 0; x < it.width.out; ++x) {
      const auto count = static_cast<std::int32_t>(rows * it.width.taps_inside(x));
      for (std::int64_t c = 0; c < it.channels; ++c) *output++ = finish(*from++, count);
    }
  }

  void run_rows(const RowPointers& at) const {
    auto* const to = reinterpret_cast<Sum*>(at.whole.scratch);
    for (std::int64_t b = 0; b < it.batches; ++b)
      for (std::int64_t y = at.begin; y < at.end; ++y) {
        std::fill_n(to, sums(), first);
        for (std::int64_t tap = 0; tap < it.height.taps; ++tap) {
          const std::int64_t in_y = it.height.place(y, tap);
          if (it.height.has(in_y)) add_row(at.input.template at<Element>(in_y, b), to);
        }
        finish_row(y, to, at.output.template at<Element>(y, b));
      }
  }

  /// For windows that cover all rows.
  [[nodiscard]] RowSums row_sums() const {
    const auto begin_all = [*this](std::byte* all) {
      std::fill_n(reinterpret_cast<Sum*>(all), it.batches * sums(), first);
    };
    const auto add_to_all = [*this](const std::byte* row, std::byte* all) {
      for (std::int64_t b = 0; b < it.batches; ++b)
        add_row(reinterpret_cast<const Element*>(row) + b * it.width.in * it.channels,
                reinterpret_cast<Sum*>(all) + b * sums());
    };
    const auto finish_all = [*this](const std::byte* all, std::byte* output) {
      for (std::int64_t b = 0; b < it.batches; ++b)
        finish_row(0, reinterpret_cast<const Sum*>(all) + b * sums(),
                   reinterpret_cast<Element*>(output) + b * sums());
    };
    return {.begin = begin_all, .add = add_to_all, .finish = finish_all};
  }
};

template <typename Element, typename Sum, typename Add, typename Finish>
Kernel pool_kernel(const Pool& it, Sum first, const Add& add, const Finish& finish) {
  const PoolOf<Element, Sum, Add, Finish> pool{it, first, add, finish};
  constexpr auto element = static_cast<std::int64_t>(sizeof(Element));
  Kernel kernel = kernel_by_rows(
      {.batches = it.batches, .rows = it.height.in, .row = it.width.in * it.channels, .element = element},
      {.batches = it.batches, .rows = it.height.out, .row = pool.sums(), .element = element},
      [pool](const RowPointers& at) { pool.run_rows(at); }, pool.sums() * static_cast<Bytes>(sizeof(Sum)));
  if (it.height.out == 1 && it.height.taps_inside(0) == it.height.in)
    kernel.row_sums = [pool](std::size_t) { return pool.row_sums(); };
  return kernel;
}

/// Keeps sums of integers with so many bytes, and their numbers, within 32 bits.
void expect_few_taps(const Pool& it, std::size_t bytes) {
  const std::int64_t most = bytes == 2 ? 1 << 15 : 1 << 22;
  if (it.height.taps > most || it.width.taps > most || it.height.taps * it.width.taps > most)
    refuse("its filter is {} by {}", it.height.taps, it.width.taps);
}

/// Numbers of input and output mean the same, so that sums need no scale.
template <typename Number, bool is_average>
Kernel quantized_pool(const Operands& operands, const Pool& it) {
  expect_same_quantization(operands.input(0), operands.output());
  const Limits limits = activation_limits(operands, limits_of<Number>());
  if constexpr (is_average) {
    return pool_kernel<Number>(
        it, std::int32_t{0}, [](std::int32_t sum, Number number) { return sum + number; },
        [limits](std::int32_t sum, std::int32_t count) {
          return static_cast<Number>(limits.clamp(average(sum, count)));
        });
  } else {
    return pool_kernel<Number>(
        it, std::int32_t{std::numeric_limits<Number>::lowest()},
        [](std::int32_t most, Number number) { return std::max<std::int32_t>(most, number); },
        [limits](std::int32_t most, std::int32_t) { return static_cast<Number>(limits.clamp(most)); });
  }
}

template <bool is_average>
Kernel prepare_pool(const Signature& signature) {
  const Operands operands(signature);
  const Pool it = pool_of(operands);
  expect_few_taps(it, element_size(operands.output().dtype));
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
  return for_quantized(operands.output().dtype, [&]<typename Number>(TypeTag<Number>) {
    return quantized_pool<Number, is_average>(operands, it);
  });
}

/// The root of the average of squares.
Kernel prepare_root_pool(const Signature& signature) {
  const Operands operands(signature);
  const Pool it = pool_of(operands);
  expect_few_taps(it, element_size(operands.output().dtype));
  if (operands.output().dtype != DType::float32) refuse_type(operands);
  return pool_kernel<float>(
      it, 0.0F, [](float sum, float number) { return sum + number * number; },
      [limits = real_activation_limits(operands)](float sum, std::int32_t count) {
        return limits.clamp(std::sqrt(average(sum, count)));
      });
}

}  // namespace

TablePart pooling_kernels() {
  return {{"AVERAGE_POOL_2D", prepare_pool<true>},
          {"L2_POOL_2D", prepare_root_pool},
          {"MAX_POOL_2D", prepare_pool<false>}};
}

}  // namespace stowage::kernels
