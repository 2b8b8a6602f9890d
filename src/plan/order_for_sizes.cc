// Orders of operators for a range of sizes. The order with the lowest peak at the largest sizes may need more than
// another one at small sizes, where other tensors are large:
//
//     sizes       1     7    40   128        of each size a plan alone; where the functions of the range need more
//     alone      10    60   300  2000        than that, its order is tried for the whole range, and the better of both
//     range      12    60   310  2000        orders stays; at the largest sizes it needs no more than the first
//
// Cost: a plan for each of a dozen sizes, and a plan with its functions for at most three orders; all in one limit.

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "model/motions.h"
#include "plan/limit_parts.h"
#include "plan/size_samples.h"
#include "stowage/error.h"
#include "stowage/offset_functions.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

using plan::SizeValues;

constexpr std::size_t sizes_alone = 12;
constexpr std::size_t most_orders = 2;  // besides the first
// Parts of the limit.
constexpr double part_of_first = 0.6;
constexpr double part_of_alone = 0.1;
constexpr double part_of_plan = 0.05;
constexpr double part_of_functions = 0.1;
constexpr double good_enough = 1.001;  // of the peak of a plan alone

/// Operators of the main subgraph, as they run.
using Sequence = std::vector<std::size_t>;

/// A plan for some sizes alone.
struct Alone {
  SizeValues values{};
  Bytes peak = 0;
  Sequence order{};
};

Sequence order_of(const Plan& plan) {
  Sequence order;
  for (const Step& step : plan.clocks.at(0).steps) {
    const auto* const run = std::get_if<Run>(&step);
    if (run != nullptr && run->path.size() == 2 && run->path[0] == 0) order.push_back(run->path[1]);
  }
  return order;
}

/// The order with what it does not have (removed copies run nowhere) where the model has it: behind what it follows there.
Sequence completed(const Sequence& order, std::size_t operators) {
  const std::set<std::size_t> has(order.begin(), order.end());
  Sequence all;
  std::vector<std::vector<std::size_t>> behind(operators + 1);
  std::size_t last = operators;  // nothing
  for (std::size_t op = 0; op < operators; ++op) {
    if (has.contains(op))
      last = op;
    else
      behind[last].push_back(op);
  }
  all.insert(all.end(), behind[operators].begin(), behind[operators].end());
  for (const std::size_t op : order) {
    all.push_back(op);
    all.insert(all.end(), behind[op].begin(), behind[op].end());
  }
  return all;
}

/// A plan of the network in this order, or in the nearest one that is possible, for the network as it was.
PlanResult planned_in(const Input& range, const Sequence& order, PlanOptions options) {
  Input permuted = range;
  auto& graph = std::get<Graph>(permuted.content);
  const std::vector<Operator> operators = graph.subgraphs[0].operators;
  for (std::size_t i = 0; i < order.size(); ++i) graph.subgraphs[0].operators[i] = operators[order[i]];
  options.order = Order::keep;
  PlanResult result = make_plan(permuted, options);
  Plan& plan = result.plan;
  for (Clock& clock : plan.clocks) {
    for (Step& step : clock.steps) {
      auto* const run = std::get_if<Run>(&step);
      if (run != nullptr && run->path[0] == 0) run->path[1] = order[run->path[1]];
    }
  }
  for (KeptCopy& it : plan.copies_kept)
    if (it.subgraph == 0) it.op = order[it.op];
  std::ranges::sort(plan.copies_kept, {}, [](const KeptCopy& it) { return std::pair(it.subgraph, it.op); });
  plan.order_searches.clear();
  plan.order_profile.reset();  // they tell of the network as it was permuted
  result.faults = check_plan(plan, {&std::get<Graph>(range.content), 1});
  return result;
}

PlanOptions quiet(PlanOptions options, double part) {
  options.solve = plan::with_part(options.solve, part);
  options.solve.progress = {};
  return options;
}

std::vector<Alone> plans_alone(const Input& range, std::span<const SizeSymbol> symbols,
                               const ReadAtSizes& read, const PlanOptions& options) {
  const PlanOptions own = quiet(options, part_of_alone / static_cast<double>(sizes_alone));
  const std::size_t operators = std::get<Graph>(range.content).subgraphs[0].operators.size();
  std::vector<Alone> plans;
  for (SizeValues& values : plan::other_samples(symbols, {}, sizes_alone)) {
    try {
      Input exact{.info = range.info, .content = read(values)};
      if (std::get<Graph>(exact.content).subgraphs[0].operators.size() != operators) continue;
      const Plan plan = make_plan(exact, own).plan;
      plans.push_back({std::move(values), plan.summary.peak, order_of(plan)});
    } catch (const Error&) {  // sizes that the model rejects
    }
  }
  return plans;
}

/// The network with the copies made that functions cannot remove: views move within their buffers.
Input without_moves(Input range) {
  keep_in_place(std::get<Graph>(range.content));
  return range;
}

/// How much more than a plan alone the functions need, where they need most of it; and where that is.
std::pair<double, std::size_t> worst_of(const OffsetFunctions& functions, const std::vector<Alone>& plans) {
  std::pair<double, std::size_t> worst{1, 0};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].peak == 0) continue;
    const double ratio =
        static_cast<double>(offsets_at(functions, plans[i].values).peak) / static_cast<double>(plans[i].peak);
    if (ratio > worst.first) worst = {ratio, i};
  }
  return worst;
}

}  // namespace

PlanWithFunctions find_plan_with_functions(const Input& all, PlanResult first, const ReadAtSizes& read,
                                           const PlanOptions& options, HeldAgainst held_against) {
  const Input range = without_moves(all);
  if (model::has_views_that_move(first.plan)) {
    std::vector<ModelInfo> models = std::move(first.plan.models);
    first = make_plan(range, options);
    first.plan.models = std::move(models);
  }
  const Graph& graph = std::get<Graph>(range.content);
  const std::vector<SizeSymbol> symbols = first.plan.models.at(0).ranges;
  const auto functions_of = [&](const Plan& plan, double part) {
    return find_offset_functions(plan, graph, symbols, read, plan::with_part(options.solve, part),
                                 held_against);
  };
  PlanWithFunctions best{.found = functions_of(first.plan, options.order == Order::keep ? 1 : part_of_first),
                         .planned = std::move(first)};
  if (options.order == Order::keep) return best;
  const std::vector<Alone> plans = plans_alone(range, symbols, read, options);
  auto [worst, at] = worst_of(best.found.functions, plans);
  std::set<Sequence> tried;
  while (worst > good_enough && tried.size() < most_orders && tried.insert(plans[at].order).second) {
    const Sequence order = completed(plans[at].order, graph.subgraphs[0].operators.size());
    PlanResult planned = planned_in(range, order, quiet(options, part_of_plan));
    planned.plan.models = best.planned.plan.models;
    if (!planned.faults.empty() || planned.plan.summary.peak > best.planned.plan.summary.peak) break;
    FoundFunctions found = functions_of(planned.plan, part_of_functions);
    const auto [its_worst, its_at] = worst_of(found.functions, plans);
    if (its_worst >= worst) break;
    worst = its_worst;
    at = its_at;
    best = {.found = std::move(found), .planned = std::move(planned)};
  }
  return best;
}

}  // namespace stowage
