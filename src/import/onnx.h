#pragma once

#include <filesystem>
#include <string_view>

#include "stowage/graph.h"
#include "stowage/import.h"
#include "stowage/network.h"

namespace stowage::import {

/// Reads an ONNX model: its graph with functions inlined, every shape inferred, and operators whose
/// inputs are all constant folded. Weights are neither loaded nor looked for. Throws Error with
/// the place; a size that stays open is an Error that names the option that would settle it.
[[nodiscard]] Graph read_onnx(std::string_view bytes, const ImportOptions& options);

/// The same with attributes and weights; external data is looked for in `folder`. `input.info` is not set.
[[nodiscard]] Network read_onnx_network(std::string_view bytes, const std::filesystem::path& folder,
                                        const ImportOptions& options);

}  // namespace stowage::import
