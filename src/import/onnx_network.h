#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "import/onnx_graph.h"
#include "stowage/network.h"

namespace stowage::import {

/// The data of a model's initializers: external data, looked for in `folder`, where it lies, and what is
/// in the model's file as copies. Throws Error for data that cannot be read.
[[nodiscard]] Constants constants_of(const OnnxGraph& model, const std::filesystem::path& folder);

/// Takes a graph that is complete, and adds what its nodes are told and its constants. `versions` are the
/// operator sets by domain. Throws Error for data that cannot be read.
[[nodiscard]] Network network_of(OnnxGraph model, const std::map<std::string, int>& versions,
                                 const std::filesystem::path& folder);

}  // namespace stowage::import
