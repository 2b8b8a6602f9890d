// The free list: the document's own examples, every way to a block by itself, a naive twin that
// looks at every byte, and lists of other tools.

#include "pack/patents/free_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "long_tests.h"
#include "oracle/naive_pack.h"
#include "oracle/random_graph.h"
#include "oracle/random_problem.h"
#include "pack/strategies.h"
#include "problems.h"
#include "stowage/error.h"
#include "stowage/graph.h"
#include "stowage/import.h"
#include "stowage/planner.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using testing::aligned;
using testing::pinned;
using testing::problem_of;
using testing::whole;

using pack::FreeBlocks;
using pack::Interval;

using Intervals = std::vector<Interval>;
using Places = std::vector<Place>;

constexpr Bytes mega = 1024 * 1024;

Buffer only_in(Buffer buffer, std::vector<std::size_t> memories) {
  buffer.memories = std::move(memories);
  return buffer;
}

/// L2 of so many bytes, and L3 without end.
Problem in_two_levels(Bytes capacity, std::vector<Buffer> buffers) {
  return {.buffers = std::move(buffers), .memories = {{.name = "L2", .capacity = capacity}, {.name = "L3"}}};
}

/// By the pass of the document.
Places places_of(const Problem& problem, Bytes threshold = 0) {
  validate(problem);
  const pack::Control control{.options = {.reuse_threshold = threshold}};
  return pack::free_list_pass(problem, pack::Growing::largest, control).places;
}

std::vector<Bytes> offsets_of(const Problem& problem, Bytes threshold = 0) {
  std::vector<Bytes> offsets;
  for (const Place& place : places_of(problem, threshold)) offsets.push_back(place.offset);
  return offsets;
}

Bytes peak_of(const Problem& problem, Bytes threshold = 0) {
  return oracle::peak_of_offsets(problem, offsets_of(problem, threshold));
}

// Examples of the document.

TEST(FreeList, TenAndFiveOfSixteenLeaveOne) {
  // g0 has 16 M; when it is done, g1 and g2 take 10 M and 5 M at the same time.
  const std::vector<Buffer> buffers{whole("g0", 16 * mega, 0, 1), whole("g1", 10 * mega, 1, 2),
                                    whole("g2", 5 * mega, 1, 2)};
  EXPECT_EQ(offsets_of(problem_of(buffers), 4 * mega), (std::vector<Bytes>{0, 0, 10 * mega}));

  FreeBlocks blocks;
  ASSERT_EQ(blocks.take_fresh({16 * mega}, largest_value), 0);
  blocks.release({0, 16 * mega});
  EXPECT_EQ(blocks.take_split({10 * mega}), 0);
  EXPECT_EQ(blocks.take_split({5 * mega}), 10 * mega);
  EXPECT_EQ(blocks.free_list(), (Intervals{{15 * mega, 16 * mega}}));
}

TEST(FreeList, TenAndFiftyShareTheHundredBeforeThem) {
  const Problem problem = problem_of(
      {whole("100", 100 * mega, 0, 1), whole("10", 10 * mega, 1, 3), whole("50", 50 * mega, 2, 3)});
  EXPECT_EQ(peak_of(problem), 100 * mega);  // and not 150, as where a block is one buffer's or free
}

TEST(FreeList, TwoOutOfTenLeaveEight) {
  FreeBlocks blocks;
  ASSERT_EQ(blocks.take_fresh({10 * mega}, largest_value), 0);
  blocks.release({0, 10 * mega});
  EXPECT_EQ(blocks.take_split({2 * mega}), 0);
  EXPECT_EQ(blocks.free_list(), (Intervals{{2 * mega, 10 * mega}}));
}

TEST(FreeList, TenAreFourThatAreFreeAndSixFreshOnes) {
  FreeBlocks blocks;
  ASSERT_EQ(blocks.take_fresh({2 * mega}, largest_value), 0);
  ASSERT_EQ(blocks.take_fresh({mega}, largest_value), 2 * mega);
  ASSERT_EQ(blocks.take_fresh({4 * mega}, largest_value), 3 * mega);
  blocks.release({0, 2 * mega});
  blocks.release({3 * mega, 7 * mega});
  ASSERT_EQ(blocks.free_list(), (Intervals{{0, 2 * mega}, {3 * mega, 7 * mega}}));
  EXPECT_EQ(blocks.take_extended({10 * mega}, largest_value), 3 * mega);
  EXPECT_EQ(blocks.frontier(), 13 * mega);  // 6 M were fresh
  EXPECT_EQ(blocks.free_list(), (Intervals{{0, 2 * mega}}));
}

