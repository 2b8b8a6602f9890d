// A need is served touch by touch, in the fast memory or in slow memory, and moves between touches. What it costs from a
// touch on depends on where it is now and whether slow memory has its present value:
//
//     slow            it is there
//     fast, stale     slow memory lacks the value: leaving costs a copy
//     fast, backed    slow memory has it: leaving is free
//
//     touches     w   r   r        r  r
//     fast       [=======]        [====]       stays: 0..1 and 3..4; touch 2 reads slow memory
//     slow                ^===r===^            spilled once, fetched once
//
// The cheapest way through these states is found touch by touch. Cost: linear in touches.

#include "pack/memories/needs.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/checked.h"

namespace stowage::memories {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::size_t slow = 0;
constexpr std::size_t stale = 1;
constexpr std::size_t backed = 2;

/// The best way to a state after a touch.
struct Way {
  std::int64_t cost = never;
  std::size_t from = slow;  ///< The state after the touch before.
  bool is_kept = false;     ///< It has stayed in the fast memory since then.
};

void take(std::int64_t cost, std::size_t from, bool is_kept, Way& way) {
  if (cost < way.cost) way = {cost, from, is_kept};
}

bool wrote(const Need& need, std::size_t first, std::size_t last) {
  return std::any_of(need.touches.begin() + static_cast<std::ptrdiff_t>(first),
                     need.touches.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                     [](const Touch& touch) { return touch.writes; });
}

/// The price of its bytes in the fast memory at a touch.
std::int64_t price_at(const Need& need, const Touch& touch, const Prices& prices) {
  if (need.pieces.empty()) return need.size * prices.between(touch.first, touch.last + 1);
  std::int64_t price = 0;
  for (const Piece& piece : need.pieces)
    price += piece.size * prices.between(piece.life.lower, piece.life.upper);
  return price;
}

FastStays stays_of(const std::vector<std::array<Way, 3>>& ways, std::size_t state) {
  FastStays stays;
  bool goes_on = false;  // the touch behind is in the same stay
  for (std::size_t i = ways.size(); i-- > 0;) {
    if (state != slow) {
      if (goes_on) {
        stays.back().first = i;
      } else {
        stays.push_back({i, i, 0});
      }
    }
    goes_on = ways[i][state].is_kept;
    state = ways[i][state].from;
  }
  std::reverse(stays.begin(), stays.end());
  return stays;
}

}  // namespace

bool is_fetched(const Need& need, const FastStay& stay) { return stay.first > 0 || need.stored; }

Bytes bytes_fetched(const Need& need, const FastStay& stay) {
  return stay.first > 0 ? need.carried[stay.first - 1] : *need.stored;
}

bool is_spilled(const Need& need, const FastStay& stay) {
  return stay.last + 1 < need.touches.size() && wrote(need, stay.first, stay.last);
}

std::int64_t cost_of(const Needs& needs, const Need& need, const FastStays& stays) {
  std::int64_t cost = 0;
  for (const Touch& touch : need.touches) cost += touch.bytes * need.slow_cost;
  const std::int64_t copy = needs.fast_cost + need.slow_cost;
  for (const FastStay& stay : stays) {
    for (std::size_t i = stay.first; i <= stay.last; ++i)
      cost -= need.touches[i].bytes * (need.slow_cost - needs.fast_cost);
    if (is_fetched(need, stay)) cost += bytes_fetched(need, stay) * copy;
    if (is_spilled(need, stay)) cost += need.carried[stay.last] * copy;
  }
  return cost;
}

Least least(const Needs& needs, const Need& need, const Prices& prices, const Allowed* allowed) {
  thread_local std::vector<std::array<Way, 3>> ways;
  ways.assign(need.touches.size(), {});
  const auto may = [&](const std::vector<bool> Allowed::*what, std::size_t i) {
    return need.may_be_fast && (allowed == nullptr || (allowed->*what)[i]);
  };
  for (std::size_t i = 0; i < need.touches.size(); ++i) {
    const Touch& touch = need.touches[i];
    auto& now = ways[i];
    const std::int64_t at_slow = touch.bytes * need.slow_cost * Prices::parts;
    const std::int64_t at_fast =
        touch.bytes * needs.fast_cost * Prices::parts + price_at(need, touch, prices);
    if (i == 0) {
      if (need.may_be_slow) now[slow].cost = at_slow;
      if (!may(&Allowed::touches, i)) continue;
      if (!need.stored) {
        now[stale].cost = at_fast;
      } else if (need.may_be_slow) {
        const std::int64_t copy = *need.stored * (needs.fast_cost + need.slow_cost) * Prices::parts;
        now[touch.writes ? stale : backed].cost = copy + at_fast;
      }
      continue;
    }
    const auto& before = ways[i - 1];
    const std::int64_t copy = need.carried[i - 1] * (needs.fast_cost + need.slow_cost) * Prices::parts;
    if (need.may_be_slow) {
      take(before[slow].cost + at_slow, slow, false, now[slow]);
      take(before[stale].cost + copy + at_slow, stale, false, now[slow]);
      take(before[backed].cost + at_slow, backed, false, now[slow]);
    }
    if (!may(&Allowed::touches, i)) continue;
    Way& entered = now[touch.writes ? stale : backed];
    if (need.may_be_slow) {
      take(before[slow].cost + copy + at_fast, slow, false, entered);
      take(before[stale].cost + 2 * copy + at_fast, stale, false, entered);
      take(before[backed].cost + copy + at_fast, backed, false, entered);
    }
    if (!may(&Allowed::gaps, i - 1)) continue;
    const std::int64_t kept = need.size * prices.between(need.touches[i - 1].last + 1, touch.first) + at_fast;
    take(before[stale].cost + kept, stale, true, now[stale]);
    take(before[backed].cost + kept, backed, true, entered);
  }
  const auto& last = ways.back();
  std::size_t state = slow;
  for (const std::size_t other : {backed, stale}) {
    if (last[other].cost < last[state].cost) state = other;
  }
  if (last[state].cost >= never) return {.cost = largest_value};
  return {last[state].cost, stays_of(ways, state)};
}

bool are_small(const Needs& needs) {
  constexpr std::int64_t most = std::int64_t{1} << 58;
  std::int64_t sum = 0;
  for (const Need& need : needs.all) {
    const auto price = base::checked_multiply(needs.fast_cost + need.slow_cost, 4 * Prices::parts);
    if (!price) return false;
    Bytes bytes = base::checked_add(need.size, need.stored.value_or(0)).value_or(most);
    for (const Touch& touch : need.touches) bytes = base::checked_add(bytes, touch.bytes).value_or(most);
    for (const Bytes carried : need.carried) bytes = base::checked_add(bytes, carried).value_or(most);
    const auto cost = base::checked_multiply(bytes, *price);
    if (!cost || *cost > most - sum) return false;
    sum += *cost;
  }
  return true;
}

}  // namespace stowage::memories
