#include "ledger.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "facts.h"

namespace stowage::campaign {
namespace {

void check_peaks(const PlanResult& result, const PlanOptions& options, Findings& findings) {
  const Plan& plan = result.plan;
  Bytes sum = 0;
  Bytes bounds = 0;
  bool fits = true;
  for (std::size_t m = 0; m < plan.memories.size(); ++m) {
    const PlannedMemory& memory = plan.memories[m];
    Bytes peak = 0;
    for (std::size_t b = 0; b < plan.buffers.size(); ++b)
      if (plan.places[b].memory == m) peak = std::max(peak, plan.places[b].offset + plan.buffers[b].size);
    for (const SlotPool& pool : plan.slots)
      if (pool.place.memory == m) peak = std::max(peak, pool.end());
    if (peak != memory.peak)
      findings.push_back({"ledger: peak", memory.memory.name + " says " + std::to_string(memory.peak) +
                                              ", is " + std::to_string(peak)});
    if (memory.lower_bound > memory.peak)
      findings.push_back({"ledger: bound above peak", memory.memory.name + ": bound " +
                                                          std::to_string(memory.lower_bound) + ", peak " +
                                                          std::to_string(memory.peak)});
    if (memory.memory.capacity && peak > *memory.memory.capacity) fits = false;
    if (memory.memory.role == MemoryRole::weights) continue;
    sum += memory.peak;
    bounds += memory.lower_bound;
  }
  if (sum != plan.summary.peak)
    findings.push_back({"ledger: peak", "the summary says " + std::to_string(plan.summary.peak) +
                                            ", memories have " + std::to_string(sum)});
  if (plan.summary.lower_bound > plan.summary.peak || (plan.summary.lower_bound != bounds))
    findings.push_back({"ledger: bound", "the summary's bound is " +
                                             std::to_string(plan.summary.lower_bound) +
                                             ", that of memories " + std::to_string(bounds)});
  if (fits != (result.outcome == Outcome::fits))
    findings.push_back(
        {"ledger: outcome", fits ? "it fits, but is said not to" : "it does not fit, but is said to"});
  (void)options;
}

/// Whether a step or the caller reads a tensor: what nobody reads is not stored.
bool is_read(const Graph& graph, TensorId tensor) {
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const Operator& op : subgraph.operators)
      if (!op.folded && std::find(op.inputs.begin(), op.inputs.end(), tensor) != op.inputs.end()) return true;
    if (std::find(subgraph.outputs.begin(), subgraph.outputs.end(), tensor) != subgraph.outputs.end())
      return true;
  }
  return false;
}

void check_claims(const Plan& plan, Findings& findings) {
  for (const Claim& claim : plan.claims) {
    const std::string words =
        std::string(name_of(claim.scope)) + " claim of " + std::to_string(claim.lower_bound);
    if (claim.lower_bound > plan.summary.peak)
      findings.push_back({"ledger: claim above peak", words + ", peak " + std::to_string(plan.summary.peak)});
    if (claim.proven_optimal && claim.lower_bound < plan.summary.peak)
      findings.push_back(
          {"ledger: proven with a gap", words + ", peak " + std::to_string(plan.summary.peak)});
    const bool is_of_rows = claim.scope == ClaimScope::stream || claim.scope == ClaimScope::rows;
    if (is_of_rows && !plan.streaming && left_out(plan, Wish::rows) == nullptr)
      findings.push_back({"ledger: claim", words + ", but nothing is streamed"});
  }
  for (const OrderSearch& search : plan.order_searches) {
    const std::string words = "bound " + std::to_string(search.lower_bound) + ", load " +
                              std::to_string(search.load) + ", own " + std::to_string(search.own_load);
    if (search.lower_bound > search.load || search.lower_bound > search.own_load)
      findings.push_back({"ledger: order bound above load", words});
    if (plan.models.size() == 1 && plan.memories.size() == 1 && search.load > plan.summary.peak)
      findings.push_back({"ledger: load above peak", words + ", peak " + std::to_string(plan.summary.peak)});
  }
}

