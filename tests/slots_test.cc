// The pool of equal slots: as few as there can be, each buffer at the beginning of one, and the rest beside.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "problems.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using testing::aligned;
using testing::pinned;
using testing::problem_of;
using testing::whole;

constexpr std::uint64_t random_problems = 3000;

Buffer state(Buffer buffer) {
  buffer.kind = TensorKind::state;
  return buffer;
}

std::vector<Bytes> offsets_of(const Problem& problem) {
  std::vector<Bytes> offsets;
  for (const Place& place : solve(problem, {.strategy = "slots"}).places) offsets.push_back(place.offset);
  return offsets;
}

TEST(Slots, EachTakesTheLowestThatIsFree) {
  const Problem problem =
      problem_of({whole("a", 4, 0, 2), whole("b", 10, 1, 4), whole("c", 2, 2, 5), whole("d", 7, 4, 6)});
  EXPECT_EQ(offsets_of(problem), (std::vector<Bytes>{0, 10, 0, 10}));
}

TEST(Slots, AreRoundedUpToTheAlignment) {
  const Problem problem = problem_of({aligned(whole("a", 9, 0, 2), 4), aligned(whole("b", 1, 1, 3), 6)});
  EXPECT_EQ(offsets_of(problem), (std::vector<Bytes>{0, 12}));
}

TEST(Slots, StateAndPinsAreBesideThePool) {
  // The pool of 2 * 8 does not fit below b; state takes what is left there.
  const Problem problem = problem_of(
      {state(whole("s", 5, 0, 4)), pinned(whole("b", 2, 0, 1), 6), whole("c", 8, 1, 3), whole("d", 3, 2, 4)});
  EXPECT_EQ(offsets_of(problem), (std::vector<Bytes>{0, 6, 8, 16}));
}

TEST(Slots, InputsAndOutputsAreInThePool) {
  Problem problem = problem_of({whole("x", 6, 0, 1), whole("y", 4, 1, 2)});
  problem.buffers[0].kind = TensorKind::input;
  problem.buffers[1].kind = TensorKind::output;
  EXPECT_EQ(offsets_of(problem), (std::vector<Bytes>{0, 0}));
}

TEST(Slots, NothingIsAliveThenNothingIsNeeded) {
  EXPECT_EQ(offsets_of(problem_of({})), std::vector<Bytes>{});
  EXPECT_EQ(offsets_of(problem_of({{.id = "a", .size = 4}, pinned(whole("b", 4, 0, 1), 3)})),
            (std::vector<Bytes>{0, 3}));
}

TEST(Slots, DoNotApplyWhereThereIsNoRoomForThem) {
  Problem problem = problem_of({whole("a", 4, 0, 2)});
  EXPECT_EQ(obstacle_to("slots", problem), std::nullopt);
  problem.memories.push_back({.name = "slow"});
  EXPECT_EQ(obstacle_to("slots", problem), "places buffers in one memory, 2 are given");
  const Bytes half = largest_value / 2;
  problem = problem_of({whole("a", half, 0, 2), whole("b", 1, 0, 2)});
  EXPECT_EQ(obstacle_to("slots", problem), "needs 2 slots of " + std::to_string(half) +
                                               " bytes each, which is more than there are addresses");
  problem.buffers.push_back(whole("c", 1, 1, 2));
  EXPECT_NE(obstacle_to("slots", problem), std::nullopt);
  problem = problem_of({aligned(whole("a", 1, 0, 1), largest_value - 1), aligned(whole("b", 1, 0, 1), 64)});
  EXPECT_EQ(obstacle_to("slots", problem),
            "needs a common multiple of all alignments, which is too large here");
}

/// From the first position to the last, gaps and all.
Lifetime hull_of(const Buffer& buffer) {
  Lifetime hull{std::numeric_limits<Position>::max(), 0};
  for (const Piece& piece : buffer.pieces) {
    if (!piece.is_ever_alive()) continue;
    hull = {std::min(hull.lower, piece.life.lower), std::max(hull.upper, piece.life.upper)};
  }
  return hull;
}

bool is_pooled(const Buffer& buffer) {
  return buffer.kind != TensorKind::state && !buffer.pinned && hull_of(buffer).upper > 0;
}

