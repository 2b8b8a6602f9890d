#include "check/hand_over.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "model/ties.h"

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

/// The needs of a tensor that begin at a position, in order of time.
std::span<KeptBytes*> those_at(std::vector<KeptBytes*>& needs, Position at) {
  const auto lower = [](const KeptBytes* need) { return need->life.lower; };
  const auto found = std::ranges::equal_range(needs, at, {}, lower);
  return {found.begin(), found.end()};
}

/// Needs of one tensor have the rows that are in both at one place, or none are.
bool is_one_place(const KeptBytes& a, const KeptBytes& b) {
  const Rows common{std::max(a.rows.first, b.rows.first), std::min(a.rows.second, b.rows.second)};
  if (common.first >= common.second) return true;
  const bool is_laid_out_alike =
      a.is_in_whole_view == b.is_in_whole_view && (common.second - common.first == 1 || a.step == b.step);
  return is_laid_out_alike && a.buffer == b.buffer && a.at_row(common.first) == b.at_row(common.first);
}

/// All the tensor is there, in row-major order.
bool is_whole(const NetworkSteps& part, const KeptBytes& need) {
  return need.rows == part.all_rows(need.tensor) && (need.count() == 1 || need.is_in_whole_view);
}

/// The needs of the tensors of which results are known, by tensor.
using NeedsOfResults = std::map<TensorId, std::vector<KeptBytes*>>;

NeedsOfResults needs_of_results(std::span<const HandedOver> handed, Needs& needs) {
  NeedsOfResults of_results;
  for (const HandedOver& it : handed) {
    for (const TensorId t : {it.from, it.to}) {
      const auto [found, is_new] = of_results.try_emplace(t);
      if (!is_new) continue;
      for (std::size_t n = needs.first[t]; n < needs.first[t + 1]; ++n)
        found->second.push_back(&needs.all[n]);
      std::ranges::stable_sort(found->second, {}, [](const KeptBytes* need) { return need->life.lower; });
    }
  }
  return of_results;
}

/// Where the body has the value when it has run; null if that is outside of the plan.
const KeptBytes* source_of(const std::vector<KeptBytes*>& needs, const HandedOver& handed) {
  const Position end = handed.at + 1;
  const auto after =
      std::ranges::upper_bound(needs, end, {}, [](const KeptBytes* need) { return need->life.lower; });
  if (after == needs.begin()) return nullptr;
  const KeptBytes* const last = *std::prev(after);
  return last->life.upper >= end && last->handing != Handing::by_body ? last : nullptr;
}

}  // namespace

void end_handed_over(const NetworkSteps& part, std::span<const HandedOver> handed, Needs& needs,
                     Faults& faults) {
  NeedsOfResults of_results = needs_of_results(handed, needs);
  std::vector<KeptBytes*> in_place;
  for (const HandedOver& it : handed) {
    const KeptBytes* const source = source_of(of_results[it.from], it);
    std::vector<KeptBytes*>& own = of_results[it.to];
    for (KeptBytes* const need : those_at(own, it.at)) {
      if (need->handing != Handing::by_body) continue;
      for (const KeptBytes* const read : those_at(own, it.end)) {
        if (read->handing != Handing::done || is_one_place(*need, *read)) continue;
        faults.push_back(
            {FaultKind::accounting,
             fmt::format("{} is handed over at position {} to another place than that where it is "
                         "at position {}",
                         describe(*part.graph, it.to), it.at, it.end)});
      }
      if (source != nullptr && is_whole(part, *need) && is_whole(part, *source) &&
          need->buffer == source->buffer && need->first == source->first)
        in_place.push_back(need);
    }
  }
  for (KeptBytes* const need : in_place) need->life.upper = need->life.lower;
}

void check_hand_overs(const Graph& graph, const std::vector<const PlannedTensor*>& matched, Faults& faults) {
  for (const StateTie& tie : model::ties_in_place(graph)) check_tie(graph, tie, matched, faults);
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators) {
      if (op.body_use != BodyUse::repeated) continue;
      for (const std::size_t body : op.bodies) check_hand_over(graph, graph.subgraphs[body], matched, faults);
    }
  }
}

}  // namespace stowage::check
