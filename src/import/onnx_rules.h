#pragma once

#include "import/onnx_context.h"

namespace stowage::import {

/// Infers the outputs of an operator that libonnx does not know, or knows in an older form only:
/// what changed or came after operator set 17, and a few older gaps. False: there is no rule of
/// ours; then libonnx's holds. True: outputs are set as far as they can be known.
[[nodiscard]] bool infer_by_own_rule(NodeContext& node);

}  // namespace stowage::import
