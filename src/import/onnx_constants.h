#pragma once

#include <cstdint>

#include "import/onnx_graph.h"
#include "import/onnx_known.h"
#include "import/readers.h"
#include "stowage/import.h"

namespace stowage::import {

/// The version of the node's operator set; 1 if the model imports none.
[[nodiscard]] std::int64_t version_of(const wire::NodeProto& node, const Versions& versions);

/// The known constants of a model with inferred shapes; see onnx_constants.cc. `values` are those that shapes
/// depend on. External data is searched for in the folder of `source` and stays in place. So does raw data in
/// the model's file, which is then held, if `in_place`; otherwise it is copied, so that it is aligned. Throws
/// Error for data that cannot be read.
[[nodiscard]] Constants constants_of(const OnnxGraph& model, const Versions& versions, const Values& values,
                                     const Source& source, bool in_place);

}  // namespace stowage::import
