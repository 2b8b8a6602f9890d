// Softmax of bytes with scales, from a table of powers of e, as onnxruntime computes it: the largest number has the last
// of them, which is so large that a sum is just finite. What is beyond the last byte is the last byte; onnxruntime
// wraps around if bytes are signed.

#include <algorithm>
#include <limits>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/quantized.h"

namespace stowage::kernels::onnx_ops {

std::array<float, 256> powers_of_steps(float scale, std::int64_t size) {
  constexpr double spare = 5;
  const float largest = std::numeric_limits<float>::max() / static_cast<float>(size);
  const double shift =
      std::max(0.0, std::log(static_cast<double>(largest)) - spare) / static_cast<double>(scale);
  std::array<float, 256> powers{};
  for (std::size_t i = 0; i < powers.size(); ++i) {
    const double steps = static_cast<double>(i) - 255 + shift;
    powers[i] = static_cast<float>(std::exp(steps * static_cast<double>(scale)));
  }
  return powers;
}

/// As Softmax of the operator set in the attribute `opset`: before 13, all dimensions from the axis on are one run.
Split runs_of_softmax(const Signature& signature) {
  const Shape& shape = input_of(signature, 0).shape;
  const std::size_t axis = axis_of(signature.attributes.integer("axis", -1), shape.size());
  const Split split = split_at(shape, axis);
  if (signature.attributes.integer("opset", 13) >= 13) return split;
  return {.outer = split.outer, .size = split.size * split.inner, .inner = 1};
}

namespace {

/// The share of a power in the total. The product may be infinite if steps are small and numbers are few.
float share_of(float power, float all, float total) {
  const float product = power * all;
  return std::isfinite(product) ? product / total : power / total * all;
}

}  // namespace

Kernel softmax_of_bytes(const Signature& signature) {
  expect_bytes_like_first(signature);
  const Split split = runs_of_softmax(signature);
  return for_type(input_of(signature, 0).dtype, bytes_with_scales, [&]<typename Stored>() -> Kernel {
    return {.run = [split](const Pointers& pointers) {
      if (split.size == 0) return;
      const std::array<float, 256> powers = powers_of_steps(*pointers.input<float>(1), split.size);
      const float all = steps_of_all(*pointers.input<float>(3));
      const auto* const zero = pointers.input<Stored>(4);
      for (std::int64_t i = 0; i < split.outer * split.inner; ++i) {
        const std::int64_t start = i / split.inner * split.size * split.inner + i % split.inner;
        const auto* const from = pointers.input<Stored>(0) + start;
        auto* const to = pointers.output<Stored>(0) + start;
        Stored most = from[0];
        for (std::int64_t k = 1; k < split.size; ++k) most = std::max(most, from[k * split.inner]);
        const auto power = [&](std::int64_t k) {
          return powers[static_cast<std::size_t>(255 - (most - from[k * split.inner]))];
        };
        float total = 0;
        for (std::int64_t k = 0; k < split.size; ++k) total += power(k);
        for (std::int64_t k = 0; k < split.size; ++k) {
          const double steps = std::nearbyint(static_cast<double>(share_of(power(k), all, total)));
          to[k * split.inner] = whole<Stored>(steps + (zero == nullptr ? 0.0 : static_cast<double>(*zero)));
        }
      }
    }};
  });
}

}  // namespace stowage::kernels::onnx_ops
