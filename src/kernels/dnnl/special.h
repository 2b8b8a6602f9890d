#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "kernels/dnnl/assembly.h"

/// oneDNN takes the larger and the smaller of two numbers with instructions that give the second one if either is NaN,
/// so that NaN is lost; its exponential function limits its argument that way. Inputs are looked through before such a
/// kernel runs, which costs a fraction of what the plain kernel does; with such numbers, the plain kernel runs.
namespace stowage::kernels::fast {

[[nodiscard]] bool has_nan(std::span<const float> numbers);

/// Whether a row of so many elements has NaN or infinity, or no number above minus infinity: none of them has a share.
[[nodiscard]] bool lacks_shares(std::span<const float> numbers, std::size_t row);

/// The kernel `fast`, or the plain one of that operator where the answer is yes for an input of float32.
[[nodiscard]] Kernel plain_if(std::function<bool(std::span<const float>)> is_special, Kernel fast,
                              const Signature& signature);

template <Kernel (*prepare)(const Signature&)>
[[nodiscard]] Kernel guarded_from_nan(const Signature& signature) {
  return plain_if(has_nan, guarded<prepare>(signature), signature);
}

}  // namespace stowage::kernels::fast
