// Operators that compute each output element from the same input element. Each element is read once, before
// it is written: the output may be at the input's place. Source: the ONNX operator specification.

#include <cmath>
#include <numbers>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// Output element = f(input element), for elements of one type.
template <typename List, typename Function>
Kernel map(const Signature& signature, List types, Function f) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_copy(input, output);
  const std::int64_t count = count_of(output.shape);
  return for_type(input.dtype, types, [&]<typename Element>() -> Kernel {
    return {.run = [count, f](const Pointers& pointers) {
      const auto* const from = pointers.input<Element>(0);
      auto* const to = pointers.output<Element>(0);
      for (std::int64_t i = 0; i < count; ++i) to[i] = element_of<Element>(f(value_of(from[i])));
    }};
  });
}

/// A boolean for each element.
template <typename List, typename Function>
Kernel ask(const Signature& signature, List types, Function f) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_dtype(output, DType::boolean, "the output");
  const std::int64_t count = count_of(output.shape);
  if (count != count_of(input.shape)) refuse("input and output have not as many elements");
  return for_type(input.dtype, types, [&]<typename Element>() -> Kernel {
    return {.run = [count, f](const Pointers& pointers) {
      const auto* const from = pointers.input<Element>(0);
      auto* const to = pointers.output<Truth>(0);
      for (std::int64_t i = 0; i < count; ++i) to[i] = element_of<Truth>(f(value_of(from[i])));
    }};
  });
}

template <typename Real>
Real sigmoid(Real x) {
  return Real{1} / (Real{1} + std::exp(-x));
}

/// Within 0 and 1; NaN stays.
template <typename Real>
Real unit(Real x) {
  return std::max(std::min(x, Real{1}), Real{0});
}

/// log(1 + e^x) without overflow.
template <typename Real>
Real softplus(Real x) {
  return std::max(x, Real{0}) + std::log1p(std::exp(-std::abs(x)));
}

template <typename Real>
Real gelu(Real x) {
  return x / 2 * (1 + std::erf(x * static_cast<Real>(1 / std::numbers::sqrt2)));
}

template <typename Real>
Real gelu_by_tanh(Real x) {
  const Real scale = static_cast<Real>(std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
  return x / 2 * (1 + std::tanh(scale * (x + static_cast<Real>(0.044715) * x * x * x)));
}

Kernel gelu_of(const Signature& signature) {
  if (signature.attributes.text("approximate", "none") == "tanh")
    return map(signature, floats, [](auto x) { return gelu_by_tanh(x); });
  return map(signature, floats, [](auto x) { return gelu(x); });
}

/// A function whose argument first gets the bias of the last dimension.
template <typename Function>
Kernel biased(const Signature& signature, Function f) {
  if (!signature.has_input(1)) return map(signature, floats, f);
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_copy(input, output);
  expect_dtype(*signature.inputs[1], input.dtype, "the bias");
  expect_rank(*signature.inputs[1], 1, "the bias");
  const std::int64_t size = signature.inputs[1]->shape[0];
  if (input.shape.empty() || input.shape.back() != size)
    refuse("the bias of {} does not fit {}", size, show(input.shape));
  const std::int64_t count = count_of(output.shape);
  return for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    return {.run = [count, size, f](const Pointers& pointers) {
      const auto* const from = pointers.input<Element>(0);
      const auto* const bias = pointers.input<Element>(1);
      auto* const to = pointers.output<Element>(0);
      for (std::int64_t i = 0; i < count; i += size) {
        for (std::int64_t j = 0; j < size; ++j)
          to[i + j] = element_of<Element>(f(value_of(from[i + j]) + value_of(bias[j])));
      }
    }};
  });
}

Kernel absolute(const Signature& signature) {
  return map(signature, numbers, []<typename Number>(Number x) -> Number {
    if constexpr (std::is_floating_point_v<Number>) {
      return std::abs(x);
    } else {
      return x < Number{0} ? difference(Number{0}, x) : x;
    }
  });
}

template <typename Number>
Number sign_of(Number x) {
  if (x != x) return x;
  return static_cast<Number>(static_cast<int>(x > Number{0}) - static_cast<int>(x < Number{0}));
}