TEST(FreeList, TwoFreedBetweenTwoAndSixAreTen) {
  FreeBlocks blocks;
  ASSERT_EQ(blocks.take_fresh({10 * mega}, largest_value), 0);
  blocks.release({0, 2 * mega});
  blocks.release({4 * mega, 10 * mega});
  ASSERT_EQ(blocks.free_list(), (Intervals{{0, 2 * mega}, {4 * mega, 10 * mega}}));
  blocks.release({2 * mega, 4 * mega});
  EXPECT_EQ(blocks.free_list(), (Intervals{{0, 10 * mega}}));
}

TEST(FreeList, SizesOfTensors) {
  EXPECT_EQ(bytes_of(DType::float32, {9, 10}), 360);
  EXPECT_EQ(bytes_of(DType::float32, {512, 32, 32}), 2 * mega);
  EXPECT_EQ(bytes_of(DType::float32, {2, 3, 4}), 96);
}

TEST(FreeList, TheStoragePeriodOfT1IsG0ToG3) {
  oracle::Sketch sketch;
  sketch.subgraph({"t0"}, {"t5"});
  sketch.add(0, "g0", {"t0"}, {"t1"});
  sketch.add(0, "g1", {"t1"}, {"t2"});
  sketch.add(0, "g2", {"t2"}, {"t3"});
  sketch.add(0, "g3", {"t1", "t3"}, {"t4"});
  sketch.add(0, "g4", {"t4"}, {"t5"});
  for (Tensor& tensor : sketch.graph().tensors) {
    tensor.dtype = DType::float32;
    tensor.shape = Shape{2, 3, 4};
    tensor.bytes = bytes_of(tensor.dtype, *tensor.shape);
  }
  sketch.tensor("t0").kind = TensorKind::input;
  sketch.tensor("t5").kind = TensorKind::output;
  const Input input{{.name = "figure 5", .source = "figure5.json"}, sketch.graph()};
  const PlanResult result = make_plan(input, {.solve = {.strategy = "free-list"}, .alignment = 1});
  EXPECT_TRUE(result.faults.empty());
  const auto& buffers = result.plan.buffers;
  const auto t1 = std::find_if(buffers.begin(), buffers.end(), [](const Buffer& b) { return b.id == "t1"; });
  ASSERT_NE(t1, buffers.end());
  EXPECT_EQ(t1->size, 96);
  EXPECT_EQ(t1->pieces, (std::vector<Piece>{{0, 96, {0, 4}}}));
}

// The ways to a block, in their order.

TEST(FreeList, AnEqualBlockIsTakenBeforeALargerOne) {
  const Problem problem = problem_of({whole("large", 8, 0, 1), whole("between", 1, 0, 3),
                                      whole("equal", 4, 0, 1), whole("last", 1, 0, 3), whole("x", 4, 1, 2)});
  EXPECT_EQ(offsets_of(problem)[4], 9);  // not 0, in the largest
}

TEST(FreeList, OfEqualBlocksTheLowestThatIsAligned) {
  FreeBlocks blocks;
  ASSERT_EQ(blocks.take_fresh({100}, largest_value), 0);
  blocks.release({2, 6});
  blocks.release({8, 12});
  blocks.release({16, 20});
  EXPECT_EQ(blocks.take_equal({4, 8}), 8);
  EXPECT_EQ(blocks.take_equal({4, 1}), 2);
  EXPECT_EQ(blocks.take_equal({3, 1}), std::nullopt);
  EXPECT_EQ(blocks.take_equal({4, 32}), std::nullopt);
  EXPECT_EQ(blocks.free_list(), (Intervals{{16, 20}}));
}

TEST(FreeList, ASplitTakesTheBeginningOfTheLargest) {
  const Problem problem =
      problem_of({whole("tight", 5, 0, 1), whole("between", 1, 0, 2), whole("largest", 8, 0, 1),
                  whole("last", 1, 0, 2), whole("x", 4, 1, 2)});
  EXPECT_EQ(offsets_of(problem)[4], 6);  // not 0, in the tightest
}

TEST(FreeList, OfEquallyLargeBlocksTheHighestIsTheEndOfTheList) {
  FreeBlocks blocks;
  ASSERT_EQ(blocks.take_fresh({20}, largest_value), 0);
  blocks.release({2, 8});
  blocks.release({10, 16});
  EXPECT_EQ(blocks.free_list(), (Intervals{{2, 8}, {10, 16}}));
  EXPECT_EQ(blocks.take_split({5}), 10);
}

