#pragma once

#include <initializer_list>

#include "kernels/kernel.h"
#include "stowage/run.h"

namespace stowage::kernels {

[[nodiscard]] KernelTable table_of(std::initializer_list<TablePart (*)()> parts);

/// Kernels in plain loops, for operators of ONNX and of TFLite. Control flow (If, Loop, WHILE ..) is not
/// theirs.
[[nodiscard]] const KernelTable& onnx_kernels();
[[nodiscard]] const KernelTable& tflite_kernels();

/// Kernels of oneDNN. They throw Unsupported where it has no implementation that gives what ONNX says.
[[nodiscard]] const KernelTable& dnnl_kernels();

/// The kernel of that set for an operator; plain ones serve where the fast set has none. Throws
/// Unsupported.
[[nodiscard]] Kernel prepare(const Signature& signature, KernelSet kernels);

}  // namespace stowage::kernels