Kernel is_infinite(const Signature& signature) {
  const bool above = signature.attributes.integer("detect_positive", 1) != 0;
  const bool below = signature.attributes.integer("detect_negative", 1) != 0;
  return ask(signature, floats, [=](auto x) { return std::isinf(x) && (std::signbit(x) ? below : above); });
}

Kernel hard_sigmoid(const Signature& signature) {
  const float alpha = signature.attributes.real("alpha", 0.2F);
  const float beta = signature.attributes.real("beta", 0.5F);
  return map(signature, floats, [=]<typename Real>(Real x) -> Real {
    return unit(static_cast<Real>(alpha) * x + static_cast<Real>(beta));
  });
}

Kernel hard_swish(const Signature& signature) {
  return map(signature, floats,
             []<typename Real>(Real x) -> Real { return x * unit(x / 6 + static_cast<Real>(0.5)); });
}

Kernel swish(const Signature& signature) {
  const float alpha = signature.attributes.real("alpha", 1);
  return map(signature, floats,
             [=]<typename Real>(Real x) -> Real { return x * sigmoid(static_cast<Real>(alpha) * x); });
}

Kernel elu(const Signature& signature) {
  const float alpha = signature.attributes.real("alpha", 1);
  return map(signature, floats, [=]<typename Real>(Real x) -> Real {
    return x < 0 ? static_cast<Real>(alpha) * std::expm1(x) : x;
  });
}

Kernel celu(const Signature& signature) {
  const float alpha = signature.attributes.real("alpha", 1);
  if (alpha == 0) refuse("alpha is 0");
  return map(signature, floats, [=]<typename Real>(Real x) -> Real {
    const auto a = static_cast<Real>(alpha);
    return std::max(x, Real{0}) + std::min(a * std::expm1(x / a), Real{0});
  });
}

Kernel selu(const Signature& signature) {
  // The constants of the first operator set were shorter.
  const bool is_first = signature.version < 6;
  const float alpha = signature.attributes.real("alpha", is_first ? 1.6732F : 1.67326319217681884765625F);
  const float gamma = signature.attributes.real("gamma", is_first ? 1.0507F : 1.05070102214813232421875F);
  return map(signature, floats, [=]<typename Real>(Real x) -> Real {
    return static_cast<Real>(gamma) * (x > 0 ? x : static_cast<Real>(alpha) * std::expm1(x));
  });
}

Kernel leaky_relu(const Signature& signature) {
  const float alpha = signature.attributes.real("alpha", 0.01F);
  return map(signature, floats,
             [=]<typename Real>(Real x) -> Real { return x < 0 ? static_cast<Real>(alpha) * x : x; });
}

Kernel thresholded_relu(const Signature& signature) {
  const float alpha = signature.attributes.real("alpha", 1);
  return map(signature, floats,
             [=]<typename Real>(Real x) -> Real { return x > static_cast<Real>(alpha) ? x : Real{0}; });
}

Kernel shrink(const Signature& signature) {
  const float bias = signature.attributes.real("bias", 0);
  const float lambda = signature.attributes.real("lambd", 0.5F);
  return map(signature, numbers, [=]<typename Number>(Number x) -> Number {
    using Real = std::conditional_t<std::is_same_v<Number, float>, float, double>;
    const auto real = static_cast<Real>(x);
    const auto shift = static_cast<Real>(bias);
    const auto bound = static_cast<Real>(lambda);
    return element_of<Number>(real < -bound ? real + shift : real > bound ? real - shift : Real{0});
  });
}

/// Ties go to the even number, whichever rounding mode is set.
template <typename Real>
Real round_to_even(Real x) {
  const Real down = std::floor(x);
  const Real rest = x - down;
  if (rest < static_cast<Real>(0.5)) return std::copysign(down, x);
  if (rest > static_cast<Real>(0.5)) return std::copysign(down + 1, x);
  return std::copysign(2 * std::floor((down + 1) / 2), x);
}

Kernel complement(const Signature& signature) {
  return map(signature, integers,
             []<typename Integer>(Integer x) -> Integer { return static_cast<Integer>(~x); });
}

