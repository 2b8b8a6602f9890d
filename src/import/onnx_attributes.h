#pragma once

#include "import/onnx_wire.h"
#include "operators/attributes.h"

namespace stowage::import {

/// The attributes of a node as shape rules see them. The node must outlive them.
[[nodiscard]] operators::AttributeViews views_of(const wire::NodeProto& node);

}  // namespace stowage::import
