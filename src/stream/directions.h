#pragma once

#include "stream/model.h"

namespace stowage::stream {

/// Whether some operator runs its rows from the last to the first.
[[nodiscard]] bool runs_backward(const RowModel& model);

/// Spreads the direction of operators that run backward to others; see directions.cc.
void turn_back(const Graph& graph, RowModel& model);

}  // namespace stowage::stream
