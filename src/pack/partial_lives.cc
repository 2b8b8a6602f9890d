// Lives in a partial order. "Over before" is itself a partial order of buffers, and buffers of which none is over before
// another may all be live at once: an antichain. The heaviest one is what a minimum cut leaves (Dilworth, with weights):
//
//     source --size--> a --unlimited--> b --size--> sink      for each a that is over before b
//
// all sizes less the maximum flow.
//
// Source: Dilworth, "A decomposition theorem for partially ordered sets", 1950; by flow: Fulkerson, "Note on Dilworth's
// decomposition theorem for partially ordered sets", 1956.

#include "stowage/partial_lives.h"

#include <algorithm>

#include "base/max_flow.h"
#include "base/text.h"
#include "pack/placing.h"
#include "pack/relations/relations.h"
#include "pack/solve.h"
#include "stowage/error.h"

namespace stowage {
namespace {

constexpr std::size_t most_for_flow = 2000;

/// For each event: which are the same or later.
std::vector<std::vector<bool>> later_events(std::size_t events,
                                            const std::vector<std::pair<std::size_t, std::size_t>>& edges) {
  std::vector<std::vector<std::size_t>> next(events);
  std::vector<std::size_t> into(events);
  for (const auto& [from, to] : edges) {
    if (from >= events || to >= events)
      throw Error("", base::concat("an edge leads from event ", from, " to ", to, ", there are ", events));
    next[from].push_back(to);
    ++into[to];
  }
  std::vector<std::size_t> order;
  for (std::size_t event = 0; event < events; ++event)
    if (into[event] == 0) order.push_back(event);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const std::size_t to : next[order[i]])
      if (--into[to] == 0) order.push_back(to);
  }
  if (order.size() < events) throw Error("", "events come before themselves, expected edges without a cycle");
  std::vector<std::vector<bool>> later(events, std::vector<bool>(events));
  for (std::size_t i = events; i-- > 0;) {
    std::vector<bool>& own = later[order[i]];
    own[order[i]] = true;
    for (const std::size_t to : next[order[i]]) {
      for (std::size_t event = 0; event < events; ++event)
        if (later[to][event]) own[event] = true;
    }
  }
  return later;
}

bool is_no_later(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  for (std::size_t thread = 0; thread < a.size(); ++thread)
    if (a[thread] > b[thread]) return false;
  return true;
}

}  // namespace

PartialLives PartialLives::of_events(std::size_t events,
                                     const std::vector<std::pair<std::size_t, std::size_t>>& edges,
                                     const std::vector<EventLife>& lives) {
  const std::vector<std::vector<bool>> later = later_events(events, edges);
  for (std::size_t b = 0; b < lives.size(); ++b) {
    if (lives[b].begin >= events || lives[b].end >= events || lives[b].begin == lives[b].end ||
        !later[lives[b].begin][lives[b].end])
      throw Error("", base::concat("buffer ", b, " lives from event ", lives[b].begin, " to ", lives[b].end,
                                   ", which is not known to be later"));
  }
  PartialLives result(lives.size());
  for (std::size_t a = 0; a < lives.size(); ++a)
    for (std::size_t b = 0; b < lives.size(); ++b)
      result.before_[a][b] = a != b && later[lives[a].end][lives[b].begin];
  return result;
}

PartialLives PartialLives::of_clocks(const std::vector<ClockLife>& lives) {
  for (std::size_t b = 0; b < lives.size(); ++b) {
    if (lives[b].begin.size() != lives[0].begin.size() || lives[b].end.size() != lives[0].begin.size())
      throw Error("", base::concat("clocks of buffer ", b, " have other threads than those of buffer 0"));
    if (lives[b].begin == lives[b].end || !is_no_later(lives[b].begin, lives[b].end))
      throw Error("", base::concat("buffer ", b, " does not end after it begins"));
  }
  PartialLives result(lives.size());
  for (std::size_t a = 0; a < lives.size(); ++a)
    for (std::size_t b = 0; b < lives.size(); ++b)
      result.before_[a][b] = a != b && is_no_later(lives[a].end, lives[b].begin);
  return result;
}

