#include "open_mutate.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ledger.h"
#include "open_draft.h"
#include "open_run.h"
#include "stowage/error.h"
#include "stowage/network.h"

namespace stowage::campaign {
namespace {

bool is_refuted(const OpenDrawn& network, const Graph& graph, const Plan& plan) {
  OpenTally ignored;
  for (const World& world : network.worlds) {
    try {
      if (!run_open(network.net, graph, plan, world, ignored).empty()) return true;
    } catch (const Misfit&) {
      return false;
    }
  }
  return false;
}

std::vector<std::size_t> viewed(const Plan& plan) {
  std::vector<std::size_t> found;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t)
    if (!plan.tensors[t].views.empty() && plan.tensors[t].tensor.bytes > 0) found.push_back(t);
  return found;
}

/// A tensor that begins elsewhere in the memory, where it still is in its buffer.
bool move_open_view(Plan& plan, Random& random) {
  std::vector<View*> views;
  for (const std::size_t t : viewed(plan))
    for (View& view : plan.tensors[t].views)
      if (view.offset > 0) views.push_back(&view);
  if (views.empty()) return false;
  View& view = *random.pick(views);
  view.offset -= std::min<Bytes>(view.offset, random.between(1, 8));
  return true;
}

/// Whether an operator without bodies, of the network itself, runs at the position and has the operand.
bool is_used_at(const Graph& graph, const Plan& plan, Position at, TensorId tensor,
                std::vector<std::optional<TensorId>> Operator::*operands) {
  const auto* run = std::get_if<Run>(&plan.clocks[0].steps[static_cast<std::size_t>(at)]);
  if (run == nullptr || run->path.size() != 2) return false;
  const Operator& op = graph.subgraphs[0].operators[run->path[1]];
  const auto& all = op.*operands;
  return op.bodies.empty() && std::find(all.begin(), all.end(), tensor) != all.end();
}

/// The view begins after its writer, or ends before its last reader. A run cannot tell from an input that is written
/// over in place if the view ends with that reader, so it ends a position earlier.
bool shorten_open_view(const Graph& graph, Plan& plan, Random& random) {
  std::vector<std::pair<std::size_t, bool>> ends;  // tensors, and whether they are shortened at the end
  for (const std::size_t t : viewed(plan)) {
    const Lifetime life = plan.tensors[t].views[0].life;
    if (plan.tensors[t].views.size() != 1 || life.upper - life.lower < 3) continue;
    if (is_used_at(graph, plan, life.lower, t, &Operator::outputs)) ends.emplace_back(t, false);
    if (is_used_at(graph, plan, life.upper - 1, t, &Operator::inputs)) ends.emplace_back(t, true);
  }
  if (ends.empty()) return false;
  const auto [tensor, is_end] = random.pick(ends);
  Lifetime& life = plan.tensors[tensor].views[0].life;
  if (is_end) {
    life.upper -= 2;
  } else {
    ++life.lower;
  }
  return true;
}

/// A buffer over another one that is read while it is alive.
bool move_open_buffer(Plan& plan, Random& random) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t a = 0; a < plan.buffers.size(); ++a)
    for (std::size_t b = 0; b < plan.buffers.size(); ++b)
      if (a != b && plan.places[a].memory == plan.places[b].memory)
        for (const Piece& one : plan.buffers[a].pieces)
          for (const Piece& other : plan.buffers[b].pieces)
            if (one.offset == 0 && other.offset == 0 && one.is_ever_alive() && other.is_ever_alive() &&
                one.life.lower < other.life.upper && other.life.lower < one.life.upper)
              pairs.emplace_back(a, b);
  if (pairs.empty()) return false;
  const auto [moved, onto] = random.pick(pairs);
  plan.places[moved].offset = plan.places[onto].offset;
  return true;
}

void try_one(const std::string& name, const std::function<bool(Plan&, Random&)>& mutate, const Case& drawn,
             const Graph& graph, const Plan& plan, Tally& tally) {
  Random random(drawn.seed + 77 * drawn.number);
  Plan broken = plan;
  if (!mutate(broken, random)) return;
  Tally::Mutations& count = tally.mutations[name];
  ++count.made;
  if (is_refuted(*drawn.network, graph, broken) || !overlaps_of(broken).empty())
    ++count.noticed;
  else
    tally.remarks["not noticed: " + name].push_back(drawn.number);
}

