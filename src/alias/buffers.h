#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "alias/sharing.h"
#include "lifetime/lives.h"
#include "model/motions.h"
#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::alias {

struct BufferOptions {
  Bytes alignment = 1;      ///< Of every buffer; sizes are rounded up to it.
  bool keeps_state = true;  ///< Tensors of kind state are in the arena, not kept by the runtime.
};

/// A tensor as a whole in a buffer, for one of its lives.
struct Held {
  TensorId tensor = 0;
  std::size_t buffer = 0;  ///< Index in Buffers::buffers.
  Bytes offset = 0;        ///< In the buffer.
  Lifetime life{};
  model::Motion moves{};  ///< With open extents; `offset` is that at the largest.
};

/// Buffers to place, and what they hold.
struct Buffers {
  std::vector<Buffer> buffers;
  std::vector<Held> held;  ///< Those of one tensor in order of time.
};

/// Gives every group of tensors a buffer; an output that is tied to a state input shares the buffer of that
/// input. It has none here if its residence is `feed`: other networks share it. Throws Error if a new state would
/// overwrite an old one that is still needed.
[[nodiscard]] Buffers buffers_of(const Graph& graph, const lifetime::Uses& uses, Sharing sharing,
                                 const std::vector<lifetime::Residence>& residences,
                                 const BufferOptions& options);

/// The tensors of a graph, in its order, with their views.
[[nodiscard]] std::vector<PlannedTensor> planned_tensors(const Graph& graph, std::span<const Held> held,
                                                         std::size_t model);

}  // namespace stowage::alias
