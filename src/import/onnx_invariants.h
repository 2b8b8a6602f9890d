#pragma once

#include "import/onnx_wire.h"

namespace stowage::import {

/// Loops and scans no longer carry what no round changes: their bodies read it from around; see onnx_invariants.cc.
void release_invariants(wire::ModelProto& model);

}  // namespace stowage::import
