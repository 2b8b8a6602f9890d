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
      tree_(clocks_),
      stages_(steps_of_.size()),
      ranks_(steps_of_.size()) {
  add(expression, 0);
  tree_ = model::ClockTree(clocks_);
  for (const Stage& stage : stages_)
    tree_.stretch({stage.clock, {stage.begin, std::max(stage.end, stage.begin + 1)}});
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
      Fork step;
      for (const RunExpression& branch : part.parts) {
        step.clocks.push_back(clocks_.size());
        clocks_.emplace_back();
        add(branch, step.clocks.back());
      }
      clocks_[clock].steps.emplace_back(std::move(step));
      break;
    }
  }
}

std::size_t Timeline::lasting_clock(std::size_t clock) const {
  std::size_t lasting = clock;
  while (const auto& fork = tree_.fork_of(clock)) {
    if (fork->at + 1 < tree_.end_of(fork->clock)) lasting = fork->clock;
    clock = fork->clock;
  }
  return lasting;
}

Position Timeline::position_on(std::size_t clock, Moment moment) const {
  return tree_.seen_from(clock, {moment.clock, {moment.at, moment.at + 1}})->lower;
}

bool Timeline::runs_before(std::size_t a, std::size_t b) const {
  return a != b && !tree_.run_at_one_time(stages_[a].clock, stages_[b].clock) && ranks_[a] < ranks_[b];
}

}  // namespace stowage::share
