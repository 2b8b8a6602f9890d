// Each operator o runs its iteration i at time  scale(o) * i + shift(o). Then a compiler can write the
// order as loops, and a ring with modulo addresses holds the rows of a tensor.
//
//     x[i] -> i        time  0 1 2 3 4 5 6 7
//     a[i] -> i + 1    x     0 1 2 3 4 5 6 7
//     b[i] -> 2i + 3   a       0 1 2 3 4 5 6 7        a waits for one row of x below its own,
//     y[i] -> 2i + 3   b           0   1   2   3      b for three rows of a and then two more each time
//
// Scales follow from the strides. If a row of c is made of s new rows of p, c takes s times as long for a
// row. Scales in a region keep these ratios, as integers. Shifts are then the latest that let the last
// operator run without a pause. For each row i of c,
//
//     shift(p) <= time(c, i) - scale(p) * (the last row of p that row i of c reads)
//
// Regions follow each other without overlap; a dynamic program chooses them (regions.cc). In the regions that
// decide the peak, the search then moves shifts, scales and positions of operators as long as that lowers the
// peak or the number of steps at the peak: one by one, in small regions two at once, and in small networks
// across regions, too. To evaluate a schedule exactly, it sorts and runs the steps.
//
// Source: the patent on polyhedral scheduling (docs/streaming.md): one affine map for each operator into a
// common time, scored by the most live storage, improved until a target is met. The search is ours.
// Cost: one region takes s log s for its s steps; regions.cc says how many are tried.

#include "stream/affine.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "base/checked.h"
#include "stream/replay.h"

namespace stowage::stream {
namespace {

/// A positive fraction in lowest terms.
struct Fraction {
  std::int64_t over = 1;
  std::int64_t under = 1;
};

/// a * over / under; none on overflow.
std::optional<Fraction> times_fraction(const Fraction& a, std::int64_t over, std::int64_t under) {
  const auto above = base::checked_multiply(a.over, over);
  const auto below = base::checked_multiply(a.under, under);
  if (!above || !below || *above < 1 || *below < 1) return std::nullopt;
  const std::int64_t divisor = std::gcd(*above, *below);
  return Fraction{*above / divisor, *below / divisor};
}

/// `over` iterations of `writer` for each `under` iterations of `reader`.
struct Rate {
  std::size_t writer = 0;
  std::size_t reader = 0;
  std::int64_t over = 1;
  std::int64_t under = 1;
};

/// For each operator the rates that it takes part in.
std::vector<std::vector<Rate>> rates_of(const RowModel& model) {
  std::vector<std::optional<std::size_t>> writers(model.tensors.size());
  for (std::size_t o = 0; o < model.operators.size(); ++o) {
    if (model.operators[o].writing != Writing::row_by_row) continue;
    for (const std::size_t t : model.operators[o].writes) {
      if (model.operators[o].writing_of(t) == Writing::row_by_row) writers[t] = o;
    }
  }
  std::vector<std::vector<Rate>> rates(model.operators.size());
  for (std::size_t o = 0; o < model.operators.size(); ++o) {
    const Operator& reader = model.operators[o];
    for (const Access& access : reader.reads) {
      const auto writer = writers[access.tensor];
      if (!writer || access.rows.scale < 1) continue;
      const auto over = base::checked_multiply(access.rows.scale, reader.granule);
      const auto under = base::checked_multiply(access.rows.divisor, model.operators[*writer].granule);
      if (!over || !under) continue;
      for (const std::size_t op : {*writer, o}) rates[op].push_back({*writer, o, *over, *under});
    }
  }
  return rates;
}

/// The score of a region's schedule: its peak, then the number of steps at the peak.
using Score = std::pair<Bytes, std::int64_t>;

/// The steps of a region by their times; `times` are those of its operators.
std::vector<IterationId> steps_by_time(const RowProgram& program, const Region& region,
                                       std::span<const AffineTime> times) {
  std::vector<std::tuple<std::int64_t, std::int64_t, IterationId>> timed;
  for (std::size_t op = region.begin; op < region.end; ++op) {
    const AffineTime& it = times[op - region.begin];
    for (std::int64_t i = 0; i < program.count(op); ++i)
      timed.emplace_back(it.scale * i + it.shift, it.position, program.at(op, i));
  }
  std::sort(timed.begin(), timed.end());
  std::vector<IterationId> steps;
  steps.reserve(timed.size());
  for (const auto& it : timed) steps.push_back(std::get<2>(it));
  return steps;
}

class AffineSearch {
 public:
  AffineSearch(const RowModel& model, const RowProgram& program, Bytes target, const TrialEffort& effort)
      : program_(program),
        target_(target),
        effort_(effort),
        rates_(rates_of(model)),
        times_(model.operators.size()) {}

