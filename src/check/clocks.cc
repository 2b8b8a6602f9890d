// Idea. Clocks make a tree: a step of one clock forks others, and goes on when they are done. What is in a
// branch takes, seen from the clock that forks it, the one position of the fork:
//
//   clock 0     | 0 | 1: fork 1, 2 | 2 |          positions 0 to 2 of clock 1, and 0 and 1 of clock 2,
//   clock 1         | 0 | 1 | 2 |                 are all in position 1 of clock 0
//   clock 2         | 0 | 1 |
//
// Two times are compared on the clock on which both can be seen; where that puts them into one fork they are
// in branches of it, which run at the same time. Cost: as deep as the tree is, which is limited.

#include "check/clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "check/names.h"

namespace stowage::check {
namespace {

constexpr std::size_t deepest = 1000;  // forks in forks

std::string name_of_step(std::size_t clock, std::size_t at) {
  return fmt::format("step {} of clock {}", at, clock);
}

/// Goes through the forks of a plan and counts how often each clock is forked.
std::vector<std::size_t> count_forks(const Plan& plan, Faults& faults) {
  std::vector<std::size_t> forked(plan.clocks.size(), 0);
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    for (std::size_t at = 0; at < plan.clocks[c].steps.size(); ++at) {
      const auto fault = [&](const std::string& what) {
        faults.push_back({FaultKind::format, name_of_step(c, at) + what});
      };
      const auto* const fork = std::get_if<Fork>(&plan.clocks[c].steps[at]);
      if (fork == nullptr) continue;
      if (fork->clocks.empty()) fault(" forks no clock");
      for (const std::size_t branch : fork->clocks) {
        if (branch >= plan.clocks.size()) {
          fault(fmt::format(" forks clock {}, there are {}", branch, plan.clocks.size()));
        } else if (branch == 0) {
          fault(" forks clock 0, which is the root");
        } else if (++forked[branch] > 1) {
          fault(fmt::format(" forks clock {}, which has been forked before", branch));
        }
      }
    }
  }
  return forked;
}

/// For every clock that is reached from the root, those that fork it first, and how deep it is.
std::vector<std::pair<std::size_t, std::size_t>> clocks_from_root(const Plan& plan) {
  std::vector<std::pair<std::size_t, std::size_t>> reached{{0, 0}};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const auto [clock, depth] = reached[i];
    for (const Step& step : plan.clocks[clock].steps) {
      const auto* const fork = std::get_if<Fork>(&step);
      if (fork == nullptr) continue;
      for (const std::size_t branch : fork->clocks) reached.emplace_back(branch, depth + 1);
    }
  }
  return reached;
}

void check_tree(const Plan& plan, Faults& faults) {
  std::vector<bool> is_reached(plan.clocks.size(), false);
  for (const auto& [clock, depth] : clocks_from_root(plan)) {
    is_reached[clock] = true;
    if (depth <= deepest) continue;
    faults.push_back(
        {FaultKind::format,
         fmt::format("clock {} is forked {} forks deep, at most {} are understood", clock, depth, deepest)});
    return;
  }
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    if (!is_reached[c]) {
      faults.push_back(
          {FaultKind::format, fmt::format("clock {} is forked by itself, or by clocks that it forks", c)});
    }
  }
}

void check_runs(const Plan& plan, Faults& faults) {
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    for (std::size_t at = 0; at < plan.clocks[c].steps.size(); ++at) {
      const auto* const run = std::get_if<Run>(&plan.clocks[c].steps[at]);
      if (run == nullptr) continue;
      if (run->model >= plan.models.size()) {
        faults.push_back(
            {FaultKind::format, fmt::format("{} is of model {}, there are {}", name_of_step(c, at),
                                            run->model, plan.models.size())});
      }
    }
  }
}

/// None for forks.
std::optional<std::size_t> model_of(const Plan& plan, const Step& step) {
  if (const auto* const run = std::get_if<Run>(&step)) return run->model;
  if (const auto* const copy = std::get_if<Copy>(&step)) return plan.tensors[copy->tensor].model;
  if (const auto* const arrive = std::get_if<Arrive>(&step)) return plan.tensors[arrive->tensor].model;
  if (const auto* const leave = std::get_if<Leave>(&step)) return plan.tensors[leave->tensor].model;
  return std::nullopt;
}

}  // namespace

