#pragma once

#include <optional>

#include "stowage/graph.h"
#include "stowage/planner.h"

namespace stowage::campaign {

enum class RowOrder : std::uint8_t { ascending, any };

/// The fewest live bytes, at the worst step, of all orders of rows of a small graph: rows one by one,,
/// written over an elementwise operator's input, or kept where they lie. None if it is not small.
[[nodiscard]] std::optional<Bytes> least_load_by_rows(const Graph& graph, Io io, Alias alias,
                                                      RowOrder row_order);

}  // namespace stowage::campaign
