#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage::plan {

/// Where the buffers of several clocks are, and what is proven of that.
struct Placement {
  std::vector<Place> places{};  ///< One per buffer.
  std::vector<SlotPool> slots{};
  Bytes lower_bound = 0;  ///< Of one memory: what a strategy has proven, beyond what loads show.
  std::vector<Position> certificate{};  ///< Of that; see Solution.
  std::int64_t cost_bound = 0;          ///< Of several memories: no choice among them costs less.
  std::string strategy{};               ///< Those that found it, if several then with '+' between them.
  bool interrupted = false;
};

/// Of buffers that one call to `solve` has placed, in that many memories.
[[nodiscard]] Placement placement_of(Solution solution, std::size_t memories);

/// Places buffers of all clocks in memories that they share; see placement.cc. Throws as `solve` does.
[[nodiscard]] Placement place(std::span<const Buffer> buffers, std::span<const Clock> clocks,
                              const std::vector<Memory>& memories, const SolveOptions& options);

}  // namespace stowage::plan