TEST(FreeList, ABlockThatDoesNotTouchTheFrontierCannotGrow) {
  const Problem problem = problem_of({whole("low", 4, 0, 1), whole("high", 1, 0, 2), whole("x", 6, 1, 2)});
  EXPECT_EQ(offsets_of(problem), (std::vector<Bytes>{0, 4, 5}));
}

TEST(FreeList, OnlyTheLargestBlockGrows) {
  const Problem problem = problem_of({whole("larger", 4, 0, 1), whole("between", 1, 0, 2),
                                      whole("at the frontier", 2, 0, 1), whole("x", 6, 1, 2)});
  EXPECT_EQ(offsets_of(problem)[3], 7);  // not 5
}

TEST(FreeList, ABlockThatIsLargeEnoughDoesNotGrow) {
  FreeBlocks blocks;
  ASSERT_EQ(blocks.take_fresh({8}, largest_value), 0);
  blocks.release({0, 8});
  EXPECT_EQ(blocks.take_extended({8}, largest_value), std::nullopt);
  EXPECT_EQ(blocks.take_extended({9}, largest_value), 0);
}

TEST(FreeList, WithoutAFreeBlockMemoryIsFresh) {
  EXPECT_EQ(offsets_of(problem_of({whole("a", 4, 0, 2), whole("b", 4, 1, 3)})), (std::vector<Bytes>{0, 4}));
  FreeBlocks blocks;
  EXPECT_EQ(blocks.take_split({1}), std::nullopt);
  EXPECT_EQ(blocks.take_extended({1}, largest_value), std::nullopt);
}

TEST(FreeList, AtOnePositionTheGivenOrderHolds) {
  const Problem problem =
      problem_of({whole("later", 3, 1, 3), whole("small", 1, 0, 2), whole("large", 5, 0, 2)});
  EXPECT_EQ(offsets_of(problem), (std::vector<Bytes>{6, 0, 1}));
}

TEST(FreeList, APositionAllocatesBeforeItReleases) {
  // What a step reads last is still there while its output is written, and free for the next.
  EXPECT_EQ(offsets_of(problem_of({whole("read", 4, 0, 2), whole("written", 4, 1, 2),  //
                                   whole("next", 4, 2, 3)})),
            (std::vector<Bytes>{0, 4, 0}));
}

TEST(FreeList, UpToTheThresholdNothingIsReused) {
  const auto with = [](Bytes size) {
    return problem_of({whole("first", 16 * mega, 0, 1), whole("x", size, 1, 2)});
  };
  EXPECT_EQ(offsets_of(with(4 * mega), 4 * mega)[1], 16 * mega);
  EXPECT_EQ(offsets_of(with(4 * mega + 1), 4 * mega)[1], 0);
  EXPECT_EQ(offsets_of(with(4 * mega))[1], 0);
  EXPECT_EQ(offsets_of(with(16 * mega), 16 * mega)[1], 16 * mega);  // not even an equal block
}

TEST(FreeList, WhatSmallBuffersLeaveIsForLargerOnes) {
  const Problem problem =
      problem_of({whole("s", 2, 0, 1), whole("t", 2, 0, 1), whole("u", 1, 0, 2), whole("x", 4, 1, 2)});
  EXPECT_EQ(offsets_of(problem, 2), (std::vector<Bytes>{0, 2, 4, 0}));
}

// Levels.

TEST(FreeList, Level1FirstThenLevel2) {
  const Problem problem = in_two_levels(10, {whole("a", 6, 0, 2), whole("b", 4, 0, 2), whole("c", 1, 0, 2)});
  EXPECT_EQ(places_of(problem), (Places{{0, 0}, {0, 6}, {1, 0}}));
  EXPECT_EQ(places_of(problem, 100), (Places{{0, 0}, {0, 6}, {1, 0}}));
}

TEST(FreeList, Level2IsUsedOnlyWhenLevel1HasNoWayAtAll) {
  // b does not fit into level 1. Later level 2 has an equal block, and level 1 just fresh memory.
  const Problem problem =
      in_two_levels(10, {whole("a", 6, 0, 1), whole("b", 5, 0, 1), whole("c", 5, 1, 3), whole("d", 5, 1, 3)});
  EXPECT_EQ(places_of(problem), (Places{{0, 0}, {1, 0}, {0, 0}, {0, 5}}));
}

TEST(FreeList, GrowingKeepsToTheCapacity) {
  const auto with = [](Bytes size) {
    return in_two_levels(10, {whole("a", 6, 0, 1), whole("x", size, 1, 2)});
  };
  EXPECT_EQ(places_of(with(10))[1], (Place{0, 0}));
  EXPECT_EQ(places_of(with(11))[1], (Place{1, 0}));
}

