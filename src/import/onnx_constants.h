#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "import/onnx_graph.h"
#include "import/onnx_values.h"
#include "stowage/import.h"

namespace stowage::import {

/// The operator sets that a model imports, by domain; "" is the standard's own.
using Versions = std::map<std::string, int>;

/// The version of the node's operator set; 1 if the model imports none.
[[nodiscard]] std::int64_t version_of(const onnx::NodeProto& node, const Versions& versions);

/// The known constants of a model with inferred shapes; see onnx_constants.cc. `values` are those that shapes
/// depend on. External data is searched for in `folder` and stays in place; data in the model's file is
/// copied. Throws Error for data that cannot be read.
[[nodiscard]] Constants constants_of(const OnnxGraph& model, const Versions& versions,
                                     const std::vector<std::optional<Value>>& values,
                                     const std::filesystem::path& folder);

}  // namespace stowage::import
