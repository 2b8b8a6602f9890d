#pragma once

#include <cstdint>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::run {

/// Multiplies of some rows of an operator's outputs.
[[nodiscard]] std::int64_t multiplies_of(const Graph& graph, std::size_t op, const RowRange& rows);

/// Those of all operators of the main subgraph that run.
[[nodiscard]] std::int64_t multiplies_of(const Graph& graph);

}  // namespace stowage::run
