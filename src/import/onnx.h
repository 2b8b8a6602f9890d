#pragma once

#include <string_view>

#include "stowage/graph.h"
#include "stowage/import.h"

namespace stowage::import {

/// Reads an ONNX model: its graph with functions inlined, every shape inferred, and operators whose
/// inputs are all constant folded. Weights are neither loaded nor looked for. Throws Error with
/// the place; a size that stays open is an Error that names the option that would settle it.
[[nodiscard]] Graph read_onnx(std::string_view bytes, const ImportOptions& options);

}  // namespace stowage::import
