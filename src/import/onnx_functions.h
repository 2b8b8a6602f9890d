#pragma once

#include "import/onnx_wire.h"

namespace stowage::import {

/// Replaces every call of one of the model's own functions by the function's nodes, with unique names and
/// resolved attribute references. Throws Error for functions that call themselves or grow beyond the limit.
void inline_functions(wire::ModelProto& model);

}  // namespace stowage::import
