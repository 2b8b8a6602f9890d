// The portfolio: all strategies of this folder, and the best result of several.
//
// Few buffers. The strategies run one after the other, in the order of the table. The first has no fallback,
// so the deadline cannot end it before it has a placing. Single passes take microseconds.
//
// Many buffers in one memory. Any pass may overrun the deadline, so the cheapest come first. Single passes
// run in parallel on all threads; each stops once it is as high as another's placing. The searches, which use
// all threads themselves and all remaining time, follow one by one.
//
//     thread 1   free-list | best-fit | duration   | area, given up | breadth | size | |   | ejection, exact,
//     thread 2   first-fit | from-peak once  | from-peak ...        | slots            |   | rectangle
//
// Two searches are rivals, `exact` and `ejection`: no rule says which one an instance wants. Each begins with a
// twentieth of the time. Then the first has one long turn, `rectangle` a short one, and the other one all the
// rest in one turn, since what a search learns is lost between turns. Each turn begins from the best placing
// known, with other random numbers. `ejection` is the last of few buffers, `exact` of many.
//
// Microseconds of one thread per buffer: alone, and given up with the lowest of the other passes known. On
// S_1 (28 526 buffers), 10^5 generated ones and 62 185 of perturbed copies of pangu_2.6B:
//
//                alone         given up                         alone         given up
//     first-fit  0.2 0.1 0.3   0.0 0.0 0.0         breadth      6.6 2.0 5.9   0.6 0.2 4.0
//     best-fit   0.3 0.2 0.4   0.0 0.1 0.0         area         2.7 2.1 2.2   0.2 1.0 0.4
//     free-list  0.3 0.3 0.3                       duration     1.8 2.6 2.7   0.6 1.5 1.9
//     two-stack  0.1 0.1 0.1                       size         7.1 2.7 4.6   0.6 2.3 4.6
//     slots      0.2 0.1 0.2                       from-peak    24  5.1 1.8   0.5 0.1 0.5 (its first pass)
//
// Where there are runs of rows, `rings` comes after `free-list`. It takes 2 to 4 microseconds a buffer.
// Beside the first pass of `from-peak`, the other thread runs the cheapest of the passes that are often low, so
// that a short limit has it. two-stack and slots come after them, since they are never the lowest on lists. The
// first pass of `from-peak` has its own turn: on many real lists it is all of `from-peak`, on others it is
// given up early. All of `from-peak` begins before the pass that takes longest, so that one thread runs
// passes while another searches.
//
// With an effort instead of a time limit, each pass has a clock of its own, which begins where all passes before
// it would have ended. So no clock depends on which thread is first.
//
// The result does not depend on the threads unless the clock stops a strategy. The lowest placing wins, of
// equal ones the strategy that comes first in the order. A strategy is given up only if it cannot win any
// more.

#include "pack/portfolio.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "pack/bounds.h"
#include "pack/container.h"
#include "pack/placing.h"

namespace stowage::pack {
namespace {

/// The strategy that provides the fallback plan.
const Strategy& stopgap() {
  return *std::find_if(packers().begin(), packers().end(),
                       [](const Strategy& it) { return it.turn.is_stopgap; });
}

/// Of the time, for the first turn of each of two rivals.
constexpr double share_of_probe = 1.0 / 20;
/// Of what is left then, for the first rival.
constexpr double share_of_first = 0.45;
/// Of what is left then, for strategies before the last turn.
constexpr double share_before_last = 1.0 / 8;
constexpr std::uint64_t seed_of_turns = 0x5bd1e995;

/// Of the work that is left, for a search that runs beside passes.
constexpr double share_of_search = 0.5;

/// From so many buffers on a strategy may overrun the deadline.
constexpr std::size_t many = 1000;

/// The fallback for many buffers may overrun the deadline a little: a truncated one is of little use.
std::chrono::nanoseconds grace_of(const Problem& problem) {
  constexpr std::chrono::nanoseconds least = std::chrono::milliseconds(20);
  constexpr std::chrono::nanoseconds per_buffer{500};
  return std::max(least, per_buffer * std::ssize(problem.buffers));
}

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
    if (runs_side_by_side()) line_up();
    ceilings_ = std::vector<std::atomic<Bytes>>(order_.size());
    for (std::atomic<Bytes>& ceiling : ceilings_) ceiling = unreached;
    was_cut_.assign(order_.size(), 0);
  }

