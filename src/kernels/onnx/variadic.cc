// Operators of any number of inputs: combines the first two into the output, then every other one with it, so
// that the output may be at the place of one of the first two.

#include <algorithm>
#include <cmath>

#include "kernels/onnx/combine.h"
#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"
#include "kernels/onnx/walk.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// The larger one, or NaN.
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

struct Second {
  template <typename Number>
  Number operator()(Number /*a*/, Number b) const {
    return b;
  }
};

template <typename Function>
Combination alike(DType dtype) {
  return combination_for(dtype, numbers,
                         []<typename Element>() { return combination<Element, Element, Element, Function>; });
}

using MeanRow = void (*)(std::byte* sums, std::int64_t elements, float count);

template <typename Element>
void mean_row(std::byte* sums, std::int64_t elements, float count) {
  auto* const to = reinterpret_cast<Element*>(sums);
  const auto divisor = element_of<Value<Element>>(count);
  for (std::int64_t i = 0; i < elements; ++i) to[i] = element_of<Element>(value_of(to[i]) / divisor);
}

MeanRow mean_for(DType dtype) {
  MeanRow mean = nullptr;
  (void)for_type(dtype, numbers, [&]<typename Element>() {
    mean = mean_row<Element>;
    return Kernel{};
  });
  return mean;
}

template <typename Function>
Kernel fold(const Signature& signature, Function /*f*/, bool is_mean) {
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
  const Combination combined = alike<Function>(output.dtype);
  const Combination taken = alike<Second>(output.dtype);
  const MeanRow mean = is_mean ? mean_for(output.dtype) : nullptr;
  const std::int64_t elements = count_of(output.shape);
  return {.run = [=](const Pointers& pointers) {
    const std::byte* const first = pointers.inputs[0];
    std::byte* const to = pointers.outputs[0];
    if (count == 1) combine(walks[0], taken, first, first, to);
    for (std::size_t i = 1; i < count; ++i)
      combine(walks[i], combined, i == 1 ? first : to, pointers.inputs[i], to);
    if (mean != nullptr) mean(to, elements, static_cast<float>(count));
  }};
}

}  // namespace

TablePart variadic_kernels() {
  return {{"Max", [](const Signature& it) { return fold(it, Larger{}, false); }},
          {"Mean", [](const Signature& it) { return fold(it, Plus{}, true); }},
          {"Min", [](const Signature& it) { return fold(it, Smaller{}, false); }},
          {"Sum", [](const Signature& it) { return fold(it, Plus{}, false); }}};
}

}  // namespace stowage::kernels::onnx_ops
