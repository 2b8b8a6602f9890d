// Static memory planning packs rectangles, time by size, into a strip. Sort them and place each as low
// as possible; where the strip becomes too high, tune the order of the rectangles that cause it.
//
//     address ^...+---+............  threshold        sort: 1, 2, 3, by some keys
//             |   | 3 |                               place: 3 sticks out
//             | +-+---+-+ +-----+                     tune: those that meet 3 in time get another order,
//             | |   1   | |  2  |                     and everything is placed again
//             +-+-------+-+-----+--> time
//
// The parts: converter and sorter (sort_order.cc), placer (container.cc), layout optimiser
// (rectangle_tuner.cc) with classifier, tuner, re-orderer and merger (rectangle_reorder.cc). The exporter and
// the checker are those of the program.
//
// The result of tuning depends on its start, so there are many starts. Each order of a portfolio is placed
// and then tuned, the one that places lowest first. Then all are tuned again with larger budgets and other
// random numbers, wave after wave. Starts are independent. Each thread takes the next start; the lowest
// result wins, of equal ones that of the first start. So the number of threads decides how soon the plan is
// found, not which. Only the clock may change the result.
//
// It ends when the threshold is reached, or when all waves are done. Work is counted, not timed: one
// neighbour examined is one unit, or each collision with it if pieces have several. The first wave gives
// the re-orderer 20 units per pair that is alive together; each wave gets four times as much as the one
// before. The number of waves allows a twentieth of the cube of the pairs: a model of 200 tensors with
// three alive at a time gets milliseconds, a few hundred with fifty alive at a time more than usual time
// limits. Source: docs/rectangle.md.

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <mutex>
#include <numeric>
#include <string_view>

#include "base/side_by_side.h"
#include "pack/patents/rectangle_tuner.h"
#include "pack/sort_order.h"
#include "pack/strategies.h"

namespace stowage::pack {
namespace {

constexpr std::array<std::string_view, 8> portfolio{
    "size*duration", "duration,size", "size,duration",         "size",
    "size*overlap",  "overlap,size",  "size*duration*overlap", "duration*overlap"};
constexpr int placings_to_finish = 4;          ///< Where a placing that has begun is not given up.
constexpr std::int64_t work_of_sorting = 300;  ///< For each buffer, in the units of deadlines, about.
constexpr std::size_t starts_at_once = 8;      ///< Where work is counted.
constexpr std::size_t most_waves = 10;
constexpr double budgets_in_a_wave = 240;  // approximate, measured

/// All starts by number: first each order without tuning, then the waves.
class Starts {
 public:
  Starts(const Rectangles& rectangles, const Control& control)
      : options_(control.options), rounds_(options_.rounds ? options_.rounds : control.rounds) {
    if (options_.sort.empty()) {
      for (const std::string_view text : portfolio) orders_.push_back(parse_sort_order(text));
    } else {
      orders_.push_back(parse_sort_order(options_.sort));
    }
    const auto pairs = static_cast<double>(rectangles.neighbours.pairs());
    budget_ = static_cast<std::int64_t>(std::clamp(20 * pairs, 500.0, 2e6));
    if (rounds_) return;
    const double deserved = pairs * pairs * pairs / 20;
    for (double wave = 4 * budgets_in_a_wave * static_cast<double>(budget_);
         waves_ < most_waves && wave < deserved; wave *= 4)
      ++waves_;
  }

  [[nodiscard]] std::size_t untuned() const { return orders_.size(); }
  [[nodiscard]] std::size_t count() const { return untuned() + (rounds_ == 0 ? 0 : waves_ * width()); }

  [[nodiscard]] Start operator[](std::size_t number) const {
    Start start;
    if (number < untuned()) {
      start.sort = orders_[number];
      start.rounds = 0;
      return start;
    }
    const std::size_t tuned = number - untuned();
    const std::size_t wave = tuned / width();
    const std::size_t manner = rounds_ ? tuned % orders_.size() : tuned;
    start.sort = orders_[tuned % orders_.size()];
    start.group_percent = manner % 4 == 3 ? 50 : 0;
    start.tunes_all = rounds_ ? tuned >= orders_.size() : (wave + tuned) % 2 == 0;
    start.manner.seed = options_.seed * 0x9e3779b97f4a7c15U + untuned() + manner;
    start.manner.minds_size = manner % 4 == 2;
    start.manner.divisor = 4 << (manner % 3);
    start.manner.budget = budget_ << (2 * wave);
    start.rounds = rounds_;
    if (rounds_) start.patience = std::numeric_limits<int>::max();
    return start;
  }

