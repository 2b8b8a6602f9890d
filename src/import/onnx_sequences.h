#pragma once

#include <string>

#include "import/onnx_wire.h"
#include "import/readers.h"

namespace stowage::import {

/// Replaces sequences whose elements are known by these elements, where something asks for one; see onnx_sequences.cc.
/// Others stay as they are.
void resolve_sequences(wire::ModelProto& model, NearbyFiles& files);

/// Makes what ZipMap gives names to an output instead of its maps, which are no tensors. Returns what it did, in words.
std::string leave_out_maps(wire::GraphProto& graph);

}  // namespace stowage::import
