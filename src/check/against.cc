// A plan against its networks. Tensors of the plan are matched to those of a network, what the replayed steps
// need is looked for among the plan's views (meet.cc), and what is left over is a fault: a tensor that is
// missing or has another size, bytes that are needed and nowhere, state that is not in one place, a loop's
// result in the place of its input. What may share bytes is decided for all networks at once (sharing.cc).

#include "check/against.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "check/meet.h"
#include "check/replay.h"
#include "check/sharing.h"

namespace stowage::check {
namespace {

/// For each tensor of a graph the entry of the plan that is it: by name, and tensors of one name in
/// their order. None where it is missing.
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
}

/// The caller may own inputs and outputs, the runtime may keep state; weights and instructions are
/// not in working memory.
std::vector<bool> may_be_elsewhere(const Graph& graph) {
  std::vector<bool> elsewhere(graph.tensors.size(), false);
  for (const auto* tensors : {&graph.subgraphs[0].inputs, &graph.subgraphs[0].outputs}) {
    for (const TensorId tensor : *tensors) elsewhere[tensor] = true;
  }
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    elsewhere[t] = elsewhere[t] || tensor.kind == TensorKind::weight ||
                   tensor.kind == TensorKind::instruction || tensor.kind == TensorKind::state ||
                   tensor.bytes == 0;
  }
  for (const StateTie& tie : graph.ties) elsewhere[tie.input] = elsewhere[tie.output] = false;
  return elsewhere;
}

void check_tie(const Graph& graph, const StateTie& tie, const std::vector<const PlannedTensor*>& matched,
               Faults& faults) {
  const PlannedTensor* const input = matched[tie.input];
  const PlannedTensor* const output = matched[tie.output];
  if (input == nullptr || output == nullptr || graph.tensors[tie.input].bytes == 0) return;
  const auto is_at_one_place = [](const View& a, const View& b) {
    return a.buffer == b.buffer && a.offset == b.offset;
  };
  if (input->views.size() != 1 || output->views.size() != 1 ||
      !is_at_one_place(input->views[0], output->views[0])) {
    faults.push_back(
        {FaultKind::accounting, fmt::format("{} is the new state of {}, but they are not in one place",
                                            describe(graph, tie.output), describe(graph, tie.input))});
  }
}

/// Where the inputs of a body are: by buffer and first byte. All of them live as long as the loop, so no two
/// of them overlap in a sound plan.
using InputsByPlace = std::map<std::pair<std::size_t, Bytes>, TensorId>;

/// An input of a body, other than the tensor itself, that lies where a view of the tensor does.
std::optional<TensorId> input_under(const View& view, TensorId tensor, const Graph& graph,
                                    const InputsByPlace& inputs) {
  const Bytes end = view.offset + graph.tensors[tensor].bytes;
  auto input = inputs.lower_bound({view.buffer, end});  // the first that begins behind it
  while (input != inputs.begin()) {
    --input;
    const auto& [place, id] = *input;
    if (place.first != view.buffer) break;
    if (id != tensor) {
      if (place.second + graph.tensors[id].bytes <= view.offset) break;
      return id;
    }
  }
  return std::nullopt;
}

/// A loop hands the results of its body over to the inputs one after the other: a result in the place of
/// an input could be written over before its turn.
void check_hand_over(const Graph& graph, const Subgraph& body,
                     const std::vector<const PlannedTensor*>& matched, Faults& faults) {
  InputsByPlace inputs;
  for (const TensorId input : body.inputs) {
    if (matched[input] == nullptr || graph.tensors[input].bytes == 0) continue;
    for (const View& view : matched[input]->views) inputs.emplace(std::pair(view.buffer, view.offset), input);
  }
  for (const TensorId output : body.outputs) {
    if (matched[output] == nullptr || graph.tensors[output].bytes == 0) continue;
    for (const View& view : matched[output]->views) {
      const auto input = input_under(view, output, graph, inputs);
      if (!input) continue;
      faults.push_back(
          {FaultKind::overlap, fmt::format("{} is handed over to the next round from where its input {} lies",
                                           describe(graph, output), describe(graph, *input))});
      break;
    }
  }
}

void check_hand_overs(const Graph& graph, const std::vector<const PlannedTensor*>& matched, Faults& faults) {
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators) {
      if (op.body_use != BodyUse::repeated) continue;
      for (const std::size_t body : op.bodies) check_hand_over(graph, graph.subgraphs[body], matched, faults);
    }
  }
}

/// What the replayed network needs, where the plan meets it.
Network check_model(const Plan& plan, const Graph& graph, std::size_t model, Faults& faults) {
  const auto matched = match_tensors(plan, graph, model, faults);
  Network network{graph, replay(graph, model, plan.clocks[0], faults)};
  std::vector<Views> views;
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    if (matched[t] != nullptr) check_tensor(graph, t, matched[t]->tensor, faults);
    views.push_back(matched[t] != nullptr ? views_in_time(*matched[t]) : Views());
  }
  meet(network.played, views);
  const auto elsewhere = may_be_elsewhere(graph);
  for (const Need& need : network.played.needs) {
    const PlannedTensor* const tensor = matched[need.tensor];
    if (tensor == nullptr || (tensor->views.empty() && elsewhere[need.tensor]) || need.view != nullptr)
      continue;
    faults.push_back({FaultKind::accounting,
                      fmt::format("{} needs its bytes from {} to {} but has no place for all of that time",
                                  describe(graph, need.tensor), need.life.lower, need.life.upper)});
  }
  for (const StateTie& tie : graph.ties) check_tie(graph, tie, matched, faults);
  check_hand_overs(graph, matched, faults);
  hold_weights(network, views);
  return network;
}

}  // namespace

Faults check_against(const Plan& plan, std::span<const Graph> graphs) {
  Faults faults;
  if (graphs.size() != plan.models.size()) {
    faults.push_back({FaultKind::accounting, fmt::format("the plan is for {} models, {} are given",
                                                         plan.models.size(), graphs.size())});
    return faults;
  }
  std::vector<Network> networks;
  for (std::size_t model = 0; model < graphs.size(); ++model)
    networks.push_back(check_model(plan, graphs[model], model, faults));
  check_sharing(plan, networks, faults);
  return faults;
}

}  // namespace stowage::check