  /// Sorts the orders by how low they place without tuning; `tops` is by number.
  void rank(const std::vector<Bytes>& tops) {
    std::vector<std::size_t> ranking(orders_.size());
    std::iota(ranking.begin(), ranking.end(), std::size_t{0});
    std::stable_sort(ranking.begin(), ranking.end(),
                     [&](std::size_t a, std::size_t b) { return tops[a] < tops[b]; });
    std::vector<SortOrder> ranked;
    for (const std::size_t o : ranking) ranked.push_back(orders_[o]);
    orders_ = std::move(ranked);
  }

 private:
  [[nodiscard]] std::size_t width() const { return rounds_ ? 2 * orders_.size() : portfolio.size(); }

  const SolveOptions& options_;
  const std::optional<std::int64_t> rounds_;  ///< Of the user, or of a caller.
  std::vector<SortOrder> orders_;
  std::size_t waves_ = 1;
  std::int64_t budget_ = 0;
};

/// The results of all threads so far.
class Board {
 public:
  explicit Board(Bytes threshold) : threshold_(threshold) {}

  void put(Tuned tuned, std::size_t start) {
    const std::lock_guard lock(mutex_);
    if (tuned.was_stopped) was_cut_ = true;
    if (tuned.offsets.empty()) return;
    if (!best_.offsets.empty() && std::pair(best_.top, start_) < std::pair(tuned.top, start)) return;
    best_ = std::move(tuned);
    start_ = start;
    if (best_.top <= threshold_) solved_by_ = start;
  }

  /// No result of this start can win any more.
  [[nodiscard]] bool is_beaten(std::size_t start) const { return solved_by_ < start; }
  [[nodiscard]] bool is_solved() const { return solved_by_ != none; }

  /// Call after all threads have ended.
  [[nodiscard]] const Tuned& best() const { return best_; }
  [[nodiscard]] std::size_t start_of_best() const { return start_; }
  [[nodiscard]] bool was_cut() const { return was_cut_ && !is_solved(); }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  const Bytes threshold_;
  std::mutex mutex_;
  Tuned best_;
  std::size_t start_ = none;
  bool was_cut_ = false;
  std::atomic<std::size_t> solved_by_ = none;
};

/// One search; its threads share this.
class RectangleSearch {
 public:
  /// A start whose time is over may go on for `finish`, to place what it has.
  RectangleSearch(const Rectangles& rectangles, const Control& control, base::Deadline::Seconds finish,
                  Starts& starts)
      : rectangles_(rectangles),
        control_(control),
        early_(control),
        finish_(finish),
        starts_(starts),
        tops_(starts.untuned(), largest_value),
        board_(rectangles.threshold) {
    early_.deadline = control.deadline.later_by(-finish);
  }

  /// `first` is the result of start 0.
  const Board& run(Tuned first) {
    tops_[0] = first.top;
    board_.put(std::move(first), 0);
    run(1, starts_.untuned());
    starts_.rank(tops_);
    run(starts_.untuned(), starts_.count());
    return board_;
  }

  /// How the best was found. An order that wins untuned was then tuned in vain, by the first start after the
  /// untuned ones.
  [[nodiscard]] Tuning tuning() const {
    Tuning tuning = board_.best().tuning;
    const bool is_untuned = board_.start_of_best() < starts_.untuned();
    if (!is_untuned || tuning.end == TuningEnd::threshold || starts_.count() == starts_.untuned())
      return tuning;
    tuning.all_high = in_vain_.all_high;
    tuning.end = in_vain_.end;
    tuning.round = in_vain_.round;
    return tuning;
  }

 private:
  void run(std::size_t begin, std::size_t end) {
    if (!control_.deadline.counts_work()) return run_side_by_side(begin, end);
    while (begin < end && !board_.is_solved() && !early_.is_time_up()) {
      const std::size_t next = std::min(end, begin + starts_in_time());
      run_with_clocks(begin, next);
      begin = next;
    }
    if (begin < end && !board_.is_solved()) board_.put(Tuned{.was_stopped = true}, begin);
  }

  /// Each of them may go on for `finish_`.
  [[nodiscard]] std::size_t starts_in_time() const {
    const double starts = early_.deadline.left().count() / (2 * finish_.count() + 1e-9);
    return static_cast<std::size_t>(std::clamp(starts, 1.0, static_cast<double>(starts_at_once)));
  }

