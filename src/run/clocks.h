#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "stowage/plan.h"

namespace stowage::run {

/// How the clocks of a plan hang together.
class ClockTree {
 public:
  /// Throws RunFault unless every clock but the root is forked once, by one that the root leads to.
  explicit ClockTree(const Plan& plan);

  /// Who forks a clock, and at which of its positions.
  struct Origin {
    std::size_t clock = 0;
    Position at = 0;
  };

  [[nodiscard]] std::size_t size() const { return origins_.size(); }
  /// None for the root.
  [[nodiscard]] const std::optional<Origin>& origin_of(std::size_t clock) const { return origins_[clock]; }
  /// Whether steps of a clock run while `outer` is at one position: it forked them, or it is the same clock.
  [[nodiscard]] bool is_within(std::size_t clock, std::size_t outer) const;
  /// Whether two clocks are in different branches of one fork.
  [[nodiscard]] bool run_at_one_time(std::size_t a, std::size_t b) const;
  /// "position 3", with its clock where there are several.
  [[nodiscard]] std::string describe(std::size_t clock, Position at) const;

 private:
  std::vector<std::optional<Origin>> origins_{};
  std::vector<std::size_t> depths_{};  ///< Forks that lead to a clock.
};

}  // namespace stowage::run
