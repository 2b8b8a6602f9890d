#include "check/hand_over.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

namespace stowage::check {
namespace {

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

/// The inputs of a body, by buffer and first byte. All of them live as long as the loop, so in a correct plan
/// no two of them overlap.
using InputsByPlace = std::map<std::pair<std::size_t, Bytes>, TensorId>;

/// An input of a body, other than the tensor itself, whose place overlaps the view of the tensor.
std::optional<TensorId> input_under(const View& view, TensorId tensor, const Graph& graph,
                                    const InputsByPlace& inputs) {
  const Bytes end = view.offset + graph.tensors[tensor].bytes;
  auto input = inputs.lower_bound({view.buffer, end});  // the first that begins after it
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

/// A loop copies the results of its body to the inputs one after the other. A result in the place of an input
/// could be overwritten before its turn.
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

}  // namespace

void check_hand_overs(const Graph& graph, const std::vector<const PlannedTensor*>& matched, Faults& faults) {
  for (const StateTie& tie : graph.ties) check_tie(graph, tie, matched, faults);
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators) {
      if (op.body_use != BodyUse::repeated) continue;
      for (const std::size_t body : op.bodies) check_hand_over(graph, graph.subgraphs[body], matched, faults);
    }
  }
}

}  // namespace stowage::check
