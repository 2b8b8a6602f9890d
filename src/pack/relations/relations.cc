// Problems with relations: what lies together, apart, excludes each other, or costs something when it shares bytes. First
// all must fit, then the cost is to be low; traffic in a dear memory counts, too.
//
//     parts      buffers that have nothing to do with each other are solved apart        arena.cc
//     construct  one after the other in the cheapest place; often that costs nothing     ruin.cc
//                or where that leaves no room for some in the lowest place, whatever it costs
//     few items  a search of all placings proves the least cost                          exact.cc
//     bound      of items that cannot all be apart                                       clique_bound.cc
//     many       ruin and recreate, then a heat bath, then ruin and recreate from there  heat_bath.cc
//     peaks      lower capacities, as long as all fits at no more cost                   peaks.cc
//     heights    lower placings of what only must be apart                               heights.cc
//                by other orders in which items drop into gaps                           orders.cc
//     packing    what still does not fit is packed as if costs were none, since these forbid no place
//     copies     which buffers have how many                                             copies.cc
//
// Short of time a heat bath ends with nothing, so then ruin and recreate has all of it. Of two runs of half the time the
// better one is usually better than one run, so long times are divided, and threads have a run each.

#include "pack/relations/relations.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/side_by_side.h"
#include "pack/portfolio.h"
#include "pack/relations/arena.h"
#include "pack/relations/empty.h"
#include "pack/relations/search.h"
#include "stowage/error.h"

