// A region runs some operators together: it pulls the rows of the last one, and before each row what it
// needs, as late as possible. Tensors between regions are whole, but not all the time: rows are freed once
// the next region has read them, and come as the previous region writes them.
//
//     operators   0 1 2 | 3 4 5 6 | 7 8          region [3, 7): rows of 6 pull rows of 5, 4 and 3,
//                  region    region  region       which read, and free, rows of 2
//
// When a region starts, exactly the operators before it have run. Earlier regions do not change this state.
// So the least peak for the first n operators is
//
//     least(n) = min over b < n of  max(least(b), peak of region [b, n) by itself)
//
// This is a dynamic program over the operators in the model's order. A region of one operator runs layer by
// layer, so the result is never worse than that. Operators that wait for each other are never apart: rows are
// recomputed only after their former copies have been read.
//
// For one n, all regions follow from each other (region_peaks.cc). Where operators repeat themselves (alike.cc), so
// do regions: their peaks, beyond what is live before them, are those of the earlier stretch.
//
// Where a fast memory is smaller than the peak, the sum over regions of what they read and write in slow memory counts
// instead, estimated for each by itself: the share of its bytes that exceeds the capacity, and weights that its steps read
// again, unless there is room for them:
//
//     peak > capacity    2 * bytes written * (peak - capacity) / peak, and all weights again
//     peak < capacity    weights again, but for the share that fits into capacity - peak
//
// Source: the patent on polyhedral scheduling: the order inside a region is one affine map for each operator,
// scale and shift, at its latest. Choosing regions by their peak, and rows that come and go between them, are
// ours.
//
// Cost: steps * operators * log(steps) at most, until `work` is used up. Longer regions are not tried where their
// rows alone need more than the best one, or after the end's share of `work` has been spent in vain.

#include "stream/regions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "stream/alike.h"
#include "stream/lists.h"
#include "stream/replay.h"

namespace stowage::stream {
namespace {

constexpr Bytes unbounded = std::numeric_limits<Bytes>::max();
constexpr std::int64_t work_of_step = 13;                 ///< In the units of deadlines.
constexpr std::size_t most_known = std::size_t{1} << 22;  ///< Peaks that are kept for other regions.

/// Pulls the steps of regions from their last operators.
class Pulling {
 public:
  explicit Pulling(const RowProgram& program) : program_(program), done_(program.operators(), 0) {
    for (const Iteration& instance : program.instances) needs_.add(instance.needs);
  }

  std::vector<IterationId> steps_of(const Region& region) {
    for (std::size_t op = 0; op < program_.operators(); ++op)
      done_[op] = op < region.begin ? program_.count(op) : 0;
    std::vector<IterationId> steps;
    steps.reserve(program_.first[region.end] - program_.first[region.begin]);
    const auto needs_of = [&](std::size_t op) { return needs_[program_.at(op, done_[op])]; };
    const auto done = [&](std::size_t op) { return done_[op]; };
    const auto run = [&](std::size_t op) {
      steps.push_back(program_.at(op, done_[op]++));
      return true;
    };
    for (std::size_t op = region.end; op-- > region.begin;) {
      while (done_[op] < program_.count(op)) {
        if (!pull(op, region, wanted_, needs_of, done, run)) return {};
      }
    }
    return steps;
  }

 private:
  const RowProgram& program_;
  Lists<Dependence> needs_{};  ///< Of each iteration.
  std::vector<std::int64_t> done_;
  std::vector<std::size_t> wanted_{};
};

/// Live bytes when only the first 0, 1, .. operators have run.
std::vector<Bytes> lives_between(const RowProgram& program) {
  State state(program);
  std::vector<Bytes> lives{state.live()};
  for (std::size_t op = 0; op < program.operators(); ++op) {
    while (!state.is_finished(op)) state.run(op);
    lives.push_back(state.live());
  }
  return lives;
}

/// Where regions may begin and end: whether no earlier operator waits for a later one.
std::vector<bool> boundaries(const RowProgram& program) {
  std::vector<bool> is_boundary;
  std::size_t awaited = 0;  // how many operators the earlier ones wait for
  for (std::size_t op = 0; op < program.operators(); ++op) {
    is_boundary.push_back(awaited <= op);
    for (IterationId i = program.first[op]; i < program.first[op + 1]; ++i) {
      for (const Dependence& need : program.instances[i].needs) awaited = std::max(awaited, need.op + 1);
    }
  }
  is_boundary.push_back(true);
  return is_boundary;
}

/// The peaks of regions with one end, beyond what is live before them, from the shortest on.
struct Known {
  std::vector<Bytes> peaks{};
  Bytes least_of_longer = 0;  ///< Longer ones need as much, beyond what is there from the start and stays.
};

/// Of some operators.
struct Sums {
  double written = 0;
  double weights = 0;  ///< That more than one iteration reads.
  double again = 0;    ///< Of these, what all iterations but the first read.
};

/// The least peak of all operators up to each one, and its last region.
class LeastPeaks {
 public:
  LeastPeaks(const RowProgram& program, const RegionOptions& options, const RegionSteps& steps_of)
      : program_(program),
        options_(options),
        steps_of_(steps_of),
        lives_(lives_between(program)),
        may_begin_(boundaries(program)),
        region_(program),
        left_(options.work),
        share_(options.work / static_cast<std::int64_t>(std::max<std::size_t>(1, program.operators()))),
        peaks_(program.operators() + 1, unbounded),
        begins_(program.operators() + 1, 0),
        costs_(program.operators() + 1, std::numeric_limits<double>::max()),
        known_(program.operators() + 1),
        is_wanted_(program.operators() + 1, false) {
    peaks_[0] = program.resident;
    costs_[0] = 0;
    if (options.fast) sum_up();
    if (!options.reuses || options.fast) return;
    alike_ = alike_stretches(program);
    for (std::size_t end = 1; end < alike_.size(); ++end) {
      if (alike_[end].period > 0) is_wanted_[end - alike_[end].period] = true;
    }
  }

