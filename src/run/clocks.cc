#include "run/clocks.h"

#include <fmt/format.h>

#include "stowage/run.h"

namespace stowage::run {

ClockTree::ClockTree(const Plan& plan) : origins_(plan.clocks.size()), depths_(plan.clocks.size(), 0) {
  if (plan.clocks.empty()) throw RunFault{"the plan has no clock"};
  std::vector<std::size_t> reached{0};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::size_t clock = reached[i];
    const std::vector<Step>& steps = plan.clocks[clock].steps;
    for (std::size_t at = 0; at < steps.size(); ++at) {
      const Fork* const fork = std::get_if<Fork>(&steps[at]);
      if (fork == nullptr) continue;
      for (const std::size_t branch : fork->clocks) {
        if (branch >= origins_.size() || branch == 0 || origins_[branch]) {
          throw RunFault{fmt::format("step {} of clock {} forks clock {}, which {}", at, clock, branch,
                                     branch >= origins_.size() ? "the plan has not"
                                     : branch == 0             ? "is the root"
                                                               : "is forked twice")};
        }
        origins_[branch] = Origin{clock, static_cast<Position>(at)};
        depths_[branch] = depths_[clock] + 1;
        reached.push_back(branch);
      }
    }
  }
  for (std::size_t clock = 1; clock < origins_.size(); ++clock) {
    if (!origins_[clock]) throw RunFault{fmt::format("clock {} is never forked", clock)};
  }
}

bool ClockTree::is_within(std::size_t clock, std::size_t outer) const {
  while (depths_[clock] > depths_[outer]) clock = origins_[clock]->clock;
  return clock == outer;
}

bool ClockTree::run_at_one_time(std::size_t a, std::size_t b) const {
  if (is_within(a, b) || is_within(b, a)) return false;
  while (depths_[a] > depths_[b]) a = origins_[a]->clock;
  while (depths_[b] > depths_[a]) b = origins_[b]->clock;
  while (origins_[a]->clock != origins_[b]->clock) {
    a = origins_[a]->clock;
    b = origins_[b]->clock;
  }
  return origins_[a]->at == origins_[b]->at;
}

std::string ClockTree::describe(std::size_t clock, Position at) const {
  return size() == 1 ? fmt::format("position {}", at) : fmt::format("position {} of clock {}", at, clock);
}

}  // namespace stowage::run