/// max(0, x), which keeps NaN.
Kernel relu(const Signature& signature) {
  return map(signature, numbers,
             []<typename Number>(Number x) -> Number { return x < Number{0} ? Number{0} : x; });
}

Kernel negative(const Signature& signature) {
  return map(signature, floats + signed_integers, []<typename Number>(Number x) -> Number {
    if constexpr (std::is_floating_point_v<Number>) {
      return -x;
    } else {
      return difference(Number{0}, x);
    }
  });
}

/// A function of the standard library.
template <auto function>
Kernel of_real(const Signature& signature) {
  return map(signature, floats, [](auto x) { return function(x); });
}

}  // namespace

TablePart unary_kernels() {
  return {
      {"Abs", absolute},
      {"Acos", of_real<[](auto x) { return std::acos(x); }>},
      {"Acosh", of_real<[](auto x) { return std::acosh(x); }>},
      {"Asin", of_real<[](auto x) { return std::asin(x); }>},
      {"Asinh", of_real<[](auto x) { return std::asinh(x); }>},
      {"Atan", of_real<[](auto x) { return std::atan(x); }>},
      {"Atanh", of_real<[](auto x) { return std::atanh(x); }>},
      {"BitwiseNot", complement},
      {"Ceil", of_real<[](auto x) { return std::ceil(x); }>},
      {"Celu", celu},
      {"Cos", of_real<[](auto x) { return std::cos(x); }>},
      {"Cosh", of_real<[](auto x) { return std::cosh(x); }>},
      {"Elu", elu},
      {"Erf", of_real<[](auto x) { return std::erf(x); }>},
      {"Exp", of_real<[](auto x) { return std::exp(x); }>},
      {"Floor", of_real<[](auto x) { return std::floor(x); }>},
      {"Gelu", gelu_of},
      {"HardSigmoid", hard_sigmoid},
      {"HardSwish", hard_swish},
      {"IsInf", is_infinite},
      {"IsNaN", [](const Signature& it) { return ask(it, floats, [](auto x) { return std::isnan(x); }); }},
      {"LeakyRelu", leaky_relu},
      {"Log", of_real<[](auto x) { return std::log(x); }>},
      {"Mish", of_real<[](auto x) { return x * std::tanh(softplus(x)); }>},
      {"Neg", negative},
      {"Not", [](const Signature& it) { return map(it, truths, [](bool x) { return !x; }); }},
      {"Reciprocal", of_real<[](auto x) { return decltype(x){1} / x; }>},
      {"Relu", relu},
      {"Round", of_real<[](auto x) { return round_to_even(x); }>},
      {"Selu", selu},
      {"Shrink", shrink},
      {"Sigmoid", of_real<[](auto x) { return sigmoid(x); }>},
      {"Sign", [](const Signature& it) { return map(it, numbers, [](auto x) { return sign_of(x); }); }},
      {"Sin", of_real<[](auto x) { return std::sin(x); }>},
      {"Sinh", of_real<[](auto x) { return std::sinh(x); }>},
      {"Softplus", of_real<[](auto x) { return softplus(x); }>},
      {"Softsign", of_real<[](auto x) { return x / (decltype(x){1} + std::abs(x)); }>},
      {"Sqrt", of_real<[](auto x) { return std::sqrt(x); }>},
      {"Swish", swish},
      {"Tan", of_real<[](auto x) { return std::tan(x); }>},
      {"Tanh", of_real<[](auto x) { return std::tanh(x); }>},
      {"ThresholdedRelu", thresholded_relu},
      {"com.microsoft.BiasGelu",
       [](const Signature& it) { return biased(it, [](auto x) { return gelu(x); }); }},
      {"com.microsoft.FastGelu",
       [](const Signature& it) { return biased(it, [](auto x) { return gelu_by_tanh(x); }); }},
      {"com.microsoft.Gelu", of_real<[](auto x) { return gelu(x); }>},
      {"com.microsoft.QuickGelu",
       [](const Signature& it) {
         const float alpha = it.attributes.real("alpha", 1.702F);
         return map(it, floats,
                    [=]<typename Real>(Real x) -> Real { return x * sigmoid(static_cast<Real>(alpha) * x); });
       }},
  };
}

}  // namespace stowage::kernels::onnx_ops
