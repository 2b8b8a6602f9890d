// Operators that reduce dimensions: MEAN, SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, ARG_MAX, ARG_MIN; and CUMSUM.
//
// Walks the input in its order, with the output broadcast along reduced dimensions, so that each output
// sums its inputs in their order. For a mean of integers, the factor to the output includes the number of
// inputs.
//
// Cost: input elements. Source: the steps of TensorFlow Lite's reference kernels.

#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/tflite/families.h"
#include "kernels/tflite/fixed_point.h"
#include "kernels/tflite/stretch.h"

namespace stowage::kernels {
namespace {

struct Reduction {
  Shape shape{};  ///< Of the input.
  std::vector<std::int64_t>
      strides{};       ///< Of the output along dimensions of the input: 0 where it is reduced.
  Stretch<2> stretch;  ///< Input, output.
  std::int64_t outputs = 0;
  std::int64_t count = 0;  ///< Inputs of each output.

  /// The reduction of one input row to the same output.
  [[nodiscard]] Reduction of_row(std::size_t axis) const {
    Shape row = shape;
    row[axis] = 1;
    return {row, strides, Stretch<2>(row, {strides_of(row), strides}), outputs, count};
  }
};

std::vector<bool> reduced_axes(const Operands& operands) {
  const std::size_t rank = operands.input(0).shape.size();
  std::vector<bool> is_reduced(rank, false);
  for (const std::int64_t axis : operands.constants(1, "axes")) is_reduced[axis_of(axis, rank)] = true;
  return is_reduced;
}

Reduction reduction_of(const Operands& operands) {
  operands.expect_counts(2, 1);
  operands.expect_alike(0);
  const Shape& shape = operands.input(0).shape;
  const std::vector<bool> is_reduced = reduced_axes(operands);
  Shape kept = shape;
  Shape dropped;
  std::int64_t count = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (is_reduced[d]) {
      count *= shape[d];
      kept[d] = 1;
    } else {
      dropped.push_back(shape[d]);
    }
  }
  operands.expect_shape(operands.output(), operands.flag("keep_dims") ? kept : dropped, "output");
  std::vector<std::int64_t> strides = strides_of(kept);
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (is_reduced[d]) strides[d] = 0;
  return {shape, strides, Stretch<2>(shape, {strides_of(shape), strides}), count_of(kept), count};
}

/// Calls `add` with each result so far and its next input.
template <typename Input, typename Result, typename Add>
void reduce(const Reduction& it, const Input* input, Result* results, Add add) {
  const auto [step_in, step_out] = it.stretch.steps();
  it.stretch.for_rows([&, in_step = step_in, out_step = step_out](const auto& begin) {
    for (std::int64_t i = 0; i < it.stretch.length(); ++i) {
      Result& result = results[begin[1] + i * out_step];
      result = add(result, input[begin[0] + i * in_step]);
    }
  });
}

/// Starts each sum with `first`, adds its inputs, and makes an output of it.
template <typename Element, typename Sum, typename Add, typename Finish>
Kernel reducing_kernel(const Reduction& it, Sum first, Add add, Finish finish) {
  const auto begin = [=, outputs = it.outputs](Sum* sums) { std::fill_n(sums, outputs, first); };
  const auto end = [=, outputs = it.outputs](const Sum* sums, Element* output) {
    for (std::int64_t i = 0; i < outputs; ++i) output[i] = finish(sums[i]);
  };
  constexpr bool is_beside = !std::is_same_v<Element, Sum>;
  Kernel kernel{.scratch = is_beside ? it.outputs * static_cast<Bytes>(sizeof(Sum)) : 0};
  kernel.run = [=](const Pointers& at) {
    auto* const sums = is_beside ? reinterpret_cast<Sum*>(at.scratch) : at.output<Sum>(0);
    begin(sums);
    reduce(it, at.input<Element>(0), sums, add);
    end(sums, at.output<Element>(0));
  };
  kernel.row_sums = [=](std::size_t axis) -> RowSums {
    return {.begin = [=](std::byte* sums) { begin(reinterpret_cast<Sum*>(sums)); },
            .add =
                [add, row_of = it.of_row(axis)](const std::byte* row, std::byte* sums) {
                  reduce(row_of, reinterpret_cast<const Element*>(row), reinterpret_cast<Sum*>(sums), add);
                },
            .finish =
                [=](const std::byte* sums, std::byte* output) {
                  end(reinterpret_cast<const Sum*>(sums), reinterpret_cast<Element*>(output));
                }};
  };
  return kernel;
}

/// Sums that are the outputs.
template <typename Element, typename Add>
Kernel direct_kernel(const Reduction& it, Element first, Add add) {
  return reducing_kernel<Element>(it, first, add, [](Element sum) { return sum; });
}

/// Sums modulo 2^32 into scratch, and scales them to the output.
template <typename Number>
Kernel quantized_sums(const Operands& operands, const Reduction& it, bool is_mean) {
  const Affine input = affine_of(operands.input(0));
  const Affine output = affine_of(operands.output());
  Multiplier factor = multiplier_of(static_cast<double>(input.scale) / static_cast<double>(output.scale));
  if (is_mean) factor = shared_out(factor, it.count);
  const auto excess = static_cast<std::int32_t>(static_cast<std::uint32_t>(-input.zero_point * it.count));
  const auto add = [](std::uint32_t sum, Number x) { return sum + static_cast<std::uint32_t>(x); };
  return reducing_kernel<Number>(it, std::uint32_t{0}, add, [=](std::uint32_t sum) {
    const std::int32_t scaled = scale(wrapping_add(static_cast<std::int32_t>(sum), excess), factor);
    return nearest_of<Number>(wrapping_add(scaled, output.zero_point));
  });
}

Kernel scaled_sums(const Operands& operands, const Reduction& it, bool is_mean) {
  return for_quantized(operands.output().dtype, [&]<typename Number>(TypeTag<Number>) {
    return quantized_sums<Number>(operands, it, is_mean);
  });
}

void expect_inputs(const Reduction& it) {
  if (it.count == 0 || it.outputs == 0) refuse("it reduces no elements");
}

template <typename Number>
Number plus(Number sum, Number x) {
  return sum + x;
}

Kernel prepare_mean(const Signature& signature) {
  const Operands operands(signature);
  const Reduction it = reduction_of(operands);
  expect_inputs(it);
  if (operands.output().dtype == DType::float32) {
    return reducing_kernel<float>(it, 0.0F, plus<float>,
                                  [count = static_cast<float>(it.count)](float sum) { return sum / count; });
  }
  return scaled_sums(operands, it, true);
}

Kernel prepare_sum_of(const Signature& signature) {
  const Operands operands(signature);
  const Reduction it = reduction_of(operands);
  expect_inputs(it);
  if (operands.output().dtype == DType::float32) return direct_kernel<float>(it, 0, plus<float>);
  if (operands.output().dtype == DType::int32) return direct_kernel<std::int32_t>(it, 0, wrapping_add);
  return scaled_sums(operands, it, false);
}

Kernel prepare_product_of(const Signature& signature) {
  const Operands operands(signature);
  const Reduction it = reduction_of(operands);
  if (operands.output().dtype == DType::float32)
    return direct_kernel<float>(it, 1, [](float product, float x) { return product * x; });
  if (operands.output().dtype == DType::int32) return direct_kernel<std::int32_t>(it, 1, wrapping_multiply);
  refuse_type(operands);
}

template <bool is_maximum>
Kernel prepare_reduce_extreme(const Signature& signature) {
  const Operands operands(signature);
  const Reduction it = reduction_of(operands);
  expect_inputs(it);
  expect_same_quantization(operands.input(0), operands.output());
  return for_number(operands.output().dtype, [&]<typename Element>(TypeTag<Element>) {
    using Type = std::numeric_limits<Element>;
    return direct_kernel<Element>(it, is_maximum ? Type::lowest() : Type::max(), [](Element most, Element x) {
      return (is_maximum ? x > most : x < most) ? x : most;
    });
  });
}

/// A tensor as three dimensions: before an axis, the axis, after it.
struct Around {
  std::int64_t outer = 0;
  std::int64_t extent = 0;
  std::int64_t inner = 0;
};

Around around(const Operands& operands) {
  const Shape& shape = operands.input(0).shape;
  const auto numbers = operands.constants(1, "axis");
  if (numbers.size() != 1) refuse("it has {} axes, expected 1", numbers.size());
  const std::size_t axis = axis_of(numbers.front(), shape.size());
  return {count_of(shape, 0, axis), shape[axis], count_of(shape, axis + 1, shape.size())};
}

template <typename Element, typename Index, bool is_maximum>
Kernel arg_kernel(const Around& it) {
  return {.run = [it](const Pointers& at) {
    for (std::int64_t o = 0; o < it.outer; ++o)
      for (std::int64_t i = 0; i < it.inner; ++i) {
        const Element* const input = at.input<Element>(0) + o * it.extent * it.inner + i;
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < it.extent; ++k) {
          const Element x = input[k * it.inner];
          const Element most = input[best * it.inner];
          if (is_maximum ? x > most : x < most) best = k;
        }
        at.output<Index>(0)[o * it.inner + i] = static_cast<Index>(best);
      }
  }};
}

