// Buffers of several clocks on one: which pieces are live together, against all pairs of random clocks; and plans near
// an earlier plan, of networks that run at the same time.

#include "plan/one_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "oracle/random_graph.h"
#include "random_networks.h"
#include "stowage/planner.h"

namespace stowage {
namespace {

struct Clocks {
  std::vector<Clock> clocks{};
  std::vector<std::pair<std::size_t, Position>> forks{};  ///< Of each clock: the clock and position.
};

Clocks random_clocks(oracle::Choices& choices) {
  Clocks it{.clocks = {Clock{}}, .forks = {{0, 0}}};
  for (std::size_t clock = 0; clock < it.clocks.size(); ++clock) {
    const std::size_t steps = choices.below(5);
    for (std::size_t at = 0; at < steps; ++at) {
      if (it.clocks.size() > 7 || !choices.chance(40)) {
        it.clocks[clock].steps.emplace_back(stowage::Run{});
        continue;
      }
      Fork fork;
      for (std::size_t branch = 1 + choices.below(3); branch > 0; --branch) {
        fork.clocks.push_back(it.clocks.size());
        it.clocks.emplace_back();
        it.forks.emplace_back(clock, static_cast<Position>(at));
      }
      it.clocks[clock].steps.emplace_back(std::move(fork));
    }
  }
  return it;
}

/// Each piece has a size of its own.
std::vector<Buffer> random_buffers(const Clocks& clocks, oracle::Choices& choices) {
  std::vector<Buffer> buffers;
  Bytes next = 1;
  const std::size_t count = choices.below(14);
  for (std::size_t b = 0; b < count; ++b) {
    Buffer& buffer = buffers.emplace_back();
    buffer.clock = choices.below(clocks.clocks.size());
    for (std::size_t p = choices.below(4); p > 0; --p) {
      const Position begin = choices.between(0, std::ssize(clocks.clocks[buffer.clock].steps));
      buffer.pieces.push_back({next, next, {begin, begin + choices.between(0, 2)}});
      buffer.size = 2 * next++;
    }
  }
  return buffers;
}

/// The moment as the clocks around it see it.
std::map<std::size_t, Lifetime> seen(const Clocks& clocks, std::size_t clock, Lifetime life) {
  std::map<std::size_t, Lifetime> all{{clock, life}};
  while (clock != 0) {
    const Position at = clocks.forks[clock].second;
    clock = clocks.forks[clock].first;
    all[clock] = {at, at + 1};
  }
  return all;
}

bool meet(const Lifetime& a, const Lifetime& b) { return a.lower < b.upper && b.lower < a.upper; }

/// Whether both are live at one time: on the innermost clock around both.
bool are_live_together(const Clocks& clocks, const Buffer& a, const Piece& one, const Buffer& b,
                       const Piece& other) {
  if (!one.is_ever_alive() || !other.is_ever_alive()) return false;
  const auto first = seen(clocks, a.clock, one.life);
  const auto second = seen(clocks, b.clock, other.life);
  std::size_t innermost = 0;  // clocks are numbered from the root
  for (const auto& [clock, life] : first) {
    if (second.contains(clock)) innermost = clock;
  }
  return meet(first.at(innermost), second.at(innermost));
}

TEST(OneClock, HasThosePiecesTogetherThatAreLiveAtOneTime) {
  int together = 0;
  int apart = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    oracle::Choices choices(seed);
    const Clocks clocks = random_clocks(choices);
    const std::vector<Buffer> buffers = random_buffers(clocks, choices);
    const auto joined = plan::on_one_clock(buffers, clocks.clocks);
    ASSERT_TRUE(joined);
    ASSERT_EQ(joined->size(), buffers.size());
    for (std::size_t a = 0; a < buffers.size(); ++a) {
      EXPECT_EQ((*joined)[a].clock, 0U);
      EXPECT_EQ((*joined)[a].size, buffers[a].size);
      for (std::size_t b = 0; b < a; ++b) {
        for (const Piece& one : buffers[a].pieces) {
          for (const Piece& other : buffers[b].pieces) {
            bool found = false;
            for (const Piece& it : (*joined)[a].pieces) {
              for (const Piece& that : (*joined)[b].pieces)
                found = found || (it.size == one.size && that.size == other.size && meet(it.life, that.life));
            }
            EXPECT_EQ(found, are_live_together(clocks, buffers[a], one, buffers[b], other));
            ++(found ? together : apart);
          }
        }
      }
    }
  }
  EXPECT_GT(together, 2000);
  EXPECT_GT(apart, 2000);
}

TEST(OneClock, HasPiecesOfOneBufferAsTheyAre) {
  const std::vector<Clock> clocks{{{Fork{{1, 2}}}}, {{stowage::Run{}, stowage::Run{}}}, {{stowage::Run{}}}};
  const std::vector<Buffer> buffers{
      {.id = "a", .clock = 1, .size = 4, .pieces = {{0, 2, {0, 1}}, {2, 2, {1, 2}}}},
      {.id = "b", .clock = 2, .size = 4, .pieces = {{0, 4, {0, 1}}}}};
  const auto joined = plan::on_one_clock(buffers, clocks);
  ASSERT_TRUE(joined);
  for (const Piece& low : (*joined)[0].pieces) {
    for (const Piece& high : (*joined)[0].pieces)
      EXPECT_FALSE(low.offset != high.offset && meet(low.life, high.life));
  }
}

TEST(OneClock, IsNoneOfTooManyPieces) {
  std::vector<Clock> clocks{{{Fork{{1, 2}}}}, Clock{}, Clock{}};
  std::vector<Buffer> buffers;
  for (Position at = 0; at < 3000; ++at) {
    for (const std::size_t clock : {1U, 2U}) {
      clocks[clock].steps.resize(3000, stowage::Run{});
      buffers.push_back({.clock = clock, .size = 1, .pieces = {{0, 1, {at, at + 1}}}});
    }
  }
  EXPECT_FALSE(plan::on_one_clock(buffers, clocks));
}

TEST(Nearness, OfNetworksAtTheSameTimeIsThatOfOneClock) {
  int at_one_time = 0;
  int moved = 0;
  std::int64_t kept = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    testing::Scenario scenario = testing::random_scenario(seed);
    std::vector<Input> inputs;
    for (const Network& network : scenario.networks) inputs.push_back(network.input);
    PlanOptions options = scenario.options;
    options.solve.effort = 50;
    options.solve.strategy = SolveOptions().strategy;
    const Plan own = make_plan(inputs, options).plan;
    PlanOptions other = options;
    other.solve.strategy = "greedy-by-breadth";
    const Plan before = make_plan(inputs, other).plan;
    if (before.clocks.size() == 1 || before.buffers.empty()) continue;
    ++at_one_time;
    options.near = places_in(before);
    for (std::size_t i = 2; i < options.near.size(); i += 2)  // wishes that are in conflict
      std::swap(options.near[i].offset, options.near[i - 2].offset);
    const PlanResult after = make_plan(inputs, options);
    for (const Fault& fault : after.faults) ADD_FAILURE() << fault.what;
    for (std::size_t m = 0; m < own.memories.size(); ++m) {
      const Memory& memory = own.memories[m].memory;
      if (memory.role != MemoryRole::working || memory.capacity) continue;
      EXPECT_LE(after.plan.memories[m].peak, own.memories[m].peak);
    }
    ASSERT_TRUE(after.nearness);
    if (after.nearness->buffers_kept < after.nearness->buffers) ++moved;
    kept += after.nearness->buffers_kept;
    options.near = places_in(own);
    const PlanResult again = make_plan(inputs, options);
    EXPECT_TRUE(again.faults.empty());
    EXPECT_EQ(again.nearness->buffers_kept, again.nearness->buffers);
  }
  EXPECT_GT(at_one_time, 20);
  EXPECT_GT(moved, 10);
  EXPECT_GT(kept, 100);
}

}  // namespace
}  // namespace stowage
