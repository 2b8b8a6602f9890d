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
// still needs them there. Cost: n log n for tensors whose views are not alive together.

#include "check/meet.h"

#include <algorithm>

namespace stowage::check {
namespace {

/// The view that is there during all of the life and satisfies the condition: mostly the last that
/// begins early enough.
template <typename Condition>
const View* view_during(const Lifetime& life, const Views& views, const Condition& condition) {
  auto view = std::upper_bound(views.begin(), views.end(), life.lower,
                               [](Position lower, const View* it) { return lower < it->life.lower; });
  while (view != views.begin()) {
    --view;
    if (life.upper <= (*view)->life.upper && condition(**view)) return *view;
  }
  return nullptr;
}

const View* view_during(const Lifetime& life, const Views& views) {
  return view_during(life, views, [](const View&) { return true; });
}

/// The input's view in the bytes that the output is written to, if there is one.
const View* view_written_over(const Need& read, const Need& written, const std::vector<Views>& views) {
  const View* const output = view_during(written.life, views[written.tensor]);
  if (output == nullptr) return nullptr;
  return view_during(read.life, views[read.tensor], [&](const View& view) {
    return view.buffer == output->buffer && view.offset == output->offset;
  });
}

}  // namespace

Views views_in_time(const PlannedTensor& tensor) {
  Views views;
  for (const View& view : tensor.views) views.push_back(&view);
  std::sort(views.begin(), views.end(),
            [](const View* a, const View* b) { return a->life.lower < b->life.lower; });
  return views;
}

void meet(Played& played, const std::vector<Views>& views) {
  for (auto update = played.updates.rbegin(); update != played.updates.rend(); ++update) {
    Need& read = played.needs[update->read];
    if (read.life.upper > update->at) continue;  // somebody needs it longer; else it is `at`
    const View* const view = view_written_over(read, played.needs[update->written], views);
    if (view != nullptr) read.view = view;
    read.is_written_over = view != nullptr;
    read.life.upper = view != nullptr ? update->at : update->at + 1;
  }
  for (Need& need : played.needs) {
    if (need.view == nullptr) need.view = view_during(need.life, views[need.tensor]);
  }
}

}  // namespace stowage::check
