// The pipeline: input -> steps -> aliases -> problem -> solution -> plan -> check.

#include "stowage/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "pack/load.h"
#include "plan/aliasing.h"
#include "plan/enough.h"
#include "plan/orders.h"
#include "plan/provable.h"
#include "plan/streaming.h"
#include "stowage/error.h"

namespace stowage {
namespace {

std::vector<Buffer> listed_buffers(const Problem& list, const std::optional<Bytes>& alignment) {
  std::vector<Buffer> buffers = list.buffers;
  for (Buffer& buffer : buffers) {
    // 1 is also what a list means that says nothing.
    if (alignment && buffer.alignment == 1) buffer.alignment = *alignment;
  }
  return buffers;
}

/// What each memory holds and what is proven of it.
std::vector<PlannedMemory> memories_of(const Problem& problem, const Solution& solution) {
  const std::vector<Bytes> bounds = pack::lower_bounds_of(problem, solution);
  std::vector<PlannedMemory> memories;
  for (std::size_t m = 0; m < problem.memories.size(); ++m)
    memories.push_back({problem.memories[m], peak_of(problem, solution, m), bounds[m], 0});
  return memories;
}

Outcome plan_list(const Problem& list, const PlanOptions& options, Plan& plan) {
  if (options.stream) throw UsageError("--stream: a buffer list has no operators");
  if (options.io != Io::arena)
    throw UsageError("a buffer list has no inputs and outputs that could be external");
  if (!options.run.empty() || !options.feeds.empty() || !options.released.empty())
    throw UsageError("--run, --feed and --release have no meaning for a buffer list");
  if (options.moves != Moves::none)
    throw UsageError("--moves: a buffer list does not say who reads and writes");
  for (const Memory& memory : options.memories) {
    if (memory.role == MemoryRole::weights) throw UsageError("--memory: a buffer list has no weights");
  }
  plan.clocks.emplace_back();
  Problem problem = plan::problem_of(listed_buffers(list, options.alignment), options.memories);
  const Solution solution = plan::solve_provably(problem, options.solve);
  const Bytes peak = plan::total_peak(problem, solution);
  plan.memories = memories_of(problem, solution);
  plan.memories[0].certificate = solution.certificate;
  plan.interrupted = solution.interrupted;
  plan.claims = {{ClaimScope::offsets, solution.lower_bound, peak == solution.lower_bound}};
  plan.summary = {
      .peak = peak, .lower_bound = solution.lower_bound, .strategy = solution.strategy, .order = "keep"};
  for (const Buffer& buffer : problem.buffers) plan.summary.naive += buffer.size;
  plan.buffers = std::move(problem.buffers);
  plan.places = solution.places;
  if (solution.slots) plan.slots.push_back(*solution.slots);
  return solution.outcome;
}

PlanResult plan_unlocated(std::span<const Input> inputs, const PlanOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  PlanResult result;
  Plan& plan = result.plan;
  bool has_list = false;
  for (const Input& input : inputs) {
    plan.models.push_back(input.info);
    has_list = has_list || std::holds_alternative<Problem>(input.content);
    if (has_list && inputs.size() > 1)
      throw UsageError(fmt::format("{} is a buffer list, which is planned alone", input.info.source));
  }
  if (options.io == Io::rows && !options.stream) throw UsageError("--io rows is for --stream");
  if (has_list) {
    result.outcome = plan_list(std::get<Problem>(inputs[0].content), options, plan);
  } else if (options.stream) {
    result.outcome = plan::plan_streamed(inputs, options, plan);
  } else {
    result.outcome = plan::plan_in_order(inputs, options, plan);
  }
  plan.summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.faults = check_plan(plan, inputs);
  if (result.outcome == Outcome::exceeds_capacity) {  // known, and no bug
    std::erase_if(result.faults, [](const Fault& fault) { return fault.kind == FaultKind::capacity; });
  }
  return result;
}

Comparison comparison_of(std::span<const Input> inputs, const PlanOptions& options) {
  Comparison comparison{.strategy = options.solve.strategy};
  try {
    PlanResult result = plan_unlocated(inputs, options);
    comparison.summary = std::move(result.plan.summary);
    comparison.copies_removed = result.plan.copies_removed;
    comparison.memories = std::move(result.plan.memories);
    comparison.interrupted = result.plan.interrupted;
    comparison.outcome = result.outcome;
    comparison.faults = std::move(result.faults);
  } catch (const NotApplicable& error) {
    comparison.obstacle = error.obstacle();
  }
  return comparison;
}

}  // namespace

PlanResult make_plan(const Input& input, const PlanOptions& options) {
  return make_plan(std::span(&input, 1), options);
}

PlanResult make_plan(std::span<const Input> inputs, const PlanOptions& options) {
  const auto plan_with = [&](const PlanOptions& with) { return plan_unlocated(inputs, with); };
  const auto plan_it = [&] {
    PlanResult result = plan_with(options);
    if (result.outcome == Outcome::exceeds_capacity)
      result.enough = plan::enough_memory(result, options, plan_with);
    return result;
  };
  if (inputs.size() != 1) return plan_it();
  try {
    return plan_it();
  } catch (const Error& error) {
    throw error.in_file(inputs[0].info.source);
  }
}

std::vector<Comparison> compare(const Input& input, const PlanOptions& options) {
  return compare(std::span(&input, 1), options);
}

std::vector<Comparison> compare(std::span<const Input> inputs, const PlanOptions& options) {
  std::vector<Comparison> comparisons;
  const auto try_all = [&](const PlanOptions& with, const std::string& suffix) {
    for (const StrategyInfo& strategy : strategies()) {
      if (options.solve.stop.stop_requested() && !comparisons.empty()) return;
      PlanOptions with_strategy = with;
      with_strategy.solve.strategy = strategy.name;
      comparisons.push_back(comparison_of(inputs, with_strategy));
      comparisons.back().strategy += suffix;
    }
  };
  try_all(options, "");
  if (!options.stream || options.io == Io::rows) return comparisons;
  PlanOptions by_layers = options;
  by_layers.stream.reset();
  try_all(by_layers, ", by layers");
  return comparisons;
}

}  // namespace stowage
