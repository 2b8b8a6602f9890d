// The checker finds nothing in plans that are right, and something in every plan that is spoilt.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "check_cases.h"
#include "long_tests.h"
#include "oracle/naive_interpreter.h"
#include "oracle/random_graph.h"
#include "stowage/plan.h"

namespace stowage {
namespace {

using namespace cases;
using oracle::Choices;
using oracle::Positions;

// Mutations. Each spoils a plan if it can: none where the plan has nothing of the kind.

using Verdict = std::optional<Expected>;
using Spoil = std::function<Verdict(Case&, Choices&)>;

/// A random index of `count` that satisfies a condition.
template <typename Condition>
std::optional<std::size_t> some(Choices& choices, std::size_t count, const Condition& condition) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < count; ++i) {
    if (condition(i)) candidates.push_back(i);
  }
  if (candidates.empty()) return std::nullopt;
  return choices.one_of(candidates);
}

std::string id_of(const Case& it, std::size_t buffer) { return in_quotes(it.plan.buffers[buffer].id); }

std::string name_of_tensor(const Case& it, std::size_t tensor) {
  return in_quotes(it.plan.tensors[tensor].tensor.name);
}

bool live_together(const Buffer& a, const Buffer& b) {
  for (const Piece& first : a.pieces) {
    for (const Piece& second : b.pieces) {
      if (std::max(first.life.lower, second.life.lower) < std::min(first.life.upper, second.life.upper))
        return true;
    }
  }
  return false;
}

Verdict move_onto_another(Case& it, Choices& choices) {
  auto& buffers = it.plan.buffers;
  const auto moved = some(choices, buffers.size(), [&](std::size_t b) { return buffers[b].size > 0; });
  if (!moved) return std::nullopt;
  const auto other = some(choices, buffers.size(), [&](std::size_t b) {
    return b != *moved && buffers[b].size > 0 && live_together(buffers[*moved], buffers[b]);
  });
  if (!other) return std::nullopt;
  const Bytes alignment = buffers[*moved].alignment;
  const Bytes target = it.plan.places[*other].offset;
  const Bytes from = std::max<Bytes>(0, target - buffers[*moved].size + alignment);
  const Bytes to = target + buffers[*other].size - alignment;
  it.plan.places[*moved].offset = from + alignment * choices.between(0, (to - from) / alignment);
  return Expected{{FaultKind::overlap}, {id_of(it, *moved)}};
}

Verdict misalign(Case& it, Choices& choices) {
  const auto b =
      some(choices, it.plan.buffers.size(), [&](std::size_t i) { return it.plan.buffers[i].alignment > 1; });
  if (!b) return std::nullopt;
  it.plan.places[*b].offset += choices.between(1, it.plan.buffers[*b].alignment - 1);
  return Expected{{FaultKind::alignment}, {id_of(it, *b)}};
}

/// A tensor that has bytes, and one of its views that is not empty.
std::optional<std::pair<std::size_t, std::size_t>> some_view(const Case& it, Choices& choices) {
  const auto t = some(choices, it.plan.tensors.size(), [&](std::size_t i) {
    return it.plan.tensors[i].tensor.bytes > 0 && !it.plan.tensors[i].views.empty();
  });
  if (!t) return std::nullopt;
  const auto& views = it.plan.tensors[*t].views;
  const auto v =
      some(choices, views.size(), [&](std::size_t i) { return views[i].life.lower < views[i].life.upper; });
  if (!v) return std::nullopt;
  return std::pair(*t, *v);
}

Piece* piece_under(Case& it, const View& view) {
  for (Piece& piece : it.plan.buffers[view.buffer].pieces) {
    if (piece.life.lower <= view.life.lower && view.life.upper <= piece.life.upper) return &piece;
  }
  return nullptr;
}

Verdict cut_piece_at_its_beginning(Case& it, Choices& choices) {
  const auto chosen = some_view(it, choices);
  if (!chosen) return std::nullopt;
  const View& view = it.plan.tensors[chosen->first].views[chosen->second];
  Piece* const piece = piece_under(it, view);
  if (piece == nullptr || piece->life.lower != view.life.lower) return std::nullopt;
  ++piece->life.lower;
  return Expected{{FaultKind::accounting}, {name_of_tensor(it, chosen->first)}};
}

