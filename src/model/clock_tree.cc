// Clocks form a tree: a step of one clock forks others and continues when they are done. Seen from the
// clock that forks it, a branch takes the one position of the fork:
//
//   clock 0     | 0 | 1: fork 1, 2 | 2 |          positions 0 to 2 of clock 1, and 0 and 1 of clock 2,
//   clock 1         | 0 | 1 | 2 |                 are all in position 1 of clock 0
//   clock 2         | 0 | 1 |
//
// Two times are compared on the innermost clock that sees both. If it sees both in one fork, they are in
// different branches of it, which run at the same time. Cost: the depth of the tree.

#include "model/clock_tree.h"

#include <fmt/format.h>

#include <algorithm>

namespace stowage::model {

std::vector<std::pair<std::size_t, std::size_t>> clocks_from_root(std::span<const Clock> clocks) {
  std::vector<std::pair<std::size_t, std::size_t>> reached{{0, 0}};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const auto [clock, depth] = reached[i];
    for (const Step& step : clocks[clock].steps) {
      const auto* const fork = std::get_if<Fork>(&step);
      if (fork == nullptr) continue;
      for (const std::size_t branch : fork->clocks) reached.emplace_back(branch, depth + 1);
    }
  }
  return reached;
}

ClockTree::ClockTree(std::span<const Clock> clocks)
    : forks_(clocks.size()), depths_(clocks.size(), 0), ranks_(clocks.size(), 0) {
  for (std::size_t c = 0; c < clocks.size(); ++c) {
    const std::vector<Step>& steps = clocks[c].steps;
    ends_.push_back(std::max<Position>(static_cast<Position>(steps.size()), 1));
    for (std::size_t at = 0; at < steps.size(); ++at) {
      const auto* const fork = std::get_if<Fork>(&steps[at]);
      if (fork == nullptr) continue;
      for (const std::size_t branch : fork->clocks) forks_[branch] = {c, static_cast<Position>(at)};
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

bool ClockTree::run_at_one_time(std::size_t a, std::size_t b) const {
  const std::size_t common = common_clock(a, b);
  return a != common && b != common && seen_from(common, {a, {}}) == seen_from(common, {b, {}});
}

std::optional<Lifetime> ClockTree::seen_from(std::size_t clock, const Stretch& stretch) const {
  Stretch it = stretch;
  while (depths_[it.clock] > depths_[clock]) {
    const auto [forking, at] = *forks_[it.clock];
    it = {forking, {at, at + 1}};
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
    from = *forks_[from.clock];
    ++from.at;
  }
  while (until.clock != common) {
    add(until.clock, {0, until.at});
    until = *forks_[until.clock];
  }
  add(common, {from.at, until.at});
  return stretches;
}

std::string ClockTree::describe(std::size_t clock, Position at) const {
  return size() == 1 ? fmt::format("position {}", at) : fmt::format("position {} of clock {}", at, clock);
}

}  // namespace stowage::model
