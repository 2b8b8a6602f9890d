// Idea. An order of less load is, mostly, one that plans to a lower peak, but what packers and several
// memories make of it is not to be foreseen. So orders are planned, those of less load first and the
// networks' own among them, until none that is left can be better:
//
//     order 1   load 6   plan at 8
//     order 2   load 7   plan at 7     taken: no plan in the own order is below its load
//     own       load 9
//
// Of several networks, or with several memories, loads do not tell that much: there the first and the own are
// planned. A plan is better if it misses no capacity that another keeps, then if it costs less, then if its
// peak is lower. Cost: the search, which takes at most half of the time limit, and mostly one plan.

#include "plan/orders.h"

#include <algorithm>
#include <chrono>
#include <optional>
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
    if (options_.order == Order::keep) return plan_networks(inputs_, options_, own_orders(), plan);
    search();
    const std::vector<Candidate> candidates = this->candidates();
    std::optional<Planned> best;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      if (best && !may_be_better(candidates[c], *best)) break;
      PlanOptions options = options_;
      options.solve.time_limit = remaining() / static_cast<double>(candidates.size() - c);
      Planned planned{.plan = plan, .candidate = c};
      planned.outcome = plan_networks(inputs_, options, candidates[c].clocks, planned.plan);
      if (!best || worth_of(planned) < worth_of(*best)) best = std::move(planned);
    }
    plan = std::move(best->plan);
    note_searches(candidates[best->candidate], plan);
    return best->outcome;
  }

 private:
  /// An order for each network.
  struct Candidate {
    std::vector<Clock> clocks;
    std::vector<Bytes> loads;
  };
  struct Planned {
    Plan plan;
    Outcome outcome = Outcome::fits;
    std::size_t candidate = 0;
  };

  [[nodiscard]] static std::tuple<Outcome, std::int64_t, Bytes> worth_of(const Planned& planned) {
    return {planned.outcome, planned.plan.summary.cost, planned.plan.summary.peak};
  }

  /// Whether loads tell how good a plan can be.
  [[nodiscard]] bool is_simple() const { return inputs_.size() == 1 && options_.memories.size() == 1; }

  [[nodiscard]] bool may_be_better(const Candidate& candidate, const Planned& best) const {
    return !is_simple() || best.plan.summary.peak > candidate.loads[0];
  }

  [[nodiscard]] std::vector<Candidate> candidates() const {
    std::vector<Candidate> candidates;
    if (is_simple()) {
      for (const OrderedSteps& choice : orderings_[0].choices)
        candidates.push_back({{choice.clock}, {choice.load}});
      return candidates;
    }
    Candidate first;
    Candidate own;
    for (const Ordering& ordering : orderings_) {
      first.clocks.push_back(ordering.choices.front().clock);
      first.loads.push_back(ordering.choices.front().load);
      own.clocks.push_back(ordering.own.clock);
      own.loads.push_back(ordering.own.load);
    }
    if (first.loads != own.loads) candidates.push_back(std::move(first));
    candidates.push_back(std::move(own));
    return candidates;
  }

  void note_searches(const Candidate& candidate, Plan& plan) const {
    for (std::size_t m = 0; m < orderings_.size(); ++m) {
      plan.order_searches.push_back(orderings_[m].search);
      plan.order_searches.back().load = candidate.loads[m];
      plan.interrupted = plan.interrupted || orderings_[m].is_cut_short;
    }
    plan.summary.order = "search";
    if (plan.models.size() > 1) return;  // loads do not add up
    const Bytes bound = plan.order_searches[0].lower_bound;
    plan.claims.push_back({ClaimScope::order, bound, bound == plan.summary.peak});
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
      OrderingOptions options = ordering_options_of(inputs_[m], m, options_);
      options.time_limit = options_.solve.time_limit / static_cast<double>(2 * inputs_.size());
      options.stop = options_.solve.stop;
      orderings_.push_back(
          in_file_of(inputs_[m], [&] { return ordering_of(std::get<Graph>(inputs_[m].content), options); }));
    }
  }

  [[nodiscard]] std::chrono::duration<double> remaining() const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    return std::max(options_.solve.time_limit - spent, std::chrono::duration<double>(0));
  }

  std::span<const Input> inputs_;
  const PlanOptions& options_;
  std::chrono::steady_clock::time_point begin_;
  std::vector<Ordering> orderings_;
};

}  // namespace

Outcome plan_in_order(std::span<const Input> inputs, const PlanOptions& options, Plan& plan) {
  return OrdersPlanner(inputs, options).plan(plan);
}

}  // namespace stowage::plan
