#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pack/placing.h"
#include "plan/weight_reads.h"
#include "stowage/plan.h"
#include "stowage/problem.h"
#include "stream/timetable.h"

namespace stowage::plan {

/// What moving rows has come to.
struct RowMoves {
  std::int64_t cost_bound = 0;  ///< No choice of memories and moves costs less, in this order of these rows.
  bool is_cut = false;          ///< With more time the plan may cost less.
  std::int64_t weights_cost = 0;  ///< Of the bytes that then are read in the memory for weights.
};

/// The steps that use each buffer, in the order of time; none: nothing is known of them.
using BufferAccesses = std::vector<std::vector<stream::RowAccess>>;

/// Constants in the memory for weights, which steps by rows read again and again.
struct StoredWeights {
  Memory memory{};
  const std::vector<ReadsOfConstant>& reads;  ///< Of each tensor.
};

/// What is soon proven about every choice of moves for such a plan, and what its weights cost if none is staged. Places do
/// not count. None: nothing can be known, or time is up.
[[nodiscard]] std::optional<RowMoves> least_cost_of_moves(const BufferAccesses& accesses,
                                                          const std::vector<Memory>& memories,
                                                          const std::optional<StoredWeights>& weights,
                                                          const pack::Control& control, Plan& plan);

/// Moves rows of a placed plan of one clock between memories where that costs less; see row_moves.cc. Changes steps,
/// buffers, places and views. The cost never rises, and no memory exceeds its capacity. None: nothing can be known or
/// moved. Weights are staged: each copy of one comes from where constants will lie (plan/constants.h).
[[nodiscard]] std::optional<RowMoves> move_rows(const BufferAccesses& accesses,
                                                const std::vector<Memory>& memories,
                                                const std::optional<StoredWeights>& weights,
                                                const pack::Control& control, Plan& plan);

}  // namespace stowage::plan