void check_clocks_form(const Plan& plan, Faults& faults) {
  if (plan.clocks.empty()) {
    faults.push_back({FaultKind::format, "the plan has 0 clocks, expected at least the root"});
    return;
  }
  check_runs(plan, faults);
  const std::size_t before = faults.size();
  const std::vector<std::size_t> forked = count_forks(plan, faults);
  for (std::size_t c = 1; c < plan.clocks.size(); ++c) {
    if (forked[c] == 0)
      faults.push_back({FaultKind::format, fmt::format("clock {} is not forked by any step", c)});
  }
  if (faults.size() == before) check_tree(plan, faults);
}

void check_models_form(const Plan& plan, Faults& faults) {
  std::vector<bool> is_begun(plan.models.size(), false);
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    std::optional<std::size_t> present;
    for (std::size_t at = 0; at < plan.clocks[c].steps.size(); ++at) {
      const auto model = model_of(plan, plan.clocks[c].steps[at]);
      if (model && model != present) {
        if (is_begun[*model]) {
          faults.push_back(
              {FaultKind::format, fmt::format("{} is of {}, whose other steps are not next to it",
                                              name_of_step(c, at), name_of_model(plan, *model))});
        }
        is_begun[*model] = true;
      }
      present = model;
    }
  }
}

std::vector<std::optional<Stretch>> spans_of(const Plan& plan) {
  std::vector<std::optional<Stretch>> spans(plan.models.size());
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    for (std::size_t at = 0; at < plan.clocks[c].steps.size(); ++at) {
      const auto model = model_of(plan, plan.clocks[c].steps[at]);
      if (!model) continue;
      const auto position = static_cast<Position>(at);
      if (!spans[*model]) spans[*model] = Stretch{c, {position, position}};
      spans[*model]->life.upper = position + 1;
    }
  }
  return spans;
}

ClockTree::ClockTree(const Plan& plan)
    : forks_(plan.clocks.size()), depths_(plan.clocks.size(), 0), ranks_(plan.clocks.size(), 0) {
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    const std::vector<Step>& steps = plan.clocks[c].steps;
    ends_.push_back(std::max<Position>(static_cast<Position>(steps.size()), 1));
    for (std::size_t at = 0; at < steps.size(); ++at) {
      const auto* const fork = std::get_if<Fork>(&steps[at]);
      if (fork == nullptr) continue;
      for (const std::size_t branch : fork->clocks) forks_[branch] = {c, static_cast<Position>(at)};
    }
  }
  for (const auto& [clock, depth] : clocks_from_root(plan)) {
    depths_[clock] = depth;
    ranks_[clock] = order_.size();
    order_.push_back(clock);
  }
}

void ClockTree::stretch(const Stretch& stretch) {
  ends_[stretch.clock] = std::max(ends_[stretch.clock], stretch.life.upper);
}

Stretch ClockTree::lifted(const Stretch& stretch) const {
  const Moment& fork = forks_[stretch.clock];
  return {fork.clock, {fork.at, fork.at + 1}};
}

std::optional<Lifetime> ClockTree::seen_from(std::size_t clock, const Stretch& stretch) const {
  Stretch it = stretch;
  while (depths_[it.clock] > depths_[clock]) it = lifted(it);
  return it.clock == clock ? std::optional(it.life) : std::nullopt;
}

bool ClockTree::is_before(Stretch first, Stretch second) const {
  while (first.clock != second.clock) {
    const std::size_t depth_of_first = depths_[first.clock];
    const std::size_t depth_of_second = depths_[second.clock];
    if (depth_of_first >= depth_of_second) first = lifted(first);
    if (depth_of_second >= depth_of_first) second = lifted(second);
  }
  return first.life.upper <= second.life.lower;
}

std::vector<Stretch> ClockTree::between(Moment from, Moment until) const {
  std::vector<Stretch> stretches;
  const auto add = [&](std::size_t clock, const Lifetime& life) {
    if (life.lower < life.upper) stretches.push_back({clock, life});
  };
  while (from.clock != until.clock) {
    const std::size_t depth_of_from = depths_[from.clock];
    const std::size_t depth_of_until = depths_[until.clock];
    if (depth_of_from >= depth_of_until) {
      add(from.clock, {from.at, ends_[from.clock]});
      from = forks_[from.clock];
      ++from.at;
    }
    if (depth_of_until >= depth_of_from) {
      add(until.clock, {0, until.at});
      until = forks_[until.clock];
    }
  }
  add(from.clock, {from.at, until.at});
  return stretches;
}

}  // namespace stowage::check