Verdict cut_piece_at_its_end(Case& it, Choices& choices) {
  const auto chosen = some_view(it, choices);
  if (!chosen) return std::nullopt;
  const View& view = it.plan.tensors[chosen->first].views[chosen->second];
  Piece* const piece = piece_under(it, view);
  if (piece == nullptr || piece->life.upper != view.life.upper) return std::nullopt;
  --piece->life.upper;
  return Expected{{FaultKind::accounting}, {name_of_tensor(it, chosen->first)}};
}

Verdict cut_bytes_of_piece(Case& it, Choices& choices) {
  const auto chosen = some_view(it, choices);
  if (!chosen) return std::nullopt;
  const PlannedTensor& tensor = it.plan.tensors[chosen->first];
  Piece* const piece = piece_under(it, tensor.views[chosen->second]);
  if (piece == nullptr) return std::nullopt;
  if (choices.chance(50)) {
    piece->size = tensor.tensor.bytes - 1;
  } else {
    piece->offset += 1;
    piece->size -= 1;
  }
  return Expected{{FaultKind::accounting}, {name_of_tensor(it, chosen->first)}};
}

/// Takes a position that the machine needs away from a view.
Verdict cut_view(Case& it, Choices& choices) {
  const auto chosen = some_view(it, choices);
  if (!chosen) return std::nullopt;
  View& view = it.plan.tensors[chosen->first].views[chosen->second];
  const bool at_end = choices.chance(50);
  const Position lost = at_end ? view.life.upper - 1 : view.life.lower;
  const auto& lives = it.needs[chosen->first];
  if (std::none_of(lives.begin(), lives.end(), [&](const Positions& life) { return life.contains(lost); })) {
    return std::nullopt;
  }
  (at_end ? view.life.upper : view.life.lower) += at_end ? -1 : 1;
  return Expected{{FaultKind::accounting}, {name_of_tensor(it, chosen->first)}};
}

Verdict move_view_out(Case& it, Choices& choices) {
  const auto chosen = some_view(it, choices);
  if (!chosen) return std::nullopt;
  View& view = it.plan.tensors[chosen->first].views[chosen->second];
  const Bytes room = it.plan.buffers[view.buffer].size - it.plan.tensors[chosen->first].tensor.bytes;
  view.offset += choices.chance(50) ? room + 1 : -1;
  return Expected{{FaultKind::format}, {name_of_tensor(it, chosen->first)}};
}

/// Tensors that a plan may leave to the caller or, state that nothing writes, to the runtime.
std::set<TensorId> kept_by_others(const Graph& graph) {
  std::set<TensorId> tensors(graph.subgraphs[0].inputs.begin(), graph.subgraphs[0].inputs.end());
  tensors.insert(graph.subgraphs[0].outputs.begin(), graph.subgraphs[0].outputs.end());
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].kind == TensorKind::state) tensors.insert(t);
  }
  for (const StateTie& tie : graph.ties) {
    tensors.erase(tie.input);
    tensors.erase(tie.output);
  }
  return tensors;
}

Verdict drop_views(Case& it, Choices& choices) {
  const auto chosen = some_view(it, choices);
  if (!chosen) return std::nullopt;
  const TensorId t = chosen->first;
  if (kept_by_others(it.graph).contains(t)) return std::nullopt;
  it.plan.tensors[t].views.clear();
  return Expected{{FaultKind::accounting}, {name_of_tensor(it, t)}};
}

Verdict drop_tensor(Case& it, Choices& choices) {
  if (it.plan.tensors.empty()) return std::nullopt;
  const std::size_t t = choices.below(it.plan.tensors.size());
  const std::string name = name_of_tensor(it, t);
  it.plan.tensors.erase(it.plan.tensors.begin() + static_cast<std::ptrdiff_t>(t));
  return Expected{{FaultKind::accounting}, {name}};
}