/// The most live bytes at one position: no bound may be below it.
void check_load(const Plan& plan, Findings& findings) {
  if (plan.clocks.size() != 1 || plan.memories.size() != 1) return;
  Bytes most = 0;
  for (std::size_t p = 0; p < std::max<std::size_t>(plan.clocks[0].steps.size(), 1); ++p) {
    Bytes live = 0;
    for (const Buffer& buffer : plan.buffers) {
      std::vector<bool> is_live(static_cast<std::size_t>(buffer.size));
      for (const Piece& piece : buffer.pieces)
        if (piece.life.lower <= static_cast<Position>(p) && static_cast<Position>(p) < piece.life.upper)
          std::fill_n(is_live.begin() + piece.offset, piece.size, true);
      live += std::count(is_live.begin(), is_live.end(), true);
    }
    most = std::max(most, live);
  }
  if (most > plan.memories[0].lower_bound)
    findings.push_back({"ledger: bound below load", "bound " + std::to_string(plan.memories[0].lower_bound) +
                                                        ", but " + std::to_string(most) +
                                                        " bytes are alive at once"});
}

/// For each subgraph, whether an operator that runs leads to it: bodies of folded operators have no places.
std::vector<bool> subgraphs_that_run(const Graph& graph) {
  std::vector<bool> runs(graph.subgraphs.size(), false);
  std::vector<std::size_t> open{0};
  while (!open.empty()) {
    const std::size_t s = open.back();
    open.pop_back();
    runs[s] = true;
    for (const Operator& op : graph.subgraphs[s].operators) {
      for (const std::size_t body : op.bodies)
        if (!op.folded && !runs[body]) open.push_back(body);
    }
  }
  return runs;
}

void check_tensors(std::span<const Graph> graphs, const Plan& plan, const PlanOptions& options,
                   Findings& findings) {
  const bool has_weights =
      std::any_of(plan.memories.begin(), plan.memories.end(),
                  [](const PlannedMemory& memory) { return memory.memory.role == MemoryRole::weights; });
  std::size_t count = 0;
  for (std::size_t m = 0; m < graphs.size(); ++m) {
    const auto places = places_in_plan(graphs[m], m, plan);
    count += graphs[m].tensors.size();
    const auto owners = owners_of(graphs[m]);
    const std::vector<bool> runs = subgraphs_that_run(graphs[m]);
    for (TensorId t = 0; t < places.size(); ++t) {
      const Tensor& tensor = graphs[m].tensors[t];
      if (!places[t] || plan.tensors[*places[t]].tensor.bytes != tensor.bytes) {
        findings.push_back({"ledger: tensor", "'" + tensor.name + "' is missing or has another size"});
        continue;
      }
      const bool is_io = tensor.kind == TensorKind::input || tensor.kind == TensorKind::output;
      const bool is_scratch = tensor.kind == TensorKind::scratch;
      if (!owners[t] && !is_scratch && !is_constant(tensor.kind)) continue;  // Nobody writes it.
      if (owners[t] && !runs[*owners[t]]) continue;
      if (tensor.bytes == 0 || (is_constant(tensor.kind) && (!has_weights || !is_read(graphs[m], t))) ||
          (options.io == Io::external && is_io))
        continue;
      if (plan.tensors[*places[t]].views.empty())
        findings.push_back({"ledger: no views", "'" + tensor.name + "' is nowhere"});
    }
  }
  if (count != plan.tensors.size())
    findings.push_back({"ledger: tensor", "the plan has " + std::to_string(plan.tensors.size()) +
                                              " tensors, not " + std::to_string(count)});
}

