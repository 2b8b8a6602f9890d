#pragma once

#include "kernels/kernel.h"

namespace stowage::generate {

/// Bytes of scratch memory that the kernel of TFLite_Detection_PostProcess needs. Throws kernels::Unsupported for what
/// nobody computes.
[[nodiscard]] Bytes detection_scratch(const kernels::Signature& signature);

}  // namespace stowage::generate
