#pragma once

#include <cstdint>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::lifetime {

/// When each tensor is alive, one lifetime for each run of the subgraph it belongs to; none for
/// tensors that no step writes.
struct Uses {
  std::vector<std::vector<Lifetime>> lives;
  std::vector<std::int64_t> accesses;  ///< How often steps read or write it.
  Position end = 1;                    ///< Of the clock; at least 1.
};

/// Cost: linear in operands, times the depth of bodies.
[[nodiscard]] Uses uses_of(const Graph& graph, const Clock& clock);

}  // namespace stowage::lifetime
