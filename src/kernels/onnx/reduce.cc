// Reductions. A walk over the kept elements, and for each of them a walk over the reduced ones. Reals
// are summed in float64, integers in 64 bits, so that the order of a sum does not matter.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"
#include "kernels/onnx/walk.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// Both walks are over the input.
struct Reduction {
  Walk<1> kept{};
  Walk<1> reduced{};
  std::int64_t count = 1;    ///< Number of elements that one output reduces.
  std::int64_t outputs = 1;  ///< Number of outputs.
};

/// The axes are an attribute or, since operator set 18 (13 for ReduceSum), an input.
std::vector<std::size_t> reduced_axes(const Signature& signature, std::size_t rank) {
  const auto given = integers_at(signature, "axes", 1);
  if (given && !given->empty()) return axes_of(*given, rank);
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (signature.attributes.integer("noop_with_empty_axes", 0) != 0) axes.clear();
  return axes;
}

/// For inputs of a shape, and for rows of it.
Reduction reduction_over(const Shape& shape, const std::vector<std::size_t>& axes) {
  const Shape strides = strides_of(shape);
  Shape sizes[2];
  Shape steps[2];
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool is_reduced = std::find(axes.begin(), axes.end(), d) != axes.end();
    sizes[is_reduced ? 1 : 0].push_back(shape[d]);
    steps[is_reduced ? 1 : 0].push_back(strides[d]);
  }
  return {.kept = merged<1>(sizes[0], {steps[0]}),
          .reduced = merged<1>(sizes[1], {steps[1]}),
          .count = count_of(sizes[1]),
          .outputs = count_of(sizes[0])};
}

/// Kernels share their reductions: copying the lists would be most of their code.
using SharedReduction = std::shared_ptr<const Reduction>;

SharedReduction reduction_of(const Signature& signature, const std::vector<std::size_t>& axes) {
  const Shape& shape = input_of(signature, 0).shape;
  const bool keeps = signature.attributes.integer("keepdims", 1) != 0;
  Shape expected;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool is_reduced = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (!is_reduced || keeps) expected.push_back(is_reduced ? 1 : shape[d]);
  }
  expect_shape(output_of(signature), expected, "the output");
  return std::make_shared<const Reduction>(reduction_over(shape, axes));
}

/// The type of sums.
template <typename Number>
using Wider = std::conditional_t<std::is_floating_point_v<Number>, double,
                                 std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t>>;

/// The type of sums between rows, of the size that `bytes_of_sums` gives.
template <typename Number>
using Kept = std::conditional_t<
    std::is_floating_point_v<Number>, Number,
    std::conditional_t<sizeof(Number) == 8, Wider<Number>,
                       std::conditional_t<std::is_signed_v<Number>, std::int32_t, std::uint32_t>>>;

/// Calls visit(element) for each input of one element of the output.
template <typename Element, typename Visit>
void visit_reduced(const Reduction& reduction, const Element* from, const Visit& visit) {
  const std::int64_t step = reduction.reduced.step(0);
  for_each_row(reduction.reduced, [&](std::int64_t, const std::array<std::int64_t, 1>& place) {
    for (std::int64_t i = 0; i < reduction.reduced.row(); ++i) visit(value_of(from[place[0] + i * step]));
  });
}

/// Calls use(place in the output, first element in the input) for every element of the output.
template <typename Element, typename Use>
void for_each_output(const Reduction& reduction, const Element* from, const Use& use) {
  for_each_row(reduction.kept, [&](std::int64_t at, const std::array<std::int64_t, 1>& place) {
    for (std::int64_t i = 0; i < reduction.kept.row(); ++i)
      use(at + i, from + place[0] + i * reduction.kept.step(0));
  });
}

/// Calls reduce(from) for every element of the output and writes the element that it returns.
template <typename Element, typename Reduce>
void for_each_kept(const Reduction& reduction, const Pointers& pointers, const Reduce& reduce) {
  auto* const to = pointers.output<Element>(0);
  for_each_output(reduction, pointers.input<Element>(0),
                  [&](std::int64_t at, const Element* from) { to[at] = reduce(from); });
}

/// Accumulates rows that are reduced one by one. Results so far are stored as `Stored` and computed as
/// `Number`: add(result, first element) adds the contribution of a row.
template <typename Element, typename Stored, typename Number, typename Add, typename Finish>
RowSums row_sums_of(const SharedReduction& row, Number first, Add add, Finish finish) {
  return {.begin =
              [=](std::byte* sums) {
                std::fill_n(reinterpret_cast<Stored*>(sums), row->outputs, static_cast<Stored>(first));
              },
          .add =
              [=](const std::byte* from, std::byte* sums) {
                auto* const to = reinterpret_cast<Stored*>(sums);
                for_each_output(*row, reinterpret_cast<const Element*>(from),
                                [&](std::int64_t at, const Element* own) {
                                  to[at] = static_cast<Stored>(add(static_cast<Number>(to[at]), own));
                                });
              },
          .finish =
              [=](const std::byte* sums, std::byte* output) {
                for (std::int64_t i = 0; i < row->outputs; ++i)
                  reinterpret_cast<Element*>(output)[i] =
                      finish(static_cast<Number>(reinterpret_cast<const Stored*>(sums)[i]));
              }};
}

