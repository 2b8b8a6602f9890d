#include "many_calls.h"

#include <utility>

#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/planner.h"

namespace stowage::testing {

Package package_of(Network network, const std::string& name, bool by_rows) {
  PlanOptions options;
  options.solve.effort = 1;
  options.solve.threads = 1;
  options.order = Order::keep;
  if (by_rows) options.stream = StreamOptions{};
  add_scratch_of_kernels(network, CKernels::portable, by_rows);
  return generate_package(network, make_plan(network.input, options).plan, {.name = name});
}

bool is_generated(const Network& network, bool by_rows) {
  try {
    static_cast<void>(package_of(network, "sample", by_rows));
    return true;
  } catch (const Error&) {
    return false;
  }
}

namespace {

/// Networks side by side as one.
Network joined(const std::vector<Network>& networks) {
  Network all;
  Graph graph;
  graph.subgraphs.resize(1);
  all.details.resize(1);
  for (const Network& one : networks) {
    const TensorId first = graph.tensors.size();
    const Subgraph& main = one.graph().subgraphs[0];
    Subgraph& to = graph.subgraphs[0];
    for (TensorId t = 0; t < one.graph().tensors.size(); ++t) {
      graph.tensors.push_back(one.graph().tensors[t]);
      graph.tensors.back().name = "t" + std::to_string(first + t);
      const auto bytes = one.input.constants.of(t);
      if (!bytes.empty()) all.input.constants.set(first + t, std::vector(bytes.begin(), bytes.end()));
    }
    for (const TensorId t : main.inputs) to.inputs.push_back(first + t);
    for (const TensorId t : main.outputs) to.outputs.push_back(first + t);
    for (Operator op : main.operators) {
      for (auto* const operands : {&op.inputs, &op.outputs})
        for (auto& operand : *operands)
          if (operand) *operand += first;
      to.operators.push_back(op);
    }
    all.quantizations.insert(all.quantizations.end(), one.quantizations.begin(), one.quantizations.end());
    all.details[0].insert(all.details[0].end(), one.details[0].begin(), one.details[0].end());
  }
  all.input.content = graph;
  return all;
}

}  // namespace

bool ManyCalls::add(const Call& call) { return add(network_of(call)); }

bool ManyCalls::add(Network network) {
  if (!is_generated(network, by_rows_)) return false;
  groups_[count_++ % groups_.size()].push_back(std::move(network));
  return true;
}

void ManyCalls::add_to(Packages& packages) const {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].empty()) continue;
    const std::string name = (by_rows_ ? "rows_" : "whole_") + std::to_string(g);
    packages.add(name, package_of(joined(groups_[g]), name, by_rows_));
  }
}

}  // namespace stowage::testing
