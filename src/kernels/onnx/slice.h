#pragma once

#include "kernels/kernel.h"

namespace stowage::kernels::onnx_ops {

/// What Slice takes along each dimension: elements begin, begin + step, ...
struct Slicing {
  Shape begins{};
  Shape steps{};
  Shape shape{};  ///< Of the output.
};

/// Throws Unsupported.
[[nodiscard]] Slicing slicing_of(const Signature& signature);

}  // namespace stowage::kernels::onnx_ops
