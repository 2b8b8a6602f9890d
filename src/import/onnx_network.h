#pragma once

#include <filesystem>

#include "import/onnx_constants.h"
#include "import/onnx_graph.h"
#include "stowage/network.h"

namespace stowage::import {

/// Takes a graph that is complete and its constants, and adds what its nodes are told. Throws Error for data
/// that cannot be read.
[[nodiscard]] Network network_of(OnnxGraph model, const Versions& versions, Constants constants,
                                 const std::filesystem::path& folder);

}  // namespace stowage::import
