// Clocks form a tree: a step of one clock forks others and continues when they are done. Seen from the
// clock that forks it, a branch takes the one position of the fork:
//
//   clock 0     | 0 | 1: fork 1, 2 | 2 |          positions 0 to 2 of clock 1, and 0 and 1 of clock 2,
//   clock 1         | 0 | 1 | 2 |                 are all in position 1 of clock 0
//   clock 2         | 0 | 1 |
//
// A clock may also run at pauses, any number of positions of one clock. Then it is seen from the first to the last:
//
//   clock 0     | 0 | 1: pause 1 | 2 | 3 | 4: pause 1 | 5 |     clock 1 is in positions 1 to 4 of clock 0
//
// Two times are compared on the innermost clock that sees both. If it sees both in one fork, they are in
// different branches of it, which run at the same time. Cost: the depth of the tree.

#include "model/clock_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace stowage::model {

std::vector<std::pair<std::size_t, std::size_t>> clocks_from_root(std::span<const Clock> clocks) {
  std::vector<std::pair<std::size_t, std::size_t>> reached{{0, 0}};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const auto [clock, depth] = reached[i];
    for (const Branch& branch : branches_of(clocks[clock])) reached.emplace_back(branch.clock, depth + 1);
  }
  return reached;
}

std::vector<Branch> branches_of(const Clock& clock) {
  std::vector<Branch> branches;
  std::map<std::size_t, std::size_t> index_of;  // of clocks that run at pauses
  for (std::size_t at = 0; at < clock.steps.size(); ++at) {
    const auto position = static_cast<Position>(at);
    if (const auto* const fork = std::get_if<Fork>(&clock.steps[at])) {
      for (const std::size_t branch : fork->clocks) branches.push_back({branch, {position}});
    } else if (const auto* const pause = std::get_if<Pause>(&clock.steps[at])) {
      const auto [it, is_new] = index_of.try_emplace(pause->clock, branches.size());
      if (is_new) branches.push_back({.clock = pause->clock, .is_at_pauses = true});
      branches[it->second].at.push_back(position);
    }
  }
  return branches;
}

ClockTree::ClockTree(std::span<const Clock> clocks)
    : forks_(clocks.size()),
      positions_(clocks.size()),
      is_at_pauses_(clocks.size(), false),
      depths_(clocks.size(), 0),
      ranks_(clocks.size(), 0) {
  for (std::size_t c = 0; c < clocks.size(); ++c) {
    ends_.push_back(std::max<Position>(std::ssize(clocks[c].steps), 1));
    for (Branch& branch : branches_of(clocks[c])) {
      forks_[branch.clock] = {c, {branch.at.front(), branch.at.back() + 1}};
      is_at_pauses_[branch.clock] = branch.is_at_pauses;
      positions_[branch.clock] = std::move(branch.at);
    }
  }
  for (const auto& [clock, depth] : clocks_from_root(clocks)) {
    depths_[clock] = depth;
    ranks_[clock] = order_.size();
    order_.push_back(clock);
  }
}

void ClockTree::stretch(const Stretch& stretch) {
  ends_[stretch.clock] = std::max(ends_[stretch.clock], stretch.life.upper);
}

std::size_t ClockTree::common_clock(std::size_t a, std::size_t b) const {
  while (a != b) {
    std::size_t& inner = depths_[a] > depths_[b] ? a : b;
    inner = forks_[inner]->clock;
  }
  return a;
}

bool ClockTree::is_within(std::size_t clock, std::size_t outer) const {
  return common_clock(clock, outer) == outer;
}

std::optional<std::size_t> ClockTree::pausing_clock(std::size_t clock) const {
  while (!is_at_pauses_[clock]) {
    if (!forks_[clock]) return std::nullopt;
    clock = forks_[clock]->clock;
  }
  return clock;
}

Moment ClockTree::end_around(std::size_t clock) const {
  const std::size_t around = pausing_clock(clock).value_or(0);
  return {around, ends_[around]};
}

bool ClockTree::run_at_one_time(std::size_t a, std::size_t b) const {
  const std::size_t common = common_clock(a, b);
  return a != common && b != common && seen_from(common, {a, {}}) == seen_from(common, {b, {}});
}

std::optional<Lifetime> ClockTree::seen_from(std::size_t clock, const Stretch& stretch) const {
  Stretch it = stretch;
  while (depths_[it.clock] > depths_[clock]) {
    it = *forks_[it.clock];
  }
  return it.clock == clock ? std::optional(it.life) : std::nullopt;
}

bool ClockTree::is_before(const Stretch& first, const Stretch& second) const {
  const std::size_t common = common_clock(first.clock, second.clock);
  return seen_from(common, first)->upper <= seen_from(common, second)->lower;
}

std::vector<Stretch> ClockTree::between(Moment from, Moment until) const {
  std::vector<Stretch> stretches;
  const auto add = [&](std::size_t clock, const Lifetime& life) {
    if (life.lower < life.upper) stretches.push_back({clock, life});
  };
  const std::size_t common = common_clock(from.clock, until.clock);
  while (from.clock != common) {
    add(from.clock, {from.at, ends_[from.clock]});
    from = {forks_[from.clock]->clock, forks_[from.clock]->life.upper};
  }
  while (until.clock != common) {
    add(until.clock, {0, until.at});
    until = {forks_[until.clock]->clock, forks_[until.clock]->life.lower};
  }
  add(common, {from.at, until.at});
  return stretches;
}

std::string ClockTree::describe(std::size_t clock, Position at) const {
  return size() == 1 ? fmt::format("position {}", at) : fmt::format("position {} of clock {}", at, clock);
}

}  // namespace stowage::model
