// The exact search against brute force, its promises about seeds, threads and time, and real instances.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "long_tests.h"
#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "pack/bounds.h"
#include "pack/groups.h"
#include "pack/least_height.h"
#include "pack/model.h"
#include "pack/section_search.h"
#include "pack/strategies.h"
#include "problems.h"
#include "rounds.h"
#include "stowage/import.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using testing::aligned;
using testing::offsets_of;
using testing::pinned;
using testing::problem_of;
using testing::whole;

pack::Placing exact_with(const Problem& problem, const SolveOptions& options,
                         std::optional<std::int64_t> rounds = {}) {
  return pack::exact(
      problem,
      {.options = options, .deadline = base::Deadline(options.time_limit, options.stop), .rounds = rounds});
}

void expect_optimal(const Problem& problem) {
  const pack::Placing placing = exact_with(problem, {.time_limit = std::chrono::hours(1), .threads = 1});
  const auto offsets = offsets_of(placing.places);
  const auto fault = oracle::fault_of(problem, offsets);
  ASSERT_FALSE(fault) << *fault;
  EXPECT_EQ(oracle::peak_of_offsets(problem, offsets), oracle::optimal_peak(problem));
  EXPECT_TRUE(placing.is_least);
  EXPECT_FALSE(placing.cut_short);
}

/// Up to 8 buffers; the seed decides with what: gaps, slots, alignments, pins, equal buffers.
Problem small_problem(std::uint64_t seed) {
  oracle::Random random(seed);
  return oracle::random_problem(seed, {.buffers = static_cast<std::size_t>(random.between(4, 8)),
                                       .positions = random.between(3, 10),
                                       .longest_life = random.between(2, 10),
                                       .largest_size = random.between(2, 9),
                                       .largest_alignment = random.chance(60) ? 1 : 4,
                                       .percent_with_pieces = random.chance(50) ? 0 : 60,
                                       .percent_pinned = random.chance(60) ? 0 : 25,
                                       .percent_never_alive = 3,
                                       .percent_like_the_last = random.chance(50) ? 0 : 40});
}

TEST(Exact, FindsTheOptimumOfSmallProblems) {
  const std::uint64_t problems = testing::is_in_a_hurry() ? 2000 : 20000;
  std::size_t above_bound = 0;
  for (std::uint64_t seed = 0; seed < problems; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = small_problem(seed);
    expect_optimal(problem);
    above_bound += oracle::optimal_peak(problem) > pack::lower_bound_of(problem.buffers) ? 1 : 0;
  }
  EXPECT_GT(above_bound, problems / 40) << "the problems are too easy to tell";
}

/// Few lives and sizes: most dives place groups. A height that is impossible for groups may do for buffers.
TEST(Exact, FindsTheOptimumThoughGroupsMayNeedMore) {
  const std::uint64_t problems = testing::is_in_a_hurry() ? 300 : 3000;
  std::size_t grouped = 0;
  std::size_t groups_need_more = 0;
  for (std::uint64_t seed = 0; seed < problems; ++seed) {
    SCOPED_TRACE(seed);
    oracle::Random random(seed);
    const Problem problem =
        oracle::random_problem(seed, {.buffers = static_cast<std::size_t>(random.between(6, 11)),
                                      .positions = random.between(4, 7),
                                      .longest_life = 3,
                                      .largest_size = random.between(2, 3),
                                      .largest_alignment = random.chance(70) ? 1 : 4,
                                      .percent_with_pieces = random.chance(70) ? 0 : 20,
                                      .percent_pinned = random.chance(70) ? 0 : 15});
    expect_optimal(problem);
    const Problem groups = pack::chains_of(problem, seed).problem;
    grouped += groups.buffers.size() < problem.buffers.size() ? 1 : 0;
    groups_need_more += oracle::optimal_peak(groups) > oracle::optimal_peak(problem) ? 1 : 0;
  }
  EXPECT_GT(grouped, problems / 2);
  EXPECT_GT(groups_need_more, problems / 100) << "the problems are too easy to tell";
}

const pack::Stop never = [] { return false; };

/// Whether everything fits below a height, in bytes.
bool fits_below(const Problem& problem, Bytes height, const pack::Dive& dive) {
  std::vector<Bytes> settled;
  for (const Buffer& buffer : problem.buffers) settled.push_back(buffer.pinned.value_or(0));
  const pack::SectionModel model = pack::model_of(problem.buffers);
  std::vector<bool> is_settled(problem.buffers.size(), true);  // also what is never alive
  bool fits = true;
  for (const pack::Subproblem& region : pack::regions_of(model, settled, never)) {
    for (const pack::Item& item : region.model.items) is_settled[item.buffer] = false;
    const pack::Tables tables(region.model, never);
    const Bytes rest = height / model.unit - region.base;
    const pack::Found found = pack::search_sections(tables, rest, dive, never);
    EXPECT_NE(found.answer, pack::Answer::unknown);
    fits = fits && found.answer == pack::Answer::yes;
  }
  for (std::size_t b = 0; b < settled.size(); ++b)
    fits = fits && (!is_settled[b] || settled[b] + problem.buffers[b].size <= height);
  return fits;
}

