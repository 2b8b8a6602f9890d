#pragma once

#include "import/readers.h"
#include "stowage/import.h"
#include "stowage/network.h"

namespace stowage::import {

/// Reads an ONNX model: its graph with functions inlined, every shape inferred, and operators whose
/// inputs are all constant folded. Weights are neither loaded nor looked for unless the options ask for
/// constants. Throws Error with the place; a size that stays open is an Error that names the option that
/// would settle it. `info` is not set.
[[nodiscard]] Input read_onnx(const Source& source, const ImportOptions& options);

/// The same with constants and attributes.
[[nodiscard]] Network read_onnx_network(const Source& source, const ImportOptions& options);

}  // namespace stowage::import