TEST(FreeList, ABufferKeepsToItsMemories) {
  Problem problem =
      in_two_levels(10, {only_in(whole("a", 6, 0, 2), {1}), whole("b", 4, 0, 2),
                         only_in(whole("c", 4, 0, 2), {1, 0}), only_in(whole("d", 4, 0, 2), {0})});
  EXPECT_EQ(places_of(problem), (Places{{1, 0}, {0, 0}, {0, 4}, {0, 8}}));
  const Solution solution = solve(problem, {.strategy = "free-list"});
  EXPECT_EQ(solution.outcome, Outcome::exceeds_capacity);
}

TEST(FreeList, TheLastLevelGrowsBeyondItsCapacity) {
  Problem problem = in_two_levels(4, {whole("a", 6, 0, 1), whole("b", 4, 0, 1), whole("c", 9, 1, 2)});
  problem.memories[1].capacity = 7;
  const Solution solution = solve(problem, {.strategy = "free-list"});
  EXPECT_EQ(solution.places, (Places{{1, 0}, {0, 0}, {1, 0}}));
  EXPECT_EQ(solution.outcome, Outcome::exceeds_capacity);
}

TEST(FreeList, ThreeLevels) {
  const Problem problem{
      .buffers = {whole("a", 3, 0, 1), whole("b", 3, 0, 1), whole("c", 3, 0, 1)},
      .memories = {{.name = "1", .capacity = 4}, {.name = "2", .capacity = 5}, {.name = "3"}}};
  EXPECT_EQ(places_of(problem), (Places{{0, 0}, {1, 0}, {2, 0}}));
}

// Beyond the document: alignment, pieces, pins, buffers that are never alive, interrupts.

TEST(FreeList, PaddingIsFree) {
  const Problem problem = problem_of(
      {whole("a", 3, 0, 9), aligned(whole("b", 8, 0, 9), 8), whole("c", 5, 1, 9), whole("d", 1, 1, 9)});
  EXPECT_EQ(offsets_of(problem), (std::vector<Bytes>{0, 8, 3, 16}));
}

TEST(FreeList, ASplitNeedsAnAlignedStart) {
  FreeBlocks blocks;
  ASSERT_EQ(blocks.take_fresh({20}, largest_value), 0);
  blocks.release({3, 15});
  EXPECT_EQ(blocks.take_split({8, 8}), std::nullopt);
  EXPECT_EQ(blocks.take_split({6, 8}), 8);
  EXPECT_EQ(blocks.free_list(), (Intervals{{14, 15}, {3, 8}}));
}

TEST(FreeList, GrowingNeedsAnAlignedStart) {
  FreeBlocks blocks;
  ASSERT_EQ(blocks.take_fresh({15}, largest_value), 0);
  blocks.release({3, 15});
  EXPECT_EQ(blocks.take_extended({8, 8}, 15), std::nullopt);
  EXPECT_EQ(blocks.take_extended({8, 8}, 16), 8);
  EXPECT_EQ(blocks.frontier(), 16);
  EXPECT_EQ(blocks.free_list(), (Intervals{{3, 8}}));
}

TEST(FreeList, ABufferOfPiecesHasItsBlockFromFirstToLast) {
  const Problem problem = problem_of({{.id = "gap", .size = 4, .pieces = {{0, 4, {0, 1}}, {0, 4, {4, 5}}}},
                                      whole("in it", 4, 1, 4),
                                      whole("after", 4, 5, 6)});
  EXPECT_EQ(offsets_of(problem), (std::vector<Bytes>{0, 4, 0}));
}

TEST(FreeList, FreshMemoryStepsOverPins) {
  const Problem problem = problem_of(
      {whole("a", 4, 0, 2), pinned(whole("p", 2, 3, 4), 6), whole("b", 3, 0, 2), whole("c", 2, 0, 2)});
  EXPECT_EQ(offsets_of(problem), (std::vector<Bytes>{0, 6, 8, 4}));  // c: what b left in front of the pin
}

TEST(FreeList, BlocksDoNotGrowOverPins) {
  const auto with = [](Bytes size) {
    return problem_of({whole("a", 4, 0, 1), pinned(whole("p", 2, 3, 4), 6), whole("x", size, 1, 2)});
  };
  EXPECT_EQ(offsets_of(with(6))[2], 0);
  EXPECT_EQ(offsets_of(with(7))[2], 8);
}

