// Operators of two or three inputs that are broadcast to each other, and of any number of inputs.
// Merges dimensions until only rows are left in which every input moves by 0 or by a constant number of
// elements. Every element of an input as large as the output is read once, before the same element of the
// output is written. Source: the ONNX operator specification, "Broadcasting in ONNX".

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "kernels/onnx/combine.h"
#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"
#include "kernels/onnx/walk.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// Before operator set 7 the second input was broadcast only on request, with its dimensions at an axis.
Shape second_shape(const Signature& signature) {
  const Shape& first = input_of(signature, 0).shape;
  Shape second = input_of(signature, 1).shape;
  const bool was_told = signature.attributes.integer("broadcast", 0) != 0;
  if (signature.version >= 7 || !was_told || !signature.attributes.has("axis")) return second;
  const std::size_t axis = axis_of(signature.attributes.integer("axis", 0), first.size());
  if (axis + second.size() > first.size())
    refuse("{} is not broadcast to {} from axis {}", show(second), show(first), axis);
  second.resize(first.size() - axis, 1);
  return second;
}

Kernel combine(const Walk<2>& walk, const Combination& of) {
  return {.run = [walk, of](const Pointers& pointers) {
    combine(walk, of, pointers.inputs[0], pointers.inputs[1], pointers.outputs[0]);
  }};
}

template <typename List, typename Function>
Kernel combine_alike(const Signature& signature, List types, Function /*f*/) {
  const Argument& first = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_dtype(input_of(signature, 1), first.dtype, "the second input");
  expect_dtype(output, first.dtype, "the output");
  const Walk<2> walk = broadcast<2>({first.shape, second_shape(signature)}, output.shape);
  return combine(walk, combination_for(first.dtype, types, [&]<typename Element>() {
                   return combination<Element, Element, Element, Function>;
                 }));
}

template <typename List, typename Function>
Kernel compare(const Signature& signature, List types, Function /*f*/) {
  const Argument& first = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_dtype(input_of(signature, 1), first.dtype, "the second input");
  expect_dtype(output, DType::boolean, "the output");
  const Walk<2> walk = broadcast<2>({first.shape, second_shape(signature)}, output.shape);
  return combine(walk, combination_for(first.dtype, types, [&]<typename Element>() {
                   return combination<Element, Element, Truth, Function>;
                 }));
}

/// Division by 0 gives 0, which ONNX leaves open; the least number divided by -1 wraps around.
struct Divide {
  template <typename Number>
  Number operator()(Number a, Number b) const {
    if constexpr (std::is_floating_point_v<Number>) {
      return a / b;
    } else {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<Number>) {
        if (b == -1) return difference(Number{0}, a);
      }
      return static_cast<Number>(a / b);
    }
  }
};

/// The remainder with the sign of the divisor, or of the dividend (fmod).
template <bool is_fmod>
struct Remainder {
  template <typename Number>
  Number operator()(Number a, Number b) const {
    if constexpr (std::is_floating_point_v<Number>) {
      const Number rest = std::fmod(a, b);
      if constexpr (is_fmod) return rest;
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    } else {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<Number>) {
        if (b == -1) return 0;
      }
      const auto rest = static_cast<Number>(a % b);
      if constexpr (is_fmod || !std::is_signed_v<Number>) return rest;
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<Number>(rest + b) : rest;
    }
  }
};

Kernel modulo(const Signature& signature) {
  if (signature.attributes.integer("fmod", 0) != 0)
    return combine_alike(signature, numbers, Remainder<true>{});
  return combine_alike(signature, numbers, Remainder<false>{});
}

/// Integer powers of integers are exact, and wrap around.
template <typename Base, typename Exponent>
Base power(Base base, Exponent exponent) {
  if constexpr (std::is_integral_v<Base> && std::is_integral_v<Exponent>) {
    if (exponent < 0)
      return element_of<Base>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
    Base result = 1;
    for (auto left = static_cast<std::uint64_t>(exponent); left != 0; left >>= 1U) {
      if ((left & 1U) != 0) result = product(result, base);
      base = product(base, base);
    }
    return result;
  } else {
    using Real = std::conditional_t<std::is_same_v<Base, float>, float, double>;
    if (exponent == Exponent{2}) return element_of<Base>(static_cast<Real>(base) * static_cast<Real>(base));
    return element_of<Base>(std::pow(static_cast<Real>(base), static_cast<Real>(exponent)));
  }
}

struct Power {
  template <typename Base, typename Exponent>
  Base operator()(Base base, Exponent exponent) const {
    return power(base, exponent);
  }
};

Kernel raise(const Signature& signature) {
  const Argument& first = input_of(signature, 0);
  const Argument& second = input_of(signature, 1);
  const Argument& output = output_of(signature);
  expect_dtype(output, first.dtype, "the output");
  const Walk<2> walk = broadcast<2>({first.shape, second_shape(signature)}, output.shape);
  return combine(walk, combination_for(first.dtype, floats + index_types, [&]<typename Base>() {
                   return combination_for(second.dtype, numbers, [&]<typename Exponent>() {
                     return combination<Base, Exponent, Base, Power>;
                   });
                 }));
}

/// A shift by the width or more gives 0.
template <bool is_left>
struct Shift {
  template <typename Number>
  Number operator()(Number a, Number b) const {
    if (b >= std::numeric_limits<Number>::digits) return 0;
    if constexpr (is_left) return static_cast<Number>(std::uint64_t{a} << b);
    return static_cast<Number>(a >> b);
  }
};

Kernel shift(const Signature& signature) {
  const std::string direction = signature.attributes.text("direction", "");
  if (direction == "LEFT") return combine_alike(signature, unsigned_integers, Shift<true>{});
  if (direction == "RIGHT") return combine_alike(signature, unsigned_integers, Shift<false>{});
  refuse("direction '{}' is neither LEFT nor RIGHT", direction);
}

