#pragma once

#include "import/onnx_context.h"

namespace stowage::import {

/// Infers the outputs of an operator that libonnx does not know, or only in an older form: additions and
/// changes after operator set 17, and a few older gaps. False: we have no rule; use libonnx's. True: outputs
/// are set as far as they can be known.
[[nodiscard]] bool infer_by_own_rule(NodeContext& node);

}  // namespace stowage::import
