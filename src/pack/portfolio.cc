// The portfolio: the best result of several strategies. shares.h has the shares of the time.
//
// Few buffers. The strategies run one after the other, in the order of the table. The first has no fallback,
// so the deadline cannot end it before it has a placing. Single passes take microseconds.
//
// Many buffers in one memory. `free-list` ends whatever the deadline; only the user can cut it. Any pass may overrun the
// deadline, so the cheapest come first. Single passes
// run in parallel on all threads; each stops once it is as high as another's placing. The searches, which use
// all threads themselves, follow one by one. `from-peak` is one of them; it is at max load on most large real
// lists before the longer passes would be done. So it comes before these, with half of the time, unless the
// time is short. Where the lowest placing is then within 5 % of the bound, the longer passes are left out. On
// none of the 13 lists of bench/journal.md where from-peak comes so near was one of the longer passes lower, and
// with a million buffers they take 2 s.
//
//     thread 1   free-list | best-fit | from-peak | area     | breadth   |   | ejection, exact,
//     thread 2   first-fit |          |           | duration | size      |   | rectangle
//
// Two searches are rivals: `exact` comes first for few buffers, `ejection` for many. Each begins with a
// twentieth of the time. If the second then lowers what the first has found, the first has a long turn and
// the second all the rest; otherwise the first has all the rest. Whoever ends before the time is over leaves
// the rest to the other. `rectangle` has a short turn before the last. Turns are few, since what a search
// learns is lost between them. Each begins from the lowest placing known, with other random numbers.
//
//     few buffers     exact | ejection | exact        | rectangle | ejection            e.g. J
//                     exact | ejection | rectangle | exact                              e.g. D-both
//
// Microseconds of one thread per buffer, with bounds and checks, which take 0.5: on S_1 (28 526 buffers), 10^5
// generated ones and 62 185 of perturbed copies of pangu_2.6B:
//
//     first-fit  0.9 0.6 0.9     area       3.8 2.2 3.0     breadth    6.0 2.2 3.9
//     best-fit   0.9 0.6 0.9     duration   2.8 2.2 3.2     size       5.8 2.0 2.7
//     free-list  0.6 0.5 0.6
//
// Where there are runs of rows, `rings` comes after `free-list`. It takes 2 to 4 microseconds a buffer.
//
// `auto` does not run two-stack and slots: on 143 lists (minimalloc's, idealloc's, and those that bench/instances/make.py
// writes), with an effort of 300 each, neither is ever the lowest, not even among passes. Nor is free-list alone: `auto`
// runs it where a fallback is needed.
//
// With an effort instead of a time limit, passes run one after the other, so that the clock does not depend on
// which thread is first.
//
// The result does not depend on the threads unless the clock stops a strategy. The lowest placing wins, of
// equal ones the strategy that comes first in the order. A strategy is given up only if it cannot win any
// more.

#include "pack/portfolio.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "base/side_by_side.h"
#include "base/text.h"
#include "pack/bounds.h"
#include "pack/container.h"
#include "pack/placing.h"
#include "pack/shares.h"

namespace stowage::pack {
namespace {

/// The strategy that provides the fallback plan.
const Strategy& stopgap() {
  return *std::find_if(packers().begin(), packers().end(),
                       [](const Strategy& it) { return it.turn.is_stopgap; });
}

constexpr std::uint64_t seed_of_turns = 0x5bd1e995;

/// From so many buffers on a strategy may overrun the deadline.
constexpr std::size_t many = 1000;
/// Where a placing is above the bound by at most this part of it, the longer passes are left out.
constexpr double near_bound = 0.05;

/// The strategies that run for one solution, and the best placing so far.
class Contest {
 public:
  Contest(const Problem& problem, std::span<const Strategy* const> chosen, const Control& control)
      : problem_(problem),
        control_(control),
        has_one_memory_(problem.memories.size() == 1),
        has_many_(problem.buffers.size() >= many),
        is_choice_(chosen.size() > 1),
        order_(chosen.begin(), chosen.end()),
        bound_(has_one_memory_ ? lower_bound_of(problem.buffers) : 0) {
    if (is_choice_ && has_one_memory_ && !has_many_)
      std::erase_if(order_, [](const Strategy* it) { return it->turn.is_stopgap; });
    if (runs_side_by_side()) line_up();
    ceilings_ = std::vector<std::atomic<Bytes>>(order_.size());
    for (std::atomic<Bytes>& ceiling : ceilings_) ceiling = unreached;
    was_cut_.assign(order_.size(), 0);
  }

