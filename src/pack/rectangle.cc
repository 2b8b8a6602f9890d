// Idea. Static memory planning is packing rectangles, time by size, into a strip: sort them, place each as
// low as it goes, and where the strip becomes higher than it must, tune the order of those that make it so.
//
//     address ^...+---+............  threshold        sort: 1, 2, 3, by some keys
//             |   | 3 |                               place: 3 sticks out
//             | +-+---+-+ +-----+                     tune: those that meet 3 in time get another order,
//             | |   1   | |  2  |                     and everything is placed again
//             +-+-------+-+-----+--> time
//
// The parts: converter and sorter (sort_order.cc), placer (rectangle_container.cc), layout optimiser
// (rectangle_tuner.cc) with classifier (risk.cc), tuner and re-orderer (rectangle_reorder.cc) and merger
// (rectangle_groups.cc). The exporter and the checker are the program's.
//
// Tuning depends on where it starts, so there are many starts: for each order of a portfolio one, then the
// same again with larger budgets and other random numbers, wave after wave. A start knows nothing of the
// others. Threads take the next start each, the lowest result wins, of equal ones that of the first start: so
// that the number of threads decides how soon the plan is found, not which. Only a cut by the clock may.
//
// When does it end? When the threshold is reached; else when the waves are through. Work is counted, not
// timed: a neighbour looked at is one unit. The first wave gives the re-orderer 20 units per pair that is
// alive together, each wave four times as much as the one before, and there are waves for as many units as a
// twentieth of the cube of the pairs: a model of 200 tensors with three alive at a time gets milliseconds, a
// few hundred with fifty alive at a time more than usual time limits. Source: seed document 001.

#include "pack/rectangle.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <string_view>
#include <thread>

#include "pack/rectangle_tuner.h"
#include "pack/sort_order.h"

namespace stowage::pack {
namespace {

constexpr std::array<std::string_view, 8> portfolio{
    "size*duration",         "duration,size", "size,duration",    "size*overlap",
    "size*duration*overlap", "overlap,size",  "duration*overlap", "size+duration"};

constexpr int placings_to_finish = 4;
constexpr std::size_t most_waves = 10;
constexpr double budgets_in_a_wave = 240;  // measured, about

/// All starts, by their number; nothing is drawn while they run.
class Starts {
 public:
  Starts(const Rectangles& rectangles, const SolveOptions& options) : options_(options) {
    if (options.sort.empty()) {
      for (const std::string_view text : portfolio) orders_.push_back(parse_sort_order(text));
    } else {
      orders_.push_back(parse_sort_order(options.sort));
    }
    const auto pairs = static_cast<double>(rectangles.neighbours.pairs());
    budget_ = static_cast<std::int64_t>(std::clamp(20 * pairs, 500.0, 2e6));
    if (options.rounds) return;
    const double deserved = pairs * pairs * pairs / 20;
    for (double wave = 4 * budgets_in_a_wave * static_cast<double>(budget_);
         waves_ < most_waves && wave < deserved; wave *= 4)
      ++waves_;
  }

  [[nodiscard]] std::size_t count() const { return waves_ * width(); }

  [[nodiscard]] Start operator[](std::size_t number) const {
    const std::size_t wave = number / width();
    Start start;
    start.sort = orders_[number % orders_.size()];
    start.group_percent = number % 4 == 2 ? 50 : 0;
    start.tunes_all = wave > 0 || number % 2 == 1;
    start.manner.seed = options_.seed * 0x9e3779b97f4a7c15U + number;
    start.manner.minds_size = number % 4 == 3;
    start.manner.divisor = 4 << (number % 3);
    start.manner.budget = budget_ << (2 * wave);
    start.rounds = options_.rounds;
    return start;
  }

 private:
  [[nodiscard]] std::size_t width() const { return options_.rounds ? orders_.size() : portfolio.size(); }

  const SolveOptions& options_;
  std::vector<SortOrder> orders_;
  std::size_t waves_ = 1;
  std::int64_t budget_ = 0;
};

/// What the threads have found so far.
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

  void put(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    error_ = std::move(error);
    solved_by_ = 0;
  }

  /// Nothing that the start could find would be taken.
  [[nodiscard]] bool is_beaten(std::size_t start) const { return solved_by_ < start; }
  [[nodiscard]] bool is_solved() const { return solved_by_ != none; }

  /// When all threads have ended.
  [[nodiscard]] const Tuned& best() const {
    if (error_) std::rethrow_exception(error_);
    return best_;
  }
  [[nodiscard]] bool was_cut() const { return was_cut_ && !is_solved(); }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  const Bytes threshold_;
  std::mutex mutex_;
  Tuned best_;
  std::size_t start_ = none;
  bool was_cut_ = false;
  std::exception_ptr error_;
  std::atomic<std::size_t> solved_by_ = none;
};

/// Takes the next start until there is none left to take.
void work(const Rectangles& rectangles, const Starts& starts, const Control& control, const Control& early,
          std::atomic<std::size_t>& next, Board& board, bool reports) {
  try {
    for (std::size_t number = next++; number < starts.count() && !board.is_beaten(number); number = next++) {
      if (reports) {
        control.report("rectangle", static_cast<double>(number) / static_cast<double>(starts.count()));
      }
      const auto is_beaten = [&] { return board.is_beaten(number); };
      const Stops stops{
          [&] { return is_beaten() || early.is_time_up(); },
          [&] { return is_beaten() || (!rectangles.neighbours.are_listed() && control.is_time_up()); }};
      board.put(tune(rectangles, starts[number], stops), number);
    }
  } catch (...) {
    board.put(std::current_exception());
  }
}

}  // namespace

Placing rectangle(const Problem& problem, const Control& control) {
  const Rectangles rectangles(problem.buffers);
  const Starts starts(rectangles, control.options);
  std::vector<Rectangle> sorted = rectangles.all;
  sort_rectangles(sorted, starts[0].sort);
  Order order;
  for (const Rectangle& it : sorted) order.push_back(it.buffer);
  const auto begin = std::chrono::steady_clock::now();
  Placing placing = place_in_order(problem, order, Fit::lowest, control, "rectangle");
  Bytes top = 0;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    top = std::max(top, placing.places[b].offset + problem.buffers[b].size);
  }
  if (placing.cut_short || top <= rectangles.threshold) return placing;

  // What the search finds is placed again before the time is up.
  Control early = control;
  if (early.deadline) *early.deadline -= placings_to_finish * (std::chrono::steady_clock::now() - begin);

  Board board(rectangles.threshold);
  std::atomic<std::size_t> next = 0;
  {
    const std::size_t asked = control.options.threads;
    const std::size_t threads =
        asked > 0 ? asked : std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
    std::vector<std::jthread> helpers;
    for (std::size_t t = 1; t < std::min(threads, starts.count()); ++t) {
      helpers.emplace_back([&] { work(rectangles, starts, control, early, next, board, false); });
    }
    work(rectangles, starts, control, early, next, board, true);
  }
  const Tuned& best = board.best();
  if (!best.offsets.empty() && best.top < top) {
    for (std::size_t b = 0; b < best.offsets.size(); ++b) placing.places[b].offset = best.offsets[b];
  }
  placing.cut_short = board.was_cut();
  return placing;
}

}  // namespace stowage::pack
