// The pipeline: inputs -> draft -> plan -> check. A buffer list only needs offsets; networks.cc plans
// networks, and rows.cc plans rows. All make a Draft, which `finish` completes in the same way.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "check/imprint.h"
#include "pack/placing.h"
#include "plan/arrangement.h"
#include "plan/banks.h"
#include "plan/context.h"
#include "plan/draft.h"
#include "plan/enough.h"
#include "plan/nearness.h"
#include "plan/networks.h"
#include "plan/recompute_curve.h"
#include "stowage/error.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

void expect_stream_for_rows(const PlanOptions& options) {
  if (options.io == Io::rows && !options.stream) throw UsageError("--io rows is for --stream");
}

/// A plan says nothing of what buffers have to do with each other beyond their lives.
void expect_no_relations(const Problem& list) {
  if (list.is_related())
    throw UsageError(
        "relations between buffers and reserved bytes have no place in a plan; `solve` takes them");
}

void expect_options_of_list(const PlanOptions& options) {
  if (options.stream) throw UsageError("--stream: a buffer list has no operators");
  if (options.io != Io::arena)
    throw UsageError("a buffer list has no inputs and outputs that could be external");
  if (!options.run.empty() || !options.feeds.empty() || !options.states.empty() || !options.released.empty())
    throw UsageError("--run, --feed, --state and --release have no meaning for a buffer list");
  if (options.moves != Moves::none)
    throw UsageError("--moves: a buffer list does not say who reads and writes");
  for (const Memory& memory : options.memories) {
    if (memory.role == MemoryRole::weights) throw UsageError("--memory: a buffer list has no weights");
    if (memory.granule != 1) throw UsageError("--memory: a buffer list gives its sizes itself, no granule");
  }
}

/// A list that gives no alignment means 1, too.
void align_by_options(Problem& list, const PlanOptions& options) {
  for (Buffer& buffer : list.buffers) {
    if (options.alignment && buffer.alignment == 1) buffer.alignment = *options.alignment;
  }
}

/// The list is aligned by the options.
Plan plan_list(const ModelInfo& info, Problem list, const PlanOptions& options,
               const base::Deadline& deadline) {
  expect_options_of_list(options);
  expect_no_relations(list);
  // Buffers that another program has put into several memories stay in them.
  const std::vector<Memory>& memories = list.memories.size() > 1 ? list.memories : options.memories;
  if (list.memories.size() > 1 && options.memories != PlanOptions().memories)
    throw UsageError(fmt::format("--memory and --capacity: the list has {} memories", list.memories.size()));
  Problem problem = plan::problem_of(std::move(list.buffers), memories);
  Solution solution = plan::solve_provably(problem, options.solve, deadline);
  plan::Draft draft{.placement = plan::placement_of(std::move(solution), memories.size())};
  draft.plan.models = {info};
  draft.plan.clocks.emplace_back();
  draft.plan.buffers = std::move(problem.buffers);
  return plan::finish(std::move(draft), memories);
}

Plan plan_rows_or_operators(std::span<const Input> inputs, const PlanOptions& options,
                            const base::Deadline& deadline) {
  if (options.stream) return plan::plan_recompute_curve(inputs, options, deadline);
  return plan::plan_networks(plan::Context(inputs, options, deadline));
}

/// Claims of a plan without moves hold for all choices of memories, but moves are allowed, too: then no byte that steps
/// read or write costs less than in the cheapest memory. Weights may be staged, so nothing is known of these.
void claim_beside_moves(Plan& plan) {
  std::int64_t cheapest = largest_value;
  Bytes traffic = 0;
  for (const PlannedMemory& it : plan.memories) {
    if (it.memory.role != MemoryRole::working) continue;
    cheapest = std::min(cheapest, it.memory.cost);
    traffic += it.traffic;
  }
  plan.summary.cost_bound = base::checked_multiply(traffic, cheapest).value_or(0);
}

/// The best of several plans. It is cut short if one of them is.
class BestPlan {
 public:
  explicit BestPlan(const base::Deadline& deadline) : deadline_(deadline) {}

  /// `make` plans within a share of what is left of the time, or not at all if there is a plan and no time.
  template <typename Make>
  void try_one(double share, const Make& make) {
    if (plan_ && deadline_.is_over()) {
      plan_->interrupted = true;
      return;
    }
    Plan other = make(deadline_.part(share));
    if (!plan_) {
      plan_ = std::move(other);
      return;
    }
    const bool is_cut = plan_->interrupted || other.interrupted;
    if (plan::worth_of(other) < plan::worth_of(*plan_)) plan_ = std::move(other);
    plan_->interrupted = is_cut;
  }

  Plan take() { return *std::move(plan_); }

 private:
  const base::Deadline& deadline_;
  std::optional<Plan> plan_{};
};

