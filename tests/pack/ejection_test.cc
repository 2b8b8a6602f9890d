// Lowering a placing cap by cap: valid, never above where it begins, the same for any number of threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "long_tests.h"
#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "pack/bounds.h"
#include "pack/container.h"
#include "pack/ejection_search.h"
#include "pack/groups.h"
#include "pack/meetings.h"
#include "pack/random.h"
#include "pack/strategies.h"
#include "problems.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using testing::offsets_of;
using testing::problem_of;
using testing::whole;

/// Tight, with pieces, pins and alignments.
Problem mixed_problem(std::uint64_t seed, std::size_t buffers) {
  return oracle::random_problem(seed, {.buffers = buffers,
                                       .positions = static_cast<Position>(buffers / 2),
                                       .longest_life = 30,
                                       .largest_size = 60,
                                       .largest_alignment = seed % 2 == 0 ? 1 : 8,
                                       .percent_with_pieces = 20,
                                       .percent_pinned = 2,
                                       .percent_never_alive = 2});
}

/// The peak after so many slices.
Bytes peak_after(const Problem& problem, std::int64_t slices, std::size_t threads = 1) {
  const auto placing = pack::ejection(problem, {.options = {.threads = threads}, .rounds = slices});
  const std::vector<Bytes> offsets = offsets_of(placing.places);
  const auto fault = oracle::fault_of(problem, offsets);
  EXPECT_FALSE(fault) << *fault;
  return oracle::peak_of_offsets(problem, offsets);
}

TEST(Ejection, MoreSlicesNeverNeedMore) {
  std::size_t lower = 0;
  const std::uint64_t cases = testing::is_in_a_hurry() ? 3 : 10;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = mixed_problem(seed, 300);
    const Bytes before = peak_after(problem, 0);
    const Bytes after = peak_after(problem, 8);
    EXPECT_LE(after, before);
    EXPECT_LE(peak_after(problem, 16), after);
    EXPECT_GE(after, pack::lower_bound_of(problem.buffers));
    lower += after < before ? 1 : 0;
  }
  EXPECT_GT(lower, cases / 2);
}

TEST(Ejection, ThreadsDoNotChangeWhatIsFound) {
  for (std::uint64_t seed = 0; seed < (testing::is_in_a_hurry() ? 3 : 10); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = mixed_problem(seed, 200);
    const auto places_by = [&](std::size_t threads) {
      return pack::ejection(problem, {.options = {.threads = threads}, .rounds = 6}).places;
    };
    EXPECT_EQ(places_by(1), places_by(3));
  }
}

TEST(Ejection, FindsTheLeastPeakOfSmallProblems) {
  std::size_t found_least = 0;
  const std::uint64_t cases = testing::is_in_a_hurry() ? 20 : 100;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = oracle::random_problem(
        seed,
        {.buffers = 7, .positions = 8, .longest_life = 5, .largest_size = 6, .percent_with_pieces = 20});
    const Bytes least = oracle::optimal_peak(problem);
    const Bytes found = peak_after(problem, 6);
    EXPECT_GE(found, least);
    found_least += found == least ? 1 : 0;
  }
  EXPECT_GE(found_least, cases * 99 / 100);
}

/// Few lives and sizes: it begins with groups.
TEST(Ejection, PlacingsByGroupsAreValid) {
  std::size_t grouped = 0;
  const std::uint64_t cases = testing::is_in_a_hurry() ? 40 : 400;
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(seed);
    oracle::Random random(seed);
    const bool is_small = random.chance(50);
    const Problem problem = oracle::random_problem(seed, {.buffers = is_small ? 9U : 60U,
                                                          .positions = is_small ? 5 : 20,
                                                          .longest_life = is_small ? 3 : 6,
                                                          .largest_size = random.between(2, 4),
                                                          .largest_alignment = random.chance(60) ? 1 : 8,
                                                          .percent_with_pieces = random.chance(60) ? 0 : 20,
                                                          .percent_pinned = random.chance(60) ? 0 : 5,
                                                          .percent_never_alive = 3,
                                                          .percent_like_the_last = is_small ? 0 : 30});
    const Bytes found = peak_after(problem, 4);
    const Bytes least = is_small ? oracle::optimal_peak(problem) : pack::lower_bound_of(problem.buffers);
    EXPECT_GE(found, least);
    const std::size_t groups = pack::chains_of(problem, 0).problem.buffers.size();
    grouped += 10 * groups < 9 * problem.buffers.size() ? 1 : 0;
  }
  EXPECT_GT(grouped, cases / 2);
}