TEST(Exact, EveryOrderOfTheBranchAndBoundIsRight) {
  const std::uint64_t problems = testing::is_in_a_hurry() ? 200 : 4000;
  for (std::uint64_t seed = 0; seed < problems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = small_problem(seed);
    const Bytes least = oracle::optimal_peak(problem);
    using pack::SectionOrder;
    using pack::ValueOrder;
    for (const auto values :
         {ValueOrder::longest_first, ValueOrder::largest_first, ValueOrder::coarsest_first}) {
      for (const auto sections : {SectionOrder::fewest_choices, SectionOrder::last_failure}) {
        const pack::Dive dive{values, sections, seed, 1'000'000};
        EXPECT_TRUE(fits_below(problem, least, dive));
        EXPECT_FALSE(fits_below(problem, least - 1, dive));
      }
    }
  }
}

TEST(Exact, MediumProblemsAreValidAndAtTheBoundOrAbove) {
  for (std::uint64_t seed = 0; seed < 12 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    oracle::Random random(seed);
    const Problem problem =
        oracle::random_problem(seed, {.buffers = static_cast<std::size_t>(random.between(12, 40)),
                                      .positions = random.between(10, 60),
                                      .longest_life = random.between(2, 30),
                                      .largest_size = random.between(2, 40),
                                      .largest_alignment = random.chance(50) ? 1 : 8,
                                      .percent_with_pieces = random.chance(50) ? 0 : 50,
                                      .percent_pinned = random.chance(50) ? 0 : 10,
                                      .percent_never_alive = 5,
                                      .percent_like_the_last = 20});
    const SolveOptions options{.time_limit = std::chrono::hours(1), .threads = 1};
    const pack::Placing placing = exact_with(problem, options, 0);
    const auto offsets = offsets_of(placing.places);
    const auto fault = oracle::fault_of(problem, offsets);
    EXPECT_FALSE(fault) << *fault;
    EXPECT_FALSE(placing.cut_short);
    EXPECT_EQ(exact_with(problem, options, 0).places, placing.places);
    SolveOptions other = options;
    other.threads = 3;
    EXPECT_EQ(exact_with(problem, other, 0).places, placing.places)
        << "the number of threads changes the plan";
  }
}

TEST(Exact, SameSeedSamePlan) {
  const Problem problem =
      oracle::random_problem(5, {.buffers = 60, .positions = 40, .longest_life = 20, .largest_size = 50});
  const SolveOptions options{.time_limit = std::chrono::hours(1), .threads = 2, .seed = 7};
  const pack::Placing first = exact_with(problem, options, 0);
  for (int repetition = 0; repetition < 100; ++repetition)
    EXPECT_EQ(exact_with(problem, options, 0).places, first.places);
}

/// 100 times with STOWAGE_LONG=1; the preset tsan builds it with ThreadSanitizer.
TEST(Exact, RepeatedSearchesGiveTheSamePlan) {
  std::vector<Problem> problems{
      oracle::random_problem(5, {.buffers = 60, .positions = 40, .longest_life = 20, .largest_size = 50})};
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "packing" / "minimalloc";
  for (const char* const name : {"A", "C", "E", "G"}) {
    const std::filesystem::path file = folder / (std::string(name) + ".csv");
    if (std::filesystem::exists(file)) problems.push_back(std::get<Problem>(read_input(file).content));
  }
  const int repetitions = testing::has_time() ? 100 : 2;
  if (testing::is_in_a_hurry()) problems.resize(1);
  for (std::size_t p = 0; p < problems.size(); ++p) {
    for (const char* const strategy : {"exact", "auto", "from-peak"}) {
      SCOPED_TRACE(std::string(strategy) + " on problem " + std::to_string(p));
      const SolveOptions options{
          .strategy = strategy, .time_limit = std::chrono::hours(1), .threads = 2, .seed = p};
      const bool is_to_the_end = p > 0 && options.strategy == "exact";  // to the proven optimum
      const auto solved = [&] {
        return is_to_the_end ? solve(problems[p], options)
                             : testing::solve_in_rounds(problems[p], options, 0);
      };
      const Solution first = solved();
      for (int repetition = 0; repetition < repetitions; ++repetition)
        ASSERT_EQ(solved().places, first.places);
    }
  }
}