/// In several memories, what shares bytes and what runs by rows is chosen for the strategy that places it. So `auto`
/// also plans all of it for `free-list`, which is quick, and keeps the plan that costs less. Rows that may move are
/// chosen to move, so all of it is also planned without moves.
Plan plan_graphs(std::span<const Input> inputs, const PlanOptions& options, const base::Deadline& deadline) {
  constexpr double share_of_free_list = 0.2;  // of the time
  constexpr double share_of_free_list_beside_moves =
      0.08;  // if rows may move: what is there is moved, however it was placed
  constexpr double seconds_without_moves = 0.1;  // enough for small networks; larger ones gain by moves
  constexpr double most_without_moves = 0.3;     // of the time
  const auto working = std::ranges::count(options.memories, MemoryRole::working, &Memory::role);
  if (working <= 1) return plan_rows_or_operators(inputs, options, deadline);
  const bool moves_rows = options.stream && options.moves == Moves::allowed;
  const bool is_auto = options.solve.strategy == SolveOptions().strategy;
  const auto plan_with = [&](const PlanOptions& own) {
    return [&inputs, &own](const base::Deadline& part) { return plan_rows_or_operators(inputs, own, part); };
  };
  const double of_free_list = !is_auto     ? 0
                              : moves_rows ? share_of_free_list_beside_moves
                                           : share_of_free_list;
  const double of_still =
      moves_rows ? std::min(seconds_without_moves / deadline.left().count(), most_without_moves) : 0;
  BestPlan best(deadline);
  best.try_one(1 - of_still - of_free_list, plan_with(options));
  if (moves_rows) {
    PlanOptions still = options;
    still.moves = Moves::none;
    best.try_one(of_still / (of_still + of_free_list), [&](const base::Deadline& part) {
      Plan plan = plan_graphs(inputs, still, part);
      claim_beside_moves(plan);
      return plan;
    });
  }
  if (is_auto) {
    PlanOptions quick = options;
    quick.solve.strategy = "free-list";
    best.try_one(1, plan_with(quick));
  }
  return best.take();
}

Plan plan_inputs(std::span<const Input> inputs, const PlanOptions& options, const base::Deadline& deadline) {
  for (const Input& input : inputs) {
    if (std::holds_alternative<Problem>(input.content) && inputs.size() > 1)
      throw UsageError(fmt::format("{} is a buffer list, which is planned alone", input.info.source));
  }
  expect_stream_for_rows(options);
  const bool is_list = !inputs.empty() && std::holds_alternative<Problem>(inputs[0].content);
  if (is_list) {
    Problem list = std::get<Problem>(inputs[0].content);
    align_by_options(list, options);
    return plan_list(inputs[0].info, std::move(list), options, deadline);
  }
  return plan_graphs(inputs, options, deadline);
}

/// `make` plans within a deadline, and `check` finds the faults of what comes out.
template <typename Make, typename Check>
PlanResult plan_and_check(std::span<const Input> inputs, const PlanOptions& options, const Make& make,
                          const Check& check) {
  const base::Deadline deadline = pack::deadline_of(options.solve);
  const auto begin = deadline.now();
  expect_no_relations({.memories = options.memories});
  plan::expect_options_of_nearness(options);
  plan::expect_options_of_banks(inputs, options);
  const bool is_replaced = !options.near.empty() || options.banks;  // offsets are chosen again
  PlanResult result{.plan = make(is_replaced ? deadline.part(0.5) : deadline)};
  if (!options.near.empty())
    result.nearness = plan::bring_near(result.plan, options, options.banks ? deadline.part(0.5) : deadline);
  if (options.banks) result.bank_use = plan::spread_over_banks(result.plan, inputs, options, deadline);
  if (result.nearness) plan::count_kept(result.plan, options.near, *result.nearness);
  result.plan.summary.seconds = base::Deadline::Seconds(deadline.now() - begin).count();
  result.outcome = plan::outcome_of(result.plan);
  result.faults = check(result.plan);
  if (result.outcome == Outcome::exceeds_capacity) {  // expected, not a bug
    std::erase_if(result.faults, [](const Fault& fault) { return fault.kind == FaultKind::capacity; });
  }
  return result;
}

PlanResult plan_and_check(std::span<const Input> inputs, const PlanOptions& options) {
  return plan_and_check(
      inputs, options, [&](const base::Deadline& deadline) { return plan_inputs(inputs, options, deadline); },
      [&](const Plan& plan) { return check_plan(plan, inputs); });
}

/// The same for a list whose buffers move into the plan.
PlanResult plan_and_check_list(Input& input, const PlanOptions& options) {
  expect_stream_for_rows(options);
  auto& list = std::get<Problem>(input.content);
  align_by_options(list, options);
  const std::uint64_t imprint = check::imprint_of(list.buffers);
  return plan_and_check(
      std::span(&input, 1), options,
      [&](const base::Deadline& deadline) {
        return plan_list(input.info, std::move(list), options, deadline);
      },
      [&](const Plan& plan) { return check::check_plan_of_list(plan, imprint); });
}