TEST(Ejection, BeginsFromWhatIsKnown) {
  const Problem problem = problem_of({whole("a", 4, 0, 2), whole("b", 4, 1, 3)});
  const std::vector<Place> known{{.offset = 4}, {.offset = 0}};
  EXPECT_EQ(pack::ejection(problem, {.known = known}).places, known) << "it is at the bound";
}

/// Two tensors of many rows: row i of both is alive at the same time as many other rows.
Problem problem_of_rows(Position rows) {
  std::vector<Buffer> buffers;
  for (std::size_t b = 0; b < 2; ++b) {
    Buffer buffer{.id = "t" + std::to_string(b), .size = 16 * rows};
    for (Position i = 0; i < rows; ++i) buffer.pieces.push_back({16 * i, 16, {i, i + rows / 2}});
    buffers.push_back(buffer);
  }
  return problem_of(buffers);
}

/// Buffers of many row blocks, too: their collisions are joined, and a step is as short as for whole ones.
TEST(Ejection, SearchesAmongBuffersOfManyRows) {
  std::int64_t slices = 0;
  const Progress progress = [&](std::string_view what, double) { slices += what == "ejection" ? 1 : 0; };
  const pack::Control control{.options = {.threads = 1, .progress = progress}, .rounds = 1};
  for (const Position rows : {Position{30}, Position{1100}}) {
    slices = 0;
    const Problem problem = problem_of_rows(rows);
    const auto placing = pack::ejection(problem, control);
    EXPECT_FALSE(oracle::fault_of(problem, offsets_of(placing.places)));
    EXPECT_GT(slices, 0);
  }
}

/// Rows of one tensor go as those of another come, while two tensors stay: it begins a row below the first. No room
/// for that is left if all begin at multiples of their size.
TEST(Ejection, TensorsFollowEachOtherRowByRow) {
  constexpr Position rows = 1200;
  const auto tensor = [&](Position begin, Position step_of_begin, Position end, Position step_of_end) {
    Buffer buffer{.id = "t" + std::to_string(begin + end + step_of_end), .size = rows};
    for (Position r = 0; r < rows; ++r)
      buffer.pieces.push_back({r, 1, {begin + step_of_begin * r, end + step_of_end * r}});
    return buffer;
  };
  std::vector<Buffer> buffers;
  for (Position layer = 0; layer < 3; ++layer) {
    const Position at = layer * 10 * rows;
    buffers.push_back(tensor(at, 0, at + 4 * rows + 2, 2));
    buffers.push_back(tensor(at + rows, 1, at + 6 * rows, 0));
    buffers.push_back(tensor(at + rows, 2, at + 6 * rows, 0));
    buffers.push_back(tensor(at + 4 * rows, 2, at + 10 * rows, 0));
    for (std::size_t b = buffers.size() - 4; b < buffers.size(); ++b)
      buffers[b].id += "." + std::to_string(b);
  }
  Problem problem = problem_of(buffers);
  const Solution solution =
      solve(problem, {.strategy = "ejection", .time_limit = std::chrono::seconds(5), .threads = 1});
  EXPECT_EQ(solution.lower_bound, 3 * rows + 1);
  EXPECT_LE(peak_of(problem, solution, 0), 3 * rows + rows / 100);
}

