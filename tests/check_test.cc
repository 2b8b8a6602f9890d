// The checker finds nothing in plans that are right, something in every plan that is spoilt, and
// survives everything else. A machine that runs the network decides what a spoilt plan breaks.

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

#include "oracle/naive_interpreter.h"
#include "oracle/random_graph.h"
#include "stowage/error.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage {

namespace {

using oracle::Choices;
using oracle::Positions;
using oracle::random_graph;
using oracle::Sketch;

constexpr Bytes smallest = std::numeric_limits<Bytes>::min();
constexpr Bytes largest = std::numeric_limits<Bytes>::max();

/// A network and a plan for it.
struct Case {
  Graph graph;
  Plan plan;
  std::vector<std::vector<Positions>> needs;  ///< From the machine.
  Faults faults;                              ///< What make_plan reported.
};

Case case_of(Graph graph, const PlanOptions& options = {}) {
  const Input input{{.name = "model", .source = "model.json", .format = ModelFormat::json}, graph};
  PlanResult result = make_plan(input, options);
  auto needs = oracle::needs_of(graph, oracle::execute(graph, result.plan.clocks[0]));
  return {std::move(graph), std::move(result.plan), std::move(needs), std::move(result.faults)};
}

/// None when a state could not be kept, which is the network's fault.
std::optional<Case> random_case(std::uint64_t seed) {
  PlanOptions options;
  options.solve.strategy = seed % 16 == 0 ? "auto" : seed % 2 == 0 ? "greedy-by-size" : "first-fit-by-start";
  options.alignment = Bytes{1} << (2 * (seed % 4));
  options.io = seed % 5 == 0 ? Io::external : Io::arena;
  try {
    return case_of(random_graph(seed, {.depth = seed % 4, .has_ties = seed % 3 == 0}), options);
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

/// What a mutation must be reported as: a fault of one of the kinds that has one of the names in it.
struct Expected {
  std::set<FaultKind> kinds;
  std::vector<std::string> names;
};

bool has_fault(const Faults& faults, const Expected& expected) {
  return std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
    return expected.kinds.contains(fault.kind) &&
           std::any_of(expected.names.begin(), expected.names.end(),
                       [&](const std::string& name) { return fault.what.find(name) != std::string::npos; });
  });
}

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
    it.plan.claims[0].scope = choices.chance(50) ? ClaimScope::order : ClaimScope::stream;
    return Expected{{FaultKind::claim}, {std::string(name_of(it.plan.claims[0].scope))}};
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
      view.ring = Ring{};
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

/// Both tensors are in one buffer then, whose own box overlaps nobody's.
Verdict view_of_another_buffer(Case& it, Choices& choices) {
  const auto chosen = some_view(it, choices);
  if (!chosen) return std::nullopt;
  View& view = it.plan.tensors[chosen->first].views[chosen->second];
  const Bytes bytes = it.plan.tensors[chosen->first].tensor.bytes;
  const auto is_alive = [&](const Lifetime& life) {
    return std::max(life.lower, view.life.lower) < std::min(life.upper, view.life.upper);
  };
  const auto other = some(choices, it.plan.tensors.size(), [&](std::size_t t) {
    if (t == chosen->first || it.plan.tensors[t].tensor.bytes == 0) return false;
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
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const auto it = random_case(seed);
    if (!it) continue;
    ++plans;
    ASSERT_TRUE(it->faults.empty()) << "seed " << seed << "\n" << text_of(it->faults);
    ASSERT_TRUE(check(*it).empty()) << "seed " << seed;
    ASSERT_TRUE(check_plan(it->plan).empty()) << "seed " << seed;
  }
  EXPECT_GT(plans, 2000U);
}

TEST(Check, FindsEveryMutationAndNamesIt) {
  const auto& all = mutations();
  std::vector<std::size_t> found(all.size(), 0);
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
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
                                                << testing::PrintToString(expected->names) << "\n"
                                                << text_of(faults);
      ++found[m];
    }
  }
  for (std::size_t m = 0; m < all.size(); ++m) EXPECT_GE(found[m], 10U) << all[m].first;
}

// Anything at all may happen to a plan; whether that breaks it the machine knows.

/// Where a value is: an address in a memory.
using Address = std::pair<std::size_t, Bytes>;

/// An address at which the tensor is during all of a life, if there is one.
std::optional<Address> address_of(const Plan& plan, const PlannedTensor& tensor, const Positions& life) {
  for (const View& candidate : tensor.views) {
    const auto address = [&](const View& view) {
      return Address(plan.places[view.buffer].memory, plan.places[view.buffer].offset + view.offset);
    };
    const bool covers = std::all_of(life.begin(), life.end(), [&](Position at) {
      return std::any_of(tensor.views.begin(), tensor.views.end(), [&](const View& view) {
        return address(view) == address(candidate) && view.life.lower <= at && at < view.life.upper;
      });
    });
    if (covers) return address(candidate);
  }
  return std::nullopt;
}

