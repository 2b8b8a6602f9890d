#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stowage/plan.h"
#include "stowage/units.h"

namespace stowage::generate {

/// The memory of a stay of a constant that is not staged.
inline constexpr std::size_t memory_of_weights = static_cast<std::size_t>(-1);

/// Where rows are until the step at that position.
struct Stay {
  Position until = 0;
  std::size_t memory = 0;
  Bytes at = 0;  ///< 0 in the memory for weights.

  bool operator==(const Stay&) const = default;
};

/// The stays of a tensor whose rows are in several memories, one after the other. A copy that a plan makes brings rows
/// from one stay to the next.
struct MovingRows {
  std::optional<std::size_t> axis{};  ///< None: the tensor is one row.
  std::int64_t rows = 1;
  std::int64_t granule = 1;  ///< Rows of a block, which follow each other and move together.
  Bytes row_bytes = 0;
  std::vector<std::vector<Stay>> blocks{};
};

/// Requires a planned tensor with places. `granule` is that of the plan's steps. Throws Misplaced if its rows have two
/// places at a time, or if a copy brings rows where they are not used next.
[[nodiscard]] MovingRows moving_rows(const Plan& plan, std::size_t tensor, std::int64_t granule);

/// The stays of a constant that the plan copies as a whole into memories for tensors that change; between these it is in
/// the memory for weights. None if the plan does not, or copies parts of it.
[[nodiscard]] std::optional<MovingRows> staged_rows(const Plan& plan, std::size_t tensor);

}  // namespace stowage::generate