namespace stowage::pack::relations {
namespace {

using Seconds = base::Deadline::Seconds;

constexpr Seconds short_search{0.02};    ///< Before a proof is tried, for each part.
constexpr double share_of_proofs = 0.6;  ///< Of the time, for parts of few items.
constexpr double share_of_bounds = 0.08;
constexpr double share_of_packing = 0.3;  ///< Of a short last search, where not all fits yet.
constexpr Seconds least_for_heat{2};      ///< With less, there is no heat bath.
constexpr Seconds least_for_runs{8};      ///< From here on, there are two runs.
constexpr std::size_t most_runs = 4;
constexpr double share_of_first = 0.08;  ///< Of a run, for ruin and recreate,
constexpr double share_of_heat = 0.62;   ///< and of the rest for the heat bath.

/// Without a limit there is room for all buffers one after the other.
Problem with_capacities(Problem problem) {
  Bytes all = 0;
  Bytes widest = 1;
  for (const Buffer& buffer : problem.buffers) {
    all += buffer.size + buffer.alignment + buffer.pinned.value_or(0);
    widest = std::max(widest, buffer.alignment);
  }
  for (const Joint& joint : problem.relations.together) all += std::abs(joint.distance);
  for (Memory& memory : problem.memories) {
    if (memory.capacity) continue;
    Bytes end = 0;
    for (const ByteRange& range : memory.reserved) end = std::max(end, range.end);
    memory.capacity = all + end + widest;
  }
  return problem;
}

Arrangement run_of(const Part& part, Scan& scan, const Arrangement& from, std::int64_t goal, Random& random,
                   const base::Deadline& deadline) {
  if (deadline.left() < least_for_heat) return ruin_and_recreate(part, scan, from, goal, random, deadline);
  Arrangement best = ruin_and_recreate(part, scan, from, goal, random, deadline.part(share_of_first));
  best = heat_bath(part, scan, std::move(best), goal, random, deadline.part(share_of_heat));
  return ruin_and_recreate(part, scan, std::move(best), goal, random, deadline);
}

/// Runs that begin alike and draw other numbers: one for each thread, or one after the other.
void search_long(const Part& part, Solved& it, Random& random, const Control& control,
                 const base::Deadline& deadline) {
  const bool is_short = deadline.left() < least_for_heat;
  const std::size_t threads =
      deadline.counts_work() || is_short ? 1 : std::min(threads_of(control.options), most_runs);
  const std::size_t runs = std::max<std::size_t>(threads, deadline.left() >= least_for_runs ? 2 : 1);
  std::vector<std::uint64_t> seeds(runs);
  for (std::uint64_t& seed : seeds) seed = random.next();
  std::vector<Arrangement> found(runs, it.best);
  base::run_side_by_side(0, runs, threads, [&](std::size_t run, std::size_t) {
    Scan scan(part);
    Random own(seeds[run]);
    const double share = threads > 1 ? 1 : 1 / static_cast<double>(runs - run);
    found[run] = run_of(part, scan, it.best, it.enough(), own, deadline.part(share));
    return !found[run].fits() || found[run].cost > it.enough();
  });
  for (Arrangement& one : found) {
    if (one.is_better_than(it.best)) it.best = std::move(one);
  }
}

/// Where buffers fit if costs do not count, as these forbid no place. None if that is not found, or more than costs counts.
std::optional<std::vector<Cells>> pack_without_costs(const Problem& problem, const Arena& arena,
                                                     const Control& control) {
  Problem plain = problem;
  plain.relations.reuse_costs.clear();
  const auto is_pinned = [](const Buffer& buffer) { return buffer.pinned.has_value(); };
  if (plain.is_related() || std::ranges::any_of(plain.buffers, is_pinned)) return std::nullopt;
  std::vector<const Strategy*> chosen;
  for (const Strategy& it : packers()) {
    if (it.info.is_in_auto) chosen.push_back(&it);
  }
  const SolveOptions options{.threads = control.options.threads, .seed = control.options.seed};
  const Solution packed = best_of(plain, chosen, {options, control.deadline});
  if (packed.outcome != Outcome::fits) return std::nullopt;
  std::vector<std::optional<Place>> places;
  for (const Place& it : packed.places)
    places.push_back(Place{it.memory, it.offset - it.offset % arena.unit()});
  return arena.cells_of(places);
}

}  // namespace

Bytes least_load(const Problem& problem) {
  std::vector<bool> shares(problem.buffers.size());
  for (const Joint& joint : problem.relations.together) shares[joint.first] = shares[joint.second] = true;
  for (const BufferPair& pair : problem.relations.exclusive) shares[pair.first] = shares[pair.second] = true;
  std::vector<Buffer> counted;
  for (std::size_t b = 0; b < shares.size(); ++b) {
    if (!shares[b]) counted.push_back(problem.buffers[b]);
  }
  return max_load(counted);
}

std::vector<Solved> solve_parts(const Problem& problem, const Arena& arena,
                                std::span<const std::optional<Place>> start,
                                std::span<const std::int64_t> goals, const Control& control) {
  const std::vector<Part>& parts = arena.parts();
  Random random(control.options.seed);
  const base::Deadline& deadline = control.deadline;
  const std::vector<Cells> cells = arena.cells_of(start);
  std::vector<Solved> solved;
  std::vector<std::size_t> open;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Part& part = parts[p];
    Scan scan(part);
    Solved it{
        .best = construct(part, scan),
        .goal = goals.empty() ? std::nullopt : std::optional(goals[p]),
        .is_impossible = std::ranges::any_of(part.items, [](const Item& one) { return one.ranges.empty(); })};
    if (!start.empty()) {
      Arrangement kept = keep(part, scan, cells[p]);
      if (kept.fits() ? deadline.is_over() || !it.best.is_better_than(kept) : kept.is_better_than(it.best))
        it.best = std::move(kept);
    }
    // A long search gets further from the cheapest places of some than from places of all at any cost.
    if (!it.best.fits() && deadline.left() < least_for_heat) {
      Arrangement other = construct_without_costs(part, scan);
      if (other.is_better_than(it.best)) it.best = std::move(other);
    }
    solved.push_back(std::move(it));
    if (!solved.back().is_done()) open.push_back(p);
  }
  std::ranges::stable_sort(open, {}, [&](std::size_t p) { return parts[p].items.size(); });
  const auto finish = [&](auto&& improve) {
    if (std::ranges::any_of(solved, &Solved::is_out_of_reach)) return;
    const std::vector<std::size_t> them = std::exchange(open, {});
    for (std::size_t i = 0; i < them.size(); ++i) {
      const Part& part = parts[them[i]];
      Scan scan(part);
      improve(part, scan, solved[them[i]], them.size() - i);
      if (!solved[them[i]].is_done()) open.push_back(them[i]);
      control.report("relations", static_cast<double>(i) / static_cast<double>(them.size()));
    }
  };
  finish([&](const Part& part, Scan& scan, Solved& it, std::size_t left) {
    const base::Deadline soon =
        deadline.part(share_of_proofs / static_cast<double>(left)).within(short_search);
    it.best = ruin_and_recreate(part, scan, std::move(it.best), it.enough(), random, soon);
  });
  finish([&](const Part& part, Scan&, Solved& it, std::size_t left) {
    const Proof proof = search_all(part, it.best, deadline.part(share_of_proofs / static_cast<double>(left)));
    it.is_searched = proof.bound > 0 || proof.is_impossible;
    it.bound = proof.bound;
    it.is_impossible = proof.is_impossible;
  });
  finish([&](const Part& part, Scan&, Solved& it, std::size_t left) {
    CliqueProof proof = clique_bound(part, deadline.part(share_of_bounds / static_cast<double>(left)));
    if (proof.bound <= it.bound) return;
    it.bound = proof.bound;
    it.charges = std::move(proof.charges);
    it.is_searched = false;
  });
  finish([&](const Part& part, Scan&, Solved& it, std::size_t left) {
    const bool is_short = deadline.left() < least_for_heat;
    const double share = it.best.fits() || !is_short ? 1 : 1 - share_of_packing;
    search_long(part, it, random, control, deadline.part(share / static_cast<double>(left)));
  });
  const auto is_full = [&](std::size_t p) { return !solved[p].is_impossible && !solved[p].best.fits(); };
  if (std::ranges::none_of(open, is_full) || std::ranges::any_of(solved, &Solved::is_out_of_reach))
    return solved;
  const auto packed = pack_without_costs(problem, arena, control);
  if (!packed) return solved;
  for (const std::size_t p : open) {
    if (!is_full(p)) continue;
    Scan scan(parts[p]);
    Arrangement kept = keep(parts[p], scan, (*packed)[p]);
    if (kept.is_better_than(solved[p].best)) solved[p].best = std::move(kept);
  }
  return solved;
}

