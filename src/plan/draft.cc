// Derives the numbers of a plan from its buffers, their places and proven bounds. Lists, networks and rows
// are treated alike:
//
//     peak      of a memory: the highest end of a buffer or of a pool of slots
//     bound     live bytes in a memory, or a higher bound that a strategy has proven
//     naive     each tensor of the arena in memory of its own
//     cost      of several memories: bytes read and written, times the cost of the memory
//
// Cost: n log n in pieces.

#include "plan/draft.h"

#include <algorithm>

#include "base/checked.h"
#include "plan/extent.h"
#include "stowage/error.h"

namespace stowage::plan {
namespace {

class Finisher {
 public:
  Finisher(Draft draft, const std::vector<Memory>& memories)
      : draft_(std::move(draft)), plan_(draft_.plan), placement_(draft_.placement) {
    for (const Memory& memory : memories) {
      if (memory.role == MemoryRole::working) index_of_.push_back(plan_.memories.size());
      plan_.memories.push_back({.memory = memory});
    }
  }

  Plan result() {
    measure_memories();
    move_places();
    summarize();
    note_claims();
    return std::move(plan_);
  }

 private:
  /// Peak and bound of each memory for tensors that change. Places number only these memories.
  void measure_memories() {
    const auto extents = extents_of(plan_.buffers, placement_.places, plan_.clocks, index_of_.size());
    for (std::size_t m = 0; m < index_of_.size(); ++m) {
      PlannedMemory& memory = plan_.memories[index_of_[m]];
      memory.peak = extents[m].peak;
      for (const SlotPool& pool : placement_.slots) {
        if (pool.place.memory == m) memory.peak = std::max(memory.peak, pool.end());
      }
      memory.lower_bound = std::max(extents[m].bound, placement_.lower_bound);
      if (placement_.lower_bound > extents[m].bound) memory.certificate = placement_.certificate;
    }
  }

  void move_places() {
    plan_.places = std::move(placement_.places);
    plan_.slots = std::move(placement_.slots);
    plan_.tunings = std::move(placement_.tunings);
    for (SlotPool& pool : plan_.slots) pool.place.memory = index_of_[pool.place.memory];
    Bytes alignment = 1;
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      plan_.places[b].memory = index_of_[plan_.places[b].memory];
      Bytes& traffic = plan_.memories[plan_.places[b].memory].traffic;
      traffic = base::checked_add(traffic, plan_.buffers[b].traffic).value_or(largest_value);
      alignment = std::max(alignment, plan_.buffers[b].alignment);
    }
    for (PlannedMemory& memory : plan_.memories)
      memory.memory.alignment = std::max(memory.memory.alignment, alignment);
  }

  void summarize() {
    Summary& summary = plan_.summary;
    summary = {.naive = naive_size(), .strategy = placement_.strategy, .order = draft_.order};
    for (const PlannedMemory& memory : plan_.memories) {
      summary.peak += memory.peak;
      summary.lower_bound += memory.lower_bound;
    }
    if (index_of_.size() > 1) note_cost();
    plan_.interrupted = plan_.interrupted || placement_.interrupted;
  }

  [[nodiscard]] Bytes naive_size() const {
    Bytes naive = 0;
    if (plan_.tensors.empty()) {
      for (const Buffer& buffer : plan_.buffers) naive += buffer.size;
    }
    for (const PlannedTensor& tensor : plan_.tensors) {
      if (tensor.views.empty() || is_constant(tensor.tensor.kind)) continue;
      naive += base::align_up(tensor.tensor.bytes, draft_.alignments.at(tensor.model));
    }
    return naive;
  }

  /// The cost of the choice among several memories.
  void note_cost() {
    std::int64_t& cost = plan_.summary.cost;
    for (const PlannedMemory& memory : plan_.memories) {
      const auto its_cost = base::checked_multiply(memory.traffic, memory.memory.cost);
      const auto sum = its_cost ? base::checked_add(cost, *its_cost) : std::nullopt;
      if (!sum) throw Error("", "the cost of all reads and writes overflows");
      cost = *sum;
    }
    plan_.summary.cost_bound = std::min(placement_.cost_bound, cost);
  }

  void note_claims() {
    const Bytes peak = plan_.summary.peak;
    plan_.claims = {{ClaimScope::offsets, plan_.summary.lower_bound, peak == plan_.summary.lower_bound}};
    if (index_of_.size() > 1)
      draft_.bounds.emplace_back(ClaimScope::memories, most_live_bytes(plan_.buffers, plan_.clocks));
    for (const auto& [scope, bound] : draft_.bounds) plan_.claims.push_back({scope, bound, bound == peak});
  }

  Draft draft_;
  Plan& plan_;
  Placement& placement_;
  std::vector<std::size_t> index_of_;  ///< In the plan, of memories for tensors that change.
};

}  // namespace

Plan finish(Draft draft, const std::vector<Memory>& memories) {
  return Finisher(std::move(draft), memories).result();
}

void renew_peaks(Plan& plan) {
  const auto works = [](const PlannedMemory& it) { return it.memory.role == MemoryRole::working; };
  for (PlannedMemory& memory : plan.memories) {
    if (works(memory)) memory.peak = 0;
  }
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    PlannedMemory& memory = plan.memories[plan.places[b].memory];
    if (works(memory)) memory.peak = std::max(memory.peak, plan.places[b].offset + plan.buffers[b].size);
  }
  plan.summary.peak = 0;
  for (const PlannedMemory& memory : plan.memories) plan.summary.peak += works(memory) ? memory.peak : 0;
  if (plan.savings) {
    plan.savings->working.shared = plan.summary.peak;
    if (plan.models.size() == 1) plan.savings->working.separate = plan.summary.peak;
  }
  for (Claim& claim : plan.claims) claim.proven_optimal = claim.lower_bound == plan.summary.peak;
}

Outcome outcome_of(const Plan& plan) {
  const auto is_too_small = [](const PlannedMemory& memory) {
    return memory.peak > memory.memory.capacity.value_or(largest_value);
  };
  return std::any_of(plan.memories.begin(), plan.memories.end(), is_too_small) ? Outcome::exceeds_capacity
                                                                               : Outcome::fits;
}

}  // namespace stowage::plan
