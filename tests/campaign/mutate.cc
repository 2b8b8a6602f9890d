#include "mutate.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "facts.h"
#include "ledger.h"
#include "random.h"
#include "replay.h"

namespace stowage::campaign {
namespace {

using Mutation = std::function<bool(Plan&, std::span<const Graph>, Random&)>;

/// A buffer comes to lie over another one that is alive at the same time.
bool move_buffer(Plan& plan, std::span<const Graph> /*graphs*/, Random& random) {
  const Moments moments(plan);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t a = 0; a < plan.buffers.size(); ++a)
    for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
      if (a == b || plan.places[a].memory != plan.places[b].memory) continue;
      bool is_pair = false;
      for (const Piece& one : plan.buffers[a].pieces)
        for (const Piece& other : plan.buffers[b].pieces)
          is_pair = is_pair ||
                    (one.offset == 0 && other.offset == 0 && one.is_ever_alive() && other.is_ever_alive() &&
                     moments.meet(plan.buffers[a].clock, one.life, plan.buffers[b].clock, other.life));
      if (is_pair) pairs.emplace_back(a, b);
    }
  if (pairs.empty()) return false;
  const auto [moved, onto] = random.pick(pairs);
  plan.places[moved].offset = plan.places[onto].offset;
  return true;
}

/// Tensors that a step reads or writes as a whole or by rows, and that the plan holds.
std::vector<std::size_t> used_tensors(const Plan& plan, std::span<const Graph> graphs) {
  std::vector<std::size_t> used;
  for (std::size_t m = 0; m < graphs.size(); ++m) {
    const auto places = places_in_plan(graphs[m], m, plan);
    for (const Operator& op : graphs[m].subgraphs[0].operators)
      for (const auto& output : op.outputs)
        if (output && places[*output] && !plan.tensors[*places[*output]].views.empty() &&
            graphs[m].tensors[*output].bytes > 0)
          used.push_back(*places[*output]);
  }
  return used;
}

bool drop_view(Plan& plan, std::span<const Graph> graphs, Random& random) {
  std::vector<std::size_t> used = used_tensors(plan, graphs);
  std::erase_if(used, [&](std::size_t t) { return plan.tensors[t].views.size() < 2; });
  if (used.empty()) return false;
  std::vector<View>& views = plan.tensors[random.pick(used)].views;
  views.erase(views.begin() + static_cast<std::ptrdiff_t>(random.index(views.size())));
  return true;
}

bool shift_view(Plan& plan, std::span<const Graph> graphs, Random& random) {
  const std::vector<std::size_t> used = used_tensors(plan, graphs);
  if (used.empty()) return false;
  PlannedTensor& tensor = plan.tensors[random.pick(used)];
  View& view = tensor.views[random.index(tensor.views.size())];
  if (view.rows || view.ring) return false;
  view.offset = plan.buffers[view.buffer].size - tensor.tensor.bytes + 1;
  return true;
}

bool shorten_view(Plan& plan, std::span<const Graph> graphs, Random& random) {
  const std::vector<std::size_t> used = used_tensors(plan, graphs);
  if (used.empty()) return false;
  PlannedTensor& tensor = plan.tensors[random.pick(used)];
  View& view = tensor.views[random.index(tensor.views.size())];
  if (view.life.upper <= view.life.lower) return false;
  random.chance(50) ? ++view.life.lower : --view.life.upper;
  return true;
}

bool shorten_piece(Plan& plan, std::span<const Graph> /*graphs*/, Random& random) {
  std::vector<Piece*> pieces;
  for (Buffer& buffer : plan.buffers)
    for (Piece& piece : buffer.pieces)
      if (piece.is_ever_alive()) pieces.push_back(&piece);
  if (pieces.empty()) return false;
  Piece& piece = *random.pick(pieces);
  random.chance(50) ? ++piece.life.lower : --piece.life.upper;
  return true;
}

/// A step comes before the one whose result it reads.
bool swap_steps(Plan& plan, std::span<const Graph> graphs, Random& random) {
  struct Pair {
    std::size_t clock, writer, reader;
  };
  std::vector<Pair> pairs;
  for (std::size_t c = 0; c < plan.clocks.size(); ++c)
    for (std::size_t i = 0; i < plan.clocks[c].steps.size(); ++i)
      for (std::size_t j = i + 1; j < plan.clocks[c].steps.size(); ++j) {
        const auto* writer = std::get_if<Run>(&plan.clocks[c].steps[i]);
        const auto* reader = std::get_if<Run>(&plan.clocks[c].steps[j]);
        if (writer == nullptr || reader == nullptr || writer->model != reader->model ||
            writer->path.size() != 2 || reader->path.size() != 2 || writer->rows || reader->rows)
          continue;
        const Graph& graph = graphs[writer->model];
        const Operator& one = graph.subgraphs[writer->path[0]].operators[writer->path[1]];
        const Operator& other = graph.subgraphs[reader->path[0]].operators[reader->path[1]];
        if (!one.bodies.empty() || !other.bodies.empty()) continue;
        const auto places = places_in_plan(graph, writer->model, plan);
        for (const auto& output : one.outputs)
          if (output && graph.tensors[*output].bytes > 0 && !plan.tensors[*places[*output]].views.empty() &&
              std::find(other.inputs.begin(), other.inputs.end(), output) != other.inputs.end())
            pairs.push_back({c, i, j});
      }
  if (pairs.empty()) return false;
  const Pair pair = random.pick(pairs);
  std::swap(plan.clocks[pair.clock].steps[pair.writer], plan.clocks[pair.clock].steps[pair.reader]);
  return true;
}

