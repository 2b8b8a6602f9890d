// Orders of operators: that the least peak is found and proven, compared with all orders of small graphs.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "long_tests.h"
#include "oracle/naive_schedule.h"
#include "schedule/cuts.h"
#include "schedule/decide.h"
#include "schedule/heuristics.h"
#include "schedule/search.h"
#include "schedule/symmetry.h"
#include "schedule_cases.h"

namespace stowage::schedule {
namespace {

using oracle::Choices;
using oracle::naive_optimum;
using oracle::random_storage;

/// The first operator that can run, always.
Order some_order(const Storage& storage) {
  Executed executed(storage, Direction::forward);
  while (!executed.is_complete())
    executed.run(*std::min_element(executed.ready().begin(), executed.ready().end()));
  return executed.order();
}

const std::size_t graphs_per_kind = testing::is_in_a_hurry() ? 300 : 2000;
template <typename Check>
void for_random_storages(std::size_t count, const Check& check) {
  schedule::for_random_storages(Choices(7), count, [&](const Storage& storage, Choices&) { check(storage); });
}

TEST(Schedule, FindsAndProvesTheOptimumOfAllOrders) {
  for_random_storages(graphs_per_kind, [](const Storage& storage) {
    const Bytes optimum = naive_optimum(storage);
    const Storage plain = normalized(storage);
    const Order own = some_order(plain);
    Budget budget = unlimited();
    const Found found = find_order(plain, own, budget);
    ASSERT_EQ(naive_peak(storage, found.order), found.peak);
    ASSERT_EQ(found.peak, optimum);
    ASSERT_EQ(found.bound, optimum);
  });
}

TEST(Schedule, DecidesEveryCapacityInBothDirections) {
  for_random_storages(graphs_per_kind / 4, [](const Storage& storage) {
    const Bytes optimum = naive_optimum(storage);
    const Storage plain = normalized(storage);
    Symmetry symmetry(plain);
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      if (direction == Direction::backward && plain.first > 0) continue;
      for (const Bytes capacity : {optimum, optimum - 1, optimum / 2, optimum + 3}) {
        Budget budget = unlimited();
        const Decision decision = decide(plain, symmetry, direction, capacity, 1'000'000, budget);
        ASSERT_EQ(decision.order.has_value(), capacity >= optimum);
        ASSERT_EQ(decision.bound.has_value(), capacity < optimum);
        if (decision.bound) {
          ASSERT_GT(*decision.bound, capacity);
          ASSERT_LE(*decision.bound, optimum);
        } else {
          ASSERT_LE(naive_peak(storage, *decision.order), capacity);
        }
      }
    }
  });
}

TEST(Schedule, CutsAreBoundsAndBeamsKeepToTheCapacity) {
  for_random_storages(graphs_per_kind / 4, [](const Storage& storage) {
    const Bytes optimum = naive_optimum(storage);
    const Storage plain = normalized(storage);
    Budget budget = unlimited();
    for (std::size_t op = 0; op < plain.operators(); ++op) ASSERT_LE(least_load(plain, op), optimum);
    for (const Order& order : greedy_orders(plain)) {
      ASSERT_GE(naive_peak(storage, order), optimum);
      ASSERT_EQ(naive_peak(storage, order), peak_of(plain, order));
      ASSERT_LE(bound_by_cuts(plain, order, budget), optimum);
    }
    const auto order = beam(plain, Direction::forward, optimum, 100, budget);
    if (order) {
      ASSERT_LE(naive_peak(storage, *order), optimum);
    }
  });
}

TEST(Schedule, ExecutingAndTakingBackLeavesNoTrace) {
  for_random_storages(200, [](const Storage& storage) {
    const Storage plain = normalized(storage);
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      Executed executed(plain, direction);
      std::vector<Bytes> alive;
      while (!executed.is_complete()) {
        alive.push_back(executed.live());
        const std::size_t op = executed.ready().front();
        const Effect effect = executed.effect_of(op);
        executed.run(op);
        ASSERT_EQ(executed.live(), effect.after);
        executed.undo();
        ASSERT_EQ(executed.live(), alive.back());
        ASSERT_EQ(executed.effect_of(op).during, effect.during);
        executed.run(op);
      }
      for (; !alive.empty(); alive.pop_back()) {
        executed.undo();
        ASSERT_EQ(executed.live(), alive.back());
      }
      ASSERT_EQ(executed.hash(), 0U);
    }
  });
}

TEST(Schedule, ACutBoundsWhatNoOrderOfAForkCanAvoid) {
  // a forks into b and c, which d joins; while b or c runs the other's input or output is alive.
  Storage storage;
  storage.own = {0, 0, 0, 0};
  storage.waits_for.resize(4);
  storage.values = {{.size = 10, .writer = 0, .readers = {1, 2}},
                    {.size = 7, .writer = 1, .readers = {3}},
                    {.size = 5, .writer = 2, .readers = {3}},
                    {.size = 1, .writer = 3, .kept = true}};
  const Storage plain = normalized(storage);
  EXPECT_EQ(least_load(plain, 0), 10);
  EXPECT_EQ(least_load(plain, 1), 17);  // before c
  EXPECT_EQ(least_load(plain, 2), 15);  // before b
  EXPECT_EQ(least_load(plain, 3), 13);
  Budget budget = unlimited();
  const Found found = find_order(plain, Order{0, 2, 1, 3}, budget);
  EXPECT_EQ(found.peak, 22);
  EXPECT_EQ(found.bound, 22);
}

