// Idea. A region runs some operators together: it pulls the rows of the last one, and before each row what it
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
// Source: the patent on polyhedral scheduling: the order inside a region is one affine map for each operator,
// scale and shift, at its latest. Choosing regions by their peak, and rows that come and go between them, are
// ours.
//
// Cost: operators^2 / 2 regions, each with a step for each iteration, until `work` is used up. A region stops
// if it exceeds the best peak for its end. Longer ones are not tried after the end's share of `work` has been
// spent in vain.

#include "stream/regions.h"

#include <algorithm>
#include <limits>

namespace stowage::stream {

bool Walk::pull(std::size_t target, const Region& region, Bytes limit) {
  // The operators whose next iteration is needed, each for the previous one in the list.
  std::vector<std::size_t> wanted{target};
  while (!wanted.empty()) {
    const std::size_t op = wanted.back();
    const Iteration& instance = state_.next(op);
    const auto missing = std::find_if(instance.needs.begin(), instance.needs.end(),
                                      [&](const Dependence& it) { return state_.done(it.op) < it.count; });
    if (missing != instance.needs.end()) {
      if (!region.has(missing->op)) return false;
      wanted.push_back(missing->op);
      continue;
    }
    if (!run(op, limit)) return false;
    wanted.pop_back();
  }
  return true;
}

bool Walk::take(std::size_t op, Bytes limit) { return state_.is_ready(op) && run(op, limit); }

bool Walk::run(std::size_t op, Bytes limit) {
  const Bytes load = state_.load_of(op);
  if (load > limit) return false;
  peak_ = std::max(peak_, load);
  steps_.push_back(program_.at(op, state_.done(op)));
  state_.run(op);
  return true;
}

void Walk::settle(const Region& region, Bytes limit) {
  bool is_changed = true;
  while (is_changed) {
    is_changed = false;
    for (std::size_t op = region.end; op-- > region.begin;) {
      while (!state_.is_finished(op) && state_.is_ready(op) && state_.live_after(op) <= state_.live() &&
             run(op, limit))
        is_changed = true;
    }
  }
}

namespace {

constexpr std::size_t rows_between_looks = 256;
constexpr std::size_t operators_a_step = 16;  ///< Progress of so many is set up in the time of a step.

/// Runs a region after all operators before it. Stops early if it needs more than the limit or time is up.
Walk pull_region(const RowProgram& program, const State& start, const Region& region, Bytes limit,
                 const base::Deadline& deadline) {
  Walk walk(program, start);
  for (std::size_t op = region.end; op-- > region.begin;) {
    for (std::size_t rows = 0; !walk.state().is_finished(op); ++rows) {
      if (rows % rows_between_looks == 0 && deadline.is_over()) return walk;
      if (!walk.pull(op, region, limit)) return walk;
    }
  }
  return walk;
}

constexpr Bytes unbounded = std::numeric_limits<Bytes>::max();

bool is_finished(const State& state, const Region& region) {
  for (std::size_t op = region.begin; op < region.end; ++op) {
    if (!state.is_finished(op)) return false;
  }
  return true;
}

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

/// The least peak of all operators up to each one, and its last region.
class LeastPeaks {
 public:
  LeastPeaks(const RowProgram& program, std::int64_t work, const base::Deadline& deadline,
             const RegionRunner& run_region, Bytes limit = unbounded)
      : program_(program),
        limit_(limit),
        deadline_(deadline),
        run_region_(run_region),
        lives_(lives_between(program)),
        may_begin_(boundaries(program)),
        left_(work),
        share_(work / static_cast<std::int64_t>(std::max<std::size_t>(1, program.operators()))),
        to_start_(static_cast<std::int64_t>(program.operators() / operators_a_step)),
        peaks_(program.operators() + 1, unbounded),
        begins_(program.operators() + 1, 0) {
    peaks_[0] = program.resident;
  }

  /// The least peak of all; the largest value if it exceeds the limit.
  Bytes peak() {
    for (std::size_t end = 1; end < peaks_.size(); ++end) {
      if (may_begin_[end]) find_last_region(end);
    }
    return deadline_.is_over() ? unbounded : peaks_.back();
  }

  RegionOrder run() {
    static_cast<void>(peak());
    RegionOrder order{.peak = peaks_.back()};
    for (std::size_t end = peaks_.size() - 1; end > 0; end = begins_[end])
      order.regions.push_back({begins_[end], end});
    std::reverse(order.regions.begin(), order.regions.end());
    for (const Region& region : order.regions) {
      const Walk walk = run_region_(start_of(region), region, unbounded);
      order.steps.insert(order.steps.end(), walk.steps().begin(), walk.steps().end());
    }
    return deadline_.is_over() ? RegionOrder{.peak = unbounded} : order;
  }

 private:
  [[nodiscard]] State start_of(const Region& region) const {
    return State(program_, region.begin, lives_[region.begin]);
  }

  void find_last_region(std::size_t end) {
    std::int64_t in_vain = 0;  // steps since the last better region
    for (std::size_t begin = end; begin-- > 0 && !deadline_.is_over();) {
      const bool is_spent = left_ <= 0 || in_vain > share_;
      if (peaks_[begin] >= peaks_[end] || (is_spent && (peaks_[end] != unbounded || limit_ != unbounded)))
        continue;
      const Region region{begin, end};
      const Bytes limit = peaks_[end] == unbounded ? limit_ : peaks_[end] - 1;
      const Walk walk = run_region_(start_of(region), region, limit);
      const std::int64_t work = static_cast<std::int64_t>(walk.steps().size()) + to_start_;
      left_ -= work;
      in_vain += work;
      if (!is_finished(walk.state(), region)) continue;
      in_vain = 0;
      peaks_[end] = std::max(peaks_[begin], walk.peak());
      begins_[end] = begin;
    }
  }

  const RowProgram& program_;
  Bytes limit_;  ///< Higher peaks are as good as none.
  const base::Deadline& deadline_;
  const RegionRunner& run_region_;
  std::vector<Bytes> lives_;
  std::vector<bool> may_begin_;  ///< Whether a region may begin with an operator.
  std::int64_t left_;            ///< Steps that may still be tried.
  std::int64_t share_;           ///< Steps that may be tried in vain for one end.
  std::int64_t to_start_;        ///< The work of setting up a region, in steps.
  std::vector<Bytes> peaks_;
  std::vector<std::size_t> begins_;
};

}  // namespace

RegionOrder order_by_regions(const RowProgram& program, std::int64_t work, const base::Deadline& deadline,
                             const RegionRunner& run) {
  if (deadline.is_over()) return {.peak = unbounded};
  return LeastPeaks(program, work, deadline, run).run();
}

RegionOrder order_by_regions(const RowProgram& program, std::int64_t work, const base::Deadline& deadline) {
  return order_by_regions(program, work, deadline,
                          [&](const State& start, const Region& region, Bytes limit) {
                            return pull_region(program, start, region, limit, deadline);
                          });
}

Bytes least_peak_of(const RowModel& model, const TrialEffort& effort, Bytes limit) {
  const RowProgram program = unroll(model, {.deadline = effort.deadline});
  if (effort.deadline.is_over()) return unbounded;
  const RegionRunner run = [&](const State& start, const Region& region, Bytes most) {
    return pull_region(program, start, region, most, effort.deadline);
  };
  return LeastPeaks(program, effort.work, effort.deadline, run, limit).peak();
}

}  // namespace stowage::stream