/// Gives every byte at every position to the tensor that needs it there.
bool is_harmful(const Case& it) {
  std::map<std::pair<std::size_t, Position>, std::map<Bytes, TensorId>> owners;
  const std::set<TensorId> kept = kept_by_others(it.graph);
  for (TensorId t = 0; t < it.graph.tensors.size(); ++t) {
    const Bytes bytes = it.graph.tensors[t].bytes;
    const PlannedTensor& tensor = it.plan.tensors[t];
    if (bytes == 0 || (tensor.views.empty() && kept.contains(t))) continue;
    for (const Positions& life : it.needs[t]) {
      if (life.empty()) continue;
      const auto address = address_of(it.plan, tensor, life);
      if (!address) return true;
      const auto& capacity = it.plan.memories[address->first].memory.capacity;
      if (address->second < 0 || (capacity && address->second + bytes > *capacity)) return true;
      for (const Position at : life) {
        auto& owner = owners[{address->first, at}];
        for (Bytes byte = address->second; byte < address->second + bytes; ++byte) {
          if (!owner.emplace(byte, t).second) return true;
        }
      }
    }
  }
  return false;
}

/// Makes the plan's numbers true, so that nothing but the harm can be found.
void correct_claims(Plan& plan) {
  plan.claims.clear();
  plan.summary.peak = 0;
  plan.summary.lower_bound = 0;
  for (std::size_t m = 0; m < plan.memories.size(); ++m) {
    plan.memories[m].peak = 0;
    plan.memories[m].lower_bound = 0;
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
      if (plan.places[b].memory != m) continue;
      plan.memories[m].peak = std::max(plan.memories[m].peak, plan.places[b].offset + plan.buffers[b].size);
    }
    plan.summary.peak += plan.memories[m].peak;
  }
}

Lifetime shaken(const Lifetime& life, Choices& choices) {
  const Position lower = std::max<Position>(0, life.lower + choices.between(-2, 2));
  return {lower, std::max(lower, life.upper + choices.between(-2, 2))};
}

void shake_buffer(Plan& plan, Choices& choices) {
  const std::size_t b = choices.below(plan.buffers.size());
  Buffer& buffer = plan.buffers[b];
  switch (choices.below(7)) {
    case 0:
      plan.places[b].offset = choices.one_of(plan.places).offset;
      break;
    case 1:
      plan.places[b].offset =
          std::max<Bytes>(0, plan.places[b].offset + buffer.alignment * choices.between(-3, 3));
      break;
    case 2:
      plan.places[b].offset =
          choices.between(0, 2 * plan.memories[0].peak / buffer.alignment) * buffer.alignment;
      break;
    case 3:
      if (plan.memories.size() < 2) plan.memories.push_back({{.name = "other"}, 0, 0});
      plan.places[b].memory = 1;
      break;
    case 4:
      if (!buffer.pieces.empty()) {
        Piece& piece = buffer.pieces[choices.below(buffer.pieces.size())];
        piece.life = shaken(piece.life, choices);
      }
      break;
    case 5:
      if (!buffer.pieces.empty()) {
        Piece& piece = buffer.pieces[choices.below(buffer.pieces.size())];
        piece.offset = choices.between(0, std::min<Bytes>(2, buffer.size));
        piece.size = std::max<Bytes>(0, buffer.size - piece.offset - choices.between(0, 2));
      }
      break;
    default:
      buffer.size += choices.between(0, 2) * buffer.alignment;
      break;
  }
}

void shake_view(Plan& plan, Choices& choices) {
  PlannedTensor& tensor = plan.tensors[choices.below(plan.tensors.size())];
  if (tensor.views.empty()) return;
  const std::size_t v = choices.below(tensor.views.size());
  View& view = tensor.views[v];
  switch (choices.below(6)) {
    case 0:
      view.life = shaken(view.life, choices);
      break;
    case 1:
      view.buffer = choices.below(plan.buffers.size());
      break;
    case 2:
      view.offset = std::max<Bytes>(0, view.offset + choices.between(-1, 4));
      break;
    case 3:
      tensor.views.erase(tensor.views.begin() + static_cast<std::ptrdiff_t>(v));
      break;
    case 4: {
      const Position middle = choices.between(view.life.lower, view.life.upper);
      View second = view;
      second.life.lower = middle;
      view.life.upper = middle;
      if (choices.chance(50)) second.buffer = choices.below(plan.buffers.size());
      tensor.views.push_back(second);
      break;
    }
    default: {
      PlannedTensor& other = plan.tensors[choices.below(plan.tensors.size())];
      if (!other.views.empty()) std::swap(view.buffer, other.views[0].buffer);
      break;
    }
  }
}

