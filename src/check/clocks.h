#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "stowage/plan.h"

namespace stowage::check {

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

/// Every clock but the root is forked once, and all of them from the root.
void check_clocks_form(const Plan& plan, Faults& faults);

/// The steps of a model follow each other on one clock. A copy is of the model whose tensor it copies.
void check_models_form(const Plan& plan, Faults& faults);

/// Where the steps of each model are; none for models without steps.
[[nodiscard]] std::vector<std::optional<Stretch>> spans_of(const Plan& plan);

/// Which clock was forked where. The plan's form is sound.
class ClockTree {
 public:
  explicit ClockTree(const Plan& plan);

  /// Has the clock last as long as what stands on it: a model without steps may stand behind the last one.
  void stretch(const Stretch& stretch);

  /// The clock's end; a clock without steps counts as one position long.
  [[nodiscard]] Position end_of(std::size_t clock) const { return ends_[clock]; }
  /// Where the clock is forked; of no meaning for the root.
  [[nodiscard]] const Moment& fork_of(std::size_t clock) const { return forks_[clock]; }
  /// A number that is larger than that of the clock that forks it.
  [[nodiscard]] std::size_t rank_of(std::size_t clock) const { return ranks_[clock]; }
  [[nodiscard]] std::size_t clock_of_rank(std::size_t rank) const { return order_[rank]; }

  /// The stretch as `clock` sees it: a branch is all in the position of its fork. None if the stretch is
  /// not of the clock nor of a branch of it.
  [[nodiscard]] std::optional<Lifetime> seen_from(std::size_t clock, const Stretch& stretch) const;

  /// Whether all of the first is over when the second begins; never if they are on branches of one fork.
  [[nodiscard]] bool is_before(Stretch first, Stretch second) const;

  /// All that passes from one moment up to another, on every clock that it leads through.
  [[nodiscard]] std::vector<Stretch> between(Moment from, Moment until) const;

 private:
  [[nodiscard]] Stretch lifted(const Stretch& stretch) const;

  std::vector<Position> ends_;
  std::vector<Moment> forks_;
  std::vector<std::size_t> depths_;
  std::vector<std::size_t> ranks_;
  std::vector<std::size_t> order_;  ///< By rank.
};

}  // namespace stowage::check
