// Softmax, LogSoftmax, Hardmax. Before operator set 13, all dimensions from the axis on formed one row; since
// then a row is only the axis. The largest element so far is subtracted, so that nothing overflows: elements
// are added one by one, as they come by rows, and what is added shrinks when a larger one comes. Source: M.
// Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018.

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"
#include "operators/norm.h"

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

/// The largest element so far, and the sum of e^(x - most).
struct Powers {
  double most = 0;
  double total = 0;
};
static_assert(sizeof(Powers) == operators::bytes_of_moments);

/// The power of the largest element so far. Of infinity it is none, and so are all shares.
template <typename Real>
double power_of_most(Real most) {
  using Limits = std::numeric_limits<Real>;
  return most == Limits::infinity() ? std::numeric_limits<double>::quiet_NaN() : 1;
}

/// Adds an element; all powers shrink when a larger one comes.
template <typename Real>
void add_power(Real x, bool is_first, Powers& powers) {
  const Real most = static_cast<Real>(powers.most);
  if (is_first) {
    powers = {static_cast<double>(x), power_of_most(x)};
  } else if (x > most) {
    powers = {static_cast<double>(x),
              powers.total * static_cast<double>(std::exp(most - x)) + power_of_most(x)};
  } else {
    powers.total += x == most ? 1 : static_cast<double>(std::exp(x - most));
  }
}

/// What becomes of an element.
struct Share {
  template <typename Element>
  static Element of(Element x, const Powers& powers) {
    using Real = Value<Element>;
    return element_of<Element>(std::exp(value_of(x) - static_cast<Real>(powers.most)) /
                               static_cast<Real>(powers.total));
  }
};
struct LogOfShare {
  template <typename Element>
  static Element of(Element x, const Powers& powers) {
    using Real = Value<Element>;
    return element_of<Element>(value_of(x) - static_cast<Real>(powers.most) -
                               static_cast<Real>(std::log(powers.total)));
  }
};

template <typename Made>
struct MakeAll {
  template <typename Element>
  void operator()(const Element* from, Element* to, std::int64_t size, std::int64_t step) const {
    Powers powers;
    for (std::int64_t j = 0; j < size; ++j) add_power(value_of(from[j * step]), j == 0, powers);
    for (std::int64_t j = 0; j < size; ++j) to[j * step] = Made::of(from[j * step], powers);
  }
};

/// By rows: one number of each vector.
template <typename Made, typename Element>
RowCarry carry_of(std::int64_t vectors) {
  return {.size = vectors * static_cast<Bytes>(sizeof(Powers)),
          .add =
              [=](std::int64_t row, const std::byte* bytes, std::byte* carried) {
                const auto* const from = reinterpret_cast<const Element*>(bytes);
                auto* const powers = reinterpret_cast<Powers*>(carried);
                for (std::int64_t i = 0; i < vectors; ++i) add_power(value_of(from[i]), row == 0, powers[i]);
              },
          .make =
              [=](std::int64_t, const Pointers& pointers, std::byte* carried) {
                const auto* const powers = reinterpret_cast<const Powers*>(carried);
                for (std::int64_t i = 0; i < vectors; ++i)
                  pointers.output<Element>(0)[i] = Made::of(pointers.input<Element>(0)[i], powers[i]);
              }};
}

template <typename Made>
Kernel by_powers(const Signature& signature) {
  Kernel kernel = for_rows(signature, MakeAll<Made>());
  const Split split = rows_of(signature);
  const std::int64_t vectors = split.outer * split.inner;
  kernel.row_carry =
      for_type(input_of(signature, 0).dtype, floats, [&]<typename Element>() -> Kernel {
        return {.row_carry = [vectors](std::size_t) { return carry_of<Made, Element>(vectors); }};
      }).row_carry;
  return kernel;
}

constexpr auto hardmax = []<typename Element>(const Element* from, Element* to, std::int64_t size,
                                              std::int64_t step) {
  const std::int64_t best = largest(from, size, step);
  for (std::int64_t j = 0; j < size; ++j) to[j * step] = element_of<Element>(j == best ? 1 : 0);
};

}  // namespace

TablePart softmax_kernels() {
  return {{"Hardmax", [](const Signature& it) { return for_rows(it, hardmax); }},
          {"LogSoftmax", by_powers<LogOfShare>},
          {"Softmax", by_powers<Share>}};
}

}  // namespace stowage::kernels::onnx_ops
