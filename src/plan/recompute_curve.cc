// What each byte costs in multiplies: the network is planned again and again, within more and more multiplies.
//
// The largest limit comes first, with 40 % of the time, since it usually has the lowest peak. The others share
// the rest. A plan within few multiplies is also one within more, so the curve never rises.
//
// Cost: one plan for each point.

#include "plan/recompute_curve.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "plan/row_ways.h"
#include "plan/rows.h"

namespace stowage::plan {
namespace {

constexpr int most_points = 6;
constexpr double share_of_largest = 0.4;  // of the time

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

bool is_better(const Plan& a, const Plan& b) {
  return std::pair(a.summary.peak, multiplies_of(a)) < std::pair(b.summary.peak, multiplies_of(b));
}

}  // namespace

Plan plan_recompute_curve(std::span<const Input> inputs, const PlanOptions& options,
                          const base::Deadline& deadline) {
  if (!options.stream->recompute_from) return plan_by_rows(inputs, options, deadline);
  expect_rows(inputs, options);
  const std::vector<double> limits = limits_of(*options.stream->recompute_from, options.stream->recompute);
  PlanOptions within = options;
  const auto plan_of = [&](std::size_t point, double share) {
    within.stream->recompute = limits[point];
    return plan_by_rows(inputs, within, deadline.part(share));
  };
  std::size_t left = limits.size() - 1;
  Plan best = plan_of(left, left == 0 ? 1 : share_of_largest);
  std::vector<RecomputePoint> curve(limits.size());
  curve.back() = {limits.back(), multiplies_of(best), best.summary.peak, best.interrupted};
  for (bool is_cut = best.interrupted; left > 0; --left) {
    Plan plan = plan_of(left - 1, 1 / static_cast<double>(left));
    is_cut = is_cut || plan.interrupted;
    curve[left - 1] = {limits[left - 1], multiplies_of(plan), plan.summary.peak, plan.interrupted};
    if (is_better(plan, best)) best = std::move(plan);
    best.interrupted = is_cut;
  }
  for (std::size_t i = 1; i < curve.size(); ++i) {
    if (curve[i - 1].peak > curve[i].peak) continue;
    curve[i].peak = curve[i - 1].peak;
    curve[i].recomputed = curve[i - 1].recomputed;
  }
  if (!best.streaming) return best;
  best.streaming->recompute_limit =
      limits.back();  // the claim does not cover what more multiplies would give
  best.streaming->curve = std::move(curve);
  return best;
}

}  // namespace stowage::plan