/// Branches side by side from one value to an operator that joins them, each a chain with these sizes
/// between.
Storage branches(std::size_t count, const std::vector<Bytes>& sizes) {
  Storage storage;
  storage.own.assign(count * (sizes.size() + 1) + 1, 0);
  storage.waits_for.resize(storage.own.size());
  const std::size_t join = storage.own.size() - 1;
  Value input{.size = 8};
  for (std::size_t b = 0; b < count; ++b) {
    const std::size_t first = b * (sizes.size() + 1);
    input.readers.push_back(first);
    for (std::size_t i = 0; i < sizes.size(); ++i)
      storage.values.push_back({.size = sizes[i], .writer = first + i, .readers = {first + i + 1}});
    storage.values.push_back({.size = 2, .writer = first + sizes.size(), .readers = {join}});
    storage.overwrites.push_back({first + 1, {storage.values.size() - sizes.size() - 1}});
  }
  storage.values.push_back(input);
  storage.values.push_back({.size = 4, .writer = join, .kept = true});
  return normalized(storage);
}

TEST(Schedule, EqualBranchesAreOne) {
  const Storage storage = branches(12, {16, 5, 11});
  Symmetry symmetry(storage);
  ASSERT_FALSE(symmetry.is_trivial());
  std::vector<std::uint64_t> third{std::uint64_t{0b0111} << 8};
  std::vector<std::uint64_t> seventh{std::uint64_t{0b0111} << 24};
  std::vector<std::uint64_t> other{std::uint64_t{0b1111} << 24};
  for (auto* const set : {&third, &seventh, &other}) symmetry.make_canonical(*set);
  EXPECT_EQ(third, seventh);
  EXPECT_NE(third, other);
  Budget budget = unlimited();
  const Found found = find_order(storage, some_order(storage), budget);
  EXPECT_EQ(found.peak, found.bound);
  EXPECT_LT(found.states, 5000);
}

TEST(Schedule, BranchesThatDifferAreNotExchanged) {
  const auto is_symmetric = [](const auto& change) {
    Storage storage = branches(2, {16, 5, 11});
    change(storage);
    return !Symmetry(normalized(storage)).is_trivial();
  };
  EXPECT_TRUE(is_symmetric([](Storage&) {}));
  EXPECT_FALSE(is_symmetric([](Storage& it) { it.values[0].size = 17; }));
  EXPECT_FALSE(is_symmetric([](Storage& it) { it.values[2].kept = true; }));
  EXPECT_FALSE(is_symmetric([](Storage& it) { it.own[1] = 1; }));
  EXPECT_FALSE(is_symmetric([](Storage& it) { it.overwrites.pop_back(); }));
  EXPECT_FALSE(is_symmetric([](Storage& it) { it.waits_for[4].push_back(3); }));
  EXPECT_FALSE(is_symmetric([](Storage& it) { it.values[1].readers.push_back(7); }));
}

/// Random graphs made of copies of one that share inputs and are joined.
TEST(Schedule, ProvesTheOptimumOfSymmetricGraphs) {
  Choices choices(11);
  std::size_t symmetric = 0;
  const int graphs = testing::is_in_a_hurry() ? 150 : 1000;
  for (int i = 0; i < graphs; ++i) {
    const Storage part =
        random_storage(choices, {.operators = 3, .overwrites = i % 2 == 0, .parts = i % 4 == 0});
    const std::size_t copies = 2 + choices.below(2);
    Storage storage{.always = part.always};
    for (std::size_t c = 0; c < copies; ++c) {
      const std::size_t ops = storage.own.size();
      const std::size_t values = storage.values.size();
      storage.own.insert(storage.own.end(), part.own.begin(), part.own.end());
      for (auto earlier : part.waits_for) {
        for (std::size_t& op : earlier) op += ops;
        storage.waits_for.push_back(earlier);
      }
      for (Value value : part.values) {
        if (value.writer) *value.writer += ops;
        for (std::size_t& reader : value.readers) reader += ops;
        storage.values.push_back(value);
      }
      for (Overwrite overwrite : part.overwrites) {
        overwrite.op += ops;
        for (std::size_t& v : overwrite.values) v += values;
        storage.overwrites.push_back(overwrite);
      }
    }
    const Storage plain = normalized(storage);
    symmetric += Symmetry(plain).is_trivial() ? 0 : 1;
    Budget budget = unlimited();
    const Found found = find_order(plain, some_order(plain), budget);
    ASSERT_EQ(found.peak, naive_optimum(storage)) << i;
    ASSERT_EQ(found.bound, found.peak) << i;
    ASSERT_EQ(naive_peak(storage, found.order), found.peak) << i;
  }
  EXPECT_GT(symmetric, static_cast<std::size_t>(graphs / 3));
}

TEST(Schedule, SetsThatShareAHashAreNotTakenForEachOther) {
  SeenSets seen(1);
  for (std::uint64_t set = 1; set <= 5000; ++set) EXPECT_TRUE(seen.insert(std::span(&set, 1), 42 + set % 3));
  for (std::uint64_t set = 1; set <= 5000; ++set) EXPECT_FALSE(seen.insert(std::span(&set, 1), 42 + set % 3));
}

TEST(Schedule, StopsWhenTheTimeIsUpWithAValidOrder) {
  Choices choices(3);
  for (int i = 0; i < 20; ++i) {
    const Storage plain = normalized(random_storage(choices, {.operators = 60, .overwrites = true}));
    const Order own = some_order(plain);
    Budget none(base::Deadline(base::Deadline::Seconds(0)));
    const Found found = find_order(plain, own, none);
    EXPECT_LE(found.peak, peak_of(plain, own));
    EXPECT_LE(found.bound, found.peak);
    EXPECT_EQ(naive_peak(plain, found.order), found.peak);
  }
}

}  // namespace
}  // namespace stowage::schedule