  std::optional<AffineOrder> run() {
    const RegionSteps steps = [this](const Region& region) { return legal_steps(region); };
    RegionOrder order =
        order_by_regions(program_, {.work = effort_.work, .deadline = effort_.deadline}, steps);
    if (order.steps.size() != program_.instances.size() || effort_.deadline.is_over()) return std::nullopt;
    for (const Region& region : order.regions) store(region, latest_times(region));
    lower(order.regions);
    join(order.regions);
    if (program_.operators() <= most_for_pairs) lower_across();
    if (effort_.deadline.is_over() && program_.instances.size() > most_without_time) return std::nullopt;
    return result(std::move(order.regions));
  }

  std::optional<std::vector<AffineTime>> run_together(std::size_t operators) {
    const Region all{0, operators};
    if (legal_steps(all).empty()) return std::nullopt;
    store(all, latest_times(all));
    lower({all});
    join({all});
    return Times(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(operators));
  }

 private:
  using Times = std::vector<AffineTime>;  ///< Of the operators of a region.

  // Times of a region from its rates

  /// The latest shifts with which all later operators of the region get what they need. An operator that none
  /// needs ends with the last one. Empty on overflow.
  [[nodiscard]] Times latest_times(const Region& region) const {
    Times times = scaled_times(region);
    if (times.empty()) return times;
    const std::int64_t end = times.back().scale * (program_.count(region.end - 1) - 1);
    std::vector<std::optional<std::int64_t>> latest(times.size());
    for (std::size_t op = region.end; op-- > region.begin;) {
      AffineTime& time = times[op - region.begin];
      time.shift = latest[op - region.begin].value_or(end - time.scale * (program_.count(op) - 1));
      for (std::int64_t i = 0; i < program_.count(op); ++i) {
        for (const Dependence& need : program_.instances[program_.at(op, i)].needs) {
          if (!region.has(need.op) || need.op >= op || need.count < 1) continue;
          auto& known = latest[need.op - region.begin];
          const std::int64_t shift =
              time.scale * i + time.shift - times[need.op - region.begin].scale * (need.count - 1);
          known = std::min(known.value_or(shift), shift);
        }
      }
    }
    return times;
  }

  /// Times with scales in the ratios of the rates; empty on overflow.
  [[nodiscard]] Times scaled_times(const Region& region) const {
    std::vector<std::optional<Fraction>> scales(region.end - region.begin);
    for (std::size_t op = region.end; op-- > region.begin;) {
      if (scales[op - region.begin]) continue;
      scales[op - region.begin] = Fraction{};
      if (!spread(op, region, scales)) return {};
    }
    std::int64_t unit = 1;
    for (const auto& scale : scales) {
      const auto next = base::checked_multiply(unit, scale->under / std::gcd(unit, scale->under));
      if (!next || *next > largest_unit) return {};
      unit = *next;
    }
    Times times;
    for (const auto& scale : scales) {
      const auto whole = base::checked_multiply(scale->over, unit / scale->under);
      const std::int64_t most = largest_time / std::max<std::int64_t>(1, longest_);
      if (!whole || *whole > most) return {};
      times.push_back(
          {.scale = *whole, .shift = 0, .position = static_cast<std::int64_t>(region.begin + times.size())});
    }
    return times;
  }

  /// Gives scales to all operators connected with one that has a scale.
  bool spread(std::size_t from, const Region& region, std::vector<std::optional<Fraction>>& scales) const {
    std::vector<std::size_t> open{from};
    while (!open.empty()) {
      const std::size_t op = open.back();
      open.pop_back();
      for (const Rate& rate : rates_[op]) {
        if (!region.has(rate.writer) || !region.has(rate.reader)) continue;
        const bool is_writer = rate.writer == op;
        auto& scale = scales[(is_writer ? rate.reader : rate.writer) - region.begin];
        if (scale) continue;
        scale = is_writer ? times_fraction(*scales[op - region.begin], rate.over, rate.under)
                          : times_fraction(*scales[op - region.begin], rate.under, rate.over);
        if (!scale) return false;
        open.push_back(is_writer ? rate.reader : rate.writer);
      }
    }
    return true;
  }