TEST(Exact, StoppedBeforehandStillPlacesEverythingAndClaimsNothing) {
  std::stop_source source;
  source.request_stop();
  std::size_t not_proven = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Problem problem = small_problem(seed);
    EXPECT_FALSE(exact_with(problem, {.threads = 1, .stop = source.get_token()}).is_least);
    const Solution solution = solve(problem, {.strategy = "exact", .threads = 1, .stop = source.get_token()});
    std::vector<Bytes> offsets;
    for (const Place& place : solution.places) offsets.push_back(place.offset);
    EXPECT_EQ(oracle::fault_of(problem, offsets), std::nullopt);
    EXPECT_EQ(solution.interrupted, peak_of(problem, solution, 0) > solution.lower_bound);
    not_proven += solution.interrupted ? 1 : 0;
  }
  EXPECT_GT(not_proven, 0U);
}

TEST(Exact, WhatIsEverywhereLiesAtTheBottomAndPartsAreSolvedAlone) {
  std::vector<Bytes> settled(5, -1);
  auto regions = pack::regions_of(
      pack::model_of(problem_of({whole("left", 4, 0, 3), whole("all", 6, 0, 9), whole("too", 2, 1, 3),
                                 whole("right", 8, 5, 9), whole("never", 9, 5, 5)})
                         .buffers),
      settled, never);
  EXPECT_TRUE(regions.empty());  // all of `left` too, once it is alone, and so on
  EXPECT_EQ(settled, (std::vector<Bytes>{6, 0, 10, 6, -1}));
}

TEST(Exact, ToldToStopTablesAreIncompleteButNotBroken) {
  const Problem problem = oracle::random_problem(4, {.buffers = 40,
                                                     .positions = 60,
                                                     .longest_life = 9,
                                                     .largest_size = 9,
                                                     .percent_with_pieces = 20,
                                                     .percent_pinned = 10});
  const pack::SectionModel model = pack::model_of(problem.buffers);
  std::size_t fewest = model.items.size();
  for (int calls = 0; calls < 200; ++calls) {
    int left = calls;
    const pack::Stop stop = [&] { return left-- <= 0; };
    std::vector<Bytes> settled(problem.buffers.size());
    std::size_t items = 0;
    for (const pack::Subproblem& region : pack::regions_of(model, settled, stop)) {
      const pack::Tables tables(region.model, stop);
      EXPECT_EQ(tables.clashes.size(), region.model.items.size());
      EXPECT_EQ(tables.entries.size(), region.model.sections);
      for (std::size_t i = 0; i < tables.clashes.size(); ++i) {
        for (const pack::ForbiddenOffsets& clash : tables.clashes[i])
          EXPECT_LT(clash.other, region.model.items.size());
      }
      items += region.model.items.size();
    }
    fewest = std::min(fewest, items);
  }
  EXPECT_EQ(fewest, 0U);
}

TEST(Exact, CountsPairsThatAreAliveTogether) {
  const Problem problem =
      oracle::random_problem(6, {.buffers = 3000, .positions = 500, .longest_life = 200, .largest_size = 9});
  std::vector<Lifetime> lives;
  for (const Buffer& buffer : problem.buffers) {
    for (const Piece& piece : buffer.pieces) {
      if (piece.is_ever_alive()) lives.push_back(piece.life);
    }
  }
  std::size_t pairs = 0;
  for (std::size_t a = 0; a < lives.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b)
      pairs += lives[a].lower < lives[b].upper && lives[b].lower < lives[a].upper ? 1 : 0;
  }
  const auto obstacle = pack::obstacle_to_exact(problem);
  ASSERT_TRUE(obstacle);
  EXPECT_NE(obstacle->find("there are " + std::to_string(pairs)), std::string::npos) << *obstacle;
}

TEST(Exact, SectionsAreMaximal) {
  const pack::SectionModel model = pack::model_of(
      problem_of({whole("a", 4, 0, 4), whole("b", 8, 2, 9), whole("c", 2, 3, 5), whole("d", 6, 6, 8)})
          .buffers);
  EXPECT_EQ(model.sections, 2U);
  EXPECT_EQ(model.unit, 2);
  EXPECT_EQ(model.loads(), (std::vector<Bytes>{7, 7}));
  EXPECT_EQ(model.items[1].parts, (std::vector<pack::Segment>{{0, 2, 0, 4}}));
}

TEST(Exact, RealInstancesAreSolved) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "packing" / "minimalloc";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  for (const char* const name : {"A", "C", "E", "G"}) {
    SCOPED_TRACE(name);
    const Input input = read_input(folder / (std::string(name) + ".csv"));
    const auto& problem = std::get<Problem>(input.content);
    const Solution solution = solve(problem, {.strategy = "exact", .time_limit = std::chrono::hours(1)});
    EXPECT_EQ(peak_of(problem, solution, 0), solution.lower_bound);
    EXPECT_FALSE(solution.interrupted);
  }
}

}  // namespace
}  // namespace stowage