/// The network with the largest sizes as the only ones; which extents are open it says nevertheless.
Graph with_open_extents(Graph closed, const Graph& open) {
  for (Tensor& tensor : closed.tensors)
    for (const Tensor& other : open.tensors)
      if (other.name == tensor.name && other.shape == tensor.shape) tensor.open = other.open;
  return closed;
}

bool has_same_operators(const Graph& one, const Graph& other) {
  if (one.tensors.size() != other.tensors.size() || one.subgraphs.size() != other.subgraphs.size())
    return false;
  for (std::size_t s = 0; s < one.subgraphs.size(); ++s) {
    const auto& operators = one.subgraphs[s].operators;
    const auto& others = other.subgraphs[s].operators;
    if (!std::equal(
            operators.begin(), operators.end(), others.begin(), others.end(),
            [](const Operator& a, const Operator& b) { return a.type == b.type && a.folded == b.folded; }))
      return false;
  }
  return true;
}

/// The plan of the largest sizes, with all copies removed that these allow. Where a run at smaller sizes refutes
/// it, the checker must refuse it, too.
void try_largest(const Case& drawn, const Graph& graph, Tally& tally) {
  ImportOptions exact = drawn.imports;
  for (auto& [name, size] : exact.dims) size = GivenSize(size.most);
  for (auto& [name, shape] : exact.shapes)
    for (GivenSize& size : shape) size = GivenSize(size.most);
  PlanOptions options = drawn.options;
  options.alias = Alias::all;
  options.stream.reset();
  options.solve.strategy = "auto";
  try {
    Input input = parse_network(drawn.sources[0].content, drawn.sources[0].name, exact).input;
    Graph closed = std::get<Graph>(input.content);
    if (!has_same_operators(closed, graph)) return;
    for (Tensor& tensor : closed.tensors) tensor.open.clear();
    input.content = closed;
    PlanResult result = make_plan(input, options);
    const Graph open = with_open_extents(closed, graph);
    for (PlannedTensor& tensor : result.plan.tensors)
      for (const Tensor& own : open.tensors)
        if (own.name == tensor.tensor.name) tensor.tensor.open = own.open;
    if (!is_refuted(*drawn.network, open, result.plan)) return;
    Tally::Mutations& count = tally.mutations["plan of the largest sizes, refused by the checker"];
    ++count.made;
    const std::vector<Graph> graphs{open};
    bool is_noticed = true;  // That these copies are not the same at all sizes is an Error, too.
    try {
      is_noticed = !check_plan(result.plan, graphs).empty();
    } catch (const Error&) {
    }
    if (is_noticed)
      ++count.noticed;
    else
      tally.remarks["the checker accepts a plan of the largest sizes that a smaller run refutes"].push_back(
          drawn.number);
    // Told which extents are open, the planner does better.
    input.content = open;
    const PlanResult again = make_plan(input, options);
    ++tally.compared["graphs with all copies of the largest sizes, planned for smaller ones"];
    if (is_refuted(*drawn.network, open, again.plan))
      tally.remarks["a plan of a graph with open extents that a smaller run refutes"].push_back(drawn.number);
  } catch (const Error&) {
  } catch (const UsageError&) {
  }
}

}  // namespace

void try_open_mutations(const Case& drawn, const Graph& graph, const Plan& plan, Tally& tally) {
  if (drawn.options.memories.size() == 1) try_largest(drawn, graph, tally);
  if (drawn.number % 3 != 0) return;
  try_one("sizes: buffer over another", move_open_buffer, drawn, graph, plan, tally);
  try_one("sizes: view elsewhere", move_open_view, drawn, graph, plan, tally);
  const auto shorten = [&](Plan& broken, Random& random) { return shorten_open_view(graph, broken, random); };
  try_one("sizes: view shortened", shorten, drawn, graph, plan, tally);
}

}  // namespace stowage::campaign
