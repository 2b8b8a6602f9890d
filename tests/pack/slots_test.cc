// The pool of equal slots: as few as there can be, each buffer at the beginning of one, and the rest beside.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "oracle/naive_pack.h"
#include "oracle/random_graph.h"
#include "oracle/random_problem.h"
#include "plan_sketch.h"
#include "problems.h"
#include "stowage/export.h"
#include "stowage/plan.h"
#include "stowage/planner.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using testing::aligned;
using testing::pinned;
using testing::problem_of;
using testing::whole;

constexpr std::uint64_t random_problems = 3000;

Buffer of_kind(TensorKind kind, Buffer buffer) {
  buffer.kind = kind;
  return buffer;
}

Buffer state(Buffer buffer) { return of_kind(TensorKind::state, std::move(buffer)); }

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

TEST(Slots, InputsAndOutputsAreBesideThePool) {
  // One slot of 9, in which t comes after s; x and y are above, where each goes as low as it can.
  const Problem problem = problem_of({of_kind(TensorKind::input, whole("x", 6, 0, 2)), whole("s", 5, 0, 1),
                                      of_kind(TensorKind::scratch, whole("t", 9, 1, 3)),
                                      of_kind(TensorKind::output, whole("y", 4, 2, 3))});
  EXPECT_EQ(offsets_of(problem), (std::vector<Bytes>{9, 0, 0, 9}));
}

TEST(Slots, ThePoolTakesAllOfItsBytes) {
  // The last slot of 64 holds 32 bytes, and the pool is 128 bytes all the same.
  Problem problem = problem_of({whole("a", 64, 0, 2), whole("b", 32, 1, 3)});
  const Solution solution = solve(problem, {.strategy = "slots"});
  EXPECT_EQ(solution.slots, (SlotPool{.size = 64, .count = 2, .life = {0, 3}}));
  EXPECT_EQ(peak_of(problem, solution, 0), 128);
  EXPECT_EQ(solution.lower_bound, 96);
  problem.memories[0].capacity = 127;
  EXPECT_EQ(solve(problem, {.strategy = "slots"}).outcome, Outcome::exceeds_capacity);
  problem.memories[0].capacity = 128;
  EXPECT_EQ(solve(problem, {.strategy = "slots"}).outcome, Outcome::fits);
  EXPECT_EQ(peak_of(problem, solve(problem), 0), 96) << "without a pool";
  EXPECT_EQ(solve(problem).slots, std::nullopt);
  EXPECT_EQ(solve(problem_of({pinned(whole("p", 4, 0, 1), 8)}), {.strategy = "slots"}).slots, std::nullopt);
}

// In plans.

PlanResult plan_of(const std::vector<Graph>& graphs, PlanOptions options = {}) {
  std::vector<Input> inputs;
  for (const Graph& graph : graphs)
    inputs.push_back({{"net" + std::to_string(inputs.size()), "net.json", ModelFormat::json}, graph});
  options.solve.strategy = "slots";
  return make_plan(inputs, options);
}

Plan plan_of_list(std::vector<Buffer> buffers) {
  PlanOptions options;
  options.solve.strategy = "slots";
  PlanResult result =
      make_plan(Input{{"list", "list.csv", ModelFormat::csv}, problem_of(std::move(buffers))}, options);
  EXPECT_TRUE(result.faults.empty()) << result.faults.front().what;
  return std::move(result.plan);
}

Plan two_slots() { return plan_of_list({whole("a", 64, 0, 2), whole("b", 32, 1, 3), whole("c", 16, 2, 4)}); }