namespace {

/// Puts buffers without a place behind all others of their memory.
void place_outside(const Problem& problem, const std::vector<bool>& is_missing, std::vector<Place>& places) {
  std::vector<Bytes> ends;
  for (const Memory& memory : problem.memories) ends.push_back(memory.capacity.value_or(0));
  for (std::size_t b = 0; b < places.size(); ++b) {
    if (!is_missing[b]) continue;
    const Buffer& buffer = problem.buffers[b];
    const std::size_t memory = buffer.memories.empty() ? 0 : buffer.memories.front();
    const Bytes offset = (ends[memory] + buffer.alignment - 1) / buffer.alignment * buffer.alignment;
    places[b] = {memory, offset};
    ends[memory] = offset + buffer.size;
  }
}

/// Places for all buffers, if they have so much room. Costs of memories are with those of reuse.
Solution solution_of(const Problem& problem, const Arena& arena, std::vector<Solved> solved) {
  Solution solution{
      .lower_bound = least_load(problem), .overload = arena.overload(), .strategy = "relations"};
  std::vector<Cells> cells;
  bool is_proven = true;
  ReuseProof& proof = solution.reuse_proof;
  proof.unit = arena.unit();
  for (std::size_t p = 0; p < solved.size(); ++p) {
    Solved& it = solved[p];
    const std::vector<std::size_t>& buffers = arena.buffers()[p];
    if (it.is_impossible) {
      proof.too_many = buffers;
    } else if (it.is_searched) {
      proof.searched.push_back({buffers, it.bound});
    }
    for (const Charge& charge : it.charges) {
      proof.cliques.push_back({.charge = charge.per_cell});
      for (const std::size_t item : charge.items) proof.cliques.back().buffers.push_back(buffers[item]);
    }
    solution.reuse_cost += it.best.cost;
    solution.reuse_cost_bound += it.bound;
    solution.cannot_fit = solution.cannot_fit || it.is_impossible;
    if (!it.best.fits()) solution.outcome = Outcome::exceeds_capacity;
    is_proven = is_proven && it.is_done();
    cells.push_back(std::move(it.best.cells));
  }
  solution.cannot_fit = solution.cannot_fit || solution.overload.has_value();
  solution.interrupted = !is_proven && !solution.cannot_fit;
  solution.places = arena.places_of(cells);
  if (solution.outcome == Outcome::exceeds_capacity)
    place_outside(problem, arena.missing(cells), solution.places);
  return solution;
}

/// Whether any placing costs something.
bool has_costs(const Arena& arena) {
  return std::ranges::any_of(arena.parts(), [](const Part& part) {
    return std::ranges::any_of(part.items, [](const Item& item) {
      return std::ranges::any_of(item.ranges, [](const Range& it) { return it.cost > 0; }) ||
             std::ranges::any_of(item.neighbours, [](const Neighbour& it) { return it.cost > 0; });
    });
  });
}

std::int64_t cost_of_places(const Arena& arena, const std::vector<Place>& places) {
  const std::vector<Cells> cells =
      arena.cells_of(std::vector<std::optional<Place>>(places.begin(), places.end()));
  std::int64_t cost = 0;
  for (std::size_t p = 0; p < cells.size(); ++p) {
    Scan scan(arena.parts()[p]);
    cost += keep(arena.parts()[p], scan, cells[p]).cost;
  }
  return cost;
}

/// With buffers of known sizes. Costs of memories are with those of reuse.
Solution solve_without_copies(const Problem& problem, const Control& control) {
  constexpr double share_of_first_goal = 0.6;
  const Objective objective = control.options.objective;
  Problem limited = with_capacities(problem);
  const Arena arena(limited);
  if (arena.overload()) {
    std::vector<Solved> solved;
    for (const Part& part : arena.parts()) {
      Scan scan(part);
      solved.push_back({.best = construct(part, scan)});
    }
    return solution_of(limited, arena, std::move(solved));
  }
  Control part = control;
  if (objective != Objective::cost) part.deadline = control.deadline.part(share_of_first_goal);
  const std::vector<std::int64_t> any_cost(arena.parts().size(), forbidden);
  std::vector<Solved> solved =
      solve_parts(limited, arena, control.options.start,
                  objective == Objective::peak_then_cost ? any_cost : std::vector<std::int64_t>(), part);
  std::vector<std::int64_t> costs;
  for (const Solved& it : solved)
    costs.push_back(objective == Objective::peak_then_cost ? forbidden : it.best.cost);
  Solution solution = solution_of(limited, arena, std::move(solved));
  if (objective == Objective::cost || solution.outcome != Outcome::fits) return solution;
  const bool ends_with_peaks = objective == Objective::cost_then_peak || !has_costs(arena);
  const Peaks peaks = lower_peaks(limited, costs, solution.places, ends_with_peaks ? control : part);
  solution.is_least_peak = peaks.are_least;
  if (objective == Objective::peak_then_cost)
    solution.lower_bound = std::max(solution.lower_bound, peaks.bound);
  if (ends_with_peaks) {
    solution.reuse_cost = cost_of_places(arena, solution.places);  // it may have become less on the way
    return solution;
  }
  for (std::size_t m = 0; m < limited.memories.size(); ++m)
    limited.memories[m].capacity = peak_of(problem, solution, m);
  for (Memory& memory : limited.memories)
    std::erase_if(memory.reserved, [&](const ByteRange& it) { return it.begin >= *memory.capacity; });
  for (Memory& memory : limited.memories) {
    for (ByteRange& it : memory.reserved) it.end = std::min(it.end, *memory.capacity);
  }
  const Arena tight(limited);
  const std::vector<std::optional<Place>> start(solution.places.begin(), solution.places.end());
  Solution cheap = solution_of(limited, tight, solve_parts(limited, tight, start, {}, control));
  if (cheap.outcome != Outcome::fits) return solution;
  cheap.is_least_peak = solution.is_least_peak;
  if (counted_cost(cheap) > 0) {  // it holds within these peaks alone
    cheap.interrupted = cheap.interrupted || cheap.reuse_cost_bound < counted_cost(cheap);
    cheap.reuse_cost_bound = 0;
    cheap.reuse_proof = {};
  }
  return cheap;
}

}  // namespace

