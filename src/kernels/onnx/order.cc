// Operators along one axis whose elements have an order: CumSum and TopK.

#include <algorithm>
#include <numeric>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"

namespace stowage::kernels::onnx_ops {
namespace {

Kernel cumulative_sum(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  expect_copy(input, output_of(signature));
  const auto axes = integers_at(signature, 1);
  if (!axes || axes->size() != 1) refuse("the axis is no scalar");
  const Split split = split_at(input.shape, axis_of(axes->front(), input.shape.size()));
  const bool excludes = signature.attributes.integer("exclusive", 0) != 0;
  const bool is_reverse = signature.attributes.integer("reverse", 0) != 0;
  return for_type(input.dtype, numbers, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* const from = pointers.input<Element>(0);
      auto* const to = pointers.output<Element>(0);
      for (std::int64_t i = 0; i < split.outer * split.inner; ++i) {
        const std::int64_t start = i / split.inner * split.size * split.inner + i % split.inner;
        Value<Element> total{};
        for (std::int64_t j = 0; j < split.size; ++j) {
          const std::int64_t at = start + (is_reverse ? split.size - 1 - j : j) * split.inner;
          const auto next = sum(total, value_of(from[at]));
          to[at] = element_of<Element>(excludes ? total : next);
          total = next;
        }
      }
    }};
  });
}

/// Sorts the places of a row: the best first, equal ones in their order. NaN is above all numbers.
template <typename Element>
void rank_places(const Element* row, std::int64_t step, bool is_largest, std::span<std::int64_t> places,
                 std::int64_t wanted) {
  std::iota(places.begin(), places.end(), 0);
  const auto is_less = [](auto a, auto b) { return a < b || (b != b && a == a); };
  std::partial_sort(places.begin(), places.begin() + wanted, places.end(),
                    [&](std::int64_t i, std::int64_t j) {
                      const auto a = value_of(row[i * step]);
                      const auto b = value_of(row[j * step]);
                      if (is_less(a, b)) return !is_largest;
                      if (is_less(b, a)) return is_largest;
                      return i < j;
                    });
}

/// The shape of the outputs contains the requested count.
Kernel best(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& values = output_of(signature, 0);
  const Argument& places = output_of(signature, 1);
  const std::size_t axis = axis_of(signature.attributes.integer("axis", -1), input.shape.size());
  const Split split = split_at(input.shape, axis);
  expect_dtype(values, input.dtype, "the output");
  expect_dtype(places, DType::int64, "the indices");
  expect_rank(values, input.shape.size(), "the output");
  Shape expected = input.shape;
  expected[axis] = values.shape[axis];
  const std::int64_t wanted = expected[axis];
  if (wanted > split.size) refuse("k is {} of {}", wanted, split.size);
  expect_shape(values, expected, "the output");
  expect_shape(places, expected, "the indices");
  const bool is_largest = signature.attributes.integer("largest", 1) != 0;
  Kernel kernel = for_type(input.dtype, numbers, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* const from = pointers.input<Element>(0);
      auto* const to = pointers.output<Element>(0);
      auto* const at = pointers.output<std::int64_t>(1);
      const std::span ranked(reinterpret_cast<std::int64_t*>(pointers.scratch), index(split.size));
      for (std::int64_t i = 0; i < split.outer * split.inner; ++i) {
        const std::int64_t outer = i / split.inner;
        const std::int64_t inner = i % split.inner;
        const Element* const row = from + outer * split.size * split.inner + inner;
        rank_places(row, split.inner, is_largest, ranked, wanted);
        for (std::int64_t j = 0; j < wanted; ++j) {
          const std::int64_t place = (outer * wanted + j) * split.inner + inner;
          to[place] = row[ranked[index(j)] * split.inner];
          at[place] = ranked[index(j)];
        }
      }
    }};
  });
  kernel.scratch = split.size * extent(sizeof(std::int64_t));
  return kernel;
}

}  // namespace

TablePart order_kernels() {
  return {{"CumSum", [](const Signature& it) { return with_values(it, {1}, cumulative_sum); }},
          {"TopK", best}};
}

}  // namespace stowage::kernels::onnx_ops
