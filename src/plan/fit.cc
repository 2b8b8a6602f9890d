// The largest size that fits. A plan for every size up to N needs no less than one for every size up to a smaller N, for
// it may remove no other copies and share no other bytes. So N is found between one that fits and one that does not:
//
//     fits  1 ------- 40 ---> guess: the capacity over the bytes of each size <--- 200  does not
//
// A guess that leaves more than half of the sizes is followed by the middle. Peaks of single sizes may fall where a size
// is a multiple of an alignment, so some sizes beyond N are planned alone. By rows, all are: operators with open sizes run as
// wholes, so a plan for a range would be one of whole operators. Rows take time to find, and their peaks do not grow
// with the size: after a round of quick plans, larger sizes are tried again by a few long ones.
//
// Cost: about ten plans for ranges of a million sizes, and up to 48 plans of single sizes.
#include "stowage/fit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <set>
#include <utility>

#include "base/deadline.h"
#include "stowage/error.h"
#include "stowage/frontier.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

constexpr std::int64_t parts_of_effort = 3;
constexpr std::int64_t most_plans = 12;   // that find the largest size; seldom more
constexpr std::int64_t plans_behind = 2;  // for the sizes beyond it, as much time as for so many of these
constexpr std::int64_t most_rows_that_share = 8;  // of a frontier; seldom do more sizes fit
constexpr double share_of_first_round = 0.25;
constexpr double plans_of_second_round = 8;
constexpr std::int64_t most_next_singles = 32;
constexpr std::int64_t most_round_singles = 16;
constexpr std::int64_t round_step = 16;  // sizes at whole steps of it are most likely to save copies
constexpr std::int64_t most_growth = 64;

/// The time of a search, of which each plan gets a part. Of an effort, each gets the same part.
class SharedTime {
 public:
  explicit SharedTime(const PlanOptions& options)
      : SharedTime(options, options.solve.effort
                                ? base::Deadline(options.solve.stop)
                                : base::Deadline(options.solve.time_limit, options.solve.stop)) {}

  [[nodiscard]] bool is_over() const { return deadline_.is_over(); }
  [[nodiscard]] base::Deadline::Seconds left() const { return deadline_.left(); }
  [[nodiscard]] SharedTime part(double share) const { return {options_, deadline_.part(share)}; }

  /// For a plan that may take so long.
  [[nodiscard]] PlanOptions for_plan(base::Deadline::Seconds time) const {
    PlanOptions options = options_;
    if (options.solve.effort) {
      options.solve.effort = std::max<std::int64_t>(1, *options.solve.effort / parts_of_effort);
    } else {
      options.solve.time_limit = std::min(time, left());
    }
    return options;
  }
  /// For the next of so many plans.
  [[nodiscard]] PlanOptions for_next_of(std::int64_t plans) const {
    return for_plan(left() / static_cast<double>(plans));
  }
  /// For a plan on which much depends: half of what is left, or the whole effort.
  [[nodiscard]] PlanOptions for_most() const { return options_.solve.effort ? options_ : for_next_of(2); }

 private:
  SharedTime(const PlanOptions& options, base::Deadline deadline)
      : options_(options), deadline_(std::move(deadline)) {}

  const PlanOptions& options_;
  base::Deadline deadline_;
};

/// With rows, a bound of whole operators covers too little.
SizedPeak sized_peak(std::int64_t size, const PlanResult& result, const PlanOptions& options) {
  const ClaimScope widest = options.stream ? ClaimScope::stream : ClaimScope::order;
  SizedPeak found{.size = size,
                  .peak = result.plan.summary.peak,
                  .fits = result.outcome == Outcome::fits,
                  .by_rows = is_streamed(result.plan),
                  .interrupted = result.plan.interrupted,
                  .lower_bound = result.plan.summary.lower_bound};
  for (const Claim& claim : result.plan.claims) {
    if (claim.scope != widest) continue;
    found.lower_bound = claim.lower_bound;
    found.scope = claim.scope;
  }
  return found;
}

