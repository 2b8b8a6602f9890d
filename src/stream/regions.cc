// Idea. Run some operators together: pull the rows of the last one, and before each row what it needs, as
// late as possible. Between such regions tensors stand whole, yet not all of the time: rows go as soon as the
// region behind has read them, and come as the region in front writes them.
//
//     operators   0 1 2 | 3 4 5 6 | 7 8          region [3, 7): rows of 6 pull rows of 5, 4 and 3,
//                  region    region  region       which read, and free, rows of 2
//
// When a region starts, all operators in front of it have run and no other: that is one state, whatever the
// regions in front were. So the least peak for the first n operators is
//
//     least(n) = min over b < n of  max(least(b), peak of region [b, n) by itself)
//
// a dynamic program over the operators in the model's order. A region of one operator is that operator layer
// by layer, so the result is never worse than that. Operators that wait for each other, as rows are computed
// again only when those there were have been read, are never apart.
//
// Source: seed 004: the order inside a region is one affine map for each operator, scale and shift, at its
// latest; that regions are chosen by their peak, and that rows between them come and go, is ours.
//
// Cost: operators^2 / 2 regions of as many steps as they have instances, until `work` is used up; those that
// exceed what is known for their end stop there, and longer ones are not tried when the end's share of `work`
// has been spent in vain.

#include "stream/regions.h"

#include <algorithm>
#include <limits>

namespace stowage::stream {

bool Walk::pull(std::size_t target, const Region& region, Bytes limit) {
  // The operators whose next instance is wanted, each for the one below it.
  std::vector<std::size_t> wanted{target};
  while (!wanted.empty()) {
    const std::size_t op = wanted.back();
    const Instance& instance = state_.next(op);
    const auto missing = std::find_if(instance.needs.begin(), instance.needs.end(),
                                      [&](const Need& it) { return state_.done(it.op) < it.count; });
    if (missing != instance.needs.end()) {
      if (!region.has(missing->op)) return false;
      wanted.push_back(missing->op);
      continue;
    }
    const Bytes load = state_.load_of(op);
    if (load > limit) return false;
    peak_ = std::max(peak_, load);
    steps_.push_back(program_.at(op, state_.done(op)));
    state_.run(op);
    wanted.pop_back();
  }
  return true;
}

void Walk::settle(const Region& region, Bytes limit) {
  bool is_changed = true;
  while (is_changed) {
    is_changed = false;
    for (std::size_t op = region.end; op-- > region.begin;) {
      while (!state_.is_finished(op) && state_.is_ready(op) && state_.load_of(op) <= limit &&
             state_.live_after(op) <= state_.live()) {
        peak_ = std::max(peak_, state_.load_of(op));
        steps_.push_back(program_.at(op, state_.done(op)));
        state_.run(op);
        is_changed = true;
      }
    }
  }
}

namespace {

/// Runs a region from the state in which all operators in front of it have run, or a part of it if it needs
/// more than the limit.
Walk run_region(const Program& program, const State& start, const Region& region, Bytes limit) {
  Walk walk(program, start);
  for (std::size_t op = region.end; op-- > region.begin;) {
    while (!walk.state().is_finished(op)) {
      if (!walk.pull(op, region, limit)) return walk;
    }
  }
  return walk;
}

bool is_finished(const State& state, const Region& region) {
  for (std::size_t op = region.begin; op < region.end; ++op) {
    if (!state.is_finished(op)) return false;
  }
  return true;
}

/// The states in which the first 0, 1, .. operators have run, and no other.
std::vector<State> states_between(const Program& program) {
  std::vector<State> states{State(program)};
  for (std::size_t op = 0; op < program.operators(); ++op) {
    states.push_back(states.back());
    while (!states.back().is_finished(op)) states.back().run(op);
  }
  return states;
}

/// Where regions may begin and end: whether no operator in front waits for one behind.
std::vector<bool> boundaries(const Program& program) {
  std::vector<bool> is_boundary;
  std::size_t awaited = 0;  // how many operators those in front wait for
  for (std::size_t op = 0; op < program.operators(); ++op) {
    is_boundary.push_back(awaited <= op);
    for (InstanceId i = program.first[op]; i < program.first[op + 1]; ++i) {
      for (const Need& need : program.instances[i].needs) awaited = std::max(awaited, need.op + 1);
    }
  }
  is_boundary.push_back(true);
  return is_boundary;
}

}  // namespace

RegionOrder order_by_regions(const Program& program, std::int64_t work) {
  constexpr Bytes unbounded = std::numeric_limits<Bytes>::max();
  const std::vector<State> starts = states_between(program);
  const std::vector<bool> is_boundary = boundaries(program);
  const std::size_t count = program.operators();
  std::vector<Bytes> best(count + 1, unbounded);
  std::vector<std::size_t> begin_of(count + 1, 0);
  best[0] = program.resident;
  const std::int64_t share = work / static_cast<std::int64_t>(std::max<std::size_t>(1, count));
  for (std::size_t end = 1; end <= count; ++end) {
    if (!is_boundary[end]) continue;
    std::int64_t in_vain = 0;  // since the last region that was better
    for (std::size_t begin = end; begin-- > 0;) {
      if (best[begin] >= best[end] || ((work <= 0 || in_vain > share) && best[end] != unbounded)) continue;
      const Region region{begin, end};
      const Walk walk =
          run_region(program, starts[begin], region, best[end] == unbounded ? unbounded : best[end] - 1);
      work -= static_cast<std::int64_t>(walk.steps().size());
      in_vain += static_cast<std::int64_t>(walk.steps().size());
      if (!is_finished(walk.state(), region)) continue;
      in_vain = 0;
      best[end] = std::max(best[begin], walk.peak());
      begin_of[end] = begin;
    }
  }
  RegionOrder order{.peak = best[count]};
  for (std::size_t end = count; end > 0; end = begin_of[end]) order.regions.push_back({begin_of[end], end});
  std::reverse(order.regions.begin(), order.regions.end());
  for (const Region& region : order.regions) {
    const Walk walk = run_region(program, starts[region.begin], region, unbounded);
    order.steps.insert(order.steps.end(), walk.steps().begin(), walk.steps().end());
  }
  return order;
}

}  // namespace stowage::stream
