#pragma once

#include "import/readers.h"
#include "stowage/import.h"
#include "stowage/network.h"

namespace stowage::import {

/// Reads an ONNX model: its graph with functions inlined, every shape inferred, and operators with only
/// constant inputs folded. Loads weights only if the options request constants. Throws Error with the place;
/// the Error for an unknown size names the option that would set it. Leaves `info` empty.
[[nodiscard]] Input read_onnx(const Source& source, const ImportOptions& options);

/// The same with constants and attributes.
[[nodiscard]] Network read_onnx_network(const Source& source, const ImportOptions& options);

}  // namespace stowage::import