  // Evaluation

  [[nodiscard]] std::vector<IterationId> steps_of(const Region& region, const Times& times) const {
    return steps_by_time(program_, region, times);
  }

  /// None if recomputed rows allow no such order.
  [[nodiscard]] std::vector<IterationId> legal_steps(const Region& region) const {
    const Times times = latest_times(region);
    if (times.empty() || effort_.deadline.is_over()) return {};
    std::vector<IterationId> steps = steps_of(region, times);
    effort_.deadline.spend(work_of_step * std::ssize(steps));
    std::vector<std::int64_t> done(times.size(), 0);
    for (const IterationId step : steps) {
      const Iteration& instance = program_.instances[step];
      for (const Dependence& need : instance.needs) {
        if (need.op >= region.end) return {};
        if (need.op >= region.begin && done[need.op - region.begin] < need.count) return {};
      }
      ++done[instance.op - region.begin];
    }
    return steps;
  }

  /// Looks at the clock now and then.
  [[nodiscard]] bool is_cut_at(std::size_t step) const {
    constexpr std::size_t steps_between_looks = 4096;
    return step % steps_between_looks == steps_between_looks - 1 && effort_.deadline.is_over();
  }

  /// None if illegal or above the limit, or if time is up.
  [[nodiscard]] std::optional<Score> score_of(const State& start, const Times& times, const Region& region,
                                              Bytes limit) {
    State state = start;
    Score score{0, 0};
    std::size_t done = 0;
    const std::vector<IterationId> steps = steps_of(region, times);
    effort_.deadline.spend(work_of_step * std::ssize(steps));
    for (const IterationId step : steps) {
      if (is_cut_at(done++)) return std::nullopt;
      --work_left_;
      const std::size_t op = program_.instances[step].op;
      if (!state.is_ready(op)) return std::nullopt;
      const Bytes load = state.load_of(op);
      if (load > limit) return std::nullopt;
      if (load > score.first) score = {load, 0};
      if (load == score.first) ++score.second;
      state.run(op);
    }
    return score;
  }

  // Search

  /// Lowers the highest region while possible.
  void lower(const std::vector<Region>& regions) {
    std::vector<Score> scores;
    for (const Region& region : regions) {
      const auto score = score_of(state_before(region), times_of(region), region, unlimited);
      if (!score) return;
      scores.push_back(*score);
    }
    while (!scores.empty() && !effort_.deadline.is_over()) {
      const auto highest = std::max_element(scores.begin(), scores.end());
      if (highest->first <= target_) return;
      if (!lower_region(regions[static_cast<std::size_t>(highest - scores.begin())], *highest)) return;
    }
  }

  /// For small networks: searches in one region, from the regions' schedule and from its own.
  void lower_across() {
    const Region all{0, program_.operators()};
    lower({all});
    const auto score_now = [&] { return score_of(State(program_), times_, all, unlimited); };
    const Times best = times_;
    const auto least = score_now();
    Times alone = latest_times(all);
    if (!least || alone.empty() || !score_of(State(program_), alone, all, unlimited)) return;
    times_ = std::move(alone);
    lower({all});
    const auto found = score_now();
    if (!found || *least <= *found) times_ = best;
  }

  /// Makes the first better change to a region: one, or two at once if the region is small.
  bool lower_region(const Region& region, Score& score) {
    const State start = state_before(region);
    const Times now = times_of(region);
    const auto is_better = [&](const Times& times) {
      const auto found = score_of(start, times, region, score.first);
      if (!found || *found >= score) return false;
      score = *found;
      store(region, times);
      return true;
    };
    const std::vector<Times> changed = changes_of(now);
    for (const Times& once : changed) {
      if (effort_.deadline.is_over() || work_left_ < 0) return false;
      if (is_better(once)) return true;
    }
    if (now.size() > most_for_pairs) return false;
    for (const Times& once : changed) {
      for (const Times& twice : changes_of(once)) {
        if (effort_.deadline.is_over() || work_left_ < 0) return false;
        if (is_better(twice)) return true;
      }
    }
    return false;
  }

