#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/walk.h"

namespace stowage::kernels::onnx_ops {

/// to[i] = f(a[i * step_a], b[i * step_b]) for elements of types that only the function knows. An operator
/// needs one such function per type.
using CombineRow = void (*)(const std::byte* a, std::int64_t step_a, const std::byte* b, std::int64_t step_b,
                            std::byte* to, std::int64_t count);

template <typename A, typename B, typename To, typename Function>
void combine_row(const std::byte* a, std::int64_t step_a, const std::byte* b, std::int64_t step_b,
                 std::byte* to, std::int64_t count) {
  const auto* const row_a = reinterpret_cast<const A*>(a);
  const auto* const row_b = reinterpret_cast<const B*>(b);
  auto* const row = reinterpret_cast<To*>(to);
  for (std::int64_t i = 0; i < count; ++i)
    row[i] = element_of<To>(Function{}(value_of(row_a[i * step_a]), value_of(row_b[i * step_b])));
}

struct Combination {
  CombineRow row = nullptr;
  std::int64_t size_a = 1;  ///< Bytes of an element.
  std::int64_t size_b = 1;
  std::int64_t size_to = 1;
};

template <typename A, typename B, typename To, typename Function>
constexpr Combination combination{combine_row<A, B, To, Function>, sizeof(A), sizeof(B), sizeof(To)};

/// Combines two inputs along the rows of a walk. The output may be at the place of either input.
inline void combine(const Walk<2>& walk, const Combination& of, const std::byte* a, const std::byte* b,
                    std::byte* to) {
  for_each_row(walk, [&](std::int64_t at, const std::array<std::int64_t, 2>& from) {
    of.row(a + from[0] * of.size_a, walk.step(0), b + from[1] * of.size_b, walk.step(1), to + at * of.size_to,
           walk.row());
  });
}

/// Like for_type, for makers of combinations.
template <typename Make, typename... Elements>
Combination combination_for(DType dtype, Types<Elements...> types, const Make& make) {
  Combination result;
  (void)for_type(dtype, types, [&]<typename Element>() {
    result = make.template operator()<Element>();
    return Kernel{};
  });
  return result;
}

}  // namespace stowage::kernels::onnx_ops
