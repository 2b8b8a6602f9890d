#pragma once

#include <cstddef>
#include <vector>

#include "alias/sharing.h"
#include "lifetime/lives.h"
#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::alias {

struct BufferOptions {
  Bytes alignment = 1;      ///< Of every buffer; sizes are rounded up to it.
  bool keeps_state = true;  ///< Tensors of kind state are in the arena, not kept by the runtime.
  std::size_t model = 0;    ///< The network's index in the plan.
};

/// Buffers to place, and the views of every tensor of the network in them.
struct Buffers {
  std::vector<Buffer> buffers;
  std::vector<PlannedTensor> tensors;  ///< One per tensor of the graph, in its order.
};

/// Gives every group of tensors a buffer; an output that is tied to a state input shares the buffer of that
/// input. Throws Error if a new state would overwrite an old one that is still needed.
[[nodiscard]] Buffers buffers_of(const Graph& graph, const lifetime::Uses& uses, const Sharing& sharing,
                                 const BufferOptions& options);

}  // namespace stowage::alias