  void run() {
    while (next_ < order_.size()) {
      if (runs_side_by_side() && !order_[next_]->turn.is_alone) {
        run_passes();
      } else if (are_rivals_next()) {
        race();
      } else {
        enter({next_++, last_ ? std::optional(shares::before_last) : std::nullopt});
      }
    }
    if (last_) enter_last();
    // Every strategy returned without a placing because the user stopped it.
    if (!standing_)
      keep({order_.size()}, stopgap(),
           stopgap().run(problem_, {control_.options, base::Deadline(control_.options.stop)}));
  }

  [[nodiscard]] Solution result() {
    const Score& score = standing_->score;
    best_.lower_bound = bound_;
    if (!has_one_memory_) {
      for (const Bytes part : lower_bounds_of(problem_, best_)) best_.lower_bound += part;
      best_.cost = score.cost;
      best_.cost_bound = std::min(cost_bound_, best_.cost);
    }
    const bool was_any_cut = std::ranges::any_of(was_cut_, [](char it) { return it != 0; });
    best_.interrupted = (is_interrupted_ || was_any_cut) && !is_optimal();
    if (score.excess > 0) best_.outcome = Outcome::exceeds_capacity;
    return std::move(best_);
  }

 private:
  static constexpr Bytes unreached = std::numeric_limits<Bytes>::max();

  /// The quality of a placing: less is better.
  struct Standing {
    /// True for a fallback that was not requested, and for any incomplete result next to it.
    bool is_makeshift = false;
    Score score{};
    std::size_t entrant = 0;

    auto operator<=>(const Standing&) const = default;
  };

  [[nodiscard]] bool runs_side_by_side() const { return has_many_ && has_one_memory_; }

  /// A strategy, and how it takes its turn.
  struct Entry {
    std::size_t entrant = 0;
    std::optional<double> share{};  ///< Of the time that is left, instead of the share of its turn.
    std::uint64_t turn = 0;         ///< Each turn of a strategy has other random numbers.
  };

  /// Two rivals, of which at least one was cut short.
  struct LastTurns {
    std::size_t favourite = 0;
    std::size_t other = 0;
  };

  /// Obstacles come last, since they take time to find.
  [[nodiscard]] bool are_rivals_next() const {
    if (!is_choice_ || !has_one_memory_ || next_ + 1 >= order_.size()) return false;
    const Strategy& one = *order_[next_];
    const Strategy& other = *order_[next_ + 1];
    if (!one.turn.is_rival || !other.turn.is_rival) return false;
    return may_win(next_) && !control_.is_time_up() && serves(one) && serves(other);
  }

  /// Whether a placing could still be lower than the best.
  [[nodiscard]] bool may_win(std::size_t entrant) const {
    return !has_one_memory_ || ceilings_[entrant] > bound_;
  }

  /// Probes of the next two. If the second finds a lower placing than the first, the first has a turn, and the
  /// second the last turn of all. Otherwise the first has that.
  void race() {
    const std::array<std::size_t, 2> rivals{next_, next_ + 1};
    next_ += rivals.size();
    for (const std::size_t rival : rivals) enter({rival, shares::probe, 1});
    const bool goes_on = standing_ && standing_->entrant == rivals[1];
    if (goes_on && was_cut_[rivals[0]] != 0) enter({rivals[0], shares::first});
    const std::size_t favourite = goes_on ? rivals[1] : rivals[0];
    const std::size_t other = goes_on ? rivals[0] : rivals[1];
    if (was_cut_[favourite] != 0 || was_cut_[other] != 0) last_ = LastTurns{favourite, other};
  }

  /// The favourite has all the time. If it ends before, the other rival has what is left.
  void enter_last() {
    for (const std::size_t rival : {last_->favourite, last_->other})
      if (was_cut_[rival] != 0) enter({rival, 1, 2});
  }

