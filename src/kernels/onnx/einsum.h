#pragma once

#include <cstddef>
#include <vector>

#include "kernels/onnx/operands.h"

namespace stowage::kernels::onnx_ops {

/// The letters of an Einsum as axes.
struct Space {
  Shape sizes{};                 ///< Axes of the output first.
  std::size_t kept = 0;          ///< Number of output axes.
  std::vector<Shape> strides{};  ///< Per operand: 0 on axes that it does not have.
};

/// Throws Unsupported for an equation that does not fit the operands.
[[nodiscard]] Space einsum_space(const Signature& signature);

}  // namespace stowage::kernels::onnx_ops