void PartialLives::add_to(Problem& problem) const {
  if (problem.buffers.size() != size())
    throw Error("", base::concat("there are lives of ", size(), " buffers, but ", problem.buffers.size(),
                                 " buffers"));
  for (std::size_t b = 0; b < size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      if (!before_[a][b] && !before_[b][a]) problem.relations.apart.push_back({a, b});
    }
  }
}

Bytes PartialLives::most_at_once(std::span<const Buffer> buffers) const {
  const std::size_t count = std::min(size(), buffers.size());
  Bytes all = 0;
  if (count > most_for_flow) {
    // From some buffers, each adds all that may be live with those before.
    constexpr std::size_t seeds = 32;
    for (std::size_t b = 0; b < count; b += count / seeds) {
      std::vector<std::size_t> live{b};
      Bytes bytes = buffers[b].size;
      for (std::size_t a = 0; a < count; ++a) {
        if (a == b ||
            std::ranges::any_of(live, [&](std::size_t c) { return before_[a][c] || before_[c][a]; }))
          continue;
        live.push_back(a);
        bytes += buffers[a].size;
      }
      all = std::max(all, bytes);
    }
    return all;
  }
  base::FlowNetwork network(2 * count + 2);
  const std::size_t source = 2 * count;
  const std::size_t sink = source + 1;
  for (std::size_t a = 0; a < count; ++a) {
    all += buffers[a].size;
    network.add(source, a, buffers[a].size);
    network.add(count + a, sink, buffers[a].size);
    for (std::size_t b = 0; b < count; ++b)
      if (before_[a][b]) network.add(a, count + b, base::FlowNetwork::unlimited);
  }
  return all - network.cut(source, sink);
}

namespace {

/// Throws if two that may be live at once are pinned to the same bytes of the only memory.
void check_pins(const Problem& problem) {
  if (problem.memories.size() > 1) return;
  for (const BufferPair& pair : problem.relations.apart) {
    const Buffer& a = problem.buffers[pair.first];
    const Buffer& b = problem.buffers[pair.second];
    if (!a.pinned || !b.pinned) continue;
    if (*a.pinned < *b.pinned + b.size && *b.pinned < *a.pinned + a.size)
      throw Error("", base::concat("buffers ", base::quoted(a.id), " and ", base::quoted(b.id),
                                   " may be live at once, and are pinned to the same bytes"));
  }
}

}  // namespace

Solution solve(Problem problem, const PartialLives& lives, const SolveOptions& options) {
  lives.add_to(problem);
  validate(problem);
  check_pins(problem);
  pack::Control control{.options = options, .deadline = pack::deadline_of(options)};
  control.options.objective = Objective::peak_then_cost;
  // Copies of a buffer add bytes, and what lies together or excludes another shares them.
  const Relations& relations = problem.relations;
  const bool has_own_bytes = relations.together.empty() && relations.exclusive.empty();
  if (problem.memories.size() == 1 && has_own_bytes) control.least_peak = lives.most_at_once(problem.buffers);
  if (!problem.is_related()) return pack::solve(problem, options, control.deadline);
  if (options.strategy != "auto")
    throw NotApplicable(options.strategy, "relations between buffers and reserved bytes are for auto");
  // Low peaks are found more easily than placings below a capacity.
  const std::optional<Bytes> capacity = problem.memories[0].capacity;
  const bool is_lowered = capacity && problem.memories.size() == 1 && problem.memories[0].reserved.empty() &&
                          has_own_bytes && relations.reuse_costs.empty() && relations.copies.empty();
  if (is_lowered) problem.memories[0].capacity.reset();
  Solution solution = pack::relations::solve(problem, control);
  solution.lower_bound = std::max(solution.lower_bound, control.least_peak);
  if (is_lowered && peak_of(problem, solution, 0) > *capacity) {
    solution.outcome = Outcome::exceeds_capacity;
    solution.cannot_fit = solution.is_least_peak || solution.lower_bound > *capacity;
    solution.is_least_peak = false;
  }
  return solution;
}

}  // namespace stowage