/// Every tensor of the arena in memory of its own.
void check_naive(std::span<const Graph> graphs, const PlanResult& result, const PlanOptions& options,
                 Findings& findings) {
  const Plan& plan = result.plan;
  if (graphs.size() != 1 || !graphs[0].ties.empty() || !options.alignment) return;
  Bytes naive = 0;
  for (const PlannedTensor& tensor : plan.tensors)
    if (!tensor.views.empty() && !is_constant(tensor.tensor.kind))
      naive += (tensor.tensor.bytes + *options.alignment - 1) / *options.alignment * *options.alignment;
  if (naive != plan.summary.naive)
    findings.push_back({"ledger: naive", std::to_string(plan.summary.naive) + ", tensors have " +
                                             std::to_string(naive) + " bytes"});
}

/// With `--order keep` the file's order stands where it is a valid one.
void check_kept_order(std::span<const Graph> graphs, const Plan& plan, const PlanOptions& options,
                      Findings& findings) {
  if (graphs.size() != 1 || options.order != Order::keep || plan.streaming || !graphs[0].ties.empty()) return;
  const std::vector<std::size_t> wanted = topological_orders(graphs[0])[0];
  std::vector<std::size_t> order;
  for (const Step& step : plan.clocks[0].steps)
    if (const auto* run = std::get_if<Run>(&step); run != nullptr && run->path.size() == 2)
      order.push_back(run->path[1]);
  std::vector<std::size_t> run_wanted;
  for (const std::size_t o : wanted)
    if (!graphs[0].subgraphs[0].operators[o].folded) run_wanted.push_back(o);
  if (order != run_wanted) findings.push_back({"ledger: the file's order is not kept", ""});
}

/// Copies that need no work are those whose both ends lie at one place.
void check_copies(std::span<const Graph> graphs, const Plan& plan, Findings& findings) {
  const bool has_moves = std::any_of(plan.tensors.begin(), plan.tensors.end(),
                                     [](const PlannedTensor& tensor) { return tensor.views.size() > 1; });
  if (plan.streaming || has_moves) return;
  CopiesRemoved removed;
  std::int64_t all = 0;
  for (std::size_t m = 0; m < graphs.size(); ++m) {
    const auto places = places_in_plan(graphs[m], m, plan);
    for (const Subgraph& subgraph : graphs[m].subgraphs)
      for (const Operator& op : subgraph.operators) {
        if (op.folded) continue;
        if (!op.must_copy.empty()) ++all;
        for (const ByteCopy& copy : op.copies) {
          if (!op.outputs[copy.output]) continue;
          ++all;
          const std::vector<View>& from = plan.tensors[*places[*op.inputs[copy.input]]].views;
          const std::vector<View>& to = plan.tensors[*places[*op.outputs[copy.output]]].views;
          if (from.empty() || to.empty() || from[0].buffer != to[0].buffer ||
              from[0].offset + copy.from != to[0].offset + copy.to)
            continue;
          ++removed.count;
          removed.bytes += copy.size;
        }
      }
  }
  if (removed.count != plan.copies_removed.count || removed.bytes != plan.copies_removed.bytes)
    findings.push_back({"ledger: copies removed", std::to_string(plan.copies_removed.count) + ", found " +
                                                      std::to_string(removed.count)});
  if (plan.copies_removed.count + static_cast<std::int64_t>(plan.copies_kept.size()) != all)
    findings.push_back({"ledger: copies kept", std::to_string(plan.copies_kept.size()) + " and " +
                                                   std::to_string(plan.copies_removed.count) + " of " +
                                                   std::to_string(all)});
}