Verdict add_tensor(Case& it, Choices& choices) {
  PlannedTensor tensor{0, {.name = "stranger", .bytes = 8}, {}};
  std::string name = "'stranger'";
  if (choices.chance(50) && !it.plan.tensors.empty()) {  // one that is there already
    tensor.tensor = choices.one_of(it.plan.tensors).tensor;
    name = in_quotes(tensor.tensor.name);
  }
  it.plan.tensors.push_back(std::move(tensor));
  return Expected{{FaultKind::accounting}, {name}};
}

Verdict change_bytes(Case& it, Choices& choices) {
  if (it.plan.tensors.empty()) return std::nullopt;
  const std::size_t t = choices.below(it.plan.tensors.size());
  it.plan.tensors[t].tensor.bytes += choices.chance(50) ? 1 : -1;
  return Expected{{FaultKind::accounting, FaultKind::format}, {name_of_tensor(it, t)}};
}

Verdict change_dtype(Case& it, Choices& choices) {
  if (it.plan.tensors.empty()) return std::nullopt;
  const std::size_t t = choices.below(it.plan.tensors.size());
  Tensor& tensor = it.plan.tensors[t].tensor;
  tensor.dtype = tensor.dtype == DType::uint8 ? DType::int8 : DType::uint8;
  return Expected{{FaultKind::accounting, FaultKind::format}, {name_of_tensor(it, t)}};
}

Verdict change_shape(Case& it, Choices& choices) {
  if (it.plan.tensors.empty()) return std::nullopt;
  const std::size_t t = choices.below(it.plan.tensors.size());
  Tensor& tensor = it.plan.tensors[t].tensor;
  if (tensor.shape && choices.chance(50)) {
    tensor.shape->push_back(1);
  } else {
    tensor.shape = tensor.shape ? std::nullopt : std::optional(Shape{tensor.bytes + 1});
  }
  return Expected{{FaultKind::accounting, FaultKind::format}, {name_of_tensor(it, t)}};
}

Verdict change_kind(Case& it, Choices& choices) {
  if (it.plan.tensors.empty()) return std::nullopt;
  const std::size_t t = choices.below(it.plan.tensors.size());
  Tensor& tensor = it.plan.tensors[t].tensor;
  tensor.kind = tensor.kind == TensorKind::weight ? TensorKind::temporary : TensorKind::weight;
  return Expected{{FaultKind::accounting}, {name_of_tensor(it, t)}};
}

std::vector<Step>& steps_of(Case& it) { return it.plan.clocks[0].steps; }

std::vector<std::size_t>& path_at(Case& it, std::size_t step) {
  return std::get<Run>(steps_of(it)[step]).path;
}

const Operator& operator_at(Case& it, std::size_t step) {
  const auto& path = path_at(it, step);
  return it.graph.subgraphs[path[path.size() - 2]].operators[path.back()];
}

Verdict drop_step(Case& it, Choices& choices) {
  if (steps_of(it).empty()) return std::nullopt;
  const std::size_t at = choices.below(steps_of(it).size());
  const std::string name = in_quotes(operator_at(it, at).name);
  steps_of(it).erase(steps_of(it).begin() + static_cast<std::ptrdiff_t>(at));
  return Expected{{FaultKind::order}, {name}};
}

Verdict duplicate_step(Case& it, Choices& choices) {
  const auto at =
      some(choices, steps_of(it).size(), [&](std::size_t i) { return operator_at(it, i).bodies.empty(); });
  if (!at) return std::nullopt;
  const std::string name = in_quotes(operator_at(it, *at).name);
  const Step step = steps_of(it)[*at];
  steps_of(it).insert(steps_of(it).begin() + static_cast<std::ptrdiff_t>(*at), step);
  return Expected{{FaultKind::order}, {name, "step " + std::to_string(*at + 1)}};
}