  /// The least peak of all; the largest value if it exceeds the limit.
  Bytes peak() {
    for (std::size_t end = 1; end < peaks_.size(); ++end) {
      if (may_begin_[end] && lives_[end] <= options_.limit) find_last_region(end);
    }
    return options_.deadline.is_over() ? unbounded : peaks_.back();
  }

  RegionOrder run() {
    RegionOrder order{.peak = peak()};
    if (order.peak == unbounded) return order;
    for (std::size_t end = peaks_.size() - 1; end > 0; end = begins_[end])
      order.regions.push_back({begins_[end], end});
    std::reverse(order.regions.begin(), order.regions.end());
    for (const Region& region : order.regions) {
      const std::vector<IterationId> steps = steps_of_(region);
      order.steps.insert(order.steps.end(), steps.begin(), steps.end());
    }
    return options_.deadline.is_over() ? RegionOrder{.peak = unbounded} : order;
  }

 private:
  void find_last_region(std::size_t end) {
    if (reuse(end)) return;
    Known known;
    std::int64_t last_better = region_.work();
    std::int64_t counted = last_better;  // of the work, for the deadline
    region_.start(end);
    std::size_t first = end;  // operators from here on have their steps
    bool is_spent = false;
    while (region_.begin() > 0 && !options_.deadline.is_over()) {
      options_.deadline.spend(work_of_step * (region_.work() - counted));
      counted = region_.work();
      const std::int64_t in_vain = region_.work() - last_better;
      const bool has_plan = peaks_[end] != unbounded || options_.limit != unbounded;
      is_spent = has_plan && (left_ < region_.work() || in_vain > share_);
      if (is_spent) break;
      if (region_.begin() == first) {
        known.least_of_longer = region_.least_of_longer();
        if (has_plan && region_.resident_behind(end) + known.least_of_longer > highest_better(end)) break;
        const auto next = give_steps(end, first);
        if (!next) break;
        first = *next;
      }
      region_.add_operator();
      known.peaks.push_back(region_.peak());
      if (note({region_.begin(), end}, region_.peak())) last_better = region_.work();
    }
    if (is_spent) known.least_of_longer = unbounded - program_.resident;  // no longer one is worth a trial
    keep(end, std::move(known));
    if (is_spent && end == program_.operators()) try_all();
  }

  /// Heads in tiles are low in a region of all operators, and in few shorter ones.
  void try_all() {
    const Region all{0, program_.operators()};
    const std::vector<IterationId> steps = steps_of_(all);
    if (!steps.empty()) note(all, replay(program_, steps).peak - program_.resident);
  }

  /// A peak that is lower than the best for this end so far.
  [[nodiscard]] Bytes highest_better(std::size_t end) const {
    return peaks_[end] == unbounded || options_.fast ? options_.limit : peaks_[end] - 1;
  }

  /// Doubles the region's length. Where a region as long has no order, makes it as little longer as it can be.
  /// Returns its begin; none if no longer one has an order.
  std::optional<std::size_t> give_steps(std::size_t end, std::size_t first) {
    const std::size_t length = std::max<std::size_t>(end - first, least_length);
    for (std::size_t begin : {first > length ? first - length : 0, first - 1}) {
      while (!may_begin_[begin]) --begin;
      std::vector<IterationId> steps = steps_of_({begin, end});
      if (steps.empty()) continue;
      region_.set_steps(std::move(steps));
      return begin;
    }
    return std::nullopt;
  }

  /// Notes the peak of a region, beyond what is live before it. True if it is better.
  bool note(const Region& region, Bytes beyond) {
    if (!may_begin_[region.begin] || peaks_[region.begin] == unbounded) return false;
    const Bytes peak = std::max(peaks_[region.begin], lives_[region.begin] + beyond);
    if (peak > highest_better(region.end)) return false;
    if (options_.fast) {
      const double cost = costs_[region.begin] + cost_of(region, lives_[region.begin] + beyond);
      if (cost >= costs_[region.end]) return false;
      costs_[region.end] = cost;
    }
    peaks_[region.end] = peak;
    begins_[region.end] = region.begin;
    return true;
  }

