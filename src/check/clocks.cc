#include "check/clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "check/names.h"

namespace stowage::check {
namespace {

constexpr std::size_t deepest = 1000;  // nested forks

std::string name_of_step(std::size_t clock, std::size_t at) {
  return fmt::format("step {} of clock {}", at, clock);
}

/// Walks the forks and pauses of a plan and counts how often each clock is forked. Pauses of one clock count once.
std::vector<std::size_t> count_forks(const Plan& plan, Faults& faults) {
  std::vector<std::size_t> forked(plan.clocks.size(), 0);
  std::vector<std::optional<std::size_t>> pausing(plan.clocks.size());  // the clock with the pauses
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    for (std::size_t at = 0; at < plan.clocks[c].steps.size(); ++at) {
      const auto fault = [&](const std::string& what) {
        faults.push_back({FaultKind::format, name_of_step(c, at) + what});
      };
      if (const auto* const pause = std::get_if<Pause>(&plan.clocks[c].steps[at])) {
        if (pause->clock == 0 || pause->clock >= plan.clocks.size()) {
          fault(fmt::format(" pauses for clock {}, expected one of those behind the root, of {}",
                            pause->clock, plan.clocks.size()));
        } else if (pausing[pause->clock] != c) {
          if (++forked[pause->clock] > 1)
            fault(fmt::format(" pauses for clock {}, which another clock or a fork runs", pause->clock));
          pausing[pause->clock] = c;
        }
        continue;
      }
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

void check_tree(const Plan& plan, Faults& faults) {
  std::vector<bool> is_reached(plan.clocks.size(), false);
  for (const auto& [clock, depth] : model::clocks_from_root(plan.clocks)) {
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

/// One statement for each clock that runs at pauses, and each pause where it says.
void check_pauses_form(const Plan& plan, Faults& faults) {
  const model::ClockTree tree(plan.clocks);
  std::vector<bool> is_stated(plan.clocks.size(), false);
  const auto fault = [&](const Pausing& it, const std::string& what) {
    faults.push_back({FaultKind::format, fmt::format("the pauses for clock {} {}", it.clock, what)});
  };
  for (const Pausing& it : plan.pauses) {
    if (it.clock >= plan.clocks.size() || !tree.is_at_pauses(it.clock)) {
      fault(it, "are stated, but no step pauses for it");
      continue;
    }
    if (is_stated[it.clock]) fault(it, "are stated twice");
    is_stated[it.clock] = true;
    const auto& [clock, from_first_to_last] = *tree.fork_of(it.clock);
    const auto end = std::ssize(plan.clocks[clock].steps);
    if (it.life.lower < 0 || it.life.upper > end || it.life.lower > from_first_to_last.lower ||
        it.life.upper < from_first_to_last.upper)
      fault(
          it,
          fmt::format(
              "are said to be from {} to {} of clock {}, which has {} steps and pauses for it from {} to {}",
              it.life.lower, it.life.upper, clock, end, from_first_to_last.lower, from_first_to_last.upper));
    if (it.every < 1)
      fault(it, fmt::format("are said to be at most {} steps apart, expected at least 1", it.every));
  }
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    if (tree.is_at_pauses(c) && !is_stated[c])
      faults.push_back(
          {FaultKind::format, fmt::format("it is not stated how near the pauses for clock {} are", c)});
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

/// None for forks and pauses.
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
  if (faults.size() == before) check_pauses_form(plan, faults);
}

void check_models_form(const Plan& plan, Faults& faults) {
  std::vector<bool> is_begun(plan.models.size(), false);
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    std::optional<std::size_t> present;
    for (std::size_t at = 0; at < plan.clocks[c].steps.size(); ++at) {
      if (std::holds_alternative<Pause>(plan.clocks[c].steps[at])) continue;
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

std::vector<std::optional<model::Stretch>> spans_of(const Plan& plan) {
  std::vector<std::optional<model::Stretch>> spans(plan.models.size());
  for (std::size_t c = 0; c < plan.clocks.size(); ++c) {
    for (std::size_t at = 0; at < plan.clocks[c].steps.size(); ++at) {
      const auto model = model_of(plan, plan.clocks[c].steps[at]);
      if (!model) continue;
      const auto position = static_cast<Position>(at);
      if (!spans[*model]) spans[*model] = model::Stretch{c, {position, position}};
      spans[*model]->life.upper = position + 1;
    }
  }
  return spans;
}

}  // namespace stowage::check