TEST(Check, FindsWhateverBreaksARun) {
  std::size_t harmful = 0;
  std::size_t harmless = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const auto original = random_case(seed);
    if (!original || original->plan.buffers.empty()) continue;
    ASSERT_FALSE(is_harmful(*original)) << "seed " << seed;
    Choices choices(seed);
    for (int attempt = 0; attempt < 4; ++attempt) {
      Case it = *original;
      for (std::size_t i = 1 + choices.below(3); i > 0; --i) {
        if (choices.chance(60)) {
          shake_buffer(it.plan, choices);
        } else {
          shake_view(it.plan, choices);
        }
      }
      correct_claims(it.plan);
      const Faults faults = check(it);
      if (is_harmful(it)) {
        ++harmful;
        ASSERT_TRUE(std::any_of(faults.begin(), faults.end(),
                                [](const Fault& fault) {
                                  return fault.kind == FaultKind::overlap ||
                                         fault.kind == FaultKind::accounting ||
                                         fault.kind == FaultKind::format;
                                }))
            << "seed " << seed << ", attempt " << attempt << "\n"
            << text_of(faults);
      } else if (faults.empty()) {
        ++harmless;
      }
    }
  }
  EXPECT_GT(harmful, 1000U);
  EXPECT_GT(harmless, 500U);
}

TEST(Check, FindsStepsThatDoNotFitTheirPlan) {
  // Another valid order of the steps needs other lives; the plan's are those of its own.
  std::size_t harmful = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    auto it = random_case(seed);
    if (!it) continue;
    it->plan.clocks[0] = oracle::random_clock(it->graph, seed);
    const auto execution = oracle::execute(it->graph, it->plan.clocks[0]);
    if (std::any_of(it->graph.ties.begin(), it->graph.ties.end(),
                    [&](const StateTie& tie) { return oracle::is_old_state_lost(execution, tie); })) {
      continue;
    }
    it->needs = oracle::needs_of(it->graph, execution);
    const Faults faults = check(*it);
    if (!is_harmful(*it)) continue;
    ++harmful;
    ASSERT_FALSE(faults.empty()) << "seed " << seed;
  }
  EXPECT_GT(harmful, 300U);
}

// One case of every kind, by hand.