SizedPeak plan_at(const ReadWithSize& read, const GivenSize& size, const PlanOptions& options) {
  try {
    return sized_peak(size.most, make_plan(read(size), options), options);
  } catch (const Error& error) {
    return {.size = size.most, .fits = false, .rejected = error.what()};
  }
}

SizedPeak plan_at(const ReadWithSize& read, std::int64_t size, const PlanOptions& options) {
  return plan_at(read, GivenSize(size, size), options);
}

class FitSearch {
 public:
  FitSearch(const ReadWithSize& read, const GivenSize& range, const PlanOptions& options)
      : read_(read),
        range_(range),
        least_(range.least.value_or(1)),
        steps_((range.most - least_) / range.step),
        options_(options),
        time_(options) {
    result_.is_alone = options.stream.has_value();
  }

  /// With `singles`, sizes beyond the next are planned alone, too.
  SizeFit run(bool singles) {
    SizedPeak first = plan_up_to(0, time_.for_next_of(plans_to_come()));
    if (!first.rejected.empty()) throw Error("", first.rejected);
    if (!first.fits) {
      result_.is_cut_short = may_fit(first);
      result_.next = std::move(first);
      return std::move(result_);
    }
    keep(0, first);
    narrow(result_.is_alone ? time_.part(share_of_first_round) : time_);
    if (result_.is_alone && last_fit_ < steps_ && (!is_decided() || !is_proven(miss_))) {
      const base::Deadline::Seconds slice = time_.left() / plans_of_second_round;
      leap(slice);
      narrow(time_, slice);
    }
    result_.interrupted = is_stopped();
    plan_next();
    const bool is_larger = result_.next && result_.is_alone && result_.next->fits;
    if (result_.next && (singles || is_larger)) look_beyond();
    if (result_.is_alone && !result_.larger.empty()) take_largest_single();
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::int64_t size_at(std::int64_t step) const { return least_ + step * range_.step; }
  [[nodiscard]] bool is_stopped() const { return options_.solve.stop.stop_requested(); }

  /// Whether no plan fits.
  [[nodiscard]] bool is_proven(const SizedPeak& miss) const {
    const auto& memories = options_.memories;
    return !miss.rejected.empty() || (miss.scope != ClaimScope::offsets && memories.size() == 1 &&
                                      miss.lower_bound > memories[0].capacity.value_or(largest_value));
  }
  /// Whether more time may find a plan that fits.
  [[nodiscard]] bool may_fit(const SizedPeak& miss) const { return miss.interrupted && !is_proven(miss); }

  /// The next size alone. By rows it may have a plan already, which may gain from more time.
  void plan_next() {
    if (last_fit_ == steps_) return;
    if (is_decided() && result_.is_alone) result_.next = miss_;
    if (!time_.is_over() && (!result_.next || may_fit(*result_.next)))
      result_.next = plan_at(read_, size_at(last_fit_ + 1), time_.for_most());
    const SizedPeak& miss = result_.is_alone && result_.next ? *result_.next : miss_;
    result_.is_cut_short = !is_stopped() && (!is_decided() || may_fit(miss));
  }

  [[nodiscard]] bool is_decided() const { return last_fit_ + 1 == first_miss_; }

  /// How many plans may have to share the time.
  [[nodiscard]] std::int64_t plans_to_come() const {
    const auto sizes = static_cast<std::uint64_t>(first_miss_ - last_fit_);
    return std::min(most_plans, static_cast<std::int64_t>(std::bit_width(sizes))) + plans_behind;
  }

  /// Finds what fits and what does not nearer to each other, by plans that take up to `slice` each, or share the time.
  void narrow(const SharedTime& time, std::optional<base::Deadline::Seconds> slice = {}) {
    while (!is_decided() && !time.is_over()) {
      const std::int64_t before = first_miss_ - last_fit_;
      const std::int64_t step = halves_ ? last_fit_ + before / 2 : guess();
      const SizedPeak found =
          plan_up_to(step, slice ? time.for_plan(*slice) : time.for_next_of(plans_to_come()));
      note(step, found);
      halves_ = first_miss_ <= steps_ && first_miss_ - last_fit_ > before / 2;
    }
  }

  /// By rows, a large size may fit where smaller ones do not: it may have rows that they lack, or divide into equal ones.
  /// From what fits, tries some sizes beyond it, the largest first.
  void leap(base::Deadline::Seconds slice) {
    constexpr std::array factors{4.0, 2.0, 1.5, 1.25, 1.125};
    std::int64_t from = -1;
    while (from < last_fit_) {
      from = last_fit_;
      forget_misses();
      for (const double factor : factors) {
        const double steps = static_cast<double>(fit_.size) * (factor - 1) / static_cast<double>(range_.step);
        const std::int64_t most = first_sure_miss_ - 1;
        const std::int64_t step =
            steps < static_cast<double>(most - from) ? from + static_cast<std::int64_t>(steps) : most;
        if (step <= from || step >= first_miss_) continue;
        if (time_.is_over()) return;
        note(step, plan_up_to(step, time_.for_plan(slice)));
        if (last_fit_ > from) break;
      }
    }
  }

  void forget_misses() {
    first_miss_ = first_sure_miss_;
    miss_ = sure_miss_;
  }

  void note(std::int64_t step, const SizedPeak& found) {
    if (found.fits) return keep(step, found);
    first_miss_ = step;
    miss_ = found;
    if (!is_proven(found)) return;
    first_sure_miss_ = step;
    sure_miss_ = found;
  }

  SizedPeak plan_up_to(std::int64_t step, const PlanOptions& options) {
    ++result_.plans;
    const std::int64_t size = size_at(step);
    return plan_at(read_, result_.is_alone ? GivenSize(size, size) : GivenSize(least_, size, range_.step),
                   options);
  }

  void keep(std::int64_t step, const SizedPeak& found) {
    last_fit_ = step;
    fit_ = found;
    result_.largest = found.size;
    result_.peak = found.peak;
    result_.by_rows = found.by_rows;
  }

  /// Where the capacity would be full: on the line through what fits and what does not, else through nothing.
  [[nodiscard]] std::int64_t guess() const {
    const bool has_miss = first_miss_ <= steps_;
    const std::int64_t most = has_miss ? first_miss_ - 1 : steps_;
    const std::int64_t grown = last_fit_ < most / most_growth ? (last_fit_ + 1) * most_growth : most;
    const std::int64_t middle = has_miss ? last_fit_ + (first_miss_ - last_fit_) / 2 : grown;
    if (options_.memories.size() > 1 || !options_.memories[0].capacity || fit_.peak == 0) return middle;
    const auto capacity = static_cast<double>(*options_.memories[0].capacity);
    const auto peak = static_cast<double>(fit_.peak), size = static_cast<double>(fit_.size);
    double full = std::min(size * capacity / peak, static_cast<double>(size_at(grown)));
    if (has_miss) {
      if (!miss_.rejected.empty() || miss_.peak <= fit_.peak) return middle;
      full = size + (capacity - peak) * (static_cast<double>(miss_.size) - size) /
                        (static_cast<double>(miss_.peak) - peak);
    }
    const double step = (full - static_cast<double>(least_)) / static_cast<double>(range_.step);
    return static_cast<std::int64_t>(
        std::clamp(step, static_cast<double>(last_fit_ + 1), static_cast<double>(most)));
  }

  /// Single sizes: those that follow, and round ones.
  void look_beyond() {
    std::set<std::int64_t> steps;
    for (std::int64_t i = 1; i <= most_next_singles; ++i) steps.insert(last_fit_ + i);
    std::int64_t round = 0;
    for (std::int64_t step = last_fit_ + 1;
         round < most_round_singles && step <= last_fit_ + round_step * (most_round_singles + 1); ++step) {
      if (size_at(step) % round_step != 0) continue;
      steps.insert(step);
      ++round;
    }
    std::erase_if(steps, [&](std::int64_t step) { return step > steps_; });
    auto left = static_cast<std::int64_t>(steps.size());
    for (const std::int64_t step : steps) {
      const bool is_next = step == last_fit_ + 1;
      if (!is_next && time_.is_over()) break;
      const SizedPeak found =
          is_next ? *result_.next : plan_at(read_, size_at(step), time_.for_next_of(left));
      --left;
      ++result_.singles;
      result_.last_single = found.size;
      if (!found.fits) continue;
      result_.larger.push_back(found.size);
      single_ = found;
      single_number_ = result_.singles;
    }
    result_.untried = left;
  }

  /// Each size has a plan of its own, so the largest that fits is the answer.
  void take_largest_single() {
    const std::int64_t step = (single_.size - least_) / range_.step;
    keep(step, single_);
    result_.larger.clear();
    result_.singles -= single_number_;
    result_.next.reset();
    if (step == steps_) return;
    if (!time_.is_over()) result_.next = plan_at(read_, size_at(step + 1), time_.for_next_of(1));
    result_.is_cut_short = !is_stopped() && (!result_.next || may_fit(*result_.next));
  }

  const ReadWithSize& read_;
  GivenSize range_;
  std::int64_t least_;
  std::int64_t steps_;  ///< From the smallest size to the largest.
  const PlanOptions& options_;
  SharedTime time_;
  SizeFit result_{};
  std::int64_t last_fit_ = -1;
  SizedPeak fit_{};
  std::int64_t first_miss_ = steps_ + 1;
  SizedPeak miss_{};
  std::int64_t first_sure_miss_ = steps_ + 1;  ///< Proven.
  SizedPeak sure_miss_{};
  SizedPeak single_{};              ///< The largest single size that fits.
  std::int64_t single_number_ = 0;  ///< Its number among them.
  bool halves_ = false;             ///< The last guess left more than half.
};

}  // namespace

