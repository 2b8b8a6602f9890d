#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pack/placing.h"
#include "plan/row_placing.h"
#include "stowage/import.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// The memories that rows and weights compete for.
struct MemoriesOfRows {
  std::vector<Memory> working{};     ///< For tensors that change, the fastest first.
  std::optional<Memory> weights{};   ///< From which they can be staged.
  std::int64_t cost_of_weights = 0;  ///< Of a byte that steps read there.
};

/// What the rows of an input cost at least in these memories, reads of weights included, wherever they lie and move; see
/// row_costs.cc. None: nothing is known.
[[nodiscard]] std::optional<std::int64_t> least_cost_of(const Input& input, const PlacedRows& rows,
                                                        const MemoriesOfRows& memories,
                                                        const pack::Control& control);

}  // namespace stowage::plan