/// x (16 bytes) -> a -> b -> y, alignment 8.
Case small_case() {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Relu", {"x"}, {"a"});
  sketch.add(0, "Relu", {"a"}, {"b"});
  sketch.add(0, "Relu", {"b"}, {"y"});
  return case_of(sketch.graph(), {.alignment = 8});
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

struct Wrong {
  std::string title;
  std::function<void(Case&)> spoil;
  Expected expected;
};

std::vector<Wrong> wrong_plans() {
  using enum FaultKind;
  return {
      {"no clock", [](Case& it) { it.plan.clocks.clear(); }, {{format}, {"0 clocks"}}},
      {"two clocks", [](Case& it) { it.plan.clocks.emplace_back(); }, {{format}, {"2 clocks"}}},
      {"copy", [](Case& it) { it.plan.clocks[0].steps[1] = Copy{}; }, {{format}, {"step 1"}}},
      {"fork", [](Case& it) { it.plan.clocks[0].steps[2] = Fork{{0}}; }, {{format}, {"step 2"}}},
      {"rows",
       [](Case& it) {
         std::get<Run>(it.plan.clocks[0].steps[0]).rows = RowRange{0, 1};
       },
       {{format}, {"step 0"}}},
      {"step of another model",
       [](Case& it) { std::get<Run>(it.plan.clocks[0].steps[2]).model = 7; },
       {{format}, {"model 7"}}},
      {"sizes that overflow",
       [](Case& it) {
         for (Buffer& buffer : it.plan.buffers) buffer.size = largest_value;
       },
       {{format}, {"overflow"}}},
      {"size beyond everything",
       [](Case& it) { it.plan.buffers[0].size = largest_value + 1; },
       {{format}, {std::to_string(largest_value + 1)}}},
      {"offset beyond everything",
       [](Case& it) { it.plan.places[buffer_named(it.plan, "a")].offset = largest_value + 8; },
       {{format}, {"'a'"}}},
      {"piece that ends before it begins",
       [](Case& it) {
         it.plan.buffers[buffer_named(it.plan, "a")].pieces[0].life = {2, 0};
       },
       {{format}, {"'a'"}}},
      {"piece before time",
       [](Case& it) { it.plan.buffers[buffer_named(it.plan, "a")].pieces[0].life.lower = -1; },
       {{format}, {"'a'"}}},
      {"bytes that are not those of the shape",
       [](Case& it) { tensor_named(it.plan, "a").tensor.shape = Shape{17}; },
       {{format}, {"'a'"}}},
      {"impossible shape",
       [](Case& it) { tensor_named(it.plan, "a").tensor.shape = Shape{-1}; },
       {{format}, {"'a'"}}},
      {"negative bytes",
       [](Case& it) {
         tensor_named(it.plan, "a").tensor.shape.reset();
         tensor_named(it.plan, "a").tensor.bytes = -1;
       },
       {{format}, {"'a'"}}},
      {"two buffers in one place",
       [](Case& it) {
         it.plan.places[buffer_named(it.plan, "a")] = it.plan.places[buffer_named(it.plan, "b")];
       },
       {{overlap}, {"'a'"}}},
      {"two buffers that share one byte-wide strip",
       [](Case& it) {
         it.plan.buffers[buffer_named(it.plan, "a")].alignment = 1;
         it.plan.places[buffer_named(it.plan, "a")].offset = 15;
       },
       {{overlap}, {"'a'"}}},
      {"two pieces of one buffer",
       [](Case& it) {
         Buffer& buffer = it.plan.buffers[buffer_named(it.plan, "a")];
         buffer.pieces.push_back(buffer.pieces[0]);
       },
       {{overlap}, {"'a'"}}},
      {"two tensors in one buffer",
       [](Case& it) { tensor_named(it.plan, "b").views[0].buffer = buffer_named(it.plan, "a"); },
       {{overlap}, {"'b'"}}},
      {"odd offset",
       [](Case& it) { it.plan.places[buffer_named(it.plan, "a")].offset = 1004; },
       {{alignment}, {"'a'"}}},
      {"pinned elsewhere",
       [](Case& it) { it.plan.buffers[buffer_named(it.plan, "a")].pinned = 800; },
       {{pin}, {"'a'"}}},
      {"forbidden memory",
       [](Case& it) { it.plan.buffers[buffer_named(it.plan, "a")].memories = {5}; },
       {{pin}, {"'a'"}}},
      {"small memory", [](Case& it) { it.plan.memories[0].memory.capacity = 31; }, {{capacity}, {"31"}}},
      {"negative memory",
       [](Case& it) { it.plan.memories[0].memory.capacity = -1; },
       {{capacity}, {"'arena'"}}},
      {"wrong peak", [](Case& it) { it.plan.memories[0].peak = 31; }, {{claim}, {"31"}}},
      {"wrong bound", [](Case& it) { it.plan.memories[0].lower_bound = 33; }, {{claim}, {"33"}}},
      {"wrong summary", [](Case& it) { it.plan.summary.peak = 0; }, {{claim}, {"summary"}}},
      {"wrong claim", [](Case& it) { it.plan.claims[0].lower_bound = 31; }, {{claim}, {"31"}}},
      {"claim of another scope",
       [](Case& it) {
         it.plan.claims.push_back({ClaimScope::order, 0, false});
       },
       {{claim}, {"order"}}},
      {"missing tensor",
       [](Case& it) { it.plan.tensors.erase(it.plan.tensors.begin()); },
       {{accounting}, {"'x'"}}},
      {"unknown tensor",
       [](Case& it) { tensor_named(it.plan, "a").tensor.name = "c"; },
       {{accounting}, {"'c'"}}},
      {"wrong kind",
       [](Case& it) { tensor_named(it.plan, "a").tensor.kind = TensorKind::scratch; },
       {{accounting}, {"'a'"}}},
      {"view in dead bytes",
       [](Case& it) { tensor_named(it.plan, "a").views[0].life.upper = 3; },
       {{accounting}, {"'a'"}}},
      {"view that ends early",
       [](Case& it) { tensor_named(it.plan, "a").views[0].life.upper = 1; },
       {{accounting}, {"'a'"}}},
      {"view that begins late",
       [](Case& it) { tensor_named(it.plan, "a").views[0].life.lower = 1; },
       {{accounting}, {"'a'"}}},
      {"too many models", [](Case& it) { it.plan.models.emplace_back(); }, {{accounting}, {"2 models"}}},
      {"missing step", [](Case& it) { it.plan.clocks[0].steps.pop_back(); }, {{order}, {"'Relu2'"}}},
      {"no steps", [](Case& it) { it.plan.clocks[0].steps.clear(); }, {{order}, {"'Relu0'"}}},
      {"steps backwards",
       [](Case& it) { std::reverse(it.plan.clocks[0].steps.begin(), it.plan.clocks[0].steps.end()); },
       {{order}, {"'a'"}}},
  };
}

TEST(Check, FindsEveryKindOfFault) {
  ASSERT_TRUE(check(small_case()).empty()) << text_of(check(small_case()));
  std::set<FaultKind> seen;
  for (const Wrong& wrong : wrong_plans()) {
    Case it = small_case();
    wrong.spoil(it);
    const Faults faults = check(it);
    EXPECT_TRUE(has_fault(faults, wrong.expected)) << wrong.title << "\n" << text_of(faults);
    seen.insert(wrong.expected.kinds.begin(), wrong.expected.kinds.end());
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(FaultKind::order) + 1);
}

TEST(Check, AllowsWhatIsAllowed) {
  Case far_up = small_case();
  far_up.plan.places[buffer_named(far_up.plan, "a")].offset = 4096;
  correct_claims(far_up.plan);
  EXPECT_TRUE(check(far_up).empty()) << text_of(check(far_up));

  Case pinned = small_case();
  for (std::size_t b = 0; b < pinned.plan.buffers.size(); ++b) {
    pinned.plan.buffers[b].pinned = pinned.plan.places[b].offset;
    pinned.plan.buffers[b].memories = {0};
  }
  pinned.plan.memories[0].memory.capacity = pinned.plan.memories[0].peak;
  EXPECT_TRUE(check(pinned).empty()) << text_of(check(pinned));

  Case in_pieces = small_case();  // the upper half of `a` may have a piece of its own
  Buffer& buffer = in_pieces.plan.buffers[buffer_named(in_pieces.plan, "a")];
  const Lifetime life = buffer.pieces[0].life;
  buffer.pieces = {{8, 8, life}, {0, 8, {life.lower, life.lower + 1}}, {0, 8, {life.lower + 1, life.upper}}};
  EXPECT_TRUE(check(in_pieces).empty()) << text_of(check(in_pieces));

  Case longer = small_case();  // longer than needed, where nobody else is
  longer.plan.memories.push_back({{.name = "other"}, 0, 0});
  const std::size_t b = buffer_named(longer.plan, "b");
  longer.plan.places[b] = {1, 0};
  longer.plan.buffers[b].pieces[0].life = {0, 99};
  tensor_named(longer.plan, "b").views[0].life = {0, 99};
  correct_claims(longer.plan);
  EXPECT_TRUE(check(longer).empty()) << text_of(check(longer));
}

TEST(Check, AllowsTwoTensorsInOneBufferSideBySide) {
  Case it = small_case();
  const std::size_t shared = buffer_named(it.plan, "a");
  it.plan.buffers[shared].size = 32;
  it.plan.buffers[shared].pieces = {{0, 32, {0, 3}}};
  it.plan.places[shared].offset = 1024;
  View& view = tensor_named(it.plan, "b").views[0];
  view.buffer = shared;
  view.offset = 16;
  correct_claims(it.plan);
  EXPECT_TRUE(check(it).empty()) << text_of(check(it));
  view.offset = 15;
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::overlap}, {"'b'"}}));
  view.offset = 17;
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::format}, {"'b'"}}));
}