std::vector<SizedPeak> peaks_at(const ReadWithSize& read, std::span<const std::int64_t> sizes,
                                const PlanOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<SizedPeak> peaks;
  for (std::size_t s = 0; s < sizes.size() && !options.solve.stop.stop_requested(); ++s) {
    const auto left = options.solve.time_limit - (std::chrono::steady_clock::now() - begin);
    if (left.count() <= 0) break;
    PlanOptions own = options;
    own.solve.time_limit = left / static_cast<double>(sizes.size() - s);
    peaks.push_back(plan_at(read, sizes[s], own));
  }
  return peaks;
}

SizeFit fit_size(const ReadWithSize& read, const GivenSize& range, const PlanOptions& options) {
  return FitSearch(read, range, options).run(true);
}

std::vector<FrontierRow> fit_frontier(const ReadWithTwoSizes& read, std::span<const std::int64_t> firsts,
                                      const GivenSize& second, const PlanOptions& options) {
  std::vector<FrontierRow> rows;
  const SharedTime time(options);
  for (const std::int64_t first : firsts) {
    if (!rows.empty() && time.is_over()) break;
    FrontierRow row{.first = first};
    const ReadWithSize read_second = [&](const GivenSize& size) { return read(first, size); };
    PlanOptions own = options;
    if (!own.solve.effort) {
      const auto left = static_cast<std::int64_t>(firsts.size() - rows.size());
      own = time.for_next_of(std::min(left, most_rows_that_share));
    }
    try {
      row.fit = FitSearch(read_second, second, own).run(false);
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      row.rejected = error.what();
    }
    rows.push_back(std::move(row));
    if (rows.back().rejected.empty() && !rows.back().fit.largest) break;
  }
  return rows;
}

}  // namespace stowage
