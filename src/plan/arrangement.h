#pragma once

#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "lifetime/lives.h"
#include "plan/context.h"
#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// The cost of a plan, compared member by member. Sharing must not raise it.
struct Cost {
  Outcome outcome = Outcome::fits;
  std::int64_t traffic = 0;  ///< Of several memories: bytes times the cost of the memory they are in.
  Bytes peak = 0;            ///< Sum over memories.

  auto operator<=>(const Cost&) const = default;
};

/// The tensors of a network that share bytes, their buffers, and offsets for the network alone.
struct Arrangement {
  SharesPtr shares{};
  Solution solution{};
  Cost cost{};
};

/// Tensors that networks pass to each other: Residence::feed or arena.
using PassedTensors = std::vector<std::pair<TensorId, lifetime::Residence>>;

/// Decides aliases and offsets of a network in a given order; see arrangement.cc.
[[nodiscard]] Arrangement arrange(const Context& context, const NetworkFacts& network,
                                  const Schedule& schedule, const PassedTensors& passed,
                                  const base::Deadline& deadline);

/// Buffers and memories as a problem. Each memory is at least as strictly aligned as every buffer.
[[nodiscard]] Problem problem_of(std::vector<Buffer> buffers, const std::vector<Memory>& memories);

/// Like `solve`, but keeps a bound only if the checker can verify it in acceptable time. Otherwise the bound
/// is that of live bytes.
[[nodiscard]] Solution solve_provably(const Problem& problem, const SolveOptions& options,
                                      const base::Deadline& deadline);

/// Sum of the peaks of all memories.
[[nodiscard]] Bytes total_peak(const Problem& problem, const Solution& solution);

}  // namespace stowage::plan
