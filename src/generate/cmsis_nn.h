#pragma once

#include "generate/sources.h"

namespace stowage::generate {

/// Writes the function of an operator that CMSIS-NN computes; false: it has no such kernel, and nothing is written.
[[nodiscard]] bool emit_cmsis_nn(Writer& writer);

}  // namespace stowage::generate