TEST(Check, LeavesWeightsOutOfTheSummary) {
  Case it = small_case();
  it.plan.memories.push_back({{.name = "flash", .role = MemoryRole::weights}, 0, 0});
  it.plan.buffers.push_back({.id = "kernel", .size = 40, .pieces = {{0, 40, {0, 3}}}});
  it.plan.places.push_back({1, 0});
  it.plan.memories[1].peak = it.plan.memories[1].lower_bound = 40;
  EXPECT_TRUE(check(it).empty()) << text_of(check(it));
  it.plan.summary.peak += 40;
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::claim}, {"summary"}}));
}

TEST(Check, KnowsBoundsOfPinnedBuffers) {
  Problem problem;
  problem.memories = {{.name = "arena"}};
  problem.buffers = {{.id = "high", .size = 8, .pieces = {{0, 8, {0, 1}}}, .pinned = 100}};
  const PlanResult result = make_plan({{.name = "list", .format = ModelFormat::csv}, problem});
  EXPECT_TRUE(result.faults.empty()) << text_of(result.faults);
  EXPECT_EQ(result.plan.summary.peak, 108);
  Plan plan = result.plan;
  plan.memories[0].lower_bound = plan.summary.lower_bound = 108;
  plan.claims = {{ClaimScope::offsets, 108, true}};
  EXPECT_TRUE(check_plan(plan).empty()) << text_of(check_plan(plan));
  plan.memories[0].lower_bound = 109;
  EXPECT_FALSE(check_plan(plan).empty());
}