  /// Each start has a clock of its own, and an equal part of the work that is left.
  void run_with_clocks(std::size_t begin, std::size_t end) {
    const auto now = control_.deadline.now();
    first_with_clock_ = begin;
    clocks_.clear();
    for (std::size_t number = begin; number < end; ++number)
      clocks_.push_back(
          early_.deadline.apart().part(1 / static_cast<double>(end - begin)).later_by(-finish_));
    run_side_by_side(begin, end);
    for (std::size_t number = begin; number < end && !board_.is_beaten(number); ++number)
      control_.spend((clocks_[number - begin].now() - now).count());
  }

  /// Runs the starts [begin, end) on all threads, until none can win any more.
  void run_side_by_side(std::size_t begin, std::size_t end) {
    base::run_side_by_side(
        begin, end, threads_of(control_.options), [&](std::size_t number, std::size_t thread) {
          if (board_.is_beaten(number)) return false;
          if (early_.is_time_up()) {
            board_.put(Tuned{.was_stopped = true}, number);
            return false;
          }
          if (thread == 0)
            control_.report("rectangle", static_cast<double>(number) / static_cast<double>(starts_.count()));
          run_start(number);
          return true;
        });
  }

  void run_start(std::size_t number) {
    const auto is_beaten = [&] { return board_.is_beaten(number); };
    const bool is_quick = rectangles_.neighbours.are_listed();
    const base::Deadline& clock = clocks_.empty() ? early_.deadline : clocks_[number - first_with_clock_];
    const Stops stops{[&] { return is_beaten() || clock.is_over(); },
                      [&] { return is_beaten() || (!is_quick && clock.is_over()); },
                      [&](std::int64_t work) { clock.spend(work); }};
    Tuned tuned = tune(rectangles_, starts_[number], stops);
    if (number < tops_.size() && !tuned.offsets.empty()) tops_[number] = tuned.top;
    if (number == starts_.untuned()) in_vain_ = tuned.tuning;
    board_.put(std::move(tuned), number);
  }

  const Rectangles& rectangles_;
  const Control& control_;
  Control early_;
  const base::Deadline::Seconds finish_;
  Starts& starts_;
  std::vector<Bytes> tops_;             ///< Tops of the untuned starts; each is written by one thread.
  Tuning in_vain_;                      ///< Of the first start that tunes; one thread writes it.
  std::vector<base::Deadline> clocks_;  ///< Of the starts that run side by side, if work is counted.
  std::size_t first_with_clock_ = 0;
  Board board_;
};

Tuned first_placing(const Problem& problem, const Placing& placing, const Rectangles& rectangles,
                    const Start& start) {
  Tuned first;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    first.offsets.push_back(placing.places[b].offset);
    first.top = std::max(first.top, first.offsets.back() + problem.buffers[b].size);
  }
  first.tuning = tuning_of(rectangles, start, first.offsets);
  first.tuning.end = first.top <= rectangles.threshold ? TuningEnd::threshold : TuningEnd::rounds;
  return first;
}

}  // namespace

Placing rectangle(const Problem& problem, const Control& control) {
  const Stop stop = [&] { return control.is_too_late(); };
  const std::optional<Rectangles> rectangles = prepare(problem.buffers, stop);
  if (!rectangles || stop()) return no_placing();
  control.spend(rectangles->neighbours.work() + work_of_sorting * std::ssize(problem.buffers));
  Starts starts(*rectangles, control);
  std::vector<Rectangle> sorted = rectangles->all;
  sort_rectangles(sorted, starts[0].sort);
  if (stop()) return no_placing();
  Order order;
  for (const Rectangle& it : sorted) order.push_back(it.buffer);
  const auto begin = control.deadline.now();
  Control patient = control;  // the search may go below a placing that the first one does not beat
  patient.ceiling = nullptr;
  Placing placing = place_in_order(problem, order, Fit::lowest, patient, "rectangle");
  if (placing.places.empty() && !problem.buffers.empty()) return placing;
  Tuned first = first_placing(problem, placing, *rectangles, starts[0]);
  placing.tuning = first.tuning;
  if (first.top <= rectangles->threshold) return placing;
  base::Deadline::Seconds finish(0);
  if (rectangles->neighbours.are_listed()) finish = placings_to_finish * (control.deadline.now() - begin);
  RectangleSearch search(*rectangles, control, finish, starts);
  const Board& board = search.run(std::move(first));
  const std::vector<Bytes>& offsets = board.best().offsets;
  for (std::size_t b = 0; b < offsets.size(); ++b) placing.places[b].offset = offsets[b];
  placing.tuning = search.tuning();
  placing.cut_short = board.was_cut();
  return placing;
}

}  // namespace stowage::pack
