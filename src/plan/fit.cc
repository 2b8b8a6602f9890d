// The largest size that fits. A plan for every size up to N needs no less than one for every size up to a smaller N, for
// it may remove no other copies and share no other bytes. So N is found between one that fits and one that does not:
//
//     fits  1 ------- 40 ---> guess: the capacity over the bytes of each size <--- 200  does not
//
// A guess that leaves more than half of the sizes is followed by the middle. Peaks of single sizes may fall where a size
// is a multiple of an alignment, so some sizes beyond N are planned alone.
//
// Cost: about ten plans for ranges of a million sizes, and up to 48 plans of single sizes.
#include "stowage/fit.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "stowage/error.h"
#include "stowage/frontier.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

constexpr std::int64_t parts_of_limit = 3;
constexpr std::int64_t most_next_singles = 32;
constexpr std::int64_t most_round_singles = 16;
constexpr std::int64_t round_step = 16;  // sizes at whole steps of it are most likely to save copies
constexpr std::int64_t most_growth = 64;

/// The options with a part of the time.
PlanOptions with_part(PlanOptions options, std::int64_t parts) {
  if (options.solve.effort) {
    options.solve.effort = std::max<std::int64_t>(1, *options.solve.effort / parts);
  } else {
    options.solve.time_limit /= static_cast<double>(parts);
  }
  return options;
}

/// With rows, a bound of whole operators covers too little.
SizedPeak sized_peak(std::int64_t size, const PlanResult& result, const PlanOptions& options) {
  const ClaimScope widest = options.stream ? ClaimScope::stream : ClaimScope::order;
  SizedPeak found{.size = size,
                  .peak = result.plan.summary.peak,
                  .fits = result.outcome == Outcome::fits,
                  .lower_bound = result.plan.summary.lower_bound};
  for (const Claim& claim : result.plan.claims) {
    if (claim.scope != widest) continue;
    found.lower_bound = claim.lower_bound;
    found.scope = claim.scope;
  }
  return found;
}

SizedPeak plan_at(const ReadWithSize& read, std::int64_t size, const PlanOptions& options) {
  try {
    return sized_peak(size, make_plan(read({size, size}), options), options);
  } catch (const Error& error) {
    return {.size = size, .fits = false, .rejected = error.what()};
  }
}

class FitSearch {
 public:
  FitSearch(const ReadWithSize& read, const GivenSize& range, const PlanOptions& options)
      : read_(read),
        range_(range),
        least_(range.least.value_or(1)),
        steps_((range.most - least_) / range.step),
        full_(options),
        options_(with_part(options, parts_of_limit)) {}

  /// With `singles`, sizes beyond the next are planned alone, too.
  SizeFit run(bool singles) {
    SizedPeak first = plan_up_to(0);
    if (!first.rejected.empty()) throw Error("", first.rejected);
    if (!first.fits) {
      result_.next = std::move(first);
      return std::move(result_);
    }
    keep(0, first);
    while (last_fit_ + 1 < first_miss_ && !is_stopped()) {
      const std::int64_t before = first_miss_ - last_fit_;
      const std::int64_t step = halves_ ? last_fit_ + before / 2 : guess();
      const SizedPeak found = plan_up_to(step);
      if (found.fits) {
        keep(step, found);
      } else {
        first_miss_ = step;
        miss_ = found;
      }
      halves_ = first_miss_ <= steps_ && first_miss_ - last_fit_ > before / 2;
    }
    result_.interrupted = is_stopped();
    if (last_fit_ < steps_ && !is_stopped()) result_.next = plan_at(read_, size_at(last_fit_ + 1), full_);
    if (singles && result_.next) look_beyond();
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::int64_t size_at(std::int64_t step) const { return least_ + step * range_.step; }
  [[nodiscard]] bool is_stopped() const { return full_.solve.stop.stop_requested(); }

  SizedPeak plan_up_to(std::int64_t step) {
    ++result_.plans;
    const std::int64_t size = size_at(step);
    try {
      return sized_peak(size, make_plan(read_({least_, size, range_.step}), options_), options_);
    } catch (const Error& error) {
      return {.size = size, .fits = false, .rejected = error.what()};
    }
  }

  void keep(std::int64_t step, const SizedPeak& found) {
    last_fit_ = step;
    fit_ = found;
    result_.largest = found.size;
    result_.peak = found.peak;
  }

  /// Where the capacity would be full: on the line through what fits and what does not, else through nothing.
  [[nodiscard]] std::int64_t guess() const {
    const bool has_miss = first_miss_ <= steps_;
    const std::int64_t most = has_miss ? first_miss_ - 1 : steps_;
    const std::int64_t grown = last_fit_ < most / most_growth ? (last_fit_ + 1) * most_growth : most;
    const std::int64_t middle = has_miss ? last_fit_ + (first_miss_ - last_fit_) / 2 : grown;
    if (full_.memories.size() > 1 || !full_.memories[0].capacity || fit_.peak == 0) return middle;
    const auto capacity = static_cast<double>(*full_.memories[0].capacity);
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
    const auto end = std::chrono::steady_clock::now() + full_.solve.time_limit;
    for (const std::int64_t step : steps) {
      if (step > steps_ || is_stopped() || (!full_.solve.effort && std::chrono::steady_clock::now() > end))
        break;
      const SizedPeak found = step == last_fit_ + 1 ? *result_.next : plan_at(read_, size_at(step), options_);
      ++result_.singles;
      result_.last_single = found.size;
      if (found.fits) result_.larger.push_back(found.size);
    }
  }

  const ReadWithSize& read_;
  GivenSize range_;
  std::int64_t least_;
  std::int64_t steps_;  ///< From the smallest size to the largest.
  const PlanOptions& full_;
  PlanOptions options_;
  SizeFit result_{};
  std::int64_t last_fit_ = -1;
  SizedPeak fit_{};
  std::int64_t first_miss_ = steps_ + 1;
  SizedPeak miss_{};
  bool halves_ = false;  ///< The last guess left more than half.
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
  for (const std::int64_t first : firsts) {
    if (options.solve.stop.stop_requested()) break;
    FrontierRow row{.first = first};
    const ReadWithSize read_second = [&](const GivenSize& size) { return read(first, size); };
    try {
      row.fit = FitSearch(read_second, second, options).run(false);
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
