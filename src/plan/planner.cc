// The pipeline: input -> steps -> lifetimes -> problem -> solution -> plan -> check.

#include "stowage/planner.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "lifetime/keep_order.h"
#include "lifetime/lifetimes.h"
#include "pack/load.h"
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

/// The steps of a network and the buffers they need, as the beginning of a plan. TFLite's runtimes
/// keep variable tensors in memory of their own that outlives a run: a plan cannot place them.
Plan steps_and_buffers(const Graph& graph, ModelFormat format, const PlanOptions& options) {
  Plan plan;
  plan.clocks.push_back(lifetime::keep_order(graph, 0));
  const bool is_tflite = format == ModelFormat::tflite;
  auto [buffers, tensors] = lifetime::buffers_of(
      graph, plan.clocks[0],
      {.io = options.io,
       .state_keeper = is_tflite ? lifetime::StateKeeper::runtime : lifetime::StateKeeper::arena,
       .alignment = options.alignment.value_or(default_alignment_of(format))});
  plan.buffers = std::move(buffers);
  plan.tensors = std::move(tensors);
  return plan;
}

/// A list of buffers has no steps.
Plan listed_buffers(const Problem& list, const std::optional<Bytes>& alignment) {
  Plan plan;
  plan.clocks.emplace_back();
  plan.buffers = list.buffers;
  for (Buffer& buffer : plan.buffers) {
    // 1 is also what a list means that says nothing.
    if (alignment && buffer.alignment == 1) buffer.alignment = *alignment;
  }
  return plan;
}

/// Every tensor of the arena in memory of its own; of a list, every buffer.
Bytes naive_size(const Plan& plan) {
  Bytes naive = 0;
  if (plan.tensors.empty()) {
    for (const Buffer& buffer : plan.buffers) naive += buffer.size;
  }
  for (const PlannedTensor& tensor : plan.tensors) {
    if (!tensor.views.empty()) naive += plan.buffers[tensor.views.front().buffer].size;
  }
  return naive;
}

/// What each memory holds and what is proven of it.
std::vector<PlannedMemory> memories_of(const Problem& problem, const Solution& solution) {
  std::vector<std::vector<Buffer>> inside(problem.memories.size());
  for (std::size_t b = 0; b < problem.buffers.size(); ++b)
    inside[solution.places[b].memory].push_back(problem.buffers[b]);
  std::vector<PlannedMemory> memories;
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    memories.push_back({problem.memories[m], peak_of(problem, solution, m), pack::lower_bound_of(inside[m])});
  }
  return memories;
}

void place(Plan& plan, const PlanOptions& options, PlanResult& result) {
  Problem problem{std::move(plan.buffers), options.memories};
  for (Memory& memory : problem.memories) {
    for (const Buffer& buffer : problem.buffers)
      memory.alignment = std::max(memory.alignment, buffer.alignment);
  }
  const Solution solution = solve(problem, options.solve);
  plan.memories = memories_of(problem, solution);
  plan.buffers = std::move(problem.buffers);
  plan.places = solution.places;
  plan.interrupted = solution.interrupted;
  Bytes peak = 0;
  for (const PlannedMemory& memory : plan.memories) peak += memory.peak;
  const Bytes bound = solution.lower_bound;
  plan.claims = {{ClaimScope::offsets, bound, peak == bound}};
  plan.summary = {.naive = naive_size(plan),
                  .peak = peak,
                  .lower_bound = bound,
                  .strategy = solution.strategy,
                  .order = "keep"};
  result.outcome = solution.outcome;
}

PlanResult plan_unlocated(const Input& input, const PlanOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const Graph* const graph = std::get_if<Graph>(&input.content);
  if (graph == nullptr && options.io != Io::arena) {
    throw UsageError("a buffer list has no inputs and outputs that could be external");
  }
  PlanResult result;
  Plan& plan = result.plan;
  plan = graph != nullptr ? steps_and_buffers(*graph, input.info.format, options)
                          : listed_buffers(std::get<Problem>(input.content), options.alignment);
  plan.models = {input.info};
  place(plan, options, result);
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

}  // namespace stowage
