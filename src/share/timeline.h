#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/clock_tree.h"
#include "stowage/plan.h"

namespace stowage::share {

/// A model, or several that run one after the other, at the same time, or one between the steps of another.
struct RunExpression {
  enum class Kind { model, sequence, parallel, paused };

  Kind kind = Kind::model;
  std::size_t model = 0;  ///< Index among the names, for Kind::model.
  /// For the other kinds: at least two, none of the same kind. Of `paused` two of any kind but that the first has no
  /// models at the same time.
  std::vector<RunExpression> parts{};
  std::int64_t every = 0;  ///< For Kind::paused: the second runs after at most so many steps of the first.
};

/// Reads `A; (B | C ^20 D)`: `;` means one after the other, `|` means at the same time and binds tighter, `^20` means
/// between steps, after at most 20 of them, and binds tightest. A name that contains one of `;|()^` or begins or ends
/// with a blank needs quotes, single or double. An empty text means all models one after the other. Throws UsageError,
/// naming the place, unless every model comes once.
[[nodiscard]] RunExpression parse_run_expression(std::string_view text, std::span<const std::string> names);

/// Steps [begin, end) of a clock.
struct Stage {
  std::size_t clock = 0;
  Position begin = 0;
  Position end = 0;
};

using model::Moment;

/// Models that run at pauses, between the steps of others.
struct Paused {
  std::size_t clock = 0;   ///< Of those that run at the pauses.
  std::int64_t every = 1;  ///< At most so many steps from one pause to the next.
  Stage between{};         ///< Where the steps of the others are. The only pause so far is just before them.
};

/// When several models run: clocks, with all steps of a model on one of them. Clock 0 is the root; every
/// other clock is a branch of a fork, or runs at pauses.
class Timeline {
 public:
  /// `steps_of` has the steps of each model.
  Timeline(const RunExpression& expression, std::vector<Clock> steps_of);

  [[nodiscard]] const std::vector<Clock>& clocks() const& { return clocks_; }
  [[nodiscard]] std::vector<Clock> clocks() && { return std::move(clocks_); }
  [[nodiscard]] const Stage& stage_of(std::size_t model) const { return stages_[model]; }
  /// Those that run at pauses. Which pauses, is chosen later (plan/pauses.h).
  [[nodiscard]] const std::vector<Paused>& paused() const { return paused_; }
  /// Whether a clock is that of `paused` or within it.
  [[nodiscard]] bool is_within(std::size_t clock, const Paused& paused) const {
    return tree_.is_within(clock, paused.clock);
  }
  /// Whether pauses part them: one of the models runs there and the other does not.
  [[nodiscard]] bool are_parted(std::size_t a, std::size_t b) const;
  /// The innermost clock that contains both, directly or in branches.
  [[nodiscard]] std::size_t common_clock(std::size_t a, std::size_t b) const {
    return tree_.common_clock(a, b);
  }
  /// The end of a clock, including a model without steps at its end; at least 1.
  [[nodiscard]] Position end_of(std::size_t clock) const { return tree_.end_of(clock); }
  /// The clock that keeps bytes of `clock` until everything has run: the outermost one with anything after
  /// the fork, or `clock` itself. Nothing is kept behind a pause.
  [[nodiscard]] std::size_t lasting_clock(std::size_t clock) const;
  /// The position on `clock` of a moment on it or on a branch in it.
  [[nodiscard]] Position position_on(std::size_t clock, Moment moment) const;
  /// The place of a model in the run expression.
  [[nodiscard]] std::size_t rank_of(std::size_t model) const { return ranks_[model]; }
  /// Whether model `a` is done before model `b` begins.
  [[nodiscard]] bool runs_before(std::size_t a, std::size_t b) const;

 private:
  void add(const RunExpression& part, std::size_t clock);

  std::vector<Clock> steps_of_;
  std::vector<Clock> clocks_;
  model::ClockTree tree_;
  std::vector<Stage> stages_;
  std::vector<Paused> paused_;
  std::vector<std::size_t> ranks_;  ///< Per model: its place in the expression.
  std::size_t placed_ = 0;
};

}  // namespace stowage::share
