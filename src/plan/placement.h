#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// Places of the buffers of several clocks, and proven bounds.
struct Placement {
  std::vector<Place> places{};  ///< One per buffer.
  std::vector<SlotPool> slots{};
  std::vector<Tuning> tunings{};
  Bytes lower_bound = 0;                ///< With one memory: the bound that a strategy has proven.
  std::vector<Position> certificate{};  ///< Of that bound; see Solution.
  std::int64_t cost_bound = 0;          ///< With several memories: no choice costs less.
  std::string strategy{};               ///< The strategies that found it, joined with '+'.
  bool interrupted = false;
};

/// The placement that one call to `solve` has found, in that many memories.
[[nodiscard]] Placement placement_of(Solution solution, std::size_t memories);

/// Places buffers of all clocks in shared memories; see placement.cc. Throws as `solve` does.
[[nodiscard]] Placement place(std::span<const Buffer> buffers, std::span<const Clock> clocks,
                              const std::vector<Memory>& memories, const SolveOptions& options,
                              const base::Deadline& deadline);

}  // namespace stowage::plan
