// From an expression to clocks. What runs one after the other is one clock, step by step; what runs at the
// same time is one step, a fork, whose branches have clocks of their own, since nobody knows how their steps
// interleave:
//
//     A; B | C; D          clock 0   a a a a (fork) d d d
//                          clock 1           b b b
//                          clock 2           c c c c c
//
// Source: docs/design.md, and the document of docs/several-models.md, paragraphs 8-9.

#include "share/timeline.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stowage::share {

Timeline::Timeline(const RunExpression& expression, std::vector<Clock> steps_of)
    : steps_of_(std::move(steps_of)),
      clocks_(1),
      forks_(1),
      stages_(steps_of_.size()),
      ranks_(steps_of_.size()) {
  add(expression, 0);
  for (const Clock& clock : clocks_)
    ends_.push_back(std::max<Position>(static_cast<Position>(clock.steps.size()), 1));
  for (const Stage& stage : stages_)
    ends_[stage.clock] = std::max({ends_[stage.clock], stage.end, stage.begin + 1});
}

void Timeline::add(const RunExpression& part, std::size_t clock) {
  switch (part.kind) {
    case RunExpression::Kind::model: {
      std::vector<Step>& steps = steps_of_[part.model].steps;
      const auto begin = static_cast<Position>(clocks_[clock].steps.size());
      stages_[part.model] = {clock, begin, begin + static_cast<Position>(steps.size())};
      ranks_[part.model] = placed_++;
      std::move(steps.begin(), steps.end(), std::back_inserter(clocks_[clock].steps));
      break;
    }
    case RunExpression::Kind::sequence:
      for (const RunExpression& next : part.parts) add(next, clock);
      break;
    case RunExpression::Kind::parallel: {
      const Moment fork{clock, static_cast<Position>(clocks_[clock].steps.size())};
      Fork step;
      for (const RunExpression& branch : part.parts) {
        step.clocks.push_back(clocks_.size());
        clocks_.emplace_back();
        forks_.emplace_back(fork);
        add(branch, step.clocks.back());
      }
      clocks_[clock].steps.emplace_back(std::move(step));
      break;
    }
  }
}

std::size_t Timeline::common_clock(std::size_t a, std::size_t b) const {
  while (a != b) {  // a clock's number is larger than that of the clock it branches from
    std::size_t& inner = a > b ? a : b;
    inner = forks_[inner]->clock;
  }
  return a;
}

std::size_t Timeline::lasting_clock(std::size_t clock) const {
  std::size_t lasting = clock;
  while (forks_[clock]) {
    const Moment& fork = *forks_[clock];
    if (fork.at + 1 < ends_[fork.clock]) lasting = fork.clock;
    clock = fork.clock;
  }
  return lasting;
}

Position Timeline::position_on(std::size_t clock, Moment moment) const {
  while (moment.clock != clock) moment = *forks_[moment.clock];
  return moment.at;
}

bool Timeline::runs_before(std::size_t a, std::size_t b) const {
  const Stage& first = stages_[a];
  const Stage& second = stages_[b];
  const std::size_t common = common_clock(first.clock, second.clock);
  const bool are_both_in_branches = first.clock != common && second.clock != common;
  const bool is_at_one_fork = are_both_in_branches && position_on(common, {first.clock, first.begin}) ==
                                                          position_on(common, {second.clock, second.begin});
  return a != b && !is_at_one_fork && ranks_[a] < ranks_[b];
}

}  // namespace stowage::share
