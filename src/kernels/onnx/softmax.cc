// Softmax, LogSoftmax, Hardmax. Before operator set 13, all dimensions from the axis on formed one row; since
// then a row is only the axis. The largest element is subtracted first, so that nothing overflows.

#include <algorithm>
#include <cmath>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"

namespace stowage::kernels::onnx_ops {
namespace {

Split rows_of(const Signature& signature) {
  const Shape& shape = input_of(signature, 0).shape;
  const bool is_flat = signature.version < 13;
  const std::int64_t given = signature.attributes.integer("axis", is_flat ? 1 : -1);
  // A matrix may begin after the last dimension.
  const std::size_t rank = shape.size();
  const std::size_t axis = is_flat && given == extent(rank) ? rank : axis_of(given, rank);
  if (!is_flat) return split_at(shape, axis);
  return {.outer = count_of(shape, 0, axis), .size = count_of(shape, axis, rank), .inner = 1};
}

/// Calls compute(from, to) with the first elements of each row.
template <typename Compute>
Kernel for_rows(const Signature& signature, const Compute& compute) {
  const Argument& input = input_of(signature, 0);
  expect_copy(input, output_of(signature));
  const Split split = rows_of(signature);
  return for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* const from = pointers.input<Element>(0);
      auto* const to = pointers.output<Element>(0);
      if (split.size == 0) return;
      for (std::int64_t i = 0; i < split.outer * split.inner; ++i) {
        const std::int64_t start = i / split.inner * split.size * split.inner + i % split.inner;
        compute(from + start, to + start, split.size, split.inner);
      }
    }};
  });
}

template <typename Element>
std::int64_t largest(const Element* row, std::int64_t size, std::int64_t step) {
  std::int64_t best = 0;
  for (std::int64_t j = 1; j < size; ++j) {
    if (value_of(row[j * step]) > value_of(row[best * step])) best = j;
  }
  return best;
}

/// The sum of e^(x - most).
template <typename Element>
double sum_of_powers(const Element* row, std::int64_t size, std::int64_t step, Value<Element> most) {
  double total = 0;
  for (std::int64_t j = 0; j < size; ++j)
    total += static_cast<double>(std::exp(value_of(row[j * step]) - most));
  return total;
}

constexpr auto softmax = []<typename Element>(const Element* from, Element* to, std::int64_t size,
                                              std::int64_t step) {
  const auto most = value_of(from[largest(from, size, step) * step]);
  const auto total = static_cast<Value<Element>>(sum_of_powers(from, size, step, most));
  for (std::int64_t j = 0; j < size; ++j)
    to[j * step] = element_of<Element>(std::exp(value_of(from[j * step]) - most) / total);
};

constexpr auto log_softmax = []<typename Element>(const Element* from, Element* to, std::int64_t size,
                                                  std::int64_t step) {
  const auto most = value_of(from[largest(from, size, step) * step]);
  const auto log = static_cast<Value<Element>>(std::log(sum_of_powers(from, size, step, most)));
  for (std::int64_t j = 0; j < size; ++j)
    to[j * step] = element_of<Element>(value_of(from[j * step]) - most - log);
};

constexpr auto hardmax = []<typename Element>(const Element* from, Element* to, std::int64_t size,
                                              std::int64_t step) {
  const std::int64_t best = largest(from, size, step);
  for (std::int64_t j = 0; j < size; ++j) to[j * step] = element_of<Element>(j == best ? 1 : 0);
};

}  // namespace

TablePart softmax_kernels() {
  return {{"Hardmax", [](const Signature& it) { return for_rows(it, hardmax); }},
          {"LogSoftmax", [](const Signature& it) { return for_rows(it, log_softmax); }},
          {"Softmax", [](const Signature& it) { return for_rows(it, softmax); }}};
}

}  // namespace stowage::kernels::onnx_ops