/// What decides offsets at a given size does not decide the size.
PlanOptions without_other_objectives(PlanOptions options) {
  options.near.clear();
  options.banks.reset();
  return options;
}

/// Whether a list says where all of its buffers are, as plans of other programs do.
bool is_placed(std::span<const Input> inputs) {
  const auto* const list = inputs.size() == 1 ? std::get_if<Problem>(&inputs[0].content) : nullptr;
  return list != nullptr && !list->buffers.empty() &&
         std::ranges::all_of(list->buffers, [](const Buffer& buffer) { return buffer.pinned.has_value(); });
}

Comparison comparison_of(std::span<const Input> inputs, const PlanOptions& options) {
  Comparison comparison{.strategy = options.solve.strategy};
  try {
    PlanResult result = plan_and_check(inputs, options);
    comparison.summary = std::move(result.plan.summary);
    comparison.copies_removed = result.plan.copies_removed;
    comparison.memories = std::move(result.plan.memories);
    comparison.interrupted = result.plan.interrupted;
    comparison.left_out = std::move(result.plan.left_out);
    comparison.outcome = result.outcome;
    comparison.faults = std::move(result.faults);
  } catch (const NotApplicable& error) {
    comparison.obstacle = error.obstacle();
  }
  return comparison;
}

}  // namespace

Input without_pins(Input input) {
  if (auto* const list = std::get_if<Problem>(&input.content)) {
    for (Buffer& buffer : list->buffers) buffer.pinned.reset();
  }
  return input;
}

PlanResult make_plan(const Input& input, const PlanOptions& options) {
  return make_plan(std::span(&input, 1), options);
}

PlanResult make_plan(Input&& input, const PlanOptions& options) {
  if (!std::holds_alternative<Problem>(input.content)) return make_plan(std::as_const(input), options);
  return plan::in_file_of(input, [&] {
    const std::vector<Memory> memories = std::get<Problem>(input.content).memories;
    PlanResult result = plan_and_check_list(input, options);
    if (result.outcome == Outcome::fits) return result;
    const Input list{.info = input.info, .content = Problem{result.plan.buffers, memories}};
    const auto plan_with = [&](const PlanOptions& with) { return plan_and_check({&list, 1}, with); };
    result.enough = plan::enough_memory(result, without_other_objectives(options), plan_with);
    return result;
  });
}

PlanResult make_plan(std::span<const Input> inputs, const PlanOptions& options) {
  const auto plan_with = [&](const PlanOptions& with) { return plan_and_check(inputs, with); };
  const auto plan_it = [&] {
    PlanResult result = plan_with(options);
    if (result.outcome == Outcome::exceeds_capacity)
      result.enough = plan::enough_memory(result, without_other_objectives(options), plan_with);
    return result;
  };
  return inputs.size() == 1 ? plan::in_file_of(inputs[0], plan_it) : plan_it();
}

std::vector<Comparison> compare(const Input& input, const PlanOptions& options) {
  return compare(std::span(&input, 1), options);
}

std::vector<Comparison> compare(std::span<const Input> inputs, const PlanOptions& options) {
  if (is_placed(inputs)) {  // without the pins, and first the plan that is given
    const Input free = without_pins(inputs[0]);
    std::vector<Comparison> comparisons = compare(std::span(&free, 1), options);
    Comparison given = comparison_of(inputs, options);
    given.strategy = given.summary.strategy = "as placed";
    given.summary.lower_bound = comparisons[0].summary.lower_bound;
    comparisons.insert(comparisons.begin(), std::move(given));
    return comparisons;
  }
  const bool tries_layers = options.stream && options.io != Io::rows;
  const auto all = static_cast<double>((tries_layers ? 2 : 1) * strategies().size());
  std::vector<Comparison> comparisons;
  const auto try_all = [&](const PlanOptions& with, const std::string& suffix) {
    for (const StrategyInfo& strategy : strategies()) {
      if (options.solve.stop.stop_requested() && !comparisons.empty()) return;
      PlanOptions with_strategy = with;
      with_strategy.solve.strategy = strategy.name;
      if (options.solve.progress) {
        const double done = static_cast<double>(comparisons.size()) / all;
        with_strategy.solve.progress = [&options, done](std::string_view what, double /*of_one_plan*/) {
          options.solve.progress(what, done);
        };
        with_strategy.solve.progress(strategy.name, done);
      }
      comparisons.push_back(comparison_of(inputs, with_strategy));
      comparisons.back().strategy += suffix;
    }
  };
  try_all(options, "");
  if (!tries_layers) return comparisons;
  PlanOptions by_layers = options;
  by_layers.stream.reset();
  try_all(by_layers, ", by layers");
  return comparisons;
}

}  // namespace stowage