TEST(FreeList, WhereAPinHasEndedMemoryIsFree) {
  const Problem problem = problem_of(
      {pinned(whole("p", 4, 0, 1), 0), whole("a", 2, 0, 3), whole("x", 4, 1, 2), whole("y", 1, 1, 2)});
  EXPECT_EQ(offsets_of(problem), (std::vector<Bytes>{0, 4, 0, 6}));
}

TEST(FreeList, APinThatEndsAboveTheFrontierWasNeverReached) {
  const auto with = [](Bytes size) {
    return problem_of({pinned(whole("p", 4, 0, 1), 4), whole("a", 2, 0, 3), whole("x", size, 1, 2)});
  };
  EXPECT_EQ(offsets_of(with(8))[2], 2);  // nothing is in the way
  EXPECT_EQ(offsets_of(with(3))[2], 2);  // and nothing is a free block
}

TEST(FreeList, PinsOverEachOtherAreHeldUntilTheLastEnds) {
  const Problem problem =
      problem_of({pinned(whole("p", 4, 0, 1), 0), pinned(whole("q", 4, 5, 6), 2),
                  pinned(whole("r", 1, 0, 1), 6), whole("x", 1, 1, 7), whole("y", 6, 6, 7)});
  EXPECT_EQ(offsets_of(problem), (std::vector<Bytes>{0, 2, 6, 6, 0}));
}

TEST(FreeList, PinsGoToTheFirstLevelThatHoldsThem) {
  const Problem problem =
      in_two_levels(10, {pinned(whole("a", 4, 0, 1), 6), pinned(whole("b", 4, 0, 1), 10),
                         only_in(pinned(whole("c", 1, 0, 1), 2), {1}),
                         only_in(pinned(whole("d", 1, 0, 1), 40), {0}), whole("x", 7, 0, 1)});
  EXPECT_EQ(places_of(problem), (Places{{0, 6}, {1, 10}, {1, 2}, {0, 40}, {1, 3}}));
}

TEST(FreeList, PinsThatNoLevelHoldsGoToTheLast) {
  Problem problem = in_two_levels(10, {pinned(whole("p", 4, 0, 1), 20)});
  problem.memories[1].capacity = 12;
  EXPECT_EQ(places_of(problem), (Places{{1, 20}}));
}

TEST(FreeList, NeverAliveIsInNobodysWay) {
  const Problem problem = in_two_levels(10, {whole("dead", 20, 1, 1),
                                             only_in(whole("dead in 1", 2, 0, 0), {1}),
                                             pinned(whole("dead pin", 5, 2, 2), 3),
                                             whole("nothing", 0, 0, 3),
                                             {.id = "without pieces", .size = 3},
                                             whole("x", 10, 0, 3)});
  EXPECT_EQ(places_of(problem), (Places{{1, 0}, {1, 0}, {0, 3}, {0, 0}, {0, 0}, {0, 0}}));
}

// The naive twin: a memory is a row of bytes, each of them never used, free, taken or set aside.

class NaiveMemory {
 public:
  enum class Byte : std::uint8_t { never_used, free, taken, set_aside };

  NaiveMemory(Bytes capacity, pack::Growing growing)
      : capacity_(capacity), growing_(growing), bytes_(4000, Byte::never_used) {}

  [[nodiscard]] std::optional<Bytes> find(const Buffer& buffer, bool may_reuse, bool may_grow) const {
    const Bytes limit = may_grow ? std::ssize(bytes_) : std::min(capacity_, std::ssize(bytes_));
    const Intervals free = free_blocks();
    for (const Interval& block : free) {
      const bool is_equal = block.end - block.begin == buffer.size && block.begin % buffer.alignment == 0;
      if (may_reuse && is_equal) return block.begin;
    }
    std::optional<Interval> largest;
    for (const Interval& block : free) {
      if (!largest || block.end - block.begin >= largest->end - largest->begin) largest = block;
    }
    if (may_reuse && largest) {
      const Bytes begin = aligned_from(largest->begin, buffer);
      const bool fits = begin + buffer.size <= largest->end;
      if (fits) return begin;
      const Interval grown = growing_ == pack::Growing::largest ? *largest : free.back();
      const Bytes end = aligned_from(grown.begin, buffer) + buffer.size;
      if (grown.end == frontier_ && end > frontier_ && end <= limit && are(Byte::never_used, grown.end, end))
        return end - buffer.size;
    }
    Bytes begin = aligned_from(frontier_, buffer);
    while (begin + buffer.size <= limit && !are(Byte::never_used, begin, begin + buffer.size))
      begin += buffer.alignment;
    if (begin + buffer.size > limit) return std::nullopt;
    return begin;
  }

