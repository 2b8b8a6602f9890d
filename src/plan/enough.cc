// The given plan fits a memory as large as its peak there. With one working memory this size is the
// answer: the plan itself fits it. With several, their sizes decide which memory holds a buffer. So
// bisection finds the smallest size that fits, and plans with each size that it tries.
//
// Cost: one plan, or about log2(peak / alignment) plans within the time limit.

#include "plan/enough.h"

#include <algorithm>

#include "base/deadline.h"

namespace stowage::plan {
namespace {

/// The slowest memory that is too small, by index in the plan.
std::optional<std::size_t> exceeded_memory(const Plan& plan) {
  for (std::size_t m = plan.memories.size(); m-- > 0;) {
    if (plan.memories[m].peak > plan.memories[m].memory.capacity.value_or(largest_value)) return m;
  }
  return std::nullopt;
}

/// A size that suffices for the contents of all memories of a role, since the others may be too small, too.
Bytes large_size(const Plan& plan, MemoryRole role) {
  Bytes sum = 0;
  for (const PlannedMemory& memory : plan.memories) {
    if (memory.memory.role == role) sum += memory.peak;
  }
  return sum;
}

class Search {
 public:
  Search(const PlanResult& missed, const PlanOptions& options, const MakePlan& make, const Memory& memory)
      : missed_(missed), options_(options), make_(make), memory_(memory), deadline_(limit()) {}

  std::optional<Memory> find(Bytes large) {
    if (!fits(large)) return std::nullopt;
    Bytes enough = large;
    const auto works = [](const PlannedMemory& memory) { return memory.memory.role == MemoryRole::working; };
    const auto& memories = missed_.plan.memories;
    const bool is_chosen =
        memory_.role == MemoryRole::working && std::count_if(memories.begin(), memories.end(), works) > 1;
    Bytes too_small = memory_.capacity.value_or(0);
    while (is_chosen && enough - too_small > memory_.alignment && !deadline_.is_over()) {
      const Bytes middle = too_small + (enough - too_small) / 2;
      (fits(middle) ? enough : too_small) = middle;
    }
    Memory result = memory_;
    result.capacity = enough;
    return result;
  }

 private:
  /// An effort is the limit of each plan; the number of plans is limited, too.
  [[nodiscard]] base::Deadline limit() const {
    return options_.solve.effort ? base::Deadline() : base::Deadline(options_.solve.time_limit);
  }

  [[nodiscard]] bool fits(Bytes capacity) const {
    if (options_.solve.stop.stop_requested()) return false;
    PlanOptions options = options_;
    for (Memory& memory : options.memories) {
      if (memory.name == memory_.name) memory.capacity = capacity;
    }
    return make_(options).outcome == Outcome::fits;
  }

  const PlanResult& missed_;
  const PlanOptions& options_;
  const MakePlan& make_;
  const Memory& memory_;
  base::Deadline deadline_;
};

}  // namespace

std::optional<Memory> enough_memory(const PlanResult& missed, const PlanOptions& options,
                                    const MakePlan& make) {
  const auto exceeded = exceeded_memory(missed.plan);
  if (!exceeded) return std::nullopt;
  const PlannedMemory& memory = missed.plan.memories[*exceeded];
  return Search(missed, options, make, memory.memory).find(large_size(missed.plan, memory.memory.role));
}

}  // namespace stowage::plan
