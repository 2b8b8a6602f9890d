// Idea. An order of less load is, mostly, one that plans to a lower peak, but what packers and several memories make of
// it is not to be foreseen. So where a plan in the order that was found might be worse than one in the networks'
// own, both are made and the better is kept: it misses no capacity that the other keeps, then costs less, then has
// the lower peak.
//
//     own load 9   found 6   plan at 7   taken: no plan in the own order is below 9
//     own load 9   found 8   plan at 10  the own order is planned, too: 9, taken
//
// Cost: the search, which takes at most half of the time limit, and one plan or two.

#include "plan/orders.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>
#include <vector>

#include "lifetime/keep_order.h"
#include "plan/in_file.h"
#include "plan/networks.h"
#include "plan/ordering.h"

namespace stowage::plan {
namespace {

/// Plans networks in orders that were searched for, and in their own where these might be better.
class OrdersPlanner {
 public:
  OrdersPlanner(std::span<const Input> inputs, const PlanOptions& options)
      : inputs_(inputs), options_(options), begin_(std::chrono::steady_clock::now()) {}

  Outcome plan(Plan& plan) {
    const Plan blank = plan;
    if (options_.order == Order::keep) return plan_with(own_orders(), options_, plan);
    search();
    PlanOptions options = options_;
    options.solve.time_limit = remaining();
    if (!is_own_) options.solve.time_limit /= 2;
    std::vector<Clock> clocks;
    for (const Ordering& ordering : orderings_) clocks.push_back(ordering.clock);
    Outcome outcome = plan_with(std::move(clocks), options, plan);
    if (!is_own_ && may_be_worse(plan)) {
      Plan own = blank;
      options.solve.time_limit = remaining();
      const Outcome own_outcome = plan_with(own_orders(), options, own);
      if (worth_of(own_outcome, own) < worth_of(outcome, plan)) {
        outcome = own_outcome;
        plan = std::move(own);
        for (Ordering& ordering : orderings_) ordering.search.load = ordering.search.own_load;
      }
    }
    for (const Ordering& ordering : orderings_) {
      plan.order_searches.push_back(ordering.search);
      plan.interrupted = plan.interrupted || ordering.is_cut_short;
    }
    plan.summary.order = "search";
    return outcome;
  }

 private:
  [[nodiscard]] static std::tuple<Outcome, std::int64_t, Bytes> worth_of(Outcome outcome, const Plan& plan) {
    return {outcome, plan.summary.cost, plan.summary.peak};
  }

  Outcome plan_with(std::vector<Clock> clocks, const PlanOptions& options, Plan& plan) const {
    return plan_networks(inputs_, options, std::move(clocks), plan);
  }

  [[nodiscard]] std::vector<Clock> own_orders() const {
    std::vector<Clock> clocks;
    for (std::size_t m = 0; m < inputs_.size(); ++m) {
      clocks.push_back(in_file_of(
          inputs_[m], [&] { return lifetime::keep_order(std::get<Graph>(inputs_[m].content), m); }));
    }
    return clocks;
  }

  /// Searches take at most half of the time, each as much as the others.
  void search() {
    for (std::size_t m = 0; m < inputs_.size(); ++m) {
      const OrderingOptions options{
          .io = options_.io,
          .alias = options_.alias,
          .buffers = buffer_options_of(inputs_[m], m, options_),
          .time_limit = options_.solve.time_limit / static_cast<double>(2 * inputs_.size()),
          .stop = options_.solve.stop};
      orderings_.push_back(in_file_of(
          inputs_[m], [&] { return ordering_of(std::get<Graph>(inputs_[m].content), options); }));
      is_own_ = is_own_ && orderings_.back().is_own;
    }
  }

  [[nodiscard]] std::chrono::duration<double> remaining() const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    return std::max(options_.solve.time_limit - spent, std::chrono::duration<double>(0));
  }

  /// Of one network in one memory no plan in its own order is below that order's load.
  [[nodiscard]] bool may_be_worse(const Plan& plan) const {
    return inputs_.size() > 1 || options_.memories.size() > 1 ||
           plan.summary.peak > orderings_[0].search.own_load;
  }

  std::span<const Input> inputs_;
  const PlanOptions& options_;
  std::chrono::steady_clock::time_point begin_;
  std::vector<Ordering> orderings_;
  bool is_own_ = true;
};

}  // namespace

Outcome plan_in_order(std::span<const Input> inputs, const PlanOptions& options, Plan& plan) {
  return OrdersPlanner(inputs, options).plan(plan);
}

}  // namespace stowage::plan
