#pragma once

#include <initializer_list>

#include "kernels/kernel.h"
#include "stowage/run.h"

namespace stowage::kernels {

[[nodiscard]] KernelTable table_of(std::initializer_list<TablePart (*)()> parts);

/// Kernels in plain loops for ONNX and TFLite operators, without control flow (If, Loop, WHILE, ...).
[[nodiscard]] const KernelTable& onnx_kernels();
[[nodiscard]] const KernelTable& tflite_kernels();

/// Kernels of oneDNN. They throw Unsupported if its implementations do not compute what ONNX defines.
[[nodiscard]] const KernelTable& dnnl_kernels();

/// The kernel of that set for an operator, or a plain one if the fast set has none. Throws Unsupported.
[[nodiscard]] Kernel prepare(const Signature& signature, KernelSet kernels);

}  // namespace stowage::kernels