/// With and without a table: one step puts the item where no other offset would throw out less.
TEST(Ejection, AStepThrowsOutTheLeastWeight) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = oracle::random_problem(
        seed, {.buffers = 12, .positions = 10, .longest_life = 6, .largest_size = 9, .largest_alignment = 4});
    pack::Random random(seed);
    std::vector<pack::Movable> items;
    for (const Buffer& buffer : problem.buffers) {
      const Bytes steps = 1 + 12 / buffer.alignment;
      const auto offset = static_cast<Bytes>(random.below(static_cast<std::uint64_t>(steps)));
      items.push_back({.size = buffer.size,
                       .alignment = buffer.alignment,
                       .weight = static_cast<double>(1 + random.below(9)),
                       .offset = offset * buffer.alignment});
    }
    items[0].offset.reset();
    const auto weight_in_the_way = [&](Bytes at) {
      double weight = 0;
      for (std::size_t b = 1; b < items.size(); ++b) {
        const Lifetime mine = problem.buffers[0].pieces[0].life;
        const Lifetime its = problem.buffers[b].pieces[0].life;
        const bool meets = mine.lower < its.upper && its.lower < mine.upper;
        if (meets && at < *items[b].offset + items[b].size && *items[b].offset < at + items[0].size)
          weight += items[b].weight;
      }
      return weight;
    };
    constexpr Bytes height = 20;
    double least = 1000;
    for (Bytes at = 0; at + items[0].size <= height; at += items[0].alignment)
      least = std::min(least, weight_in_the_way(at));
    const pack::Neighbours neighbours(problem.buffers);
    const auto meetings = pack::Meetings::among(problem.buffers, neighbours);
    ASSERT_TRUE(meetings);
    for (const pack::Meetings* const given : {&*meetings, static_cast<const pack::Meetings*>(nullptr)}) {
      pack::EjectionSearch search(items, pack::clashes_among(neighbours), given, seed);
      search.begin(height);
      EXPECT_EQ(search.run(1, [] { return false; }), least == 0);
      const Bytes at = search.offsets()[0];
      EXPECT_EQ(at % items[0].alignment, 0);
      EXPECT_LE(at + items[0].size, height);
      EXPECT_EQ(weight_in_the_way(at), least);
    }
  }
}

std::optional<pack::Meetings> meetings_among(const Problem& problem) {
  return pack::Meetings::among(problem.buffers, pack::Neighbours(problem.buffers));
}

TEST(Meetings, AreOfWholeBuffersWithoutPins) {
  Problem problem = problem_of({whole("a", 4, 0, 2), whole("b", 4, 1, 3)});
  EXPECT_TRUE(meetings_among(problem));
  problem.buffers[0].pinned = 4;
  EXPECT_FALSE(meetings_among(problem));
  problem.buffers[0].pinned.reset();
  problem.buffers[0].pieces[0].size = 2;
  EXPECT_FALSE(meetings_among(problem));
}

/// Buffers that live for up to `longest` of 1000 positions; some are never alive.
Problem many_lives(std::size_t count, std::uint64_t longest) {
  pack::Random random(count);
  Problem problem = problem_of({});
  for (std::size_t b = 0; b < count; ++b) {
    const auto lower = static_cast<Position>(random.below(1000));
    const auto upper = lower + static_cast<Position>(random.below(longest + 1));
    problem.buffers.push_back(whole("b" + std::to_string(b), 1, lower, upper));
  }
  return problem;
}

/// From a table of few, from the lives of many.
TEST(Meetings, AreThoseOfBuffersAliveTogether) {
  for (const std::size_t count : {70U, 8192U, 9000U}) {
    const Problem problem = many_lives(count, 300);
    const auto meetings = meetings_among(problem);
    ASSERT_TRUE(meetings);
    std::vector<std::uint32_t> others;  // in any order, without the item
    std::vector<std::uint32_t> met(count);
    for (const std::uint32_t item : {0U, 1U, 2U, 3U, 63U, 64U}) {
      others.clear();
      std::vector<std::uint32_t> expected;
      const Lifetime mine = pack::life_of(problem.buffers[item]);
      for (auto b = static_cast<std::uint32_t>(count); b-- > 0;) {
        if (b == item) continue;
        others.push_back(b);
        const Lifetime its = pack::life_of(problem.buffers[b]);
        if (std::max(mine.lower, its.lower) < std::min(mine.upper, its.upper)) expected.push_back(b);
      }
      const std::size_t found = meetings->filter(item, others, met.data());
      EXPECT_EQ(std::vector(met.begin(), met.begin() + static_cast<std::ptrdiff_t>(found)), expected);
    }
  }
}

TEST(Meetings, AreNotWhereBuffersMeetFew) {
  EXPECT_TRUE(meetings_among(many_lives(200, 30)));
  EXPECT_FALSE(meetings_among(many_lives(200, 4)));
  EXPECT_TRUE(meetings_among(many_lives(9000, 200)));
  EXPECT_FALSE(meetings_among(many_lives(9000, 30)));
}

TEST(Ejection, OfNothingThereIsNothing) { EXPECT_TRUE(pack::ejection(problem_of({}), {}).places.empty()); }

}  // namespace
}  // namespace stowage