/// Two operators without bodies that belong to one run of a subgraph, in the order they run.
template <typename Condition>
std::optional<std::pair<std::size_t, std::size_t>> some_siblings(Case& it, Choices& choices,
                                                                 const Condition& condition) {
  std::vector<std::pair<std::size_t, std::size_t>> candidates;
  for (std::size_t later = 0; later < steps_of(it).size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const auto& first = path_at(it, earlier);
      const auto& second = path_at(it, later);
      if (first.size() == second.size() && std::equal(first.begin(), first.end() - 1, second.begin()) &&
          operator_at(it, earlier).bodies.empty() && operator_at(it, later).bodies.empty() &&
          condition(operator_at(it, earlier), operator_at(it, later))) {
        candidates.emplace_back(earlier, later);
      }
    }
  }
  if (candidates.empty()) return std::nullopt;
  return choices.one_of(candidates);
}

template <typename Condition>
Verdict swap_siblings(Case& it, Choices& choices, const Condition& condition) {
  const auto pair = some_siblings(it, choices, condition);
  if (!pair) return std::nullopt;
  const std::string later = in_quotes(operator_at(it, pair->second).name);
  std::swap(path_at(it, pair->first), path_at(it, pair->second));
  return Expected{{FaultKind::order}, {later}};
}

Verdict swap_producer_and_reader(Case& it, Choices& choices) {
  return swap_siblings(it, choices, [&](const Operator& earlier, const Operator& later) {
    return std::any_of(earlier.outputs.begin(), earlier.outputs.end(), [&](const auto& output) {
      if (!output || it.graph.tensors[*output].bytes == 0) return false;
      return std::find(later.inputs.begin(), later.inputs.end(), output) != later.inputs.end();
    });
  });
}

Verdict swap_stateful(Case& it, Choices& choices) {
  const auto pair = some_siblings(it, choices, [](const Operator& earlier, const Operator& later) {
    return earlier.stateful && later.stateful;
  });
  if (!pair) return std::nullopt;
  const std::string earlier = in_quotes(operator_at(it, pair->first).name);
  std::swap(path_at(it, pair->first), path_at(it, pair->second));
  return Expected{{FaultKind::order}, {earlier}};
}

Verdict swap_what_comes_after(Case& it, Choices& choices) {
  return swap_siblings(it, choices, [&](const Operator& earlier, const Operator& later) {
    return std::any_of(later.after.begin(), later.after.end(), [&](std::size_t other) {
      return std::any_of(it.graph.subgraphs.begin(), it.graph.subgraphs.end(), [&](const Subgraph& subgraph) {
        return other < subgraph.operators.size() && &subgraph.operators[other] == &earlier;
      });
    });
  });
}

Verdict run_unknown_operator(Case& it, Choices& choices) {
  if (steps_of(it).empty()) return std::nullopt;
  const std::size_t at = choices.below(steps_of(it).size());
  const std::string name = in_quotes(operator_at(it, at).name);
  auto& path = path_at(it, at);
  switch (choices.below(6)) {
    case 0:
      path.back() = 1000;
      break;
    case 4:
      path[0] += path.size() > 2 ? 1 : 5;  // a body's step says that it is run by another operator
      break;
    case 1:
      path[path.size() - 2] += 1;
      break;
    case 2:
      path.clear();
      break;
    case 3:
      path.push_back(0);
      break;
    default:
      path.back() = std::numeric_limits<std::size_t>::max();
      break;
  }
  return Expected{{FaultKind::order}, {name}};
}

Verdict run_folded_operator(Case& it, Choices& choices) {
  const auto& operators = it.graph.subgraphs[0].operators;
  const auto folded = some(choices, operators.size(), [&](std::size_t o) { return operators[o].folded; });
  if (!folded) return std::nullopt;
  const Run run{.model = 0, .path = {0, *folded}};
  steps_of(it).insert(choices.chance(50) ? steps_of(it).begin() : steps_of(it).end(), run);
  return Expected{{FaultKind::order}, {in_quotes(operators[*folded].name)}};
}

Verdict change_peak(Case& it, Choices& choices) {
  it.plan.memories[0].peak += choices.chance(50) ? 1 : -1;
  return Expected{{FaultKind::claim}, {in_quotes(it.plan.memories[0].memory.name)}};
}

Verdict change_summary_peak(Case& it, Choices& choices) {
  it.plan.summary.peak += choices.chance(50) ? 1 : -1;
  return Expected{{FaultKind::claim}, {"summary"}};
}