TEST(Slots, AreInPlansAndCount) {
  const Plan plan = two_slots();
  EXPECT_EQ(plan.slots, (std::vector<SlotPool>{{.size = 64, .count = 2, .life = {0, 4}}}));
  EXPECT_EQ(plan.memories[0].peak, 128);
  EXPECT_EQ(plan.summary.peak, 128);
  std::ostringstream summary;
  write_summary(plan, summary);
  EXPECT_NE(summary.str().find("slots        2 of 64 bytes at 0, together 128 bytes\n"), std::string::npos)
      << summary.str();
  std::ostringstream json;
  write_json(plan, json);
  EXPECT_EQ(parse_plan(json.str()), plan);
}

TEST(Slots, OfNetworksHoldTemporariesAlone) {
  // What is passed on without a copy lies in the input's bytes, and these are the caller's.
  for (const Alias alias : {Alias::none, Alias::automatic, Alias::all}) {
    PlanOptions options;
    options.alias = alias;
    const PlanResult result = plan_of({cases::chain_of_two("x", "t", "y")}, options);
    EXPECT_TRUE(result.faults.empty()) << result.faults.front().what;
    ASSERT_EQ(result.plan.slots.size(), 1U);
    const SlotPool& pool = result.plan.slots[0];
    for (std::size_t b = 0; b < result.plan.buffers.size(); ++b) {
      const Bytes offset = result.plan.places[b].offset;
      const bool is_inside = offset < pool.end() && pool.place.offset < offset + result.plan.buffers[b].size;
      EXPECT_EQ(is_inside, result.plan.buffers[b].kind == TensorKind::temporary) << result.plan.buffers[b].id;
    }
  }
}

TEST(Slots, BytesOfInputsAndOutputsAreTheirsWhateverSharesThem) {
  std::size_t shared = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    PlanOptions options;
    options.alias = Alias::all;
    const PlanResult result = plan_of({oracle::random_graph(seed, {.copies = 60})}, options);
    EXPECT_TRUE(result.faults.empty()) << result.faults.front().what;
    for (const PlannedTensor& tensor : result.plan.tensors) {
      const TensorKind kind = tensor.tensor.kind;
      if (kind != TensorKind::input && kind != TensorKind::output) continue;
      for (const View& view : tensor.views) {
        const TensorKind of_buffer = result.plan.buffers[view.buffer].kind;
        EXPECT_TRUE(of_buffer == TensorKind::input || of_buffer == TensorKind::output ||
                    of_buffer == TensorKind::state)
            << tensor.tensor.name;
        shared += of_buffer != kind ? 1 : 0;
      }
    }
  }
  EXPECT_GT(shared, 0U);
}

TEST(Slots, EachModelOnItsClockHasAPool) {
  const std::vector<Graph> graphs{cases::chain_of_two("x", "t", "y"), cases::chain_of_two("u", "v", "w")};
  for (const std::string run : {"net0 ; net1", "net0 | net1"}) {
    SCOPED_TRACE(run);
    PlanOptions options;
    options.run = run;
    options.alias = Alias::none;
    options.released = {"net0.y"};  // else it is beside the pool of both
    const PlanResult result = plan_of(graphs, options);
    EXPECT_TRUE(result.faults.empty()) << result.faults.front().what;
    ASSERT_EQ(result.plan.slots.size(), 2U);
    EXPECT_EQ(result.plan.slots[0].count, 1);
    EXPECT_EQ(result.plan.slots[1].count, 1);
    EXPECT_EQ(result.plan.slots[0].clock == result.plan.slots[1].clock, run == "net0 ; net1");
  }
}

struct Wrong {
  std::string title;
  std::function<void(Plan&)> spoil;
  FaultKind kind;
  std::string says;
};