TEST(Check, LeavesMissedCapacityToTheCaller) {
  const Input input{{.name = "model", .format = ModelFormat::json}, small_case().graph};
  const PlanResult result = make_plan(input, {.memories = {{.name = "small", .capacity = 16}}});
  EXPECT_EQ(result.outcome, Outcome::exceeds_capacity);
  EXPECT_TRUE(result.faults.empty());
  EXPECT_TRUE(has_fault(check_plan(result.plan), {{FaultKind::capacity}, {"'small'"}}));
}

TEST(Check, ComparesPlansOfListsWithTheirList) {
  Problem list;
  list.memories = {{.name = "arena"}};
  list.buffers = {{.id = "a", .size = 32, .alignment = 8, .pieces = {{0, 32, {0, 2}}}},
                  {.id = "b", .size = 64, .pieces = {{0, 16, {1, 3}}, {16, 48, {2, 3}}}, .pinned = 96},
                  {.id = "c", .size = 8, .pieces = {{0, 8, {0, 9}}}}};
  const Plan plan = make_plan({{.name = "list", .format = ModelFormat::csv}, list}).plan;
  EXPECT_TRUE(check_plan(plan, list).empty()) << text_of(check_plan(plan, list));
  using ChangeList = std::function<void(Problem&)>;
  const std::vector<std::pair<std::string, ChangeList>> changes{
      {"'a'", [](Problem& it) { it.buffers[0].size = 40; }},
      {"'a'", [](Problem& it) { it.buffers[0].alignment = 16; }},
      {"'b'", [](Problem& it) { it.buffers[1].pieces[1].life.upper = 4; }},
      {"'b'", [](Problem& it) { it.buffers[1].pieces.pop_back(); }},
      {"'b'", [](Problem& it) { it.buffers[1].pinned = 128; }},
      {"'c'", [](Problem& it) { it.buffers.pop_back(); }},
      {"'d'",
       [](Problem& it) {
         it.buffers.push_back({.id = "d", .size = 4, .pieces = {{0, 4, {0, 1}}}});
       }},
      {"'d'", [](Problem& it) { it.buffers[2].id = "d"; }},
  };
  for (const auto& [name, change] : changes) {
    Problem other = list;
    change(other);
    EXPECT_TRUE(has_fault(check_plan(plan, other), {{FaultKind::accounting}, {name}})) << name;
  }
}

TEST(Check, MatchesTensorsOfOneNameInTheirOrder) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.add(0, "Relu", {"x"}, {"a"});
  sketch.add(0, "Relu", {"a"}, {"y"});
  for (const char* const name : {"x", "a", "y"}) sketch.tensor(name).name = "same";
  Case it = case_of(sketch.graph());
  EXPECT_TRUE(it.faults.empty()) << text_of(it.faults);
  it.plan.tensors.pop_back();
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::accounting}, {"'same'"}}));
}

TEST(Check, OldStateMayBeWrittenOverAtOnce) {
  for (const bool reads_it : {true, false}) {
    Sketch sketch;
    sketch.subgraph({"x", "old"}, {"new"});
    sketch.tie("new", "old");
    sketch.add(0, "Relu", {reads_it ? "old" : "x"}, {"new"});
    const Case it = case_of(sketch.graph());
    EXPECT_TRUE(it.faults.empty()) << text_of(it.faults);
  }
}

TEST(Check, OldStateMustBeReadBeforeTheNewOneIsWritten) {
  Sketch sketch;
  sketch.subgraph({"x", "old"}, {"y", "new"});
  sketch.tie("new", "old");
  sketch.add(0, "Conv", {"old"}, {"y"});
  sketch.add(0, "Conv", {"x"}, {"new"});
  Case it = case_of(sketch.graph());
  ASSERT_TRUE(it.faults.empty()) << text_of(it.faults);
  std::swap(it.plan.clocks[0].steps[0], it.plan.clocks[0].steps[1]);
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::accounting}, {"'old'"}})) << text_of(check(it));
}

TEST(Check, ReadsOfLoopsLastToTheirEnd) {
  Sketch sketch;
  sketch.subgraph({"x"}, {"y"});
  sketch.subgraph({"in"}, {"out"});
  sketch.add(0, "Relu", {"x"}, {"a"});
  Operator& loop = sketch.add(0, "Loop", {"x"}, {"y"});
  loop.bodies = {1};
  loop.body_use = BodyUse::repeated;
  sketch.add(1, "Add", {"in", "a"}, {"m"});
  sketch.add(1, "Relu", {"m"}, {"out"});
  for (const char* const name : {"a", "in"}) {
    Case it = case_of(sketch.graph());
    ASSERT_TRUE(it.faults.empty()) << text_of(it.faults);
    tensor_named(it.plan, name).views[0].life.upper = 3;  // after its only reader
    EXPECT_TRUE(has_fault(check(it), {{FaultKind::accounting}, {in_quotes(name)}}))
        << name << text_of(check(it));
  }
}