/// The reduction of one row of an input.
SharedReduction of_row(Shape shape, const std::vector<std::size_t>& axes, std::size_t axis) {
  shape[axis] = 1;
  return std::make_shared<const Reduction>(reduction_over(shape, axes));
}

enum class Term { value, magnitude, square, factor };
enum class Finish { total, mean, root, logarithm };

/// Output = finish(sum of term(x)), or the product of factors. The choice is made at run time, not at compile
/// time: each element type has one loop for each term instead of a kernel for each operator.
struct Accumulation {
  Term term = Term::value;
  Finish finish = Finish::total;

  [[nodiscard]] bool starts_with_one() const { return term == Term::factor; }

  template <typename Element, typename Number>
  [[nodiscard]] Number add(const Reduction& of, Number total, const Element* from) const {
    switch (term) {
      case Term::value:
        visit_reduced(of, from, [&](auto x) { total = sum(total, static_cast<Number>(x)); });
        break;
      case Term::magnitude:
        visit_reduced(of, from, [&](auto x) {
          const auto number = static_cast<Number>(x);
          total = sum(total, number < Number{0} ? difference(Number{0}, number) : number);
        });
        break;
      case Term::square:
        visit_reduced(of, from, [&](auto x) {
          total = sum(total, product(static_cast<Number>(x), static_cast<Number>(x)));
        });
        break;
      case Term::factor:
        visit_reduced(of, from, [&](auto x) { total = product(total, static_cast<Number>(x)); });
        break;
    }
    return total;
  }

  template <typename Element, typename Number>
  [[nodiscard]] Element finished(Number total, std::int64_t count) const {
    switch (finish) {
      case Finish::total:
        break;
      case Finish::mean:
        if (std::is_floating_point_v<Number> || count != 0) total /= static_cast<Number>(count);
        break;
      case Finish::root:
        return element_of<Element>(std::sqrt(static_cast<double>(total)));
      case Finish::logarithm:
        return element_of<Element>(std::log(static_cast<double>(total)));
    }
    return element_of<Element>(total);
  }
};

Kernel accumulate(const Signature& signature, Accumulation how) {
  const Argument& input = input_of(signature, 0);
  expect_dtype(output_of(signature), input.dtype, "the output");
  const auto axes = reduced_axes(signature, input.shape.size());
  const SharedReduction reduction = reduction_of(signature, axes);
  return for_type(input.dtype, numbers, [&, &shape = input.shape]<typename Element>() -> Kernel {
    using Number = Wider<Value<Element>>;
    const Number first = how.starts_with_one() ? 1 : 0;
    Kernel kernel{.run = [=](const Pointers& pointers) {
      for_each_kept<Element>(*reduction, pointers, [&](const Element* from) {
        return how.finished<Element>(how.add(*reduction, first, from), reduction->count);
      });
    }};
    kernel.row_sums = [=](std::size_t axis) {
      const SharedReduction row = of_row(shape, axes, axis);
      return row_sums_of<Element, Kept<Value<Element>>>(
          row, first, [=](Number total, const Element* from) { return how.add(*row, total, from); },
          [=](Number total) { return how.finished<Element>(total, reduction->count); });
    };
    return kernel;
  });
}

/// log(e^known + sum of e^x), with the largest exponent subtracted first so that nothing overflows. NaN stays.
template <typename Element>
double log_sum_exp(const Reduction& of, double known, const Element* from) {
  double most = known;
  visit_reduced(of, from, [&](auto x) {
    const auto number = static_cast<double>(x);
    if (number > most || std::isnan(number)) most = number;
  });
  if (std::isinf(most)) return most;
  double total = std::exp(known - most);
  visit_reduced(of, from, [&](auto x) { total += std::exp(static_cast<double>(x) - most); });
  return most + std::log(total);
}

Kernel logarithm_of_exponents(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  expect_dtype(output_of(signature), input.dtype, "the output");
  const auto axes = reduced_axes(signature, input.shape.size());
  const SharedReduction reduction = reduction_of(signature, axes);
  return for_type(input.dtype, numbers, [&, &shape = input.shape]<typename Element>() -> Kernel {
    constexpr double nothing = -std::numeric_limits<double>::infinity();
    Kernel kernel{.run = [=](const Pointers& pointers) {
      for_each_kept<Element>(*reduction, pointers, [&](const Element* from) {
        return element_of<Element>(log_sum_exp(*reduction, nothing, from));
      });
    }};
    if constexpr (std::is_floating_point_v<Value<Element>>) {
      kernel.row_sums = [=](std::size_t axis) {
        const SharedReduction row = of_row(shape, axes, axis);
        return row_sums_of<Element, Value<Element>>(
            row, nothing, [=](double known, const Element* from) { return log_sum_exp(*row, known, from); },
            [](double known) { return element_of<Element>(known); });
      };
    }
    return kernel;
  });
}

