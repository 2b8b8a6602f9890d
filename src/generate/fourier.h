#pragma once

#include "kernels/kernel.h"

namespace stowage::generate {

/// Bytes of scratch memory that the kernel of RFFT2D needs. Throws kernels::Unsupported for what nobody computes.
[[nodiscard]] Bytes fourier_scratch(const kernels::Signature& signature);

}  // namespace stowage::generate
