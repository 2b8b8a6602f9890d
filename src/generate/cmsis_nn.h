#pragma once

#include "generate/sources.h"

namespace stowage::generate {

/// Writes the function of an operator that CMSIS-NN computes; false: it has no such kernel, and nothing is written.
[[nodiscard]] bool emit_cmsis_nn(Writer& writer);

/// Bytes of scratch memory that an operator needs for that; 0 if none, or if CMSIS-NN does not compute it. Throws
/// kernels::Unsupported for what nobody computes.
[[nodiscard]] Bytes cmsis_nn_scratch(const Operator& op, const kernels::Signature& signature,
                                     CKernels kernels, bool by_rows);

}  // namespace stowage::generate
