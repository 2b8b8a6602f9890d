#include "check_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "oracle/random_graph.h"
#include "stowage/error.h"

namespace stowage::cases {

using oracle::random_graph;
using oracle::Sketch;

Case case_of(Graph graph, const PlanOptions& options) {
  const Input input{{.name = "model", .source = "model.json", .format = ModelFormat::json}, graph};
  PlanResult result = make_plan(input, options);
  auto needs = oracle::needs_of(
      graph, oracle::execute(graph, result.plan.clocks[0], oracle::Outputs::when_handed_over));
  return {std::move(graph), std::move(result.plan), std::move(needs), std::move(result.faults)};
}

std::optional<Case> random_case(std::uint64_t seed, Alias alias) {
  const std::size_t copies = alias == Alias::none ? 0 : 50;
  PlanOptions options;
  options.solve.strategy = seed % 16 == 0 ? "auto" : seed % 2 == 0 ? "greedy-by-size" : "first-fit-by-start";
  options.alignment = Bytes{1} << (2 * (seed % 4));
  options.alias = alias;
  options.io = seed % 5 == 0 ? Io::external : Io::arena;
  try {
    return case_of(random_graph(seed, {.depth = seed % 4,
                                       .has_ties = seed % 3 == 0,
                                       .copies = copies,
                                       .results = seed % 4 == 1 ? std::size_t{80} : 0}),
                   options);
  } catch (const Error&) {
    if (seed % 3 != 0) throw;
    return std::nullopt;
  }
}

Faults check(const Case& it) { return check_plan(it.plan, {&it.graph, 1}); }

std::string text_of(const Faults& faults) {
  std::string text;
  for (const Fault& fault : faults)
    text += std::to_string(static_cast<int>(fault.kind)) + ": " + fault.what + "\n";
  return text;
}

std::string in_quotes(const std::string& name) { return "'" + name + "'"; }

bool has_fault(const Faults& faults, const Expected& expected) {
  return std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
    return expected.kinds.contains(fault.kind) &&
           std::any_of(expected.names.begin(), expected.names.end(),
                       [&](const std::string& name) { return fault.what.find(name) != std::string::npos; });
  });
}

void correct_claims(Plan& plan) {
  plan.claims.clear();
  plan.summary.peak = 0;
  plan.summary.lower_bound = 0;
  for (std::size_t m = 0; m < plan.memories.size(); ++m) {
    plan.memories[m].peak = 0;
    plan.memories[m].lower_bound = 0;
    plan.memories[m].traffic = 0;
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
      if (plan.places[b].memory != m) continue;
      plan.memories[m].peak = std::max(plan.memories[m].peak, plan.places[b].offset + plan.buffers[b].size);
      plan.memories[m].traffic += plan.buffers[b].traffic;
    }
    if (plan.memories[m].memory.role == MemoryRole::working) plan.summary.peak += plan.memories[m].peak;
  }
}

Case small_case() {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Relu", {"x"}, {"a"});
  sketch.add(0, "Relu", {"a"}, {"b"});
  sketch.add(0, "Relu", {"b"}, {"y"});
  return case_of(sketch.graph(), {.alignment = 8, .alias = Alias::none});
}

std::size_t buffer_named(const Plan& plan, const std::string& id) {
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].id == id) return b;
  }
  ADD_FAILURE() << "no buffer " << id;
  return 0;
}

PlannedTensor& tensor_named(Plan& plan, const std::string& name) {
  for (PlannedTensor& tensor : plan.tensors) {
    if (tensor.tensor.name == name) return tensor;
  }
  ADD_FAILURE() << "no tensor " << name;
  return plan.tensors.front();
}

}  // namespace stowage::cases