  /// What operators write, and their weights.
  void sum_up() {
    sums_.resize(program_.operators() + 1);
    for (std::size_t op = 0; op < program_.operators(); ++op) {
      Sums& next = sums_[op + 1] = sums_[op];
      for (IterationId i = program_.first[op]; i < program_.first[op + 1]; ++i)
        next.written += static_cast<double>(program_.instances[i].bytes_written);
      const auto again = static_cast<double>(program_.count(op) - 1);
      if (again < 1) continue;
      next.weights += static_cast<double>(options_.fast->weights[op]);
      next.again += again * static_cast<double>(options_.fast->weights[op]);
    }
  }

  /// About how many bytes a region with that peak reads and writes in slow memory, but for what each weight costs once.
  [[nodiscard]] double cost_of(const Region& region, Bytes peak) const {
    const Sums& before = sums_[region.begin];
    const Sums& behind = sums_[region.end];
    const double room = static_cast<double>(options_.fast->capacity - peak);
    const double weights = behind.weights - before.weights;
    const double again = behind.again - before.again;
    if (room >= weights) return 0;
    if (room >= 0) return again * (weights - room) / weights;
    const double moved = behind.written - before.written + static_cast<double>(lives_[region.begin]);
    return again - 2 * moved * room / static_cast<double>(peak);
  }

  /// Takes the peaks of regions from an earlier stretch that is alike. False if longer ones are worth a trial.
  bool reuse(std::size_t end) {
    if (alike_.empty() || alike_[end].period == 0) return false;
    const AlikeStretch& alike = alike_[end];
    const Known& earlier = known_[end - alike.period];
    const std::size_t count = std::min(earlier.peaks.size(), alike.length);
    for (std::size_t k = 0; k < count; ++k) note({end - 1 - k, end}, earlier.peaks[k]);
    if (count < earlier.peaks.size() || peaks_[end] == unbounded ||
        region_.resident_behind(end) + earlier.least_of_longer <= highest_better(end))
      return false;
    keep(end, {{earlier.peaks.begin(), earlier.peaks.begin() + static_cast<std::ptrdiff_t>(count)},
               earlier.least_of_longer});
    return true;
  }

  void keep(std::size_t end, Known known) {
    if (!is_wanted_[end] || kept_ + known.peaks.size() > most_known) return;
    kept_ += known.peaks.size();
    known_[end] = std::move(known);
  }

  static constexpr std::size_t least_length = 4;  ///< Of the first region that gets steps.

  const RowProgram& program_;
  const RegionOptions& options_;
  const RegionSteps& steps_of_;
  std::vector<Bytes> lives_;
  std::vector<bool> may_begin_;  ///< Whether a region may begin with an operator.
  RegionPeaks region_;
  std::int64_t left_;   ///< Steps that may be tried.
  std::int64_t share_;  ///< Steps that may be tried in vain for one end.
  std::vector<Bytes> peaks_;
  std::vector<std::size_t> begins_;
  std::vector<double> costs_;  ///< If there is a fast memory.
  std::vector<Sums> sums_{};   ///< The same: of the operators before each one.
  std::vector<AlikeStretch> alike_{};
  std::vector<Known> known_;
  std::vector<bool> is_wanted_;  ///< Whether regions of a later end are like those of this one.
  std::size_t kept_ = 0;         ///< Peaks in `known_`.
};

}  // namespace

RegionOrder order_by_regions(const RowProgram& program, const RegionOptions& options,
                             const RegionSteps& steps_of) {
  if (options.deadline.is_over()) return {.peak = unbounded};
  options.deadline.spend(work_of_step * std::ssize(program.instances));
  return LeastPeaks(program, options, steps_of).run();
}

RegionOrder order_by_regions(const RowProgram& program, const RegionOptions& options) {
  if (options.deadline.is_over()) return {.peak = unbounded};  // the program may be incomplete
  Pulling pulling(program);
  return order_by_regions(program, options, [&](const Region& region) { return pulling.steps_of(region); });
}

Bytes least_peak_of(const RowModel& model, const TrialEffort& effort, Bytes limit) {
  const RowProgram program = unroll(model, {.deadline = effort.deadline});
  if (effort.deadline.is_over()) return unbounded;
  effort.deadline.spend(work_of_step * std::ssize(program.instances));
  Pulling pulling(program);
  const RegionSteps steps = [&](const Region& region) { return pulling.steps_of(region); };
  return LeastPeaks(program, {.work = effort.work, .limit = limit, .deadline = effort.deadline}, steps)
      .peak();
}

}  // namespace stowage::stream
