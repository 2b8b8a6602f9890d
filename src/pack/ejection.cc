// A placing is there, of other strategies or of the squeaky wheel (squeaky_wheel.cc), whichever is lower.
// Searches lower it, cap by cap (descents.cc).
//
// Groups of the buffers (groups.cc) come first: they are fewer, and each step moves more. Their placing, if it
// is the lowest, is where the searches for single buffers begin. That leaves cut-5000 at 13 instead of 20 percent
// above max load, and J at 0.7 instead of 1.4, with the same effort.
//
// Of searches, an item's first weight is
//
//     sqrt(size * duration) / (slack + a little)     slack: the least free share of its life
//
// Cost: a step sorts what an item meets. Collisions of buffers of many pieces are joined beforehand
// (collisions.cc). Where there are too many, and a step would look at more than 2^20 pairs of pieces, nothing is
// searched. Memory: linear, up to 2^21 listed neighbours and 2^22 collisions, and 8 MiB for meetings.
// Source: ours, after the ejection pools of vehicle routing (Nagata & Braysy, 2009).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "pack/bounds.h"
#include "pack/container.h"
#include "pack/descents.h"
#include "pack/ejection_search.h"
#include "pack/groups.h"
#include "pack/shares.h"
#include "pack/squeaky_wheel.h"
#include "pack/strategies.h"