  void run() {
    if (runs_side_by_side()) run_passes();
    while (next_ < order_.size()) {
      if (are_rivals_next()) {
        race();
      } else {
        enter({next_++, last_ ? std::optional(share_before_last) : std::nullopt}, control_.options.progress);
      }
    }
    if (last_) enter(*last_, control_.options.progress);
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

  /// Probes of the next two, then the turn of the first. The other one has the last turn of all.
  void race() {
    const std::array<std::size_t, 2> rivals{next_, next_ + 1};
    next_ += rivals.size();
    for (const std::size_t rival : rivals) enter({rival, share_of_probe, 1}, control_.options.progress);
    if (was_cut_[rivals[0]] != 0) enter({rivals[0], share_of_first}, control_.options.progress);
    const std::size_t last = was_cut_[rivals[1]] != 0 ? rivals[1] : rivals[0];
    if (was_cut_[last] != 0) last_ = Entry{last, 1, 2};
  }

  void line_up() {
    if (is_choice_) std::erase_if(order_, [](const Strategy* it) { return it->turn.is_for_few; });
    const auto is_stopgap = [](const Strategy* it) { return it->turn.is_stopgap; };
    has_makeshift_ = std::none_of(order_.begin(), order_.end(), is_stopgap);
    if (has_makeshift_) order_.push_back(&stopgap());
    for (std::size_t i = 0, given = order_.size(); is_choice_ && i < given; ++i) {
      if (order_[i]->turn.opening != nullptr) order_.push_back(order_[i]->turn.opening);
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [](const Strategy* a, const Strategy* b) { return a->turn.of_many < b->turn.of_many; });
  }

  /// A clock for each of the first strategies, where work is counted.
  void set_clocks(std::size_t end) {
    if (!control_.deadline.counts_work()) return;
    base::Deadline clock = control_.deadline.apart();
    for (std::size_t entrant = 0; entrant < end; ++entrant) {
      const std::int64_t work = work_of(*order_[entrant]);
      clocks_.push_back(clock.apart());
      if (work > 0) {
        clock.spend(work);
      } else {
        clocks_.back() = clocks_.back().part(share_of_search);
        clock.spend(static_cast<std::int64_t>(clock.left().count() * 1e9 * share_of_search));
      }
      begins_.push_back(clocks_.back().now());
    }
  }

  /// Counts what the passes have spent; searches only if they all ended by themselves.
  void count_work_of_passes() {
    const bool is_over = standing_ && total_peak(standing_->score) <= bound_;
    for (std::size_t entrant = 0; entrant < clocks_.size(); ++entrant) {
      const std::int64_t work = work_of(*order_[entrant]);
      if (work > 0) control_.spend(work);
      if (work == 0 && !is_over) control_.spend((clocks_[entrant].now() - begins_[entrant]).count());
    }
  }

  [[nodiscard]] std::int64_t work_of(const Strategy& strategy) const {
    return strategy.turn.work * std::ssize(problem_.buffers);
  }

  /// Runs all strategies before the first that uses all threads itself.
  void run_passes() {
    const auto is_alone = [](const Strategy* it) { return it->turn.is_alone; };
    const auto end =
        static_cast<std::size_t>(std::find_if(order_.begin(), order_.end(), is_alone) - order_.begin());
    set_clocks(end);
    const auto work = [this, end](const Progress& progress) {
      try {
        for (std::size_t entrant = next_++; entrant < end; entrant = next_++) enter({entrant}, progress);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        error_ = std::current_exception();
        for (std::atomic<Bytes>& ceiling : ceilings_) ceiling = 0;
      }
    };
    {
      std::vector<std::jthread> helpers;
      for (std::size_t t = 1; t < std::min(threads_of(control_.options), end); ++t)
        helpers.emplace_back(work, Progress());
      work(control_.options.progress);
    }
    if (error_) std::rethrow_exception(error_);
    count_work_of_passes();
    next_ = end;
  }

  /// Runs one of the strategies if it may still be useful.
  void enter(const Entry& entry, const Progress& progress) {
    const std::size_t entrant = entry.entrant;
    const Strategy& strategy = *order_[entrant];
    const bool makes_first_plan = has_many_ && strategy.turn.is_stopgap;
    Control control = control_;
    control.options.progress = progress;
    if (entrant < clocks_.size()) control.deadline = clocks_[entrant];
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
    if (makes_first_plan) control.deadline = control.deadline.later_by(grace_of(problem_));
    if (is_choice_) control.deadline = control.deadline.part(entry.share.value_or(strategy.turn.share));
    control.options.seed += entry.turn * seed_of_turns;
    keep(entry, strategy, pack::run(strategy, problem_, control));
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
  bool has_makeshift_ = false;                             ///< The fallback was not chosen by the user.
  std::vector<base::Deadline> clocks_;                     ///< Of passes; none if time is the limit.
  std::vector<base::Deadline::Clock::time_point> begins_;  ///< What they showed at first.
  std::atomic<std::size_t> next_ = 0;
  std::vector<std::atomic<Bytes>> ceilings_;  ///< Per entrant: only placings below it are useful.
  std::mutex mutex_;                          ///< Guards all members below.
  Bytes bound_;
  std::optional<Standing> standing_;  ///< Of `best_`.
  std::vector<char> was_cut_;         ///< Per entrant, whether it was cut short in its last turn so far.
  std::optional<Entry> last_;         ///< The last turn, after those of all other strategies.
  Solution best_;
  std::int64_t cost_bound_ = 0;
  bool is_interrupted_ = false;
  std::exception_ptr error_;
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
  constexpr std::int64_t work_of_piece = 300;
  constexpr std::int64_t work_of_pair = 30;
  if (neighbours->are_joined())
    deadline.spend(work_of_piece * pieces + work_of_pair * static_cast<std::int64_t>(neighbours->pairs()));
  else
    neighbours.reset();
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
