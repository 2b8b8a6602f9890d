// FastStays in a fast memory: against all choices and offsets of small problems, with costs counted touch by touch.

#include "pack/memories/spills.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "long_tests.h"
#include "pack/memories/needs.h"
#include "pack/memories/prices.h"

namespace stowage {
namespace {

using memories::FastStay;
using memories::FastStays;
using memories::Need;
using memories::Needs;
using memories::Touch;

using Random = std::mt19937_64;

std::int64_t pick_number(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

Need random_need(Random& random, Position end, int most_touches) {
  Need need{.size = pick_number(random, 1, 4), .slow_cost = 10};
  if (pick_number(random, 0, 3) == 0) need.stored = pick_number(random, 1, need.size);
  Position at = pick_number(random, 0, end / 2);
  for (std::int64_t i = pick_number(random, 1, most_touches); i > 0 && at < end; --i) {
    const Position last = std::min(end - 1, at + (pick_number(random, 0, 3) == 0 ? 1 : 0));
    if (!need.touches.empty()) need.carried.push_back(pick_number(random, 1, need.size));
    const bool writes = (need.touches.empty() && !need.stored) || pick_number(random, 0, 3) == 0;
    need.touches.push_back({at, last, pick_number(random, 0, 2 * need.size), writes});
    at = last + pick_number(random, 1, 3);
  }
  need.may_be_slow = true;
  need.may_be_fast = pick_number(random, 0, 9) > 0;
  return need;
}

Needs random_needs(Random& random, int most, int most_touches) {
  Needs needs{.capacity = pick_number(random, 3, 8), .end = 9};
  for (std::int64_t i = pick_number(random, 1, most); i > 0; --i)
    needs.all.push_back(random_need(random, needs.end, most_touches));
  if (pick_number(random, 0, 4) == 0) needs.reserved = {{1, 2}};
  return needs;
}

/// Plays the touches one by one: where the value is, and whether slow memory has it.
std::int64_t played_cost(const Needs& needs, const Need& need, const FastStays& stays) {
  std::int64_t cost = 0;
  bool slow_has_it = need.stored.has_value();
  std::optional<std::size_t> before;  // the stay of the touch before
  for (std::size_t i = 0; i < need.touches.size(); ++i) {
    std::optional<std::size_t> stay;
    for (std::size_t s = 0; s < stays.size(); ++s) {
      if (stays[s].first <= i && i <= stays[s].last) stay = s;
    }
    const std::int64_t copy = i > 0 ? need.carried[i - 1] * (needs.fast_cost + need.slow_cost) : 0;
    const bool leaves = before && stay != before;
    if (leaves && !slow_has_it) {
      cost += copy;
      slow_has_it = true;
    }
    if (i > 0 && stay && stay != before) cost += copy;
    if (i == 0 && stay && need.stored) cost += *need.stored * (needs.fast_cost + need.slow_cost);
    const Touch& touch = need.touches[i];
    cost += touch.bytes * (stay ? needs.fast_cost : need.slow_cost);
    if (touch.writes) slow_has_it = !stay;
    before = stay;
  }
  return cost;
}

/// All ways to be in the fast memory.
std::vector<FastStays> all_stays(const Need& need) {
  std::vector<FastStays> all;
  FastStays present;
  const std::function<void(std::size_t)> go_on = [&](std::size_t from) {
    if (from == need.touches.size()) return all.push_back(present);
    go_on(from + 1);
    for (std::size_t last = from; last < need.touches.size(); ++last) {
      present.push_back({from, last, 0});
      go_on(last + 1);
      present.pop_back();
    }
  };
  if (need.may_be_fast) {
    go_on(0);
  } else {
    all.push_back({});
  }
  return all;
}

struct Box {
  Position lower = 0;
  Position upper = 0;
  Bytes begin = 0;
  Bytes end = 0;
};

bool meet(const Box& a, const Box& b) {
  return a.lower < b.upper && b.lower < a.upper && a.begin < b.end && b.begin < a.end;
}

Box box_of(const Need& need, const FastStay& stay) {
  return {need.touches[stay.first].first, need.touches[stay.last].last + 1, stay.offset,
          stay.offset + need.size};
}

class BruteForce {
 public:
  explicit BruteForce(const Needs& needs) : needs_(needs) {
    for (const ByteRange& range : needs.reserved) boxes_.push_back({0, needs.end, range.begin, range.end});
  }

  std::int64_t least() {
    choose(0, 0);
    return best_;
  }

 private:
  void choose(std::size_t n, std::int64_t cost) {
    if (cost >= best_) return;
    if (n == needs_.all.size()) {
      best_ = cost;
      return;
    }
    for (const FastStays& stays : all_stays(needs_.all[n]))
      put(n, stays, 0, cost + played_cost(needs_, needs_.all[n], stays));
  }

  void put(std::size_t n, const FastStays& stays, std::size_t s, std::int64_t cost) {
    if (cost >= best_) return;
    if (s == stays.size()) return choose(n + 1, cost);
    FastStay stay = stays[s];
    for (stay.offset = 0; stay.offset + needs_.all[n].size <= needs_.capacity; ++stay.offset) {
      const Box box = box_of(needs_.all[n], stay);
      if (std::ranges::any_of(boxes_, [&](const Box& other) { return meet(box, other); })) continue;
      boxes_.push_back(box);
      put(n, stays, s + 1, cost);
      boxes_.pop_back();
    }
  }

  const Needs& needs_;
  std::vector<Box> boxes_;
  std::int64_t best_ = largest_value;
};

/// No two stays share a byte at a time, and all lie within the capacity.
void expect_apart(const Needs& needs, const std::vector<FastStays>& stays) {
  std::vector<Box> boxes;
  for (const ByteRange& range : needs.reserved) boxes.push_back({0, needs.end, range.begin, range.end});
  for (std::size_t n = 0; n < stays.size(); ++n) {
    EXPECT_TRUE(needs.all[n].may_be_fast || stays[n].empty());
    for (const FastStay& stay : stays[n]) {
      const Box box = box_of(needs.all[n], stay);
      EXPECT_LE(box.end, needs.capacity);
      EXPECT_TRUE(std::ranges::none_of(boxes, [&](const Box& other) { return meet(box, other); }));
      boxes.push_back(box);
    }
  }
}

pack::Control control_of(std::int64_t effort) {
  SolveOptions options;
  options.effort = effort;
  return {.options = options, .deadline = pack::deadline_of(options)};
}

TEST(FastStays, CostsAreThoseOfTouchesAndCopies) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    const Needs needs{.all = {random_need(random, 12, 5)}, .capacity = 8, .end = 12};
    std::int64_t cheapest = largest_value;
    for (const FastStays& stays : all_stays(needs.all[0])) {
      const std::int64_t cost = played_cost(needs, needs.all[0], stays);
      EXPECT_EQ(memories::cost_of(needs, needs.all[0], stays), cost);
      cheapest = std::min(cheapest, cost);
    }
    const memories::Prices free(needs.end);
    const memories::Least least = memories::least(needs, needs.all[0], free);
    EXPECT_EQ(least.cost, cheapest * memories::Prices::parts);
    EXPECT_EQ(memories::cost_of(needs, needs.all[0], least.stays), cheapest);
  }
}

/// With prices, for all that is allowed.
TEST(FastStays, ThePricesOfAStayCount) {
  Random random(2);
  for (int i = 0; i < 300; ++i) {
    const Needs needs{.all = {random_need(random, 12, 5)}, .capacity = 8, .end = 12};
    const Need& need = needs.all[0];
    memories::Prices prices(needs.end);
    for (std::size_t p = 0; p < static_cast<std::size_t>(needs.end); ++p)
      prices.sums[p + 1] = prices.sums[p] + pick_number(random, 0, 8 * memories::Prices::parts);
    memories::Allowed allowed;
    for (std::size_t t = 0; t < need.touches.size(); ++t) {
      allowed.touches.push_back(pick_number(random, 0, 3) > 0);
      allowed.gaps.push_back(pick_number(random, 0, 3) > 0);
    }
    std::int64_t cheapest = largest_value;
    for (const FastStays& stays : all_stays(need)) {
      std::int64_t cost = memories::Prices::parts * played_cost(needs, need, stays);
      bool may_be = true;
      for (const FastStay& stay : stays) {
        const Box box = box_of(need, stay);
        cost += need.size * prices.between(box.lower, box.upper);
        for (std::size_t t = stay.first; t <= stay.last; ++t)
          may_be = may_be && allowed.touches[t] && (t == stay.last || allowed.gaps[t]);
      }
      if (may_be) cheapest = std::min(cheapest, cost);
    }
    EXPECT_EQ(memories::least(needs, need, prices, &allowed).cost, cheapest);
  }
}

TEST(FastStays, AreAsCheapAsTheBestOfAll) {
  Random random(3);
  const int cases = testing::is_in_a_hurry() ? 40 : 120;
  int as_cheap = 0;
  for (int i = 0; i < cases; ++i) {
    const Needs needs = random_needs(random, 4, 3);
    ASSERT_TRUE(memories::are_small(needs));
    const std::int64_t least = BruteForce(needs).least();
    const memories::Spilling found = memories::choose_stays(needs, control_of(200));
    ASSERT_EQ(found.stays.size(), needs.all.size());
    expect_apart(needs, found.stays);
    std::int64_t cost = 0;
    for (std::size_t n = 0; n < found.stays.size(); ++n)
      cost += played_cost(needs, needs.all[n], found.stays[n]);
    EXPECT_EQ(found.cost, cost);
    EXPECT_LE(found.cost_bound, least) << i;
    EXPECT_LE(least, found.cost) << i;
    as_cheap += found.cost == least ? 1 : 0;
  }
  EXPECT_GE(as_cheap, cases * 95 / 100);
}

/// One that must be in the fast memory, and one whose bytes come and go.
TEST(FastStays, KeepWhatHasNoOtherPlace) {
  Needs needs{.capacity = 4, .end = 4};
  needs.all.push_back({.touches = {{0, 3, 1, true}}, .size = 3, .slow_cost = 10, .may_be_slow = false});
  needs.all.push_back(
      {.touches = {{0, 3, 9, true}}, .size = 4, .pieces = {{0, 1, {0, 2}}, {3, 1, {2, 4}}}, .slow_cost = 10});
  needs.all.push_back(
      {.touches = {{1, 1, 50, true}, {3, 3, 50, false}}, .carried = {50}, .size = 2, .slow_cost = 10});
  const memories::Spilling found = memories::choose_stays(needs, control_of(50));
  ASSERT_EQ(found.stays.size(), 3U);
  EXPECT_EQ(found.stays[0].size(), 1U);
  EXPECT_TRUE(found.stays[2].empty());
  EXPECT_LE(found.cost, 1 + 90 + 1000);
}

TEST(FastStays, NeverAskForMoreThanThereIs) {
  Random random(4);
  for (int i = 0; i < 5; ++i) {
    Needs needs{.capacity = 64, .end = 200};
    for (int n = 0; n < 300; ++n) {
      Need need = random_need(random, needs.end, 6);
      for (Touch& touch : need.touches) touch.bytes = need.size;
      need.size *= 4;
      needs.all.push_back(std::move(need));
    }
    const memories::Spilling short_one = memories::choose_stays(needs, control_of(100));
    const memories::Spilling long_one = memories::choose_stays(needs, control_of(1000));
    for (const auto* const it : {&short_one, &long_one}) {
      expect_apart(needs, it->stays);
      EXPECT_LE(it->cost_bound, it->cost);
    }
    EXPECT_LE(long_one.cost, short_one.cost);
    EXPECT_LE(static_cast<double>(long_one.cost), 1.3 * static_cast<double>(long_one.cost_bound));
  }
}

}  // namespace
}  // namespace stowage
