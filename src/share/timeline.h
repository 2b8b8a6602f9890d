#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/clock_tree.h"
#include "stowage/plan.h"

namespace stowage::share {

/// A model, or several that run one after the other or at the same time.
struct RunExpression {
  enum class Kind { model, sequence, parallel };

  Kind kind = Kind::model;
  std::size_t model = 0;               ///< Index among the names, for Kind::model.
  std::vector<RunExpression> parts{};  ///< At least two, none of the same kind, for the other kinds.
};

/// Reads `A; (B | C; D)`: `;` is one after the other, `|` at the same time and binds tighter. A name that
/// holds one of `;|()` or begins or ends with a blank stands in quotes, single or double. An empty text is
/// all models one after the other. Throws UsageError, naming the place, unless every model comes once.
[[nodiscard]] RunExpression parse_run_expression(std::string_view text, std::span<const std::string> names);

/// Steps [begin, end) of a clock.
struct Stage {
  std::size_t clock = 0;
  Position begin = 0;
  Position end = 0;
};

using model::Moment;

/// When several models run: clocks, a model's steps together on one of them. Clock 0 is the root, every other
/// one is a branch of a fork.
class Timeline {
 public:
  /// `steps_of` has the steps of each model.
  Timeline(const RunExpression& expression, std::vector<Clock> steps_of);

  [[nodiscard]] const std::vector<Clock>& clocks() const { return clocks_; }
  [[nodiscard]] const Stage& stage_of(std::size_t model) const { return stages_[model]; }
  /// The fork that a clock is a branch of; none for the root.
  [[nodiscard]] const std::optional<Moment>& fork_of(std::size_t clock) const { return tree_.fork_of(clock); }

  /// The innermost clock that both are on, or on branches of.
  [[nodiscard]] std::size_t common_clock(std::size_t a, std::size_t b) const {
    return tree_.common_clock(a, b);
  }
  /// Where a clock ends, a model without steps at its end included; at least 1.
  [[nodiscard]] Position end_of(std::size_t clock) const { return tree_.end_of(clock); }
  /// The clock on which that is kept until everything has run that is on `clock`: the outermost one on which
  /// anything comes after the fork, or the clock itself.
  [[nodiscard]] std::size_t lasting_clock(std::size_t clock) const;
  /// Where a position of `clock`, or of a branch somewhere in it, is on `clock`.
  [[nodiscard]] Position position_on(std::size_t clock, Moment moment) const;
  /// Whether model `a` is done before model `b` begins.
  [[nodiscard]] bool runs_before(std::size_t a, std::size_t b) const;

 private:
  void add(const RunExpression& part, std::size_t clock);

  std::vector<Clock> steps_of_;
  std::vector<Clock> clocks_;
  model::ClockTree tree_;
  std::vector<Stage> stages_;
  std::vector<std::size_t> ranks_;  ///< Per model: its place in the expression.
  std::size_t placed_ = 0;
};

}  // namespace stowage::share
