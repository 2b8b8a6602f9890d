// Idea. A need is met by one view that is there for all of it. Where an operator may write over an input
// while it reads it, and the output's view is in the same bytes, the input's bytes are needed only until
// then:
//
//   positions     0   1   2   3   4
//   input         |-------|                read at 2 by Relu; elsewhere it would be needed at 2 as well
//   output                |-----------|    same buffer, same offset
//
// The output's own need may end early in the same way, at a later position, so the last update is decided
// first. Everybody else who reads the input at that position, or has its bytes in a tensor of its own,
// still needs them there. A view may be in a buffer of a clock that forks the network's: then it is there as
// long as the fork. Cost: n log n for tensors whose views are not alive together.

#include "check/meet.h"

#include <algorithm>
#include <optional>

namespace stowage::check {
namespace {

/// The need's life as another clock sees it; none if part of it cannot be seen from there.
std::optional<Lifetime> life_on(std::size_t clock, const Need& need, const ClockTree& tree) {
  auto life = tree.seen_from(clock, {need.clock, need.life});
  for (const Stretch& stretch : need.beyond) {
    const auto more = tree.seen_from(clock, stretch);
    if (!life || !more) return std::nullopt;
    life = {std::min(life->lower, more->lower), std::max(life->upper, more->upper)};
  }
  return life;
}

/// The view that is there when it is needed and satisfies the condition: mostly the last that begins
/// early enough.
template <typename Condition>
const View* view_during(const Need& need, const std::vector<Views>& views, const ClockTree& tree,
                        const Condition& condition) {
  for (const auto& [clock, of_clock] : views[need.tensor]) {
    const auto life = life_on(clock, need, tree);
    if (!life) continue;
    auto view = std::upper_bound(of_clock.begin(), of_clock.end(), life->lower,
                                 [](Position lower, const View* it) { return lower < it->life.lower; });
    while (view != of_clock.begin()) {
      --view;
      if (life->upper <= (*view)->life.upper && condition(**view)) return *view;
    }
  }
  return nullptr;
}

const View* view_during(const Need& need, const std::vector<Views>& views, const ClockTree& tree) {
  return view_during(need, views, tree, [](const View&) { return true; });
}

/// The input's view in the bytes that the output is written to, if there is one.
const View* view_written_over(const Need& read, const Need& written, const std::vector<Views>& views,
                              const ClockTree& tree) {
  const View* const output = view_during(written, views, tree);
  if (output == nullptr) return nullptr;
  return view_during(read, views, tree, [&](const View& view) {
    return view.buffer == output->buffer && view.offset == output->offset;
  });
}

}  // namespace

Views views_in_time(const Plan& plan, const PlannedTensor& tensor) {
  Views views;
  for (const View& view : tensor.views) views[plan.buffers[view.buffer].clock].push_back(&view);
  for (auto& [clock, of_clock] : views) {
    std::sort(of_clock.begin(), of_clock.end(),
              [](const View* a, const View* b) { return a->life.lower < b->life.lower; });
  }
  return views;
}

void meet(const ClockTree& tree, Played& played, const std::vector<Views>& views) {
  for (auto update = played.updates.rbegin(); update != played.updates.rend(); ++update) {
    Need& read = played.needs[update->read];
    if (read.life.upper > update->at) continue;  // somebody needs it longer; else it is `at`
    const View* const view = view_written_over(read, played.needs[update->written], views, tree);
    if (view != nullptr) read.view = view;
    read.is_written_over = view != nullptr;
    read.life.upper = view != nullptr ? update->at : update->at + 1;
  }
  for (Need& need : played.needs) {
    if (need.view == nullptr && !need.is_followed) need.view = view_during(need, views, tree);
  }
}

}  // namespace stowage::check
