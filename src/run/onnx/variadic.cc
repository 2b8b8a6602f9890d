// Operators of any number of inputs: the first two are combined into the output, then every other one with
// it, so that the output may be at the place of one of the first two.

#include <algorithm>
#include <cmath>

#include "run/onnx/elements.h"
#include "run/onnx/tables.h"
#include "run/onnx/walk.h"

namespace stowage::run::onnx_ops {
namespace {

/// to = f(a, b) along rows; `to` may be `a` or `b`.
template <typename Element, typename Function>
void combine(const Walk<2>& walk, const Element* a, const Element* b, Element* to, const Function& f) {
  for_each_row(walk, [&](std::int64_t at, const std::array<std::int64_t, 2>& from) {
    for (std::int64_t i = 0; i < walk.row(); ++i) {
      to[at + i] = element_of<Element>(
          f(value_of(a[from[0] + i * walk.step(0)]), value_of(b[from[1] + i * walk.step(1)])));
    }
  });
}

template <typename Function>
Kernel fold(const Signature& signature, Function f, bool is_mean) {
  const Argument& output = output_of(signature);
  const std::size_t count = signature.inputs.size();
  if (count == 0) refuse("there is no input");
  std::vector<Walk<2>> walks;
  for (std::size_t i = 0; i < count; ++i) {
    const Argument& input = input_of(signature, i);
    expect_dtype(input, output.dtype, "an input");
    const bool is_first = i == 1 || count == 1;
    walks.push_back(
        broadcast<2>({is_first ? input_of(signature, 0).shape : output.shape, input.shape}, output.shape));
  }
  const std::int64_t elements = count_of(output.shape);
  return for_type(output.dtype, numbers, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* const first = pointers.input<Element>(0);
      auto* const to = pointers.output<Element>(0);
      if (count == 1) combine(walks[0], first, first, to, [](auto, auto x) { return x; });
      for (std::size_t i = 1; i < count; ++i)
        combine(walks[i], i == 1 ? first : to, pointers.input<Element>(i), to, f);
      if (!is_mean) return;
      const auto divisor = element_of<Value<Element>>(static_cast<float>(count));
      for (std::int64_t i = 0; i < elements; ++i) to[i] = element_of<Element>(value_of(to[i]) / divisor);
    }};
  });
}

/// The larger one, or what is no number.
struct Larger {
  template <typename Number>
  Number operator()(Number a, Number b) const {
    if (a != a) return a;
    return b > a || b != b ? b : a;
  }
};
struct Smaller {
  template <typename Number>
  Number operator()(Number a, Number b) const {
    if (a != a) return a;
    return b < a || b != b ? b : a;
  }
};
struct Plus {
  template <typename Number>
  Number operator()(Number a, Number b) const {
    return sum(a, b);
  }
};

}  // namespace

TablePart variadic_kernels() {
  return {{"Max", [](const Signature& it) { return fold(it, Larger{}, false); }},
          {"Mean", [](const Signature& it) { return fold(it, Plus{}, true); }},
          {"Min", [](const Signature& it) { return fold(it, Smaller{}, false); }},
          {"Sum", [](const Signature& it) { return fold(it, Plus{}, false); }}};
}

}  // namespace stowage::run::onnx_ops