  void take(Bytes begin, Bytes end, Byte how = Byte::taken) {
    if (how == Byte::taken && end > frontier_) {
      for (Bytes at = frontier_; at < end; ++at) {
        if (byte(at) == Byte::never_used) byte(at) = Byte::free;
      }
      frontier_ = end;
    }
    for (Bytes at = begin; at < end; ++at) byte(at) = how;
  }

  void release(Bytes begin, Bytes end) {
    for (Bytes at = begin; at < end; ++at) byte(at) = at < frontier_ ? Byte::free : Byte::never_used;
  }

 private:
  Byte& byte(Bytes at) { return bytes_[static_cast<std::size_t>(at)]; }

  static Bytes aligned_from(Bytes begin, const Buffer& buffer) {
    while (begin % buffer.alignment != 0) ++begin;
    return begin;
  }

  [[nodiscard]] bool are(Byte what, Bytes begin, Bytes end) const {
    return begin >= end ||
           std::all_of(bytes_.begin() + begin, bytes_.begin() + end, [&](Byte b) { return b == what; });
  }

  [[nodiscard]] Intervals free_blocks() const {
    Intervals blocks;
    for (Bytes at = 0; at < std::ssize(bytes_); ++at) {
      if (bytes_[static_cast<std::size_t>(at)] != Byte::free) continue;
      if (blocks.empty() || blocks.back().end != at) blocks.push_back({at, at});
      ++blocks.back().end;
    }
    return blocks;
  }

  Bytes capacity_;
  pack::Growing growing_;
  std::vector<Byte> bytes_;
  Bytes frontier_ = 0;
};

Lifetime naive_life(const Buffer& buffer) {
  std::set<Position> alive;
  for (const Piece& piece : buffer.pieces) {
    for (Position at = piece.life.lower; at < piece.life.upper && piece.size > 0; ++at) alive.insert(at);
  }
  return alive.empty() ? Lifetime{} : Lifetime{*alive.begin(), *alive.rbegin() + 1};
}

bool lies_on(const Interval& a, const Interval& b) { return a.begin < b.end && b.begin < a.end; }

/// The bytes of pinned buffers, merged until no two lie on each other, each with its last end.
std::vector<std::pair<Interval, Position>> merged(std::vector<std::pair<Interval, Position>> pins) {
  for (std::size_t i = 0; i < pins.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!lies_on(pins[i].first, pins[j].first)) continue;
      pins[j].first = {std::min(pins[i].first.begin, pins[j].first.begin),
                       std::max(pins[i].first.end, pins[j].first.end)};
      pins[j].second = std::max(pins[i].second, pins[j].second);
      pins.erase(pins.begin() + static_cast<std::ptrdiff_t>(i));
      return merged(std::move(pins));
    }
  }
  return pins;
}

struct NaiveWalk {
  const Problem& problem;
  std::vector<NaiveMemory> memories{};
  Places places{};

  [[nodiscard]] std::vector<std::size_t> allowed(const Buffer& buffer) const {
    std::vector<std::size_t> levels;
    for (std::size_t m = 0; m < problem.memories.size(); ++m) {
      const bool is_named = std::count(buffer.memories.begin(), buffer.memories.end(), m) > 0;
      if (buffer.memories.empty() || is_named) levels.push_back(m);
    }
    return levels;
  }

  [[nodiscard]] Place fixed(const Buffer& buffer) const {
    const Bytes offset = buffer.pinned.value_or(0);
    const auto levels = allowed(buffer);
    for (const std::size_t m : levels) {
      if (offset + buffer.size <= problem.memories[m].capacity.value_or(largest_value)) return {m, offset};
    }
    return {levels.back(), offset};
  }

  [[nodiscard]] Place find(const Buffer& buffer, bool may_reuse) const {
    const auto levels = allowed(buffer);
    for (const std::size_t m : levels) {
      if (const auto offset = memories[m].find(buffer, may_reuse, false)) return {m, *offset};
    }
    return {levels.back(), memories[levels.back()].find(buffer, may_reuse, true).value()};
  }
};