/// Buffers of the pool as they conflict.
std::vector<Lifetime> pooled_lives(const Problem& problem) {
  std::vector<Lifetime> lives;
  for (const Buffer& buffer : problem.buffers) {
    if (is_pooled(buffer)) lives.push_back(hull_of(buffer));
  }
  return lives;
}

/// Whether so many slots do, by trying every slot for every buffer.
bool slots_do(const std::vector<Lifetime>& lives, std::size_t count, std::vector<std::size_t>& slots) {
  if (slots.size() == lives.size()) return true;
  const Lifetime& life = lives[slots.size()];
  for (std::size_t slot = 0; slot < count; ++slot) {
    bool is_free = true;
    for (std::size_t other = 0; other < slots.size(); ++other) {
      const bool meets = lives[other].lower < life.upper && life.lower < lives[other].upper;
      is_free = is_free && !(meets && slots[other] == slot);
    }
    if (!is_free) continue;
    slots.push_back(slot);
    if (slots_do(lives, count, slots)) return true;
    slots.pop_back();
  }
  return false;
}

std::size_t fewest_slots(const std::vector<Lifetime>& lives) {
  for (std::size_t count = 0;; ++count) {
    std::vector<std::size_t> slots;
    if (slots_do(lives, count, slots)) return count;
  }
}

std::size_t most_alive(const std::vector<Lifetime>& lives) {
  std::size_t most = 0;
  for (const Lifetime& at : lives) {
    most = std::max(
        most, static_cast<std::size_t>(std::count_if(lives.begin(), lives.end(), [&](const Lifetime& life) {
          return life.lower <= at.lower && at.lower < life.upper;
        })));
  }
  return most;
}

/// The different slots that are used, each one a whole number of slots above the lowest.
std::size_t expect_slots(const Problem& problem, const std::vector<Bytes>& offsets) {
  Bytes slot = 1;
  Bytes common = 1;
  for (const Buffer& buffer : problem.buffers) {
    common = std::lcm(common, buffer.alignment);
    if (is_pooled(buffer)) slot = std::max(slot, buffer.size);
  }
  while (slot % common != 0) ++slot;
  std::vector<Bytes> used;
  for (std::size_t b = 0; b < offsets.size(); ++b) {
    if (is_pooled(problem.buffers[b])) used.push_back(offsets[b]);
  }
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (const Bytes offset : used) EXPECT_EQ((offset - used[0]) % slot, 0);
  EXPECT_TRUE(used.empty() || used.back() - used[0] == slot * (std::ssize(used) - 1));
  EXPECT_TRUE(used.empty() || used[0] % common == 0);
  for (std::size_t b = 0; b < offsets.size() && !used.empty(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    const bool is_whole = buffer.pieces.size() == 1 && buffer.pieces[0].size == buffer.size;
    if (is_pooled(buffer) || hull_of(buffer).upper == 0 || !is_whole) continue;
    EXPECT_TRUE(offsets[b] + buffer.size <= used[0] || offsets[b] >= used.back() + slot) << buffer.id;
  }
  return used.size();
}

TEST(Slots, AreAsFewAsAreAliveAtOnce) {
  for (std::uint64_t seed = 0; seed < random_problems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = oracle::random_problem(seed);
    oracle::Random random(seed);
    for (Buffer& buffer : problem.buffers) {
      if (random.chance(15)) buffer.kind = TensorKind::state;
    }
    const std::vector<Bytes> offsets = offsets_of(problem);
    EXPECT_EQ(oracle::fault_of(problem, offsets), std::nullopt);
    const std::vector<Lifetime> lives = pooled_lives(problem);
    EXPECT_EQ(expect_slots(problem, offsets), most_alive(lives));
    EXPECT_EQ(fewest_slots(lives), most_alive(lives));
  }
}

TEST(Slots, AreAsFewAsAreAliveAtOnceOfManyBuffersToo) {
  for (std::uint64_t seed = 0; seed < 20 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = oracle::random_problem(
        seed,
        {.buffers = 400, .positions = 200, .longest_life = 20, .largest_size = 30, .largest_alignment = 8});
    EXPECT_EQ(expect_slots(problem, offsets_of(problem)), most_alive(pooled_lives(problem)));
  }
}

}  // namespace
}  // namespace stowage
