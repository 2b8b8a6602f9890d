#pragma once

#include <span>

#include "case.h"
#include "stowage/plan.h"

namespace stowage::campaign {

/// Compares the plan's numbers with what is counted again: peaks, bounds, claims, alignments, who is where.
[[nodiscard]] Findings check_ledger(std::span<const Graph> graphs, const PlanResult& result,
                                    const PlanOptions& options);

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
