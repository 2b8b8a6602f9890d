// Views that move with open extents: their form, the bytes that they may have, and what must not move. Whether they meet
// others is a question of content (sharing.cc).

#include "check/moving.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <vector>

#include "base/checked.h"

namespace stowage::check {

std::optional<std::string> fault_in_moves(const PlannedTensor& tensor, const model::Extents& largest) {
  const View& first = tensor.views.front();
  const auto is_like_first = [&](const View& it) {
    return it.moves == first.moves && (!it.moves || (it.buffer == first.buffer && it.offset == first.offset));
  };
  if (!std::ranges::all_of(tensor.views, is_like_first)) return " moves, and is in several places";
  if (!first.moves) return std::nullopt;
  if (first.ring || first.rows || first.block) return " is in rows that move";
  if (tensor.tensor.kind != TensorKind::temporary) return " moves, but others know its place";
  const auto symbols_of = [](const OpenBytes& it) -> const std::vector<std::size_t>& { return it.symbols; };
  constexpr Bytes most = largest_value >> 5;  // sums of some do not overflow
  const auto is_sound = [](const OpenBytes& it) {
    return it.bytes != 0 && it.bytes >= -most && it.bytes <= most && !it.symbols.empty() &&
           std::ranges::is_sorted(it.symbols);
  };
  if (first.moves->empty() || !std::ranges::all_of(*first.moves, is_sound) ||
      std::ranges::adjacent_find(*first.moves, std::ranges::greater_equal(), symbols_of) !=
          first.moves->end())
    return " moves by terms that are not in order";
  Bytes sum = 0;
  for (const OpenBytes& it : *first.moves) {
    const auto bytes = model::value_of({it}, largest);
    const auto all = bytes && *bytes >= -largest_value && *bytes <= largest_value
                         ? base::checked_add(sum, std::abs(*bytes))
                         : std::nullopt;
    if (!all || *all > largest_value) return " moves by extents that its model does not have, or too far";
    sum = *all;
  }
  return std::nullopt;
}

model::Extents largest_extents(const Plan& plan, std::size_t model) {
  model::Extents extents;
  for (const PlannedTensor& it : plan.tensors) {
    if (it.model == model && it.tensor.shape) model::note_extents(it.tensor, *it.tensor.shape, extents);
  }
  return extents;
}

std::pair<Bytes, Bytes> reach_of(const Tensor& tensor, const View& view, const model::Extents& largest) {
  const Bytes end = view.offset + tensor.bytes;
  if (!view.moves) return {view.offset, end};
  model::Motions motions(largest);
  const model::MotionId begins = motions.id_of(*view.moves);
  const model::MotionId grows = motions.id_of(model::motion_of_end(tensor).value_or(model::Motion()));
  return {view.offset - motions.approach(0, begins), end + motions.approach(motions.sum(begins, grows), 0)};
}

void check_what_stays(const Plan& plan, const Network& network, Faults& faults) {
  const Graph& graph = network.graph();
  std::vector<bool> stays(graph.tensors.size(), false);
  const auto mark = [&](const std::vector<TensorId>& tensors) {
    for (const TensorId t : tensors) stays[t] = true;
  };
  for (const Subgraph& subgraph : graph.subgraphs) {
    mark(subgraph.inputs);
    mark(subgraph.outputs);
    for (const Operator& op : subgraph.operators) {
      for (const auto& output : op.outputs) {
        if (output && !op.bodies.empty()) stays[*output] = true;
      }
    }
  }
  for (const StateTie& tie : graph.ties) mark({tie.input, tie.output});
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    const PlannedTensor* const planned = network.part.matched[t];
    if (planned == nullptr || planned->views.empty() || !planned->views[0].moves) continue;
    const auto fault = [&](std::string_view why) {
      faults.push_back(
          {FaultKind::accounting, fmt::format("{} moves with open extents, {}", describe(graph, t), why)});
    };
    if (stays[t]) fault("but the caller, a body or a state knows its place");
    if (network.part.is_moved[t]) fault("and is copied between memories");
    if (network.part.is_by_rows) fault("in a plan by rows");
    if (plan.buffers[planned->views[0].buffer].clock != network.part.span.clock)
      fault("in a buffer of another clock");
  }
}

}  // namespace stowage::check