TEST(Check, ReadsOfTheFirstLoopLastToItsEnd) {
  Sketch sketch;
  sketch.subgraph({"x", "captured"}, {"y"});
  sketch.subgraph({}, {"out"});
  Operator& loop = sketch.add(0, "Loop", {"x"}, {"y"});
  loop.bodies = {1};
  loop.body_use = BodyUse::repeated;
  sketch.add(1, "Relu", {"captured"}, {"m"});
  sketch.add(1, "Relu", {"m"}, {"out"});
  Case it = case_of(sketch.graph());
  ASSERT_TRUE(it.faults.empty()) << text_of(it.faults);
  tensor_named(it.plan, "captured").views[0].life.upper = 2;
  EXPECT_TRUE(has_fault(check(it), {{FaultKind::accounting}, {"'captured'"}})) << text_of(check(it));
}

// Plans by an enemy: nothing is known of what the checker says, but it comes back.

TEST(Check, SurvivesPiecesThatOverflowTheLoad) {
  Case it = small_case();
  Plan& plan = it.plan;
  plan.buffers.resize(1);
  plan.places.resize(1);
  for (PlannedTensor& tensor : plan.tensors) tensor.views.clear();
  plan.buffers[0].size = largest_value;
  plan.buffers[0].pieces.assign(9, {0, largest_value, {0, 1}});
  plan.places[0].offset = 0;
  EXPECT_FALSE(check(it).empty());
}

TEST(Check, SurvivesPeaksThatOverflowTheSummary) {
  for (const Bytes value : {largest, smallest}) {
    Case it = small_case();
    it.plan.memories.push_back(it.plan.memories[0]);
    for (PlannedMemory& memory : it.plan.memories) memory.peak = memory.lower_bound = value;
    EXPECT_FALSE(check(it).empty());
  }
}

TEST(Check, SurvivesTruePeaksThatOverflowTheSummary) {
  Plan plan;
  plan.clocks.emplace_back();
  plan.models.emplace_back();
  for (std::size_t m = 0; m < 5; ++m) {
    plan.memories.push_back({{.name = "memory" + std::to_string(m)}, largest_value, 0});
    plan.buffers.push_back({.id = "buffer" + std::to_string(m)});
    plan.places.push_back({m, largest_value});
  }
  (void)check_plan(plan);
}

TEST(Check, SurvivesPinsThatOverflowTheBound) {
  for (const Bytes value : {largest, smallest}) {
    Case it = small_case();
    it.plan.buffers[0].pinned = value;
    EXPECT_FALSE(check(it).empty());
  }
}

std::int64_t extreme(Choices& choices) {
  static const std::vector<std::int64_t> values{
      smallest,          smallest + 1,  -largest_value,    -1,          0,      1, 2, 1000,
      largest_value - 1, largest_value, largest_value + 1, largest - 1, largest};
  return choices.one_of(values);
}

std::size_t extreme_index(Choices& choices) { return static_cast<std::size_t>(extreme(choices)); }

void attack_buffer(Plan& plan, Choices& choices) {
  if (plan.buffers.empty()) return;
  Buffer& buffer = plan.buffers[choices.below(plan.buffers.size())];
  if (buffer.pieces.empty()) buffer.pieces.emplace_back();
  Piece& piece = buffer.pieces[choices.below(buffer.pieces.size())];
  switch (choices.below(11)) {
    case 0:
      buffer.size = extreme(choices);
      break;
    case 1:
      buffer.alignment = extreme(choices);
      break;
    case 2:
      buffer.pinned = extreme(choices);
      break;
    case 3:
      buffer.memories = {extreme_index(choices), 0};
      break;
    case 4:
      buffer.clock = extreme_index(choices);
      break;
    case 5:
      piece.life.lower = extreme(choices);
      break;
    case 6:
      piece.life.upper = extreme(choices);
      break;
    case 7:
      piece.size = extreme(choices);
      break;
    case 8:
      piece.offset = extreme(choices);
      break;
    case 9:
      for (Piece& each : buffer.pieces) each = {0, buffer.size, {0, extreme(choices)}};
      break;
    default: {
      const std::vector<Piece> pieces = buffer.pieces;
      for (int i = 0; i < 8; ++i) buffer.pieces.insert(buffer.pieces.end(), pieces.begin(), pieces.end());
      break;
    }
  }
}

