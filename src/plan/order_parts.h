#pragma once

#include <span>
#include <vector>

#include "lifetime/lives.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// Bytes of one tensor of the arena, the source, that the same tensors repeat.
struct Part {
  TensorId source = 0;
  Bytes size = 0;                   ///< As planned.
  std::vector<TensorId> tensors{};  ///< All that have these bytes, with the source.
};

/// Parts of all tensors. A byte is in one part, even if several tensors have it; see order_parts.cc.
struct Parts {
  std::vector<Part> parts{};
  std::vector<std::vector<std::size_t>> of_tensor{};  ///< Per tensor: its parts.
  std::vector<bool> is_computed{};                    ///< Per tensor: it repeats no other.
};

/// An aliasing mode: what may share bytes.
struct SharingWorld {
  bool may_overwrite = true;  ///< Operators may write over what they read.
  std::vector<std::vector<bool>>
      may_pass_on{};  ///< Per subgraph and operator: its outputs may repeat its inputs.
};

/// `operators` are those that run, in any valid order.
[[nodiscard]] Parts parts_of(const Graph& graph, std::span<const lifetime::OperatorId> operators,
                             const std::vector<lifetime::Residence>& residences, const SharingWorld& world,
                             Bytes alignment);

}  // namespace stowage::plan