Places naive_free_list(const Problem& problem, Bytes threshold,
                       pack::Growing growing = pack::Growing::largest) {
  NaiveWalk walk{problem, {}, Places(problem.buffers.size())};
  for (const Memory& memory : problem.memories)
    walk.memories.emplace_back(memory.capacity.value_or(largest_value), growing);
  std::map<Position, std::vector<std::pair<std::size_t, Interval>>> releases;
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    std::vector<std::pair<Interval, Position>> pins;
    for (const Buffer& buffer : problem.buffers) {
      const Place place = walk.fixed(buffer);
      const Lifetime life = naive_life(buffer);
      if (buffer.pinned && place.memory == m && life != Lifetime{})
        pins.push_back({{place.offset, place.offset + buffer.size}, life.upper});
    }
    for (const auto& [block, upper] : merged(pins)) {
      walk.memories[m].take(block.begin, block.end, NaiveMemory::Byte::set_aside);
      releases[upper - 1].push_back({m, block});
    }
  }
  for (Position at = 0; at < 400; ++at) {
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
      const Buffer& buffer = problem.buffers[b];
      const Lifetime life = naive_life(buffer);
      if (buffer.pinned || life == Lifetime{}) {
        walk.places[b] = walk.fixed(buffer);
      } else if (life.lower == at) {
        const Place place = walk.find(buffer, buffer.size > threshold);
        walk.places[b] = place;
        walk.memories[place.memory].take(place.offset, place.offset + buffer.size);
        releases[life.upper - 1].push_back({place.memory, {place.offset, place.offset + buffer.size}});
      }
    }
    for (const auto& [m, block] : releases[at]) walk.memories[m].release(block.begin, block.end);
  }
  return walk.places;
}

/// Memory by memory no fault, and no level but a last one beyond its capacity.
void expect_valid(const Problem& problem, const Places& places) {
  ASSERT_EQ(places.size(), problem.buffers.size());
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    Problem inside = problem_of({});
    std::vector<Bytes> offsets;
    bool may_exceed = m + 1 == problem.memories.size();
    for (std::size_t b = 0; b < places.size(); ++b) {
      const Buffer& buffer = problem.buffers[b];
      const auto& allowed = buffer.memories;
      if (!allowed.empty()) {
        EXPECT_EQ(std::count(allowed.begin(), allowed.end(), places[b].memory), 1) << buffer.id;
        may_exceed = may_exceed || *std::max_element(allowed.begin(), allowed.end()) == m;
      }
      if (places[b].memory != m) continue;
      inside.buffers.push_back(buffer);
      offsets.push_back(places[b].offset);
    }
    const auto fault = oracle::fault_of(inside, offsets);
    EXPECT_FALSE(fault) << *fault;
    if (!may_exceed) {
      EXPECT_LE(oracle::peak_of_offsets(inside, offsets),
                problem.memories[m].capacity.value_or(largest_value));
    }
  }
}

/// The same buffers in one to three memories, some of them not everywhere.
void spread_over_levels(Problem& problem, std::uint64_t seed) {
  oracle::Random random(seed + 1000000);
  const std::int64_t levels = random.between(1, 3);
  problem.memories.clear();
  for (std::int64_t level = 0; level < levels; ++level) {
    Memory memory{.name = "level " + std::to_string(level)};
    if (random.chance(80)) memory.capacity = random.between(0, 25);
    problem.memories.push_back(std::move(memory));
  }
  for (Buffer& buffer : problem.buffers) {
    if (random.chance(80)) continue;
    const std::int64_t first = random.between(0, levels - 1);
    buffer.memories = {static_cast<std::size_t>(first)};
    if (first > 0 && random.chance(50)) buffer.memories.push_back(0);
  }
}

void expect_as_naive(const Problem& problem, Bytes threshold) {
  const Solution solution = solve(problem, {.strategy = "free-list", .reuse_threshold = threshold});
  EXPECT_EQ(places_of(problem, threshold), naive_free_list(problem, threshold));
  if (problem.memories.size() > 1) {
    EXPECT_EQ(solution.places, naive_free_list(problem, threshold));
  }
  EXPECT_FALSE(solution.interrupted);
  expect_valid(problem, solution.places);
}

const std::uint64_t small_problems = testing::cases_of(testing::has_time() ? 5000 : 3000);
const std::uint64_t medium_problems = testing::cases_of(20);

TEST(FreeList, RandomProblemsLikeItsNaiveTwin) {
  for (std::uint64_t seed = 0; seed < small_problems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    expect_as_naive(oracle::random_problem(seed), static_cast<Bytes>(seed % 4));
  }
}

TEST(FreeList, RandomProblemsInSeveralMemoriesLikeItsNaiveTwin) {
  for (std::uint64_t seed = 0; seed < small_problems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = oracle::random_problem(seed);
    spread_over_levels(problem, seed);
    expect_as_naive(problem, static_cast<Bytes>(seed % 3));
  }
}

