#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "import/onnx_graph.h"
#include "stowage/network.h"

namespace stowage::import {

/// Takes a graph that is complete, and adds what its nodes are told and the data of its initializers.
/// `versions` are the operator sets by domain. Throws Error for data that cannot be read.
[[nodiscard]] Network network_of(OnnxGraph model, const std::map<std::string, int>& versions,
                                 const std::filesystem::path& folder);

}  // namespace stowage::import