  void line_up() {
    const auto is_stopgap = [](const Strategy* it) { return it->turn.is_stopgap; };
    has_makeshift_ = std::none_of(order_.begin(), order_.end(), is_stopgap);
    if (has_makeshift_) order_.push_back(&stopgap());
    const double left = 1e9 * control_.deadline.left().count();
    const auto place_of = [&](const Strategy* strategy) {
      const Turn& turn = strategy->turn;
      const bool is_late = left < static_cast<double>(turn.least * std::ssize(problem_.buffers));
      return is_late ? turn.of_many_later : turn.of_many;
    };
    std::ranges::stable_sort(order_, {}, place_of);
  }

  /// Runs the strategies up to the next that uses all threads itself, unless a placing is near the bound. Where
  /// work is counted they go one after the other: what one has spent is the next one's beginning.
  void run_passes() {
    const std::size_t begin = next_;
    while (next_ < order_.size() && !order_[next_]->turn.is_alone) ++next_;
    if (is_choice_ && is_near_bound()) return;
    const std::size_t threads = control_.deadline.counts_work() ? 1 : threads_of(control_.options);
    base::run_side_by_side(begin, next_, threads, [&](std::size_t entrant, std::size_t thread) {
      Control control = control_;
      if (thread != 0) control.options.progress = {};
      enter({entrant}, control);
      return true;
    });
  }

  [[nodiscard]] bool is_near_bound() const {
    if (!standing_ || standing_->is_makeshift) return false;
    const auto gap = static_cast<double>(total_peak(standing_->score) - bound_);
    return gap <= near_bound * static_cast<double>(bound_);
  }

  void enter(const Entry& entry) { enter(entry, control_); }

  /// Runs one of the strategies if it may still be useful.
  void enter(const Entry& entry, Control control) {
    const std::size_t entrant = entry.entrant;
    const Strategy& strategy = *order_[entrant];
    const bool makes_first_plan = has_many_ && strategy.turn.is_stopgap;
    {
      const std::lock_guard lock(mutex_);
      if (!may_win(entrant)) return;
      control.has_plan = standing_ || runs_side_by_side() || makes_first_plan;
      if (standing_ || (runs_side_by_side() && !makes_first_plan)) {
        is_interrupted_ = is_interrupted_ || control.is_time_up();
        if (control.is_time_up()) return;
      }
      // Passes run beside each other, so that the best would depend on chance.
      const bool is_alone = strategy.turn.is_alone || !runs_side_by_side();
      if (has_one_memory_ && is_alone) control.known = best_.places;
    }
    if (has_one_memory_) control.ceiling = &ceilings_[entrant];
    if (is_choice_ && !serves(strategy)) return;  // tested late, since it takes time
    if (makes_first_plan) control.deadline = control.deadline.without_limit();
    control.is_fallback = strategy.turn.is_stopgap && (is_choice_ || has_makeshift_);
    if (is_choice_) control.deadline = control.deadline.part(entry.share.value_or(strategy.turn.share));
    control.options.seed += entry.turn * seed_of_turns;
    if (control.options.progress) {
      control.options.progress = [this](std::string_view what, double fraction) {
        control_.options.progress(with_best(what), fraction);
      };
    }
    keep(entry, strategy, pack::run(strategy, problem_, control));
  }

  /// What is being tried, with the best peak so far and its bound.
  [[nodiscard]] std::string with_best(std::string_view what) {
    const std::lock_guard lock(mutex_);
    if (!standing_) return std::string(what);
    const std::string best = base::concat(what, ", best ", total_peak(standing_->score), " bytes");
    return has_one_memory_ ? base::concat(best, ", bound ", bound_) : best;
  }

  /// Whether the strategy can serve the problem, and suits it.
  [[nodiscard]] bool serves(const Strategy& strategy) const {
    if (strategy.obstacle(problem_)) return false;
    return strategy.turn.suits == nullptr || strategy.turn.suits(problem_);
  }

