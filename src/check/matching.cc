#include "check/matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "base/text.h"
#include "model/ties.h"

namespace stowage::check {

std::vector<const PlannedTensor*> match_tensors(const Plan& plan, const Graph& graph, std::size_t model,
                                                Faults& faults) {
  std::map<std::string_view, std::vector<const PlannedTensor*>> by_name;
  for (const PlannedTensor& tensor : plan.tensors) {
    if (tensor.model == model) by_name[tensor.tensor.name].push_back(&tensor);
  }
  std::map<std::string_view, std::size_t> used;
  std::vector<const PlannedTensor*> matched;
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    const std::string_view name = graph.tensors[t].name;
    const std::size_t index = used[name]++;
    const auto& entries = by_name[name];
    if (index >= entries.size()) {
      faults.push_back({FaultKind::accounting, describe(graph, t) + " is missing in the plan"});
      matched.push_back(nullptr);
    } else {
      matched.push_back(entries[index]);
    }
  }
  for (const auto& [name, entries] : by_name) {
    if (entries.size() > used[name]) {
      faults.push_back({FaultKind::accounting,
                        fmt::format("tensor {} is in the plan but not in the model", base::quoted(name))});
    }
  }
  return matched;
}

void check_tensor(const Graph& graph, TensorId t, const Tensor& planned, Faults& faults) {
  const Tensor& tensor = graph.tensors[t];
  const auto fault = [&](const std::string& what) {
    faults.push_back({FaultKind::accounting, describe(graph, t) + what});
  };
  if (planned.bytes != tensor.bytes)
    fault(fmt::format(" has {} bytes, the plan says {}", tensor.bytes, planned.bytes));
  if (planned.kind != tensor.kind)
    fault(fmt::format(" is of kind {}, the plan says {}", name_of(tensor.kind), name_of(planned.kind)));
  if (planned.dtype != tensor.dtype || planned.shape != tensor.shape)
    fault(" has another element type or shape in the plan");
  if (planned.open != tensor.open) fault(" has other open extents in the plan");
  if (planned.value != tensor.value) fault(" is given another value in the plan");
}

std::vector<bool> may_be_elsewhere(const Graph& graph) {
  std::vector<bool> elsewhere(graph.tensors.size(), false);
  for (const auto* tensors : {&graph.subgraphs[0].inputs, &graph.subgraphs[0].outputs}) {
    for (const TensorId tensor : *tensors) elsewhere[tensor] = true;
  }
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    elsewhere[t] =
        elsewhere[t] || is_constant(tensor.kind) || tensor.kind == TensorKind::state || tensor.bytes == 0;
  }
  for (const StateTie& tie : graph.ties) {
    elsewhere[tie.input] = false;
    if (!model::is_copied(graph, tie)) elsewhere[tie.output] = false;
  }
  return elsewhere;
}

void check_feed(const Graph& from, TensorId output, const Graph& to, TensorId input, Faults& faults) {
  const auto fault = [&](const Graph& graph, TensorId tensor, const std::string& what) {
    faults.push_back({FaultKind::accounting, describe(graph, tensor) + what});
  };
  const auto has = [](const std::vector<TensorId>& tensors, TensorId tensor) {
    return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
  };
  if (!has(from.subgraphs[0].outputs, output))
    fault(from, output, " feeds another model but is no output of its own");
  if (!has(to.subgraphs[0].inputs, input)) fault(to, input, " is fed but is no input of its model");
  if (std::any_of(to.ties.begin(), to.ties.end(), [&](const StateTie& tie) { return tie.input == input; }))
    fault(to, input, " is fed but is state of its model");
}

}  // namespace stowage::check
