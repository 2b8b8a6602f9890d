#include "kernels/dnnl/special.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/kernels.h"

namespace stowage::kernels::fast {
namespace {

constexpr float most = std::numeric_limits<float>::max();

/// An input of float32.
struct Looked {
  std::size_t input = 0;
  std::size_t count = 0;
  std::size_t row = 0;
};

std::vector<Looked> looked_through(const Signature& signature, std::int64_t row) {
  std::vector<Looked> all;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    if (!signature.has_input(i) || signature.inputs[i]->dtype != DType::float32) continue;
    const auto count = static_cast<std::size_t>(count_of(signature.inputs[i]->shape));
    all.push_back({i, count, row == 0 ? count : static_cast<std::size_t>(row)});
  }
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

bool lacks_shares(std::span<const float> numbers) {
  std::int32_t found = 0;
  std::int32_t counts = 0;
  look_through(numbers, [&](float x) {
    found |= static_cast<std::int32_t>(!(x <= most));
    counts |= static_cast<std::int32_t>(x >= -most);
  });
  return found != 0 || counts == 0;
}

Kernel plain_if(bool (*is_special)(std::span<const float>), Kernel fast, const Signature& signature,
                std::int64_t row) {
  Kernel plain = onnx_kernels().at(signature.type)(signature);
  fast.scratch = std::max(fast.scratch, plain.scratch);
  fast.held += plain.held;
  fast.run = [is_special, inputs = looked_through(signature, row), plain = std::move(plain.run),
              run = std::move(fast.run)](const Pointers& pointers) {
    for (const Looked& it : inputs) {
      const std::span numbers(pointers.input<float>(it.input), it.count);
      for (std::size_t at = 0; at < it.count; at += it.row)
        if (is_special(numbers.subspan(at, it.row))) return plain(pointers);
    }
    run(pointers);
  };
  return fast;
}

}  // namespace stowage::kernels::fast
