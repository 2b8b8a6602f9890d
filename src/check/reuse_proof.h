#pragma once

#include <cstdint>

#include "stowage/problem.h"

namespace stowage::check {

/// What became of a proof.
struct ProofCheck {
  bool is_wrong = false;
  bool is_open = false;   ///< It takes more steps.
  std::int64_t cost = 0;  ///< That no placement is below, if it is neither.
};

/// Whether two buffers are live at the same time.
[[nodiscard]] bool live_together(const Problem& problem, std::size_t a, std::size_t b);

/// Checks `searched` and `cliques`.
[[nodiscard]] ProofCheck check_cost(const Problem& problem, const ReuseProof& proof, std::int64_t steps);

/// Checks `too_many`. If that is empty there is nothing wrong, and it proves nothing.
[[nodiscard]] ProofCheck check_no_fit(const Problem& problem, const ReuseProof& proof, std::int64_t steps);

}  // namespace stowage::check
