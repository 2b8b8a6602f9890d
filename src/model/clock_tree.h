#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stowage/plan.h"

namespace stowage::model {

/// A position of a clock.
struct Moment {
  std::size_t clock = 0;
  Position at = 0;
};

/// A stretch of time on a clock.
struct Stretch {
  std::size_t clock = 0;
  Lifetime life{};
};

/// For every clock reachable from the root, parents first, its number and its depth. All forks and pauses must be of
/// existing clocks, each of them of one clock at most.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> clocks_from_root(
    std::span<const Clock> clocks);

/// A clock that another one runs, and the positions at which it does: one of a fork, any number of pauses.
struct Branch {
  std::size_t clock = 0;
  std::vector<Position> at{};
  bool is_at_pauses = false;
};

/// The branches of a clock, in the order in which its steps name them first.
[[nodiscard]] std::vector<Branch> branches_of(const Clock& clock);

/// The forks of clocks. Every clock but the root is forked by one step, or by pauses of one clock, and the root leads to
/// all of them. A clock that runs at pauses is seen as running from the first of them to the last.
class ClockTree {
 public:
  explicit ClockTree(std::span<const Clock> clocks);

  /// Extends the clock to the end of a stretch: a model without steps may come after the last step.
  void stretch(const Stretch& stretch);

  [[nodiscard]] std::size_t size() const { return forks_.size(); }
  /// The clock's end; a clock without steps counts as one position long.
  [[nodiscard]] Position end_of(std::size_t clock) const { return ends_[clock]; }
  /// When the clock runs, on the clock that forks it; none for the root.
  [[nodiscard]] const std::optional<Stretch>& fork_of(std::size_t clock) const { return forks_[clock]; }
  /// The positions of its fork, or of its pauses; none for the root.
  [[nodiscard]] std::span<const Position> positions_of(std::size_t clock) const { return positions_[clock]; }
  [[nodiscard]] bool is_at_pauses(std::size_t clock) const { return is_at_pauses_[clock]; }
  /// The clock, or the innermost one around it, that runs at pauses; none if there is no such.
  [[nodiscard]] std::optional<std::size_t> pausing_clock(std::size_t clock) const;
  /// When the caller has everything that the clock leaves: at the end of `pausing_clock`, or of the root.
  [[nodiscard]] Moment end_around(std::size_t clock) const;
  /// A number larger than that of the clock that forks it.
  [[nodiscard]] std::size_t rank_of(std::size_t clock) const { return ranks_[clock]; }
  [[nodiscard]] std::size_t clock_of_rank(std::size_t rank) const { return order_[rank]; }

  /// The innermost clock that contains both, directly or in branches.
  [[nodiscard]] std::size_t common_clock(std::size_t a, std::size_t b) const;
  /// Whether steps of a clock run during one position of `outer`: it forked them, or it is the same clock.
  [[nodiscard]] bool is_within(std::size_t clock, std::size_t outer) const;
  /// Whether two clocks are in different branches of one fork.
  [[nodiscard]] bool run_at_one_time(std::size_t a, std::size_t b) const;

  /// The stretch as `clock` sees it: a branch is in the position of its fork. None if the stretch is neither
  /// on the clock nor on a branch of it.
  [[nodiscard]] std::optional<Lifetime> seen_from(std::size_t clock, const Stretch& stretch) const;

  /// Whether the first ends before the second begins; never if they are on branches of one fork.
  [[nodiscard]] bool is_before(const Stretch& first, const Stretch& second) const;

  /// The stretches from one moment to another, on every clock in between.
  [[nodiscard]] std::vector<Stretch> between(Moment from, Moment until) const;

  /// "position 3", with its clock if there are several.
  [[nodiscard]] std::string describe(std::size_t clock, Position at) const;

 private:
  std::vector<Position> ends_;
  std::vector<std::optional<Stretch>> forks_;
  std::vector<std::vector<Position>> positions_;
  std::vector<bool> is_at_pauses_;
  std::vector<std::size_t> depths_;  ///< The number of forks above a clock.
  std::vector<std::size_t> ranks_;
  std::vector<std::size_t> order_;  ///< By rank.
};

}  // namespace stowage::model