/// No bound above the load and the largest buffer can be proven from the plan alone.
Verdict raise_bound(Case& it, Choices& choices) {
  std::map<Position, Bytes> load;
  Bytes provable = 0;
  for (const Buffer& buffer : it.plan.buffers) {
    provable = std::max(provable, buffer.size);
    for (const Piece& piece : buffer.pieces) {
      for (Position at = piece.life.lower; at < piece.life.upper; ++at) load[at] += piece.size;
    }
  }
  for (const auto& [at, bytes] : load) provable = std::max(provable, bytes);
  it.plan.memories[0].lower_bound = provable + choices.between(1, 3);
  return Expected{{FaultKind::claim}, {in_quotes(it.plan.memories[0].memory.name)}};
}

Verdict raise_bound_of_claim(Case& it, Choices& choices) {
  if (choices.chance(50)) {
    it.plan.summary.lower_bound = it.plan.memories[0].lower_bound + 1;
    return Expected{{FaultKind::claim}, {"summary"}};
  }
  it.plan.claims[0].lower_bound = it.plan.memories[0].lower_bound + 1;
  it.plan.claims[0].proven_optimal = false;
  return Expected{{FaultKind::claim}, {"claim"}};
}

Verdict claim_too_much(Case& it, Choices& choices) {
  if (choices.chance(30)) {
    if (choices.chance(50)) {
      it.plan.claims[0].scope = ClaimScope::stream;
      return Expected{{FaultKind::claim}, {"stream"}};
    }
    it.plan.claims.push_back({ClaimScope::order, it.plan.summary.peak + 1, false});
    return Expected{{FaultKind::claim}, {"order"}};
  }
  if (it.plan.summary.peak == 0) return std::nullopt;
  if (it.plan.claims[0].lower_bound == it.plan.summary.peak) --it.plan.claims[0].lower_bound;
  it.plan.claims[0].proven_optimal = true;
  return Expected{{FaultKind::claim}, {"proven optimal"}};
}

Verdict shrink_memory(Case& it, Choices& choices) {
  const Bytes peak = it.plan.memories[0].peak;
  if (peak == 0) return std::nullopt;
  const Bytes capacity = peak - choices.between(1, peak);
  it.plan.memories[0].memory.capacity = capacity;
  Expected expected{{FaultKind::capacity}, {}};
  for (std::size_t b = 0; b < it.plan.buffers.size(); ++b) {
    if (it.plan.places[b].offset + it.plan.buffers[b].size == peak) expected.names.push_back(id_of(it, b));
  }
  return expected;
}

std::optional<std::size_t> some_buffer(const Case& it, Choices& choices) {
  if (it.plan.buffers.empty()) return std::nullopt;
  return choices.below(it.plan.buffers.size());
}

Verdict pin_elsewhere(Case& it, Choices& choices) {
  const auto b = some_buffer(it, choices);
  if (!b) return std::nullopt;
  if (choices.chance(50)) {
    it.plan.buffers[*b].pinned = it.plan.places[*b].offset + it.plan.buffers[*b].alignment;
  } else {
    it.plan.memories.push_back({{.name = "other"}, 0, 0});
    it.plan.buffers[*b].memories = {1};
  }
  return Expected{{FaultKind::pin}, {id_of(it, *b)}};
}

Verdict change_clock_of_buffer(Case& it, Choices& choices) {
  const auto b = some_buffer(it, choices);
  if (!b) return std::nullopt;
  it.plan.buffers[*b].clock = 1;
  return Expected{{FaultKind::format}, {id_of(it, *b)}};
}

Verdict place_nowhere(Case& it, Choices& choices) {
  const auto b = some_buffer(it, choices);
  if (!b) return std::nullopt;
  it.plan.places[*b].memory = it.plan.memories.size();
  return Expected{{FaultKind::format}, {id_of(it, *b)}};
}

