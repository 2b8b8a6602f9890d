#pragma once

#include "import/onnx_wire.h"
#include "import/readers.h"

namespace stowage::import {

/// Replaces sequences whose elements are known by these elements, where something asks for one; see onnx_sequences.cc.
/// Others stay as they are.
void resolve_sequences(wire::ModelProto& model, NearbyFiles& files);

}  // namespace stowage::import
