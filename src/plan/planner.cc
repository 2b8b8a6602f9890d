// The pipeline: input -> steps -> aliases -> problem -> solution -> plan -> check.

#include "stowage/planner.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/checked.h"
#include "lifetime/keep_order.h"
#include "pack/load.h"
#include "plan/aliasing.h"
#include "stowage/error.h"

namespace stowage {
namespace {

constexpr Bytes default_alignment_of(ModelFormat format) {
  switch (format) {
    case ModelFormat::onnx:
    case ModelFormat::json:
      return 64;
    case ModelFormat::tflite:
      return 16;
    case ModelFormat::csv:
    case ModelFormat::ops:
      break;
  }
  return 1;
}

std::vector<Buffer> listed_buffers(const Problem& list, const std::optional<Bytes>& alignment) {
  std::vector<Buffer> buffers = list.buffers;
  for (Buffer& buffer : buffers) {
    // 1 is also what a list means that says nothing.
    if (alignment && buffer.alignment == 1) buffer.alignment = *alignment;
  }
  return buffers;
}

/// Every tensor of the arena in memory of its own; of a list, every buffer.
Bytes naive_size(const Plan& plan, Bytes alignment) {
  Bytes naive = 0;
  if (plan.tensors.empty()) {
    for (const Buffer& buffer : plan.buffers) naive += buffer.size;
  }
  for (const PlannedTensor& tensor : plan.tensors) {
    if (!tensor.views.empty()) naive += base::align_up(tensor.tensor.bytes, alignment);
  }
  return naive;
}

/// What each memory holds and what is proven of it.
std::vector<PlannedMemory> memories_of(const Problem& problem, const Solution& solution) {
  const std::vector<Bytes> bounds = pack::lower_bounds_of(problem, solution);
  std::vector<PlannedMemory> memories;
  for (std::size_t m = 0; m < problem.memories.size(); ++m)
    memories.push_back({problem.memories[m], peak_of(problem, solution, m), bounds[m]});
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    Bytes& traffic = memories[solution.places[b].memory].traffic;
    traffic = std::min(base::checked_add(traffic, problem.buffers[b].traffic).value_or(largest_value),
                       largest_value);
  }
  return memories;
}

/// Takes over where everything is and what is proven.
void fill_in(Plan& plan, Problem problem, const Solution& solution, Bytes alignment) {
  const Bytes peak = plan::total_peak(problem, solution);
  const Bytes bound = solution.lower_bound;
  plan.memories = memories_of(problem, solution);
  plan.buffers = std::move(problem.buffers);
  plan.places = solution.places;
  plan.interrupted = solution.interrupted;
  plan.claims = {{ClaimScope::offsets, bound, peak == bound}};
  plan.summary = {.naive = naive_size(plan, alignment),
                  .peak = peak,
                  .lower_bound = bound,
                  .strategy = solution.strategy,
                  .order = "keep"};
}

/// TFLite's runtimes keep variable tensors in memory of their own that outlives a run: a plan cannot
/// place them.
Outcome plan_network(const Graph& graph, ModelFormat format, const PlanOptions& options, Plan& plan) {
  const Bytes alignment = options.alignment.value_or(default_alignment_of(format));
  plan.clocks = {lifetime::keep_order(graph, 0)};
  plan::Arrangement arrangement =
      plan::arrange(graph, plan.clocks[0],
                    {options, {.alignment = alignment, .keeps_state = format != ModelFormat::tflite}});
  plan.tensors = std::move(arrangement.buffers.tensors);
  plan.copies_removed = arrangement.sharing.removed;
  plan.copies_kept = std::move(arrangement.sharing.kept);
  fill_in(plan, plan::problem_of(std::move(arrangement.buffers.buffers), options), arrangement.solution,
          alignment);
  return arrangement.solution.outcome;
}

Outcome plan_list(const Problem& list, const PlanOptions& options, Plan& plan) {
  if (options.io != Io::arena)
    throw UsageError("a buffer list has no inputs and outputs that could be external");
  plan.clocks.emplace_back();
  Problem problem = plan::problem_of(listed_buffers(list, options.alignment), options);
  const Solution solution = solve(problem, options.solve);
  fill_in(plan, std::move(problem), solution, 1);
  return solution.outcome;
}

PlanResult plan_unlocated(const Input& input, const PlanOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  PlanResult result;
  Plan& plan = result.plan;
  plan.models = {input.info};
  const Graph* const graph = std::get_if<Graph>(&input.content);
  result.outcome = graph != nullptr ? plan_network(*graph, input.info.format, options, plan)
                                    : plan_list(std::get<Problem>(input.content), options, plan);
  plan.summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.faults =
      graph != nullptr ? check_plan(plan, {graph, 1}) : check_plan(plan, std::get<Problem>(input.content));
  if (result.outcome == Outcome::exceeds_capacity) {  // known, and no bug
    std::erase_if(result.faults, [](const Fault& fault) { return fault.kind == FaultKind::capacity; });
  }
  return result;
}

}  // namespace

PlanResult make_plan(const Input& input, const PlanOptions& options) {
  try {
    return plan_unlocated(input, options);
  } catch (const Error& error) {
    throw error.in_file(input.info.source);
  }
}

std::vector<Comparison> compare(const Input& input, const PlanOptions& options) {
  std::vector<Comparison> comparisons;
  for (const StrategyInfo& strategy : strategies()) {
    if (options.solve.stop.stop_requested() && !comparisons.empty()) break;
    Comparison& comparison = comparisons.emplace_back(Comparison{.strategy = std::string(strategy.name)});
    PlanOptions with_strategy = options;
    with_strategy.solve.strategy = strategy.name;
    try {
      PlanResult result = make_plan(input, with_strategy);
      comparison.summary = std::move(result.plan.summary);
      comparison.copies_removed = result.plan.copies_removed;
      comparison.memories = std::move(result.plan.memories);
      comparison.interrupted = result.plan.interrupted;
      comparison.outcome = result.outcome;
      comparison.faults = std::move(result.faults);
    } catch (const NotApplicable& error) {
      comparison.obstacle = error.obstacle();
    }
  }
  return comparisons;
}

}  // namespace stowage