namespace stowage::pack {
namespace {

constexpr double slack_of_all = 0.02;  ///< Added, so that items without slack have a weight.
constexpr std::size_t most_pairs_of_blocks = std::size_t{1} << 20U;  ///< In one step.
constexpr std::int64_t work_of_loads = 300;      ///< For each buffer, in the units of deadlines, about,
constexpr std::int64_t work_of_chaining = 1500;  ///< and to make groups.
// Groups of buffers are tried unless there are almost as many of them, or too many buffers.
constexpr double most_of_groups = 0.9;
constexpr std::size_t most_grouped = 20'000;

/// The placing that is known, or else the lowest of all greedy passes; no places if it was too late.
Placing known_placing(const Problem& problem, const Control& control) {
  Placing best{.places = {control.known.begin(), control.known.end()}};
  if (!best.places.empty()) return best;
  for (const Greedy& greedy : greedies()) {
    if (!best.places.empty() && control.is_time_up()) break;
    Control own = control;
    own.ceiling = nullptr;  // a high placing will do
    control.spend(greedy.work * std::ssize(problem.buffers));
    Placing placing = place_greedily(greedy, problem, own);
    if (placing.places.empty()) continue;
    const bool is_lower =
        best.places.empty() || score_of(problem, placing.places) < score_of(problem, best.places);
    if (is_lower) best = std::move(placing);
  }
  return best;
}

/// Takes the placing of the squeaky wheel instead if it is lower.
void lower_by_passes(const Problem& problem, const Neighbours& neighbours, Bytes bound,
                     const Control& control, std::vector<Place>& places) {
  Control own = control;
  own.deadline = control.deadline.part(shares::squeaky_wheel);
  own.has_plan = true;  // `places`
  std::vector<Place> found = squeaky_wheel(problem, neighbours, bound, own);
  if (!found.empty() && score_of(problem, found) < score_of(problem, places)) places = std::move(found);
}

std::vector<Movable> movables_of(const Problem& problem, std::span<const Bytes> loads, Bytes cap) {
  std::vector<Movable> movables;
  movables.reserve(problem.buffers.size());
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    const Lifetime life = life_of(buffer);
    const auto duration = static_cast<double>(life.upper - life.lower);
    const double slack = static_cast<double>(cap - loads[b]) / static_cast<double>(std::max<Bytes>(1, cap));
    const double area = std::sqrt(static_cast<double>(buffer.size) * duration);
    Movable movable{buffer.size, buffer.alignment, buffer.pinned, area / (slack + slack_of_all)};
    if (life.lower == life.upper && !movable.pin) movable.pin = 0;  // meets nothing
    movables.push_back(movable);
  }
  return movables;
}

/// Of the buffer with the most row blocks: its blocks and those of all neighbours.
std::size_t pairs_of_blocks(const Problem& problem, const Neighbours& neighbours) {
  const auto count = [](const Buffer& buffer) { return buffer.pieces.size(); };
  const auto largest = std::ranges::max_element(problem.buffers, {}, count);
  const auto index = static_cast<std::size_t>(largest - problem.buffers.begin());
  std::size_t others = 0;
  neighbours.for_each(index, [&](std::size_t other) { others += count(problem.buffers[other]); });
  return count(*largest) * others;
}

/// Lowers a placing by searches, if these would not take too long.
void lower_by_searches(const Problem& problem, const Neighbours& neighbours, Bytes bound,
                       const Control& control, std::vector<Place>& places) {
  std::vector<Bytes> offsets;
  Bytes peak = 0;
  for (std::size_t b = 0; b < places.size(); ++b) {
    offsets.push_back(places[b].offset);
    peak = std::max(peak, offsets[b] + problem.buffers[b].size);
  }
  if (peak <= bound || control.is_beaten(bound) || control.is_time_up()) return;
  const auto loads = loads_during(problem.buffers, control);
  if (!loads || control.is_time_up()) return;
  if (!neighbours.are_joined() && pairs_of_blocks(problem, neighbours) > most_pairs_of_blocks) return;
  const std::optional<Meetings> meetings = Meetings::among(problem.buffers, neighbours);
  control.spend(work_of_loads * std::ssize(problem.buffers));
  const std::vector<Movable> movables = movables_of(problem, *loads, bound);
  Descents descents({.movables = movables,
                     .clashes = [&] { return clashes_among(neighbours); },
                     .meetings = meetings ? &*meetings : nullptr,
                     .pairs = static_cast<std::int64_t>(neighbours.pairs())},
                    std::move(offsets), bound, control, "ejection");
  descents.run();
  for (std::size_t b = 0; b < places.size(); ++b) places[b].offset = descents.offsets()[b];
}

/// Lowers a placing by passes and by searches.
void lower(const Problem& problem, Bytes bound, const Control& control, std::vector<Place>& places) {
  std::optional<Neighbours> own;
  if (control.neighbours == nullptr) {
    own.emplace(problem.buffers);
    control.spend(own->work());
  }
  const Neighbours& neighbours = own ? *own : *control.neighbours;
  lower_by_passes(problem, neighbours, bound, control, places);
  lower_by_searches(problem, neighbours, bound, control, places);
}

/// Takes a placing of groups of the buffers instead if it is lower.
void lower_by_groups(const Problem& problem, Bytes bound, const Control& control,
                     std::vector<Place>& places) {
  if (problem.buffers.size() > most_grouped) return;
  const GroupedList groups = chains_of(problem, control.options.seed);
  control.spend(work_of_chaining * std::ssize(problem.buffers));
  const auto count = static_cast<double>(groups.problem.buffers.size());
  if (count > most_of_groups * static_cast<double>(problem.buffers.size())) return;
  Control own = control;
  own.deadline = control.deadline.part(shares::groups);
  own.has_plan = true;  // `places`
  own.known = {};
  own.neighbours = nullptr;
  Placing placing = known_placing(groups.problem, own);
  if (placing.places.empty()) return;
  const Bytes own_bound = std::max(bound, lower_bound_of(groups.problem.buffers));
  if (total_peak(score_of(groups.problem, placing.places)) > own_bound)
    lower(groups.problem, own_bound, own, placing.places);
  std::vector<Place> found = groups.places_of_members(placing.places);
  if (score_of(problem, found) < score_of(problem, places)) places = std::move(found);
}

}  // namespace

Placing ejection(const Problem& problem, const Control& control) {
  if (control.is_too_late()) return no_placing();
  const Bytes bound = lower_bound_of(problem.buffers);
  Placing placing = known_placing(problem, control);
  if (problem.buffers.empty()) return placing;
  if (placing.places.empty()) return no_placing();
  const auto is_high = [&] { return total_peak(score_of(problem, placing.places)) > bound; };
  if (is_high() && !control.is_time_up()) lower_by_groups(problem, bound, control, placing.places);
  if (is_high() && !control.is_time_up()) lower(problem, bound, control, placing.places);
  placing.cut_short = is_high() && control.is_time_up();
  return placing;
}

}  // namespace stowage::pack
