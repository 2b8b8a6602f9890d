#pragma once

#include <optional>
#include <span>
#include <vector>

#include "case.h"
#include "facts.h"
#include "stowage/plan.h"

namespace stowage::campaign {

/// Compares the plan's numbers with what is counted again: peaks, bounds, claims, alignments, who is where.
[[nodiscard]] Findings check_ledger(const Networks& networks, const PlanResult& result,
                                    const PlanOptions& options);

/// Bytes that two buffers hold at the same time, and offsets that break an alignment.
[[nodiscard]] Findings overlaps_of(const Plan& plan);

/// Whether two clocks' positions can be the same moment. Buffers of branches are alive in one position of the
/// clock that forks them.
class Moments {
 public:
  explicit Moments(const Plan& plan);
  [[nodiscard]] bool meet(std::size_t one, const Lifetime& life, std::size_t other,
                          const Lifetime& other_life) const;

 private:
  struct Parent {
    std::size_t clock = 0;
    Position at = 0;
  };
  /// The clock and all around it, with the position that it has in each.
  [[nodiscard]] std::vector<Parent> ancestors(std::size_t clock) const;

  std::vector<std::optional<Parent>> parents_;
};

}  // namespace stowage::campaign