template <bool is_maximum>
Kernel prepare_arg(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(2, 1);
  const Around it = around(operands);
  if (it.extent < 1) refuse("its axis has no element");
  if (count_of(operands.output().shape) != it.outer * it.inner)
    refuse("its output has {} numbers, expected {}", count_of(operands.output().shape), it.outer * it.inner);
  const DType index = operands.output().dtype;
  if (index != DType::int32 && index != DType::int64) refuse("its output is {}", name_of(index));
  return for_number(operands.input(0).dtype, [&]<typename Element>(TypeTag<Element>) {
    return index == DType::int32 ? arg_kernel<Element, std::int32_t, is_maximum>(it)
                                 : arg_kernel<Element, std::int64_t, is_maximum>(it);
  });
}

/// Sums of the elements before each element, and of the element unless `is_exclusive`.
template <typename Element, typename Add>
Kernel cumulative_kernel(const Around& it, bool is_exclusive, bool is_reverse, const Add& add) {
  return {.run = [=](const Pointers& at) {
    for (std::int64_t o = 0; o < it.outer; ++o)
      for (std::int64_t i = 0; i < it.inner; ++i) {
        Element sum = 0;
        for (std::int64_t k = 0; k < it.extent; ++k) {
          const std::int64_t place = is_reverse ? it.extent - 1 - k : k;
          const std::int64_t here = (o * it.extent + place) * it.inner + i;
          const Element next = add(sum, at.input<Element>(0)[here]);
          at.output<Element>(0)[here] = is_exclusive ? sum : next;
          sum = next;
        }
      }
  }};
}

Kernel prepare_cumsum(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(2, 1);
  operands.expect_alike(0);
  operands.expect_shape(operands.output(), operands.input(0).shape, "output");
  const Around it = around(operands);
  const bool is_exclusive = operands.flag("exclusive");
  const bool is_reverse = operands.flag("reverse");
  if (operands.output().dtype == DType::float32)
    return cumulative_kernel<float>(it, is_exclusive, is_reverse, plus<float>);
  if (operands.output().dtype == DType::int32)
    return cumulative_kernel<std::int32_t>(it, is_exclusive, is_reverse, wrapping_add);
  refuse_type(operands);
}

}  // namespace

TablePart reduction_kernels() {
  return {{"ARG_MAX", prepare_arg<true>},
          {"ARG_MIN", prepare_arg<false>},
          {"CUMSUM", prepare_cumsum},
          {"MEAN", prepare_mean},
          {"REDUCE_MAX", prepare_reduce_extreme<true>},
          {"REDUCE_MIN", prepare_reduce_extreme<false>},
          {"REDUCE_PROD", prepare_product_of},
          {"SUM", prepare_sum_of}};
}

}  // namespace stowage::kernels
