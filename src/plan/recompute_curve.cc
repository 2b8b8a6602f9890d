// What each byte costs in multiplies: the network is planned again and again, within fewer and fewer multiplies.
//
// Each limit of multiplies has the whole time limit, or the whole effort, as if it were planned alone. The largest comes
// first, since it usually has the lowest peak. A plan within few multiplies is also one within more. So each point of
// the curve is the best of all plans within its limit, and the curve never rises.
//
// Cost: one plan for each point, each with a time limit of its own. An interrupt ends all that are left at once.

#include "plan/recompute_curve.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "plan/row_ways.h"
#include "plan/rows.h"

namespace stowage::plan {
namespace {

constexpr int most_points = 6;

/// Limits in equal steps, ascending.
std::vector<double> limits_of(double from, double to) {
  std::vector<double> limits;
  for (int i = 0; i < most_points; ++i) {
    const double limit = from + (to - from) * i / (most_points - 1);
    if (limits.empty() || limit > limits.back()) limits.push_back(limit);
  }
  limits.back() = to;
  return limits;
}

double multiplies_of(const Plan& plan) { return plan.streaming ? plan.streaming->recomputed : 1; }

/// What a search has found, and whether it was cut short.
using Found = RecomputePoint;

bool is_better(const Found& a, const Found& b) {
  return std::pair(a.peak, a.recomputed) < std::pair(b.peak, b.recomputed);
}

/// For each search the best of all that run no more multiplies than its limit.
std::vector<RecomputePoint> curve_of(const std::vector<Found>& found) {
  std::vector<RecomputePoint> curve = found;
  for (RecomputePoint& point : curve) {
    for (const Found& it : found) {
      if (it.recomputed > point.limit || !is_better(it, point)) continue;
      point.peak = it.peak;
      point.recomputed = it.recomputed;
    }
  }
  return curve;
}

}  // namespace

Plan plan_recompute_curve(std::span<const Input> inputs, const PlanOptions& options,
                          const base::Deadline& deadline) {
  if (!options.stream->recompute_from) return plan_by_rows(inputs, options, deadline);
  expect_rows(inputs, options);
  const auto begin = deadline.now();
  const std::vector<double> limits = limits_of(*options.stream->recompute_from, options.stream->recompute);
  std::vector<Found> found(limits.size());
  std::optional<Plan> best;
  Found of_best;
  bool is_cut = false;
  PlanOptions within = options;
  for (std::size_t point = limits.size(); point-- > 0;) {
    within.stream->recompute = limits[point];
    const base::Deadline of_point = deadline.later_by(base::Deadline::Seconds(deadline.now() - begin));
    Plan plan = plan_by_rows(inputs, within, of_point);
    is_cut = is_cut || plan.interrupted;
    found[point] = {limits[point], multiplies_of(plan), plan.summary.peak, plan.interrupted};
    if (best && !is_better(found[point], of_best)) continue;
    of_best = found[point];
    best = std::move(plan);
  }
  best->interrupted = is_cut;
  if (!best->streaming) return *std::move(best);
  best->streaming->recompute_limit =
      limits.back();  // the claim does not cover what more multiplies would give
  best->streaming->curve = curve_of(found);
  return *std::move(best);
}

}  // namespace stowage::plan
