#include "kernels/dnnl/special.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/kernels.h"

namespace stowage::kernels::fast {
namespace {

constexpr float largest_float = std::numeric_limits<float>::max();

/// An input of float32.
struct Looked {
  std::size_t input = 0;
  std::size_t count = 0;
};

std::vector<Looked> looked_through(const Signature& signature) {
  std::vector<Looked> all;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i)
    if (signature.has_input(i) && signature.inputs[i]->dtype == DType::float32)
      all.push_back({i, static_cast<std::size_t>(count_of(signature.inputs[i]->shape))});
  return all;
}

/// Calls look(number) for all, many of them in loops of a known length, which compilers make vectors of.
template <typename Look>
void look_through(std::span<const float> numbers, const Look& look) {
  constexpr std::size_t block = 64;
  std::size_t at = 0;
  for (; at + block <= numbers.size(); at += block)
    for (std::size_t i = 0; i < block; ++i) look(numbers[at + i]);
  for (; at < numbers.size(); ++at) look(numbers[at]);
}

}  // namespace

bool has_nan(std::span<const float> numbers) {
  std::int32_t found = 0;
  look_through(numbers, [&](float x) { found |= static_cast<std::int32_t>(x != x); });
  return found != 0;
}

bool lacks_shares(std::span<const float> numbers, std::size_t row) {
  std::int32_t found = 0;
  look_through(numbers, [&](float x) {
    const float zero = x - x;  // or NaN
    found |= static_cast<std::int32_t>(zero != zero);
  });
  if (found == 0) return false;  // as usual
  for (std::size_t at = 0; at < numbers.size(); at += row) {
    const auto own = numbers.subspan(at, row);
    if (std::ranges::any_of(own, [](float x) { return !(x <= largest_float); })) return true;
    if (std::ranges::none_of(own, [](float x) { return x >= -largest_float; })) return true;
  }
  return false;
}

Kernel plain_if(std::function<bool(std::span<const float>)> is_special, Kernel fast,
                const Signature& signature) {
  Kernel plain = onnx_kernels().at(signature.type)(signature);
  fast.scratch = std::max(fast.scratch, plain.scratch);
  fast.held += plain.held;
  fast.run = [is_special = std::move(is_special), inputs = looked_through(signature),
              plain = std::move(plain.run), run = std::move(fast.run)](const Pointers& pointers) {
    for (const Looked& it : inputs)
      if (is_special({pointers.input<float>(it.input), it.count})) return plain(pointers);
    run(pointers);
  };
  return fast;
}

}  // namespace stowage::kernels::fast
