#pragma once

#include "kernels/kernel.h"
#include "operators/resize_taps.h"

namespace stowage::kernels::onnx_ops {

/// What a Resize or Upsample does. Throws Unsupported; the inputs that say so must be constant.
[[nodiscard]] operators::Resizing resizing_of(const Signature& signature);

}  // namespace stowage::kernels::onnx_ops