  void keep(const Entry& entry, const Strategy& strategy, Placing placing) {
    const std::size_t entrant = entry.entrant;
    const std::lock_guard lock(mutex_);
    if (entrant < was_cut_.size()) was_cut_[entrant] = placing.cut_short ? 1 : 0;
    if (placing.places.empty() && !problem_.buffers.empty()) return;
    cost_bound_ = std::max(cost_bound_, placing.cost_bound);
    if (placing.lower_bound > bound_) {
      bound_ = placing.lower_bound;
      best_.certificate = std::move(placing.certificate);
    }
    const bool is_makeshift = has_makeshift_ && (strategy.turn.is_stopgap || placing.cut_short);
    Standing standing{is_makeshift, score_of(problem_, placing.places, placing.slots), entrant};
    if (has_one_memory_ && !is_makeshift) lower_ceilings(standing, placing.is_least);
    if (standing_ && *standing_ < standing) return;
    standing_ = std::move(standing);
    best_.places = std::move(placing.places);
    best_.slots = placing.slots;
    best_.tuning = std::move(placing.tuning);
    best_.strategy = strategy.info.name;
  }

  /// Lowers the peak below which other strategies must stay.
  void lower_ceilings(const Standing& standing, bool is_least) {
    const Bytes peak = total_peak(standing.score);
    for (std::size_t other = 0; other < order_.size(); ++other) {
      if (other == standing.entrant) continue;
      const bool is_of_no_use = has_makeshift_ || (is_least && other > standing.entrant);
      const Bytes ceiling = is_of_no_use ? 0 : other < standing.entrant ? peak + 1 : peak;
      if (ceiling < ceilings_[other]) ceilings_[other] = ceiling;
    }
  }

  /// Whether the proven bounds are reached.
  [[nodiscard]] bool is_optimal() const {
    const Score& score = standing_->score;
    if (total_peak(score) != best_.lower_bound) return false;
    return has_one_memory_ || (score.excess == 0 && score.cost == best_.cost_bound);
  }

  const Problem& problem_;
  const Control& control_;
  const bool has_one_memory_;
  const bool has_many_;
  const bool is_choice_;
  std::vector<const Strategy*> order_;
  bool has_makeshift_ = false;  ///< The fallback was not chosen by the user.
  std::size_t next_ = 0;
  std::vector<std::atomic<Bytes>> ceilings_;  ///< Per entrant: only placings below it are useful.
  std::mutex mutex_;                          ///< Guards all members below.
  Bytes bound_;
  std::optional<Standing> standing_;  ///< Of `best_`.
  std::vector<char> was_cut_;         ///< Per entrant, whether it was cut short in its last turn so far.
  std::optional<LastTurns> last_;     ///< After the turns of all other strategies.
  Solution best_;
  std::int64_t cost_bound_ = 0;
  bool is_interrupted_ = false;
};

/// Neighbours with joined collisions, if buffers have so many pieces that a pass over pairs of buffers is shorter than
/// one over pieces.
std::optional<Neighbours> neighbours_of_many_pieces(const Problem& problem, const base::Deadline& deadline) {
  constexpr std::size_t many_pieces = 32;
  const bool has_many = std::ranges::any_of(
      problem.buffers, [](const Buffer& buffer) { return buffer.pieces.size() > many_pieces; });
  if (problem.memories.size() != 1 || !has_many) return std::nullopt;
  std::int64_t pieces = 0;
  for (const Buffer& buffer : problem.buffers) pieces += std::ssize(buffer.pieces);
  const std::size_t most = std::min(Neighbours::most_listed, static_cast<std::size_t>(pieces));
  std::optional<Neighbours> neighbours(std::in_place, problem.buffers, most);
  deadline.spend(neighbours->work());
  if (!neighbours->are_joined()) neighbours.reset();
  return neighbours;
}

}  // namespace

Placing run(const Strategy& strategy, const Problem& problem, const Control& control) {
  control.spend(strategy.turn.work * std::ssize(problem.buffers));
  return strategy.run(problem, control);
}

Solution best_of(const Problem& problem, std::span<const Strategy* const> strategies,
                 const Control& control) {
  Control own = control;
  const std::optional<Neighbours> neighbours = neighbours_of_many_pieces(problem, control.deadline);
  own.neighbours = neighbours ? &*neighbours : nullptr;
  Contest contest(problem, strategies, own);
  contest.run();
  return contest.result();
}

}  // namespace stowage::pack
