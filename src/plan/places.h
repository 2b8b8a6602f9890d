#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "stowage/import.h"
#include "stowage/options.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// A tensor of a network, and where it shall be.
struct GivenPlace {
  TensorId tensor = 0;
  std::size_t memory = 0;  ///< Among those for tensors that change.
  std::optional<Bytes> offset{};
};

/// The memories for tensors that change: at least one.
[[nodiscard]] std::vector<Memory> working_memories(const PlanOptions& options);

/// What the options say of the tensors of one of the networks. Throws UsageError for a memory or a tensor that is not
/// there.
[[nodiscard]] std::vector<GivenPlace> places_of(std::span<const Input> inputs, std::size_t model,
                                                const PlanOptions& options);

/// Restricts the buffers of these tensors to their places. Throws UsageError if two of them lie in one buffer and cannot be where
/// they shall be.
void assign_places(std::span<const GivenPlace> places, std::span<const PlannedTensor> tensors,
                   std::span<Buffer> buffers);

/// Throws UsageError for a tensor that has no bytes in the plan, or an offset in a branch.
void expect_placed(std::span<const GivenPlace> places, std::span<const PlannedTensor> tensors,
                   std::span<const Buffer> buffers);

}  // namespace stowage::plan
