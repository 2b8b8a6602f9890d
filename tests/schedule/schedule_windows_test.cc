// What holds for pairs of operators and windows of orders, compared with all sets and all orders of small
// graphs.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "long_tests.h"
#include "oracle/naive_schedule.h"
#include "schedule/cuts.h"
#include "schedule/executed.h"
#include "schedule/pairs.h"
#include "schedule/search.h"
#include "schedule/storage.h"
#include "schedule/windows.h"
#include "schedule_cases.h"

namespace stowage::schedule {
namespace {

using oracle::Choices;
using oracle::naive_optimum;
using oracle::random_storage;

Order random_order(const Storage& storage, Choices& choices) {
  Executed executed(storage, Direction::forward);
  while (!executed.is_complete()) executed.run(executed.ready()[choices.below(executed.ready().size())]);
  return executed.order();
}

template <typename Check>
void for_random_storages(std::size_t count, const Check& check) {
  schedule::for_random_storages(Choices(13), testing::cases_of(count), check);
}

TEST(Pairs, BoundsAreNeverAboveTheOptimumAndOftenAboveCuts) {
  std::size_t open = 0;
  std::size_t raised = 0;
  std::size_t proven = 0;
  for_random_storages(1400, [&](const Storage& storage, Choices& choices) {
    const Bytes optimum = naive_optimum(storage);
    const Storage plain = normalized(storage);
    const Order own = random_order(plain, choices);
    Budget budget = unlimited();
    const Bytes cuts = bound_by_cuts(plain, own, budget);
    const PairOptions options{.unit = 1, .most_work = 1'000'000'000};
    for (const Storage& it : {plain, delayed(plain)}) {
      const Bytes bound = bound_by_pairs(it, cuts, peak_of(plain, own), options, budget);
      ASSERT_LE(bound, optimum);
      ASSERT_GE(bound, cuts);
      open += cuts < optimum ? 1 : 0;
      raised += bound > cuts ? 1 : 0;
      proven += cuts < optimum && bound == optimum ? 1 : 0;
    }
  });
  EXPECT_GT(open, 30U);
  EXPECT_GT((testing::is_in_a_hurry() ? 5 : 4) * raised, open);
  EXPECT_GT(8 * proven, open);
}

TEST(Pairs, WithoutWorkTheBoundStaysWhatItIs) {
  Choices choices(3);
  const Storage plain = normalized(random_storage(choices, {.operators = 60, .overwrites = true}));
  Budget budget = unlimited();
  EXPECT_EQ(bound_by_pairs(plain, 5, 1'000'000, {.unit = 1, .most_work = 0}, budget), 5);
}

/// Bytes alive when these have run.
Bytes naive_live(const Storage& storage, std::size_t executed) {
  const auto has_run = [&](std::size_t op) { return (executed >> op & 1U) != 0; };
  Bytes live = 0;
  for (const Value& value : storage.values) {
    const bool is_wanted = value.kept || !std::all_of(value.readers.begin(), value.readers.end(), has_run);
    if (is_wanted && (!value.writer || has_run(*value.writer))) live += value.size;
  }
  return live;
}

/// The least bytes alive of all sets that can run the operator, with the other one among them or not.
Bytes naive_least(const Storage& storage, const Precedence& precedence, std::size_t op, std::size_t other,
                  bool with_other) {
  Bytes least = base::FlowNetwork::unlimited;
  for (std::size_t set = 0; set < std::size_t{1} << storage.operators(); ++set) {
    const auto has_run = [&](std::size_t it) { return (set >> it & 1U) != 0; };
    bool is_valid = !has_run(op) && has_run(other) == with_other;
    for (std::size_t it = 0; it < storage.operators(); ++it) {
      if (!has_run(it) && it != op) continue;
      for_each(precedence.before(it), [&](std::size_t earlier) { is_valid = is_valid && has_run(earlier); });
    }
    if (is_valid) least = std::min(least, naive_live(storage, set));
  }
  return least;
}

TEST(Pairs, CutsWithAndWithoutAnotherOperatorAreTheLeastOfAllSets) {
  std::size_t pairs = 0;
  for_random_storages(40, [&](const Storage& storage, Choices& choices) {
    const Storage plain = normalized(storage);
    Precedence precedence(plain);
    const Order order = random_order(plain, choices);
    const Chains chains(plain);
    for (std::size_t i = 0; i + 4 < order.size(); i += 3) {
      if (contains(chains.heads, order[i + 4])) {
        ASSERT_TRUE(precedence.require(order[i], order[i + 4]));
      }
    }
    const auto direct = precedence.direct();
    PairCut cut(plain, chains, precedence, direct);
    constexpr Bytes enough = base::FlowNetwork::unlimited;
    for (std::size_t op = 0; op < plain.operators(); ++op) {
      for_each(precedence.undecided(op), [&](std::size_t other) {
        if (chains.leaders[other] != other) return;
        const Bytes least = cut.least_alive(op, nullptr, enough);
        const std::vector<Bytes> sent = cut.sent();
        const Bytes with = least + cut.with(other, enough);
        EXPECT_EQ(with, naive_least(plain, precedence, op, other, true));
        EXPECT_TRUE(contains(cut.most(), other));
        cut.go_back_to(sent);
        const Bytes without = least + cut.without(other, enough);
        EXPECT_EQ(without, naive_least(plain, precedence, op, other, false));
        EXPECT_FALSE(contains(cut.fewest(), other));
        EXPECT_EQ(least, std::min(with, without));
        ++pairs;
      });
    }
  });
  EXPECT_GT(pairs, testing::cases_of(500));
}

TEST(Windows, NeedAtEachStepWhatTheWholeOrderNeedsThere) {
  for_random_storages(150, [](const Storage& storage, Choices& choices) {
    const Storage plain = normalized(storage);
    const Order order = random_order(plain, choices);
    const std::vector<Bytes> loads = loads_of(plain, order);
    for (std::size_t begin = 0; begin < order.size(); ++begin) {
      for (std::size_t end = begin + 1; end <= order.size(); ++end) {
        const Storage window = window_of(plain, order, begin, end);
        Order inside;
        for (std::size_t i = 0; i < end - begin; ++i) inside.push_back(i);
        const auto first = loads.begin() + static_cast<std::ptrdiff_t>(begin);
        ASSERT_EQ(loads_of(window, inside),
                  std::vector<Bytes>(first, first + static_cast<std::ptrdiff_t>(end - begin)));
      }
    }
  });
}

TEST(Windows, ThatCoverAnOrderFindTheOptimum) {
  for_random_storages(150, [](const Storage& storage, Choices& choices) {
    const Bytes optimum = naive_optimum(storage);
    const Storage plain = normalized(storage);
    Budget budget = unlimited();
    const Order order = random_order(plain, choices);
    const auto best = mended(plain, order, optimum, 10'000, budget);
    ASSERT_TRUE(best);
    ASSERT_LE(naive_peak(storage, *best), std::max(optimum, plain.always));
    ASSERT_FALSE(mended(plain, order, optimum - 1, 10'000, budget));
  });
}

TEST(Windows, LowerOrdersOfLargerGraphsStepByStep) {
  Choices choices(17);
  std::size_t lowered = 0;
  std::size_t optimal = 0;
  const std::size_t graphs = testing::cases_of(60);
  for (std::size_t i = 0; i < graphs; ++i) {
    const Storage plain = normalized(random_storage(choices, {.operators = 50, .overwrites = i % 2 == 0}));
    Order order = random_order(plain, choices);
    Budget budget = unlimited();
    const Found found = find_order(plain, order, budget);
    const Bytes own = peak_of(plain, order);
    for (Bytes capacity = own - 1;; capacity = peak_of(plain, order) - 1) {
      auto lower = mended(plain, order, capacity, 200, budget);
      if (!lower) break;
      ASSERT_LE(naive_peak(plain, *lower), capacity);
      order = std::move(*lower);
    }
    lowered += peak_of(plain, order) < own ? 1 : 0;
    optimal += peak_of(plain, order) == found.peak ? 1 : 0;
    ASSERT_GE(peak_of(plain, order), found.bound);
  }
  EXPECT_GT(2 * lowered, graphs);
  EXPECT_GT(2 * optimal, graphs);
}

}  // namespace
}  // namespace stowage::schedule