void attack_tensor(Plan& plan, Choices& choices) {
  if (plan.tensors.empty()) return;
  PlannedTensor& tensor = plan.tensors[choices.below(plan.tensors.size())];
  if (tensor.views.empty()) tensor.views.emplace_back();
  View& view = tensor.views[choices.below(tensor.views.size())];
  switch (choices.below(9)) {
    case 0:
      tensor.model = extreme_index(choices);
      break;
    case 1:
      tensor.tensor.bytes = extreme(choices);
      if (choices.chance(50)) tensor.tensor.shape.reset();
      break;
    case 2:
      tensor.tensor.shape = Shape{extreme(choices), extreme(choices)};
      break;
    case 3:
      view.buffer = extreme_index(choices);
      break;
    case 4:
      view.offset = extreme(choices);
      break;
    case 5:
      view.life = {extreme(choices), extreme(choices)};
      break;
    case 6:
      view.ring = Ring{extreme_index(choices), extreme(choices), extreme(choices)};
      break;
    case 7:
      tensor.views.insert(tensor.views.end(), 20, View(view));
      break;
    default:
      tensor.tensor.name = "";
      break;
  }
}

void attack_rest(Plan& plan, Choices& choices) {
  std::vector<Step> none;
  std::vector<Step>& steps = plan.clocks.empty() ? none : plan.clocks[0].steps;
  switch (choices.below(14)) {
    case 0:
      plan.clocks.clear();
      break;
    case 1:
      plan.clocks.resize(3);
      break;
    case 2:
      if (!steps.empty())
        steps[choices.below(steps.size())] = Copy{extreme_index(choices), extreme_index(choices), 0};
      break;
    case 3:
      if (!steps.empty()) steps[choices.below(steps.size())] = Fork{{extreme_index(choices)}};
      break;
    case 4:
      steps.emplace_back(Run{.model = extreme_index(choices), .path = {0, 0}});
      break;
    case 5:
      steps.emplace_back(
          Run{.path = {extreme_index(choices), extreme_index(choices), extreme_index(choices)}});
      break;
    case 6:
      if (!steps.empty()) {
        if (auto* const run = std::get_if<Run>(&steps[choices.below(steps.size())])) {
          if (!run->path.empty()) run->path[choices.below(run->path.size())] = extreme_index(choices);
        }
      }
      break;
    case 7:
      plan.memories.resize(choices.below(4), {{.name = "more"}, extreme(choices), extreme(choices)});
      break;
    case 8:
      for (PlannedMemory& memory : plan.memories) {
        memory = {{.name = "",
                   .capacity = extreme(choices),
                   .alignment = extreme(choices),
                   .cost = extreme(choices)},
                  extreme(choices),
                  extreme(choices)};
      }
      break;
    case 9:
      for (Place& place : plan.places) place = {choices.below(3), extreme(choices)};
      break;
    case 10:
      if (!plan.places.empty())
        plan.places[choices.below(plan.places.size())].memory = extreme_index(choices);
      break;
    case 11:
      plan.claims = {{ClaimScope::offsets, extreme(choices), choices.chance(50)}};
      plan.summary = {extreme(choices), extreme(choices), extreme(choices), "", "", 0};
      break;
    case 12:
      plan.models.resize(choices.below(3));
      break;
    default:
      plan.places.resize(choices.below(plan.places.size() + 2));
      break;
  }
}

TEST(Check, SurvivesHostilePlans) {
  std::size_t faulty = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const auto original = random_case(seed);
    if (!original) continue;
    Choices choices(seed);
    for (int attempt = 0; attempt < 10; ++attempt) {
      Case it = *original;
      for (std::size_t i = 1 + choices.below(4); i > 0; --i) {
        switch (choices.below(3)) {
          case 0:
            attack_buffer(it.plan, choices);
            break;
          case 1:
            attack_tensor(it.plan, choices);
            break;
          default:
            attack_rest(it.plan, choices);
            break;
        }
      }
      (void)check_plan(it.plan);
      if (!check(it).empty()) ++faulty;
      const std::vector<Graph> two{it.graph, it.graph};
      (void)check_plan(it.plan, two);
    }
  }
  EXPECT_GT(faulty, 2000U);
}

TEST(Check, SurvivesThePlanOfAnotherNetwork) {
  std::optional<Plan> last;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto it = random_case(seed);
    if (!it) continue;
    if (last) (void)check_plan(*last, {&it->graph, 1});
    last = it->plan;
  }
  EXPECT_FALSE(check_plan(Plan{}).empty());
}

}  // namespace
}  // namespace stowage
