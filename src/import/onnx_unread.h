#pragma once

#include <string>

#include "import/onnx_graph.h"
#include "import/readers.h"
#include "stowage/graph.h"

namespace stowage::import {

/// Says which constant may be why the size of a tensor is open: the nearest of those from which it is computed
/// whose data should be in `files` and cannot be read. Begins with "; ", so that it may follow a sentence; empty
/// if there is none.
[[nodiscard]] std::string unread_data_behind(const OnnxGraph& model, TensorId t, NearbyFiles& files);

}  // namespace stowage::import