TEST(Slots, TheCheckerLooksAtThem) {
  using enum FaultKind;
  const std::vector<Wrong> wrongs{
      {"peak of buffers only", [](Plan& it) { it.memories[0].peak = it.summary.peak = 96; }, claim,
       "peak is said to be 96 but is 128"},
      {"a slot too many", [](Plan& it) { it.slots[0].count = 3; }, claim,
       "peak is said to be 128 but is 192"},
      {"a slot too few", [](Plan& it) { it.slots[0].count = 1; }, claim, "but is 96"},
      {"smaller slots", [](Plan& it) { it.slots[0].size = 48; }, overlap, "pool of slots 0"},
      {"over a border", [](Plan& it) { it.places[1].offset = 33; }, overlap, "outside of a single slot"},
      {"two in a slot, side by side",
       [](Plan& it) {
         it.places[2].offset = 64 + 32;
         it.buffers[2].pieces[0].life = {2, 3};
       },
       overlap, "hold the same slot"},
      {"in the gap of another's life",
       [](Plan& it) {
         it.buffers[1].pieces = {{0, 32, {0, 1}}, {0, 32, {3, 4}}};
         it.places[2].offset = 64;
         it.buffers[2].pieces[0].life = {1, 2};
       },
       overlap, "hold the same slot"},
      {"a pool that ends too early",
       [](Plan& it) {
         it.slots[0].life = {0, 3};
       },
       overlap, "pool of slots 0"},
      {"two pools", [](Plan& it) { it.slots.push_back(it.slots[0]); }, overlap, "pool of slots 1"},
      {"no slots", [](Plan& it) { it.slots[0].count = 0; }, format, "0 slots of 64 bytes"},
      {"slots of nothing", [](Plan& it) { it.slots[0].size = 0; }, format, "2 slots of 0 bytes"},
      {"no memory", [](Plan& it) { it.slots[0].place.memory = 1; }, format, "memory 1"},
      {"no clock", [](Plan& it) { it.slots[0].clock = 1; }, format, "clock 1"},
      {"never there",
       [](Plan& it) {
         it.slots[0].life = {4, 4};
       },
       format, "from 4 to 4"},
      {"below address 0", [](Plan& it) { it.slots[0].place.offset = -64; }, format, "offset -64"},
      {"beyond all addresses", [](Plan& it) { it.slots[0].count = largest_value; }, format,
       "beyond all addresses"},
      {"beyond the capacity", [](Plan& it) { it.memories[0].memory.capacity = 100; }, capacity,
       "pool of slots 0 ends at 128"},
  };
  for (const Wrong& wrong : wrongs) {
    Plan plan = two_slots();
    wrong.spoil(plan);
    const Faults faults = check_plan(plan);
    EXPECT_TRUE(std::any_of(faults.begin(), faults.end(),
                            [&](const Fault& fault) {
                              return fault.kind == wrong.kind &&
                                     fault.what.find(wrong.says) != std::string::npos;
                            }))
        << wrong.title << ": " << (faults.empty() ? "no fault" : faults.front().what);
  }
}

TEST(Slots, ThePoolOfABranchIsNobodyElses) {
  // The branch on clock 1 has a pool of two slots, of which a takes one; b lives on clock 0 while it runs.
  cases::PlanSketch it;
  const std::size_t branch = it.add_clock();
  it.fork(0, {branch});
  it.add_buffer("a", branch, 0, {0, 1});
  it.add_buffer("b", 0, 32, {0, 1});
  it.plan.slots = {{.clock = branch, .size = 16, .count = 2, .life = {0, 1}}};
  const auto has_overlap = [&] {
    const Faults faults = check_plan(it.plan);
    return std::any_of(faults.begin(), faults.end(),
                       [](const Fault& fault) { return fault.kind == FaultKind::overlap; });
  };
  EXPECT_FALSE(has_overlap());
  it.place_of("b").offset = 16;
  EXPECT_TRUE(has_overlap());
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
  const bool is_temporary = buffer.kind == TensorKind::temporary || buffer.kind == TensorKind::scratch;
  return is_temporary && !buffer.pinned && hull_of(buffer).upper > 0;
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
      constexpr std::array outside{TensorKind::state, TensorKind::input, TensorKind::output};
      if (random.chance(30)) buffer.kind = outside[static_cast<std::size_t>(random.between(0, 2))];
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