/// Equal weights are stored once, and nowhere else.
void check_savings(const Networks& networks, const Plan& plan, Findings& findings) {
  if (!plan.savings) return;
  Saving weights;
  std::set<std::vector<std::byte>> known;
  for (std::size_t m = 0; m < networks.graphs.size(); ++m)
    for (TensorId t = 0; t < networks.graphs[m].tensors.size(); ++t) {
      const Tensor& tensor = networks.graphs[m].tensors[t];
      if (tensor.kind != TensorKind::weight || !is_read(networks.graphs[m], t)) continue;
      const std::span<const std::byte> data = networks.constants[m].of(t);
      weights.separate += tensor.bytes;
      if (data.empty() || known.insert({data.begin(), data.end()}).second) weights.shared += tensor.bytes;
    }
  if (weights != plan.savings->weights)
    findings.push_back({"ledger: savings", "weights " + std::to_string(plan.savings->weights.separate) +
                                               " and " + std::to_string(plan.savings->weights.shared) +
                                               ", found " + std::to_string(weights.separate) + " and " +
                                               std::to_string(weights.shared)});
}

}  // namespace

Moments::Moments(const Plan& plan) : parents_(plan.clocks.size()) {
  for (std::size_t c = 0; c < plan.clocks.size(); ++c)
    for (std::size_t p = 0; p < plan.clocks[c].steps.size(); ++p)
      if (const auto* fork = std::get_if<Fork>(&plan.clocks[c].steps[p]))
        for (const std::size_t branch : fork->clocks) parents_[branch] = {c, static_cast<Position>(p)};
}

std::vector<Moments::Parent> Moments::ancestors(std::size_t clock) const {
  std::vector<Parent> found;
  while (parents_[clock]) {
    found.push_back(*parents_[clock]);
    clock = found.back().clock;
  }
  return found;
}

bool Moments::meet(std::size_t one, const Lifetime& life, std::size_t other,
                   const Lifetime& other_life) const {
  struct Span {
    std::size_t clock;
    Lifetime life;
  };
  const auto spans_of = [&](std::size_t clock, const Lifetime& own) {
    std::vector<Span> spans{{clock, own}};
    for (const Parent& parent : ancestors(clock)) spans.push_back({parent.clock, {parent.at, parent.at + 1}});
    return spans;
  };
  for (const Span& a : spans_of(one, life))
    for (const Span& b : spans_of(other, other_life))
      if (a.clock == b.clock) return a.life.lower < b.life.upper && b.life.lower < a.life.upper;
  return false;
}

Findings overlaps_of(const Plan& plan) {
  Findings findings;
  const Moments moments(plan);
  for (std::size_t a = 0; a < plan.buffers.size(); ++a) {
    const Buffer& one = plan.buffers[a];
    if (plan.places[a].offset < 0 || plan.places[a].offset % one.alignment != 0)
      findings.push_back(
          {"ledger: alignment", "buffer '" + one.id + "' at " + std::to_string(plan.places[a].offset)});
    for (std::size_t b = 0; b < a; ++b) {
      const Buffer& other = plan.buffers[b];
      if (plan.places[a].memory != plan.places[b].memory) continue;
      for (const Piece& piece : one.pieces)
        for (const Piece& piece_of_other : other.pieces) {
          const Bytes begin = plan.places[a].offset + piece.offset;
          const Bytes other_begin = plan.places[b].offset + piece_of_other.offset;
          if (begin < other_begin + piece_of_other.size && other_begin < begin + piece.size &&
              piece.life.lower < piece.life.upper && piece_of_other.life.lower < piece_of_other.life.upper &&
              moments.meet(one.clock, piece.life, other.clock, piece_of_other.life))
            findings.push_back({"ledger: overlap", "'" + one.id + "' and '" + other.id + "'"});
        }
    }
  }
  return findings;
}

Findings check_ledger(const Networks& networks, const PlanResult& result, const PlanOptions& options) {
  const std::vector<Graph>& graphs = networks.graphs;
  Findings findings = overlaps_of(result.plan);
  check_savings(networks, result.plan, findings);
  check_peaks(result, options, findings);
  check_claims(result.plan, findings);
  check_load(result.plan, findings);
  check_tensors(graphs, result.plan, options, findings);
  check_naive(graphs, result, options, findings);
  check_kept_order(graphs, result.plan, options, findings);
  check_copies(graphs, result.plan, findings);
  return findings;
}

}  // namespace stowage::campaign