Solution solve(const Problem& problem, const Control& control) {
  if (!common_alignment(problem)) throw Error("", "alignments have no common multiple of reasonable size");
  const auto solve_one = [](const Problem& single, const Control& own) {
    Solution solution = solve_without_copies(single, own);
    if (solution.outcome == Outcome::fits) {
      for (std::size_t b = 0; b < solution.places.size(); ++b)
        solution.memory_cost += extra_cost(single, b, solution.places[b].memory);
      solution.reuse_cost -= solution.memory_cost;
    }
    const EmptyBuffers empty(single);
    if (!empty.empty()) empty.place(peaks_of_bytes(single, solution.places), solution.places);
    if (!empty.impossible().empty()) {
      solution.outcome = Outcome::exceeds_capacity;
      solution.cannot_fit = true;
      solution.is_least_peak = false;
      solution.reuse_proof.too_many = empty.impossible();
    }
    return solution;
  };
  if (problem.relations.copies.empty()) return solve_one(problem, control);
  return choose_copies(problem, control, solve_one);
}

std::optional<std::vector<Place>> keep_places(const Problem& problem,
                                              std::span<const std::optional<Place>> start) {
  const Problem limited = with_capacities(problem);
  const Arena arena(limited);
  const std::vector<Cells> before = arena.cells_of(start);
  std::vector<Cells> cells;
  for (std::size_t p = 0; p < before.size(); ++p) {
    Scan scan(arena.parts()[p]);
    Arrangement kept = keep(arena.parts()[p], scan, before[p]);
    if (!kept.fits()) return std::nullopt;
    cells.push_back(std::move(kept.cells));
  }
  return arena.places_of(cells);
}

}  // namespace stowage::pack::relations
