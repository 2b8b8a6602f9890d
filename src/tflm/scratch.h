#pragma once

#include "stowage/graph.h"

namespace stowage::tflm {

/// Whether the operator's kernel may ask the runtime for scratch memory, as far as is known of the stock
/// reference kernels. Of custom operators nothing is known: they may.
[[nodiscard]] bool may_ask_for_scratch(const Graph& graph, const Operator& op);

}  // namespace stowage::tflm