Verdict drop_place(Case& it, Choices& choices) {
  if (it.plan.places.empty()) return std::nullopt;
  if (choices.chance(50)) {
    it.plan.places.pop_back();
  } else {
    it.plan.places.emplace_back();
  }
  return Expected{{FaultKind::format}, {std::to_string(it.plan.places.size()) + " places"}};
}

Verdict repeat_id(Case& it, Choices& choices) {
  if (it.plan.buffers.size() < 2) return std::nullopt;
  const std::size_t b = 1 + choices.below(it.plan.buffers.size() - 1);
  it.plan.buffers[b].id = it.plan.buffers[b - 1].id;
  return Expected{{FaultKind::format}, {id_of(it, b)}};
}

Verdict spoil_buffer(Case& it, Choices& choices) {
  const auto b = some_buffer(it, choices);
  if (!b) return std::nullopt;
  Buffer& buffer = it.plan.buffers[*b];
  switch (choices.below(6)) {
    case 0:
      buffer.size = -1;
      break;
    case 1:
      buffer.alignment = choices.between(-1, 0);
      break;
    case 2:
      it.plan.places[*b].offset = -buffer.alignment;
      break;
    case 3:
      buffer.pieces.push_back({0, buffer.size + 1, {0, 1}});
      break;
    case 4:
      buffer.pieces.push_back({-1, 1, {0, 1}});
      break;
    default:
      buffer.pieces.push_back({0, 0, {2, 1}});
      break;
  }
  return Expected{{FaultKind::format}, {id_of(it, *b)}};
}

Verdict spoil_view(Case& it, Choices& choices) {
  const auto chosen = some_view(it, choices);
  if (!chosen) return std::nullopt;
  View& view = it.plan.tensors[chosen->first].views[chosen->second];
  switch (choices.below(4)) {
    case 0:
      view.buffer = it.plan.buffers.size();
      break;
    case 1:
      view.ring = Ring{.granule = 0};
      break;
    case 2:
      view.life = {view.life.upper + 1, view.life.lower};
      break;
    default:
      it.plan.tensors[chosen->first].model = 1;
      break;
  }
  return Expected{{FaultKind::format}, {name_of_tensor(it, chosen->first)}};
}

/// Bodies make it, so it has no value before they have run, though the plan may keep its bytes.
bool is_result_of_bodies(const Graph& graph, TensorId tensor) {
  return std::ranges::any_of(graph.subgraphs, [&](const Subgraph& subgraph) {
    return std::ranges::any_of(subgraph.operators, [&](const Operator& op) {
      return !op.bodies.empty() && std::ranges::find(op.outputs, tensor) != op.outputs.end();
    });
  });
}

/// Both tensors are in one buffer then, whose own box overlaps nobody's.
Verdict view_of_another_buffer(Case& it, Choices& choices) {
  const auto chosen = some_view(it, choices);
  if (!chosen || is_result_of_bodies(it.graph, chosen->first)) return std::nullopt;
  View& view = it.plan.tensors[chosen->first].views[chosen->second];
  const Bytes bytes = it.plan.tensors[chosen->first].tensor.bytes;
  const auto is_alive = [&](const Lifetime& life) {
    return std::max(life.lower, view.life.lower) < std::min(life.upper, view.life.upper);
  };
  const auto other = some(choices, it.plan.tensors.size(), [&](std::size_t t) {
    if (t == chosen->first || it.plan.tensors[t].tensor.bytes == 0) return false;
    if (is_result_of_bodies(it.graph, t)) return false;
    const auto& views = it.plan.tensors[t].views;
    return std::any_of(views.begin(), views.end(), [&](const View& there) {
      return is_alive(there.life) && there.buffer != view.buffer &&
             it.plan.buffers[there.buffer].size >= bytes;
    });
  });
  if (!other) return std::nullopt;
  view.buffer = it.plan.tensors[*other].views[0].buffer;
  if (it.plan.buffers[view.buffer].size < bytes) return std::nullopt;
  return Expected{{FaultKind::overlap}, {name_of_tensor(it, chosen->first)}};
}