enum class Extreme { least, most };

/// The largest or smallest of some elements and an earlier one, or NaN.
template <typename Element, typename Number>
Number extreme_of(Extreme which, const Reduction& of, Number best, const Element* from) {
  if (which == Extreme::most) {
    visit_reduced(of, from, [&](Number x) { best = x > best || x != x ? x : best; });
  } else {
    visit_reduced(of, from, [&](Number x) { best = x < best || x != x ? x : best; });
  }
  return best;
}

/// The limit of the type if there are no elements.
Kernel extreme(const Signature& signature, Extreme which) {
  const Argument& input = input_of(signature, 0);
  expect_dtype(output_of(signature), input.dtype, "the output");
  const auto axes = reduced_axes(signature, input.shape.size());
  const SharedReduction reduction = reduction_of(signature, axes);
  return for_type(input.dtype, every_type, [&, &shape = input.shape]<typename Element>() -> Kernel {
    using Number = Value<Element>;
    using Limits = std::numeric_limits<Number>;
    constexpr Number low = Limits::has_infinity ? static_cast<Number>(-Limits::infinity()) : Limits::lowest();
    constexpr Number high = Limits::has_infinity ? Limits::infinity() : Limits::max();
    const Number first = which == Extreme::most ? low : high;
    Kernel kernel{.run = [=](const Pointers& pointers) {
      for_each_kept<Element>(*reduction, pointers, [&](const Element* from) {
        return element_of<Element>(extreme_of(which, *reduction, first, from));
      });
    }};
    kernel.row_sums = [=](std::size_t axis) {
      const SharedReduction row = of_row(shape, axes, axis);
      return row_sums_of<Element, Number>(
          row, first, [=](Number best, const Element* from) { return extreme_of(which, *row, best, from); },
          [](Number best) { return element_of<Element>(best); });
    };
    return kernel;
  });
}

template <Extreme which>
Kernel place_of_extreme(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_dtype(output, DType::int64, "the output");
  const std::size_t axis = axis_of(signature.attributes.integer("axis", 0), input.shape.size());
  static_cast<void>(reduction_of(signature, {axis}));  // which checks the output's shape
  const bool is_last = signature.attributes.integer("select_last_index", 0) != 0;
  const Split split = split_at(input.shape, axis);
  if (split.size == 0 && count_of(output.shape) != 0) refuse("nothing is reduced");
  return for_type(input.dtype, numbers, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* const from = pointers.input<Element>(0);
      auto* const to = pointers.output<std::int64_t>(0);
      for (std::int64_t i = 0; i < split.outer; ++i) {
        for (std::int64_t k = 0; k < split.inner; ++k) {
          const Element* const row = from + i * split.size * split.inner + k;
          std::int64_t best = 0;
          for (std::int64_t j = 1; j < split.size; ++j) {
            const auto x = value_of(row[j * split.inner]);
            const auto y = value_of(row[best * split.inner]);
            if ((which == Extreme::most ? x > y : x < y) || (is_last && x == y)) best = j;
          }
          to[i * split.inner + k] = best;
        }
      }
    }};
  });
}

/// The axes may be an input.
template <Extreme which>
Kernel extreme_over_axes(const Signature& signature) {
  return with_values(signature, {1}, [](const Signature& it) { return extreme(it, which); });
}

Kernel log_sum_exp_over_axes(const Signature& signature) {
  return with_values(signature, {1}, logarithm_of_exponents);
}

template <Term term, Finish finish = Finish::total>
Kernel accumulate_over_axes(const Signature& signature) {
  return with_values(signature, {1}, [](const Signature& it) { return accumulate(it, {term, finish}); });
}

}  // namespace

TablePart reduce_kernels() {
  return {
      {"ArgMax", place_of_extreme<Extreme::most>},
      {"ArgMin", place_of_extreme<Extreme::least>},
      {"ReduceL1", accumulate_over_axes<Term::magnitude>},
      {"ReduceL2", accumulate_over_axes<Term::square, Finish::root>},
      {"ReduceLogSum", accumulate_over_axes<Term::value, Finish::logarithm>},
      {"ReduceLogSumExp", log_sum_exp_over_axes},
      {"ReduceMax", extreme_over_axes<Extreme::most>},
      {"ReduceMean", accumulate_over_axes<Term::value, Finish::mean>},
      {"ReduceMin", extreme_over_axes<Extreme::least>},
      {"ReduceProd", accumulate_over_axes<Term::factor>},
      {"ReduceSum", accumulate_over_axes<Term::value>},
      {"ReduceSumSquare", accumulate_over_axes<Term::square>},
  };
}

}  // namespace stowage::kernels::onnx_ops