TEST(FreeList, MediumProblemsLikeItsNaiveTwin) {
  for (std::uint64_t seed = 0; seed < medium_problems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    oracle::Random random(seed);
    Problem problem = oracle::random_problem(seed, {.buffers = 100,
                                                    .positions = random.between(10, 200),
                                                    .longest_life = random.between(2, 100),
                                                    .largest_size = random.between(2, 20),
                                                    .largest_alignment = random.chance(50) ? 1 : 8,
                                                    .percent_with_pieces = random.chance(50) ? 0 : 30,
                                                    .percent_pinned = random.chance(50) ? 0 : 10,
                                                    .percent_never_alive = 5,
                                                    .percent_like_the_last = 20});
    if (random.chance(50))
      problem.memories = {{.name = "L2", .capacity = random.between(10, 200)}, {.name = "L3"}};
    expect_as_naive(problem, random.chance(50) ? 0 : 5);
  }
}

TEST(FreeList, IsTheLowerOfTwoWaysToGrow) {
  const auto peak = [](const Problem& problem, const Places& places) {
    return oracle::peak_of_offsets(problem, testing::offsets_of(places));
  };
  const std::uint64_t problems = small_problems / 25;  // the twin is slow
  std::size_t lower = 0;
  for (std::uint64_t seed = 0; seed < problems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem =
        seed % 4 != 0 ? oracle::random_problem(seed)
                      : oracle::random_problem(seed, {.buffers = 40, .positions = 30, .longest_life = 10});
    const auto threshold = static_cast<Bytes>(seed % 3);
    const Places other = naive_free_list(problem, threshold, pack::Growing::at_frontier);
    Places expected = naive_free_list(problem, threshold);
    if (peak(problem, other) < peak(problem, expected)) {
      expected = other;
      ++lower;
    }
    EXPECT_EQ(solve(problem, {.strategy = "free-list", .reuse_threshold = threshold}).places, expected);
  }
  EXPECT_GT(lower, problems / 100);
}

// Larger ones.

TEST(FreeList, StoppedBeforeAndMidwayItStillPlacesEverything) {
  Problem problem = oracle::random_problem(3, {.buffers = 1500,
                                               .positions = 400,
                                               .longest_life = 60,
                                               .largest_size = 40,
                                               .largest_alignment = 8,
                                               .percent_with_pieces = 20,
                                               .percent_pinned = 2,
                                               .percent_never_alive = 2});
  problem.memories = {{.name = "L2", .capacity = 500}, {.name = "L3"}};
  const Places uncut = places_of(problem);
  for (const double until : {-1.0, 0.0, 0.3, 0.6}) {
    std::stop_source source;
    if (until < 0) source.request_stop();
    const auto stop = [&](std::string_view what, double fraction) {
      EXPECT_EQ(what, "free-list");
      EXPECT_LE(fraction, 1);
      if (fraction > until) source.request_stop();
    };
    const Solution solution =
        solve(problem, {.strategy = "free-list", .stop = source.get_token(), .progress = stop});
    EXPECT_TRUE(solution.interrupted);
    EXPECT_NE(solution.places, uncut);
    expect_valid(problem, solution.places);
  }
}

TEST(FreeList, AMillionBuffers) {
  oracle::Random random(1);
  Problem problem = in_two_levels(1 << 20, {});
  const std::size_t buffers = testing::cases_of(1000000);
  for (std::size_t b = 0; b < buffers; ++b) {
    const Position lower = random.between(0, 1000000);
    problem.buffers.push_back(
        whole("b" + std::to_string(b), random.between(1, 5000), lower, lower + random.between(1, 3000)));
  }
  const Solution solution = solve(problem, {.strategy = "free-list"});
  EXPECT_EQ(solution.outcome, Outcome::fits);
  EXPECT_LE(stowage::peak_of(problem, solution, 0), 1 << 20);
}

TEST(FreeList, ListsOfOtherTools) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "packing";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "there is no folder " << folder;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".csv") continue;
    SCOPED_TRACE(entry.path().filename());
    for (const bool has_levels : {false, true}) {
      PlanOptions options{.solve = {.strategy = "free-list"}};
      if (has_levels) options.memories = {{.name = "L2", .capacity = 1000000}, {.name = "L3"}};
      const PlanResult result = make_plan(read_input(entry.path()), options);
      EXPECT_TRUE(result.faults.empty()) << result.faults.front().what;
      EXPECT_EQ(result.outcome, Outcome::fits);
    }
  }
}

}  // namespace
}  // namespace stowage