Verdict part_tied_state(Case& it, Choices& choices) {
  const auto tie = some(choices, it.graph.ties.size(),
                        [&](std::size_t i) { return it.graph.tensors[it.graph.ties[i].input].bytes > 0; });
  if (!tie) return std::nullopt;
  PlannedTensor& output = it.plan.tensors[it.graph.ties[*tie].output];
  Buffer apart = it.plan.buffers[output.views[0].buffer];
  apart.id = "apart";
  it.plan.memories.push_back({{.name = "other"}, apart.size, 0});
  output.views[0].buffer = it.plan.buffers.size();
  it.plan.buffers.push_back(std::move(apart));
  it.plan.places.push_back({1, 0});
  return Expected{{FaultKind::accounting}, {in_quotes(output.tensor.name)}};
}

const std::vector<std::pair<std::string, Spoil>>& mutations() {
  static const std::vector<std::pair<std::string, Spoil>> all{
      {"move onto another", move_onto_another},
      {"misalign", misalign},
      {"cut piece at its beginning", cut_piece_at_its_beginning},
      {"cut piece at its end", cut_piece_at_its_end},
      {"cut bytes of piece", cut_bytes_of_piece},
      {"cut view", cut_view},
      {"move view out", move_view_out},
      {"drop views", drop_views},
      {"drop tensor", drop_tensor},
      {"add tensor", add_tensor},
      {"change bytes", change_bytes},
      {"change dtype", change_dtype},
      {"change shape", change_shape},
      {"change kind", change_kind},
      {"drop step", drop_step},
      {"duplicate step", duplicate_step},
      {"swap producer and reader", swap_producer_and_reader},
      {"swap stateful", swap_stateful},
      {"swap what comes after", swap_what_comes_after},
      {"run unknown operator", run_unknown_operator},
      {"run folded operator", run_folded_operator},
      {"change peak", change_peak},
      {"change summary peak", change_summary_peak},
      {"raise bound", raise_bound},
      {"raise bound of claim", raise_bound_of_claim},
      {"claim too much", claim_too_much},
      {"shrink memory", shrink_memory},
      {"pin elsewhere", pin_elsewhere},
      {"change clock of buffer", change_clock_of_buffer},
      {"place nowhere", place_nowhere},
      {"drop place", drop_place},
      {"repeat id", repeat_id},
      {"spoil buffer", spoil_buffer},
      {"spoil view", spoil_view},
      {"view of another buffer", view_of_another_buffer},
      {"part tied state", part_tied_state},
  };
  return all;
}

TEST(Check, FindsNothingInPlansOfOurOwn) {
  std::size_t plans = 0;
  for (std::uint64_t seed = 0; seed < testing::cases_of(3000); ++seed) {
    const auto it = random_case(seed);
    if (!it) continue;
    ++plans;
    ASSERT_TRUE(it->faults.empty()) << "seed " << seed << "\n" << text_of(it->faults);
    ASSERT_TRUE(check(*it).empty()) << "seed " << seed;
    ASSERT_TRUE(check_plan(it->plan).empty()) << "seed " << seed;
  }
  EXPECT_GT(plans, testing::cases_of(2000));
}

TEST(Check, FindsEveryMutationAndNamesIt) {
  const auto& all = mutations();
  std::vector<std::size_t> found(all.size(), 0);
  const std::uint64_t seeds = testing::is_in_a_hurry() ? 600 : 2000;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto original = random_case(seed);
    if (!original) continue;
    Choices choices(seed);
    for (int attempt = 0; attempt < 6; ++attempt) {
      const std::size_t m = choices.below(all.size());
      Case it = *original;
      const Verdict expected = all[m].second(it, choices);
      if (!expected) continue;
      const Faults faults = check(it);
      ASSERT_TRUE(has_fault(faults, *expected)) << all[m].first << ", seed " << seed << ", expected kind "
                                                << static_cast<int>(*expected->kinds.begin()) << " naming "
                                                << ::testing::PrintToString(expected->names) << "\n"
                                                << text_of(faults);
      ++found[m];
    }
  }
  for (std::size_t m = 0; m < all.size(); ++m) EXPECT_GE(found[m], testing::cases_of(10)) << all[m].first;
}

}  // namespace
}  // namespace stowage