struct Leak {
  template <typename Number>
  Number operator()(Number x, Number factor) const {
    return x < Number{0} ? product(factor, x) : x;
  }
};

/// The slope is broadcast to the input. The first operator sets had one slope for each channel.
Kernel leaky(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  Shape slope = input_of(signature, 1).shape;
  expect_dtype(input_of(signature, 1), input.dtype, "the slope");
  expect_dtype(output, input.dtype, "the output");
  if (signature.version < 7 && slope.size() == 1 && input.shape.size() > 1)
    slope.resize(input.shape.size() - 1, 1);
  const Walk<2> walk = broadcast<2>({input.shape, slope}, output.shape);
  return combine(walk, combination_for(input.dtype, floats + integers, [&]<typename Element>() {
                   return combination<Element, Element, Element, Leak>;
                 }));
}

Kernel select(const Signature& signature) {
  const Argument& condition = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_dtype(condition, DType::boolean, "the condition");
  for (const std::size_t i : {1U, 2U}) expect_dtype(input_of(signature, i), output.dtype, "an input");
  const Walk<3> walk = broadcast<3>(
      {condition.shape, input_of(signature, 1).shape, input_of(signature, 2).shape}, output.shape);
  return for_size(output.dtype, [&]<typename Element>() -> Kernel {
    return {.run = [walk](const Pointers& pointers) {
      const auto* const ask = pointers.input<Truth>(0);
      const auto* const yes = pointers.input<Element>(1);
      const auto* const no = pointers.input<Element>(2);
      auto* const to = pointers.output<Element>(0);
      for_each_row(walk, [&](std::int64_t at, const std::array<std::int64_t, 3>& from) {
        for (std::int64_t i = 0; i < walk.row(); ++i) {
          const bool is_yes = value_of(ask[from[0] + i * walk.step(0)]);
          to[at + i] = is_yes ? yes[from[1] + i * walk.step(1)] : no[from[2] + i * walk.step(2)];
        }
      });
    }};
  });
}

/// The limits are scalars that may change between runs; before operator set 11 they are attributes.
Kernel clip(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_copy(input, output);
  for (const std::size_t i : {1U, 2U}) {
    if (!signature.has_input(i)) continue;
    expect_dtype(*signature.inputs[i], input.dtype, "a limit");
    if (count_of(signature.inputs[i]->shape) != 1) refuse("a limit is not a scalar");
  }
  const std::int64_t count = count_of(output.shape);
  const float low = signature.attributes.real("min", std::numeric_limits<float>::lowest());
  const float high = signature.attributes.real("max", std::numeric_limits<float>::max());
  const bool has_low = signature.attributes.has("min");
  const bool has_high = signature.attributes.has("max");
  return for_type(input.dtype, numbers, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      using Number = Value<Element>;
      const auto* const from = pointers.input<Element>(0);
      const auto* const least = pointers.input<Element>(1);
      const auto* const most = pointers.input<Element>(2);
      auto* const to = pointers.output<Element>(0);
      using Limits = std::numeric_limits<Number>;
      constexpr Number lowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
      constexpr Number highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
      const Number begin = least != nullptr ? value_of(*least) : has_low ? element_of<Number>(low) : lowest;
      const Number end = most != nullptr ? value_of(*most) : has_high ? element_of<Number>(high) : highest;
      for (std::int64_t i = 0; i < count; ++i) {
        const Number x = value_of(from[i]);
        const Number above = x < begin ? begin : x;
        to[i] = element_of<Element>(above > end ? end : above);
      }
    }};
  });
}

template <typename Function>
Kernel of_truths(const Signature& signature) {
  return combine_alike(signature, truths, Function{});
}

template <typename Function>
Kernel of_bits(const Signature& signature) {
  return combine_alike(signature, integers, []<typename Integer>(Integer a, Integer b) -> Integer {
    return static_cast<Integer>(Function{}(a, b));
  });
}

}  // namespace

TablePart binary_kernels() {
  return {
      {"Add",
       [](const Signature& it) {
         return combine_alike(it, numbers, [](auto a, auto b) { return sum(a, b); });
       }},
      {"And", of_truths<std::logical_and<>>},
      {"BitShift", shift},
      {"BitwiseAnd", of_bits<std::bit_and<>>},
      {"BitwiseOr", of_bits<std::bit_or<>>},
      {"BitwiseXor", of_bits<std::bit_xor<>>},
      {"Clip", clip},
      {"Div", [](const Signature& it) { return combine_alike(it, numbers, Divide{}); }},
      {"Equal", [](const Signature& it) { return compare(it, every_type, std::equal_to<>{}); }},
      {"Greater", [](const Signature& it) { return compare(it, numbers, std::greater<>{}); }},
      {"GreaterOrEqual", [](const Signature& it) { return compare(it, numbers, std::greater_equal<>{}); }},
      {"Less", [](const Signature& it) { return compare(it, numbers, std::less<>{}); }},
      {"LessOrEqual", [](const Signature& it) { return compare(it, numbers, std::less_equal<>{}); }},
      {"Mod", modulo},
      {"Mul",
       [](const Signature& it) {
         return combine_alike(it, numbers, [](auto a, auto b) { return product(a, b); });
       }},
      {"Or", of_truths<std::logical_or<>>},
      {"PRelu", leaky},
      {"Pow", raise},
      {"Sub",
       [](const Signature& it) {
         return combine_alike(it, numbers, [](auto a, auto b) { return difference(a, b); });
       }},
      {"Where", select},
      {"Xor", of_truths<std::not_equal_to<>>},
  };
}

}  // namespace stowage::kernels::onnx_ops
