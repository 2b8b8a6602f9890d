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

/// Some time of a clock.
struct Stretch {
  std::size_t clock = 0;
  Lifetime life{};
};

/// For every clock that the root leads to, those that fork it first, and how deep it is. All forks are of
/// clocks that there are, each forked once at most.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> clocks_from_root(
    std::span<const Clock> clocks);

/// Which clock is forked where. Every clock but the root is forked once, and all of them from the root.
class ClockTree {
 public:
  explicit ClockTree(std::span<const Clock> clocks);

  /// Has the clock last as long as what stands on it: a model without steps may stand behind the last one.
  void stretch(const Stretch& stretch);

  [[nodiscard]] std::size_t size() const { return forks_.size(); }
  /// The clock's end; a clock without steps counts as one position long.
  [[nodiscard]] Position end_of(std::size_t clock) const { return ends_[clock]; }
  /// Where the clock is forked; none for the root.
  [[nodiscard]] const std::optional<Moment>& fork_of(std::size_t clock) const { return forks_[clock]; }
  /// A number that is larger than that of the clock that forks it.
  [[nodiscard]] std::size_t rank_of(std::size_t clock) const { return ranks_[clock]; }
  [[nodiscard]] std::size_t clock_of_rank(std::size_t rank) const { return order_[rank]; }

  /// The innermost clock that both are, or are branches of.
  [[nodiscard]] std::size_t common_clock(std::size_t a, std::size_t b) const;
  /// Whether steps of a clock run while `outer` is at one position: it forked them, or it is the same clock.
  [[nodiscard]] bool is_within(std::size_t clock, std::size_t outer) const;
  /// Whether two clocks are in different branches of one fork.
  [[nodiscard]] bool run_at_one_time(std::size_t a, std::size_t b) const;

  /// The stretch as `clock` sees it: a branch is all in the position of its fork. None if the stretch is
  /// not of the clock nor of a branch of it.
  [[nodiscard]] std::optional<Lifetime> seen_from(std::size_t clock, const Stretch& stretch) const;

  /// Whether all of the first is over when the second begins; never if they are on branches of one fork.
  [[nodiscard]] bool is_before(const Stretch& first, const Stretch& second) const;

  /// All that passes from one moment up to another, on every clock that it leads through.
  [[nodiscard]] std::vector<Stretch> between(Moment from, Moment until) const;

  /// "position 3", with its clock where there are several.
  [[nodiscard]] std::string describe(std::size_t clock, Position at) const;

 private:
  std::vector<Position> ends_;
  std::vector<std::optional<Moment>> forks_;
  std::vector<std::size_t> depths_;  ///< Forks that lead to a clock.
  std::vector<std::size_t> ranks_;
  std::vector<std::size_t> order_;  ///< By rank.
};

}  // namespace stowage::model