bool drop_step(Plan& plan, std::span<const Graph> /*graphs*/, Random& random) {
  std::vector<Step>& steps = plan.clocks[random.index(plan.clocks.size())].steps;
  if (steps.empty()) return false;
  const std::size_t dropped = random.index(steps.size());
  if (std::holds_alternative<Fork>(steps[dropped])) return false;
  // Times stay what they are: another step runs twice instead.
  if (steps.size() < 2) return false;
  const std::size_t other = dropped == 0 ? 1 : dropped - 1;
  if (std::holds_alternative<Fork>(steps[other])) return false;
  steps[dropped] = steps[other];
  return true;
}

bool shrink_ring(Plan& plan, std::span<const Graph> /*graphs*/, Random& random) {
  std::vector<Ring*> rings;
  for (PlannedTensor& tensor : plan.tensors)
    for (View& view : tensor.views)
      if (view.ring && view.ring->count > 1) rings.push_back(&*view.ring);
  if (rings.empty()) return false;
  --random.pick(rings)->count;
  return true;
}

bool drop_copy(Plan& plan, std::span<const Graph> /*graphs*/, Random& random) {
  for (Clock& clock : plan.clocks) {
    std::vector<std::size_t> copies;
    for (std::size_t i = 0; i < clock.steps.size(); ++i)
      if (std::holds_alternative<Copy>(clock.steps[i])) copies.push_back(i);
    if (copies.empty()) continue;
    auto& copy = std::get<Copy>(clock.steps[random.pick(copies)]);
    copy.from = copy.to;
    return true;
  }
  return false;
}

/// Two tensors that share a buffer at different offsets change places.
bool exchange_views(Plan& plan, std::span<const Graph> graphs, Random& random) {
  const std::vector<std::size_t> used = used_tensors(plan, graphs);
  std::vector<std::pair<View*, View*>> pairs;
  for (const std::size_t a : used)
    for (const std::size_t b : used)
      for (View& one : plan.tensors[a].views)
        for (View& other : plan.tensors[b].views)
          if (one.buffer == other.buffer && one.offset < other.offset && !one.ring && !other.ring &&
              one.life.lower < other.life.upper && other.life.lower < one.life.upper &&
              plan.tensors[a].tensor.bytes < plan.tensors[b].tensor.bytes)
            pairs.emplace_back(&one, &other);
  if (pairs.empty()) return false;
  const auto [one, other] = random.pick(pairs);
  std::swap(one->offset, other->offset);
  return true;
}

bool change_rows(Plan& plan, std::span<const Graph> /*graphs*/, Random& random) {
  std::vector<Run*> runs;
  for (Step& step : plan.clocks[0].steps)
    if (auto* run = std::get_if<Run>(&step);
        run != nullptr && run->rows && !run->part && run->rows->begin > 0)
      runs.push_back(run);
  if (runs.empty()) return false;
  Run& run = *random.pick(runs);
  --run.rows->begin;
  --run.rows->end;
  return true;
}

}  // namespace

void try_mutations(const Case& drawn, const Networks& networks, const Plan& plan, Tally& tally) {
  static const std::vector<std::pair<std::string, Mutation>> mutations{{"buffer over another", move_buffer},
                                                                       {"view dropped", drop_view},
                                                                       {"view beyond its buffer", shift_view},
                                                                       {"view shortened", shorten_view},
                                                                       {"piece shortened", shorten_piece},
                                                                       {"steps swapped", swap_steps},
                                                                       {"step instead of another", drop_step},
                                                                       {"ring too short", shrink_ring},
                                                                       {"copy of nothing", drop_copy},
                                                                       {"views exchanged", exchange_views},
                                                                       {"other rows", change_rows}};
  Random random(drawn.seed + 77 * drawn.number);
  for (const auto& [name, mutate] : mutations) {
    Plan broken = plan;
    if (!mutate(broken, networks.graphs, random)) continue;
    Tally::Mutations& count = tally.mutations[name];
    ++count.made;
    ReplayTally ignored;
    const bool is_noticed =
        !replay(networks, broken, drawn.number, ignored).empty() || !overlaps_of(broken).empty();
    if (is_noticed)
      ++count.noticed;
    else
      tally.remarks["not noticed: " + name].push_back(drawn.number);
  }
}

Findings judge_mutations(const Tally& tally) {
  Findings findings;
  for (const auto& [name, count] : tally.mutations)
    if (count.made >= 50 && count.noticed * 100 < count.made * 90)
      findings.push_back({"campaign: " + name, std::to_string(count.noticed) + " of " +
                                                   std::to_string(count.made) + " broken plans are noticed"});
  return findings;
}

}  // namespace stowage::campaign