  /// One operator earlier or later, alone or with all after it; faster or slower; another position.
  [[nodiscard]] static std::vector<Times> changes_of(const Times& now) {
    std::vector<Times> changed;
    for (std::size_t op = 0; op < now.size(); ++op) {
      std::vector<std::int64_t> steps{-1, 1};
      if (now[op].scale > 1) steps.insert(steps.end(), {-now[op].scale, now[op].scale});
      for (const std::int64_t step : steps) {
        Times times = now;
        times[op].shift += step;
        changed.push_back(times);
        for (std::size_t later = op + 1; later < now.size(); ++later) times[later].shift += step;
        if (op + 1 < now.size()) changed.push_back(std::move(times));
      }
      for (const std::int64_t scale : {now[op].scale - 1, now[op].scale + 1}) {
        if (scale < 1) continue;
        changed.push_back(now);
        changed.back()[op].scale = scale;
      }
      for (std::size_t other = op + 1; other < now.size(); ++other) {
        changed.push_back(now);
        std::swap(changed.back()[op].position, changed.back()[other].position);
      }
    }
    return changed;
  }

  // Parts

  [[nodiscard]] Times times_of(const Region& region) const {
    return {times_.begin() + static_cast<std::ptrdiff_t>(region.begin),
            times_.begin() + static_cast<std::ptrdiff_t>(region.end)};
  }

  void store(const Region& region, const Times& times) {
    std::copy(times.begin(), times.end(), times_.begin() + static_cast<std::ptrdiff_t>(region.begin));
  }

  /// Exactly the operators before the region have run.
  [[nodiscard]] State state_before(const Region& region) const {
    State state(program_);
    for (std::size_t op = 0; op < region.begin; ++op) {
      while (!state.is_finished(op)) state.run(op);
    }
    return state;
  }

  /// Shifts regions so that one follows the other.
  void join(const std::vector<Region>& regions) {
    std::int64_t next = 0;
    for (const Region& region : regions) {
      std::int64_t first = std::numeric_limits<std::int64_t>::max();
      std::int64_t last = std::numeric_limits<std::int64_t>::min();
      for (std::size_t op = region.begin; op < region.end; ++op) {
        if (program_.count(op) == 0) continue;
        first = std::min(first, times_[op].shift);
        last = std::max(last, times_[op].scale * (program_.count(op) - 1) + times_[op].shift);
      }
      if (first > last) continue;
      for (std::size_t op = region.begin; op < region.end; ++op) times_[op].shift += next - first;
      next += last - first + 1;
    }
  }

  [[nodiscard]] AffineOrder result(std::vector<Region> regions) {
    AffineOrder result{.times = std::move(times_), .regions = std::move(regions)};
    result.steps = order_of(program_, result.times);
    result.peak = replay(program_, result.steps).peak;
    return result;
  }

  static constexpr Bytes unlimited = std::numeric_limits<Bytes>::max();
  static constexpr std::size_t most_for_pairs = 6;
  static constexpr std::int64_t work_of_step = 60;  ///< In the units of deadlines: to sort and run it.
  static constexpr std::size_t most_without_time =
      50'000;  ///< Steps that are sorted and run when time is up.
  static constexpr std::int64_t largest_unit = 1 << 20;
  static constexpr std::int64_t largest_time = std::int64_t{1} << 40;

  const RowProgram& program_;
  Bytes target_;
  TrialEffort effort_;
  std::vector<std::vector<Rate>> rates_;
  std::int64_t longest_ = static_cast<std::int64_t>(program_.instances.size());
  std::int64_t work_left_ = effort_.work;  ///< Steps that the search may still try.
  Times times_;                            ///< Of all operators; before `join`, each region begins anywhere.
};

}  // namespace

std::optional<AffineOrder> affine_order(const RowModel& model, const RowProgram& program, Bytes target,
                                        const TrialEffort& effort) {
  if (effort.deadline.is_over()) return std::nullopt;  // the program may be incomplete
  return AffineSearch(model, program, target, effort).run();
}

std::optional<std::vector<AffineTime>> times_together(const RowModel& model, const RowProgram& program,
                                                      std::size_t operators, Bytes target,
                                                      const TrialEffort& effort) {
  if (effort.deadline.is_over() || operators == 0) return std::nullopt;
  return AffineSearch(model, program, target, effort).run_together(operators);
}

std::vector<IterationId> order_of(const RowProgram& program, const std::vector<AffineTime>& times) {
  return steps_by_time(program, {0, program.operators()}, times);
}

}  // namespace stowage::stream
