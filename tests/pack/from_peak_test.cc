// Packing from the peak outwards: valid on everything, alone on stretches of time, at max load where large problems allow it.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "pack/bounds.h"
#include "pack/strategies.h"
#include "problems.h"
#include "stowage/import.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using testing::offsets_of;
using testing::pinned;
using testing::problem_of;
using testing::whole;

/// More buffers than it takes for the pool to be used; tight, with pieces, pins and alignments.
Problem large_problem(std::uint64_t seed) {
  return oracle::random_problem(seed, {.buffers = 1100,
                                       .positions = 500,
                                       .longest_life = 50,
                                       .largest_size = 60,
                                       .largest_alignment = seed % 2 == 0 ? 1 : 8,
                                       .percent_with_pieces = 20,
                                       .percent_pinned = 2,
                                       .percent_never_alive = 2});
}

TEST(FromPeak, LargeProblemsAreValidAndTheSameEachTime) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = large_problem(seed);
    const pack::Control control{.options = {.rounds = 0}};
    const auto placing = pack::from_peak(problem, control);
    const auto fault = oracle::fault_of(problem, offsets_of(placing.places));
    EXPECT_FALSE(fault) << *fault;
    EXPECT_EQ(pack::from_peak(problem, control).places, placing.places);
  }
}

TEST(FromPeak, WhatIsRepeatedInTimeNeedsNoMore) {
  const Problem once = oracle::random_problem(3, {.buffers = 60, .positions = 40, .longest_life = 12});
  Problem twice = once;
  for (Buffer buffer : once.buffers) {
    buffer.id += " again";
    for (Piece& piece : buffer.pieces) piece.life = {piece.life.lower + 40, piece.life.upper + 40};
    twice.buffers.push_back(buffer);
  }
  const auto offsets = offsets_of(pack::from_peak(twice, {}).places);
  EXPECT_EQ(oracle::fault_of(twice, offsets), std::nullopt);
  EXPECT_EQ(oracle::peak_of_offsets(twice, offsets),
            oracle::peak_of_offsets(once, offsets_of(pack::from_peak(once, {}).places)));
}

TEST(FromPeak, PinsStayWhenOthersAreThrownOut) {
  std::vector<Buffer> buffers;
  for (Bytes i = 0; i < 1200; ++i) {
    const Position begin = i / 3;
    buffers.push_back(whole(std::to_string(i), 1 + (i * 7) % 13, begin, begin + 1 + (i * 5) % 11));
    if (i % 100 == 0) buffers.push_back(pinned(whole("pin" + std::to_string(i), 5, begin, begin + 12), 8));
  }
  const Problem problem = problem_of(buffers);
  const auto placing = pack::from_peak(problem, {.options = {.rounds = 0}});
  EXPECT_EQ(oracle::fault_of(problem, offsets_of(placing.places)), std::nullopt);
}

TEST(FromPeak, ToldToStopItStillPlacesEverything) {
  std::stop_source source;
  source.request_stop();
  const Problem problem = large_problem(2);
  EXPECT_TRUE(pack::from_peak(problem, {.deadline = base::Deadline(source.get_token())}).places.empty());
  const Solution solution = solve(problem, {.strategy = "from-peak", .stop = source.get_token()});
  EXPECT_EQ(oracle::fault_of(problem, offsets_of(solution.places)), std::nullopt);
  EXPECT_TRUE(solution.interrupted);
}

TEST(FromPeak, FormerNameStillWorks) {
  const Problem problem = problem_of({whole("a", 4, 0, 2), whole("b", 10, 1, 4)});
  EXPECT_EQ(solve(problem, {.strategy = "sweep"}).strategy, "from-peak");
}

TEST(FromPeak, LoadsDuringLivesAreThoseOfTheOracle) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Problem problem = oracle::random_problem(seed);
    const auto loads = *pack::loads_during(problem.buffers, {});
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
      const Lifetime life = pack::life_of(problem.buffers[b]);
      Bytes most = 0;
      for (Position at = life.lower; at < life.upper; ++at)
        most = std::max(most, oracle::load_at(problem.buffers, at));
      EXPECT_EQ(loads[b], most) << seed << " " << b;
    }
  }
}

TEST(FromPeak, ReachesMaxLoadOnLargeRealProblems) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "packing" / "idealloc";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "there is no folder " << folder;
  for (const char* const name : {"G_1", "pangu_2.6B"}) {
    SCOPED_TRACE(name);
    const Input input = read_input(folder / (std::string(name) + ".csv"));
    const auto& problem = std::get<Problem>(input.content);
    const Solution solution = solve(problem, {.strategy = "from-peak", .time_limit = std::chrono::hours(1)});
    EXPECT_EQ(peak_of(problem, solution, 0), solution.lower_bound);
  }
}

}  // namespace
}  // namespace stowage
