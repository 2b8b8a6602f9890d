// Packing from the peak outwards: valid on everything, alone on stretches of time, the same on any number of
// threads, at max load where large problems allow it.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "pack/bounds.h"
#include "pack/container.h"
#include "pack/placing.h"
#include "pack/portfolio.h"
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

/// One list after the other in time.
Problem in_turn(const std::vector<Problem>& lists) {
  Problem all{.memories = {{.name = "arena"}}};
  Position begin = 0;
  for (const Problem& list : lists) {
    Position end = begin;
    for (Buffer buffer : list.buffers) {
      buffer.id = std::to_string(all.buffers.size());
      for (Piece& piece : buffer.pieces) {
        piece.life = {piece.life.lower + begin, piece.life.upper + begin};
        end = std::max(end, piece.life.upper);
      }
      all.buffers.push_back(std::move(buffer));
    }
    begin = end;
  }
  return all;
}

/// Of everything there is but buffers that are never alive; one byte is alive all the time.
Problem stretch(std::uint64_t seed, std::size_t buffers) {
  const auto positions = static_cast<Position>(buffers) / 3 + 2;
  Problem problem = oracle::random_problem(seed, {.buffers = buffers - 1,
                                                  .positions = positions,
                                                  .longest_life = std::max<Position>(positions / 6, 3),
                                                  .largest_size = 60,
                                                  .largest_alignment = seed % 3 == 0 ? 8 : 1,
                                                  .percent_with_pieces = seed % 2 == 0 ? 15 : 0,
                                                  .percent_pinned = seed % 4 == 1 ? 2 : 0});
  const auto is_never_alive = [](const Buffer& it) { return oracle::max_load({&it, 1}) == 0; };
  std::erase_if(problem.buffers, is_never_alive);
  problem.buffers.push_back(whole("always", 1, 0, positions));
  return problem;
}

/// Lists that are one stretch, few, hundreds, and of all sizes.
std::vector<Problem> lists_of_stretches() {
  const auto alike = [](std::uint64_t seed, std::size_t count, std::size_t buffers) {
    std::vector<Problem> lists;
    for (std::size_t i = 0; i < count; ++i) lists.push_back(stretch(seed + i, buffers));
    return in_turn(lists);
  };
  std::vector<Problem> mixed{stretch(1, 300)};
  for (std::uint64_t seed = 0; seed < 12; ++seed) mixed.push_back(stretch(seed, seed % 3 == 0 ? 70 : 20));
  mixed.push_back(stretch(2, 400));
  return {stretch(3, 300), large_problem(1), alike(0, 3, 400), alike(0, 220, 5), in_turn(mixed)};
}

/// What from-peak finds, and the work it counts, with so much effort.
struct Trial {
  pack::Placing placing;
  std::int64_t spent = 0;
};

Trial try_from_peak(const Problem& problem, std::optional<std::int64_t> effort, std::size_t threads,
                    bool has_plan) {
  const SolveOptions options{.effort = effort, .threads = threads};
  const pack::Control control{.options = options,
                              .deadline = pack::deadline_of(options),
                              .has_plan = has_plan,
                              .rounds = effort ? 1 : 0};
  Trial trial{pack::from_peak(problem, control)};
  if (effort) trial.spent = control.deadline.now().time_since_epoch().count();
  return trial;
}

void expect_valid_places(const Problem& problem, const std::vector<Place>& places) {
  EXPECT_EQ(oracle::fault_of(problem, offsets_of(places)).value_or("none"), "none");
}

/// How often from-peak reports: once for every two manners it tries, of the first stretch of each wave.
struct Reported {
  Bytes peak = 0;
  int reports = 0;
};

Reported count_reports(const Problem& problem, std::size_t threads = 1) {
  std::atomic<int> reports = 0;
  std::atomic<int> at_once = 0;
  const Progress count = [&](std::string_view what, double fraction) {
    EXPECT_EQ(++at_once, 1);
    EXPECT_EQ(what, "from-peak");
    EXPECT_GE(fraction, 0);
    EXPECT_LT(fraction, 1);
    ++reports;
    --at_once;
  };
  const auto placing =
      pack::from_peak(problem, {.options = {.threads = threads, .progress = count}, .rounds = 0});
  expect_valid_places(problem, placing.places);
  return {oracle::peak_of_offsets(problem, offsets_of(placing.places)), reports};
}

TEST(FromPeak, TheThreadsDoNotDecideWhich) {
  std::size_t cut = 0;
  std::size_t done = 0;
  std::size_t none = 0;
  for (const Problem& problem : lists_of_stretches()) {
    SCOPED_TRACE(std::to_string(problem.buffers.size()) + " buffers");
    for (const auto effort : std::vector<std::optional<std::int64_t>>{std::nullopt, 1, 2, 5, 8}) {
      for (const bool has_plan : {true, false}) {
        if (has_plan && !effort) continue;
        SCOPED_TRACE(std::to_string(effort.value_or(0)) + (has_plan ? " with a plan" : ""));
        const Trial alone = try_from_peak(problem, effort, 1, has_plan);
        const pack::Placing& placing = alone.placing;
        if (!placing.places.empty()) expect_valid_places(problem, placing.places);
        EXPECT_TRUE(has_plan || !placing.places.empty());
        none += placing.places.empty() ? 1 : 0;
        cut += placing.cut_short && !placing.places.empty() ? 1 : 0;
        done += placing.cut_short ? 0 : 1;
        for (const std::size_t threads : {2U, 8U}) {
          const Trial together = try_from_peak(problem, effort, threads, has_plan);
          EXPECT_EQ(together.placing.places, placing.places) << threads;
          EXPECT_EQ(together.placing.cut_short, placing.cut_short) << threads;
          if (!placing.places.empty()) {
            EXPECT_EQ(together.spent, alone.spent) << threads;
          }
        }
      }
    }
  }
  EXPECT_GT(cut, 3U);
  EXPECT_GT(done, 3U);
  EXPECT_GT(none, 1U);
}

/// What is spent is missing for strategies that come later. The first stretch tries all manners; the time left is
/// too short for any stretch of the next wave, all of which begin on eight threads, but one on one.
TEST(FromPeak, TheThreadsDoNotDecideWhatIsLeftForOthers) {
  const Problem problem = in_turn({stretch(3, 300), stretch(0, 100), stretch(1, 100), stretch(2, 100)});
  const auto spent_on = [&](std::size_t threads) {
    // The first stretch of a wave waits for others to begin.
    const Progress wait = [](std::string_view, double) {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    };
    const SolveOptions options{.effort = 2, .threads = threads, .progress = wait};
    const pack::Control control{.options = options, .deadline = pack::deadline_of(options), .has_plan = true};
    EXPECT_TRUE(pack::from_peak(problem, control).cut_short);
    return control.deadline.now();
  };
  EXPECT_EQ(spent_on(8), spent_on(1));
}

TEST(FromPeak, InAutoTheThreadsDoNotDecideWhich) {
  for (const Problem& problem : lists_of_stretches()) {
    SCOPED_TRACE(std::to_string(problem.buffers.size()) + " buffers");
    for (const std::int64_t effort : {5, 14, 25}) {
      SCOPED_TRACE(effort);
      const Solution alone = solve(problem, {.effort = effort, .threads = 1});
      expect_valid_places(problem, alone.places);
      for (const std::size_t threads : {2U, 8U}) {
        const Solution together = solve(problem, {.effort = effort, .threads = threads});
        EXPECT_EQ(together.places, alone.places) << threads;
        EXPECT_EQ(together.strategy, alone.strategy) << threads;
        EXPECT_EQ(together.interrupted, alone.interrupted) << threads;
      }
    }
  }
}

TEST(FromPeak, CutShortInOneStretchItSaysSo) {
  // The first stretch wants more time than there is, the second is done at once.
  const Problem problem = in_turn({stretch(3, 300), problem_of({whole("easy", 1, 0, 1)})});
  EXPECT_FALSE(try_from_peak(problem, 10, 1, false).placing.cut_short);
  const auto placing = try_from_peak(problem, 1, 1, false).placing;
  expect_valid_places(problem, placing.places);
  EXPECT_TRUE(placing.cut_short);
}

TEST(FromPeak, StretchesOfAWaveShareTheEffort) {
  // The first stretch needs one pass. The next wave is three that try all manners if they have time.
  Problem easy = problem_of({whole("always", 1, 0, 300)});
  for (Position at = 0; at < 300; ++at) easy.buffers.push_back(whole("", 1, at, at + 1));
  const Problem hard = stretch(3, 100);
  const Problem problem = in_turn({easy, hard, hard, hard});
  EXPECT_GT(try_from_peak(problem, 10, 1, true).spent, 1'900'000);
  const Trial cut = try_from_peak(problem, 1, 1, true);
  expect_valid_places(problem, cut.placing.places);
  EXPECT_TRUE(cut.placing.cut_short);
  EXPECT_LT(cut.spent, 1'400'000);
}

TEST(FromPeak, WithoutTimeOnePassIsMade) {
  const auto spent = [](std::uint64_t seed, std::int64_t effort) {
    const Problem problem = stretch(seed, 300);
    const Trial trial = try_from_peak(problem, effort, 1, false);
    expect_valid_places(problem, trial.placing.places);
    return trial.spent;
  };
  EXPECT_EQ(spent(1, 10), spent(1, 0)) << "the first manner reaches the bound";
  EXPECT_GT(spent(11, 10), spent(11, 0)) << "the second does";
  EXPECT_LT(spent(11, 10), 3 * spent(11, 0));
}

TEST(FromPeak, WhatIsLeftOverThrowsOthersOut) {
  for (const std::uint64_t seed : {16U, 17U, 18U, 19U, 21U, 25U}) {
    SCOPED_TRACE(seed);
    Problem problem = oracle::random_problem(
        seed, {.buffers = 1100, .positions = 700, .longest_life = 12, .largest_size = 60});
    problem.buffers.push_back(whole("always", 1, 0, 700));
    const auto peak_of_trial = [&](const Trial& trial) {
      expect_valid_places(problem, trial.placing.places);
      return oracle::peak_of_offsets(problem, offsets_of(trial.placing.places));
    };
    const Bytes bound = pack::lower_bound_of(problem.buffers);
    const Trial pass = try_from_peak(problem, 0, 1, false);  // has no time for it
    const Trial with_time = try_from_peak(problem, 50, 1, false);
    EXPECT_GT(peak_of_trial(pass), bound);
    EXPECT_EQ(peak_of_trial(with_time), bound);
    EXPECT_GT(with_time.spent, pass.spent) << "the search counts its work";
    EXPECT_LT(with_time.spent, 2 * pass.spent) << "there was a second pass";
  }
}

TEST(FromPeak, AWaveHasAsManyBuffersAsAllBeforeIt) {
  std::vector<Buffer> buffers;
  for (Position at = 0; at < 300; ++at) buffers.push_back(whole(std::to_string(at), 4, at, at + 1));
  // Stretches of one buffer: 1, 1, 2, 4, up to 128, and 44 that are left.
  for (const std::size_t threads : {1U, 2U, 8U})
    EXPECT_EQ(count_reports(problem_of(buffers), threads).reports, 10) << threads;
  // The last one of a wave may be large: waves of 1, 1, 1 and 9, and 12.
  std::vector<Buffer> one_is_large(buffers.begin(), buffers.begin() + 16);
  for (int i = 0; i < 8; ++i) one_is_large.push_back(whole("beside " + std::to_string(i), 4, 3, 4));
  EXPECT_EQ(count_reports(problem_of(one_is_large)).reports, 4);
}

/// Which of equal buffers comes first does not depend on what else there is, then.
Problem by_begin(const Problem& list) {
  Problem sorted{.memories = list.memories};
  for (const std::size_t b : pack::by_start(list)) sorted.buffers.push_back(list.buffers[b]);
  return sorted;
}

TEST(FromPeak, WhatIsRepeatedInTimeNeedsNoMore) {
  std::size_t several_manners = 0;
  std::size_t above_bound = 0;
  std::size_t sooner = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Problem list = by_begin(stretch(seed, 20 + seed % 50));
    const Problem repeated = in_turn(std::vector<Problem>(5, list));  // waves of 1, 1, 2 and 1
    const Reported once = count_reports(list);
    const Reported often = count_reports(repeated);
    if (once.peak == pack::lower_bound_of(list.buffers)) {
      EXPECT_EQ(often.peak, once.peak);
      EXPECT_EQ(often.reports, once.reports + 3) << "the manner that worked comes first";
      several_manners += once.reports > 1 ? 1 : 0;
    } else {
      ++above_bound;
      sooner += often.reports < 2 * once.reports ? 1 : 0;
    }
  }
  EXPECT_GT(several_manners, 5U);
  EXPECT_GT(2 * sooner, above_bound) << "what does not raise the peak is low enough";
}

/// The later copies have a cap that is not the bound, with which no manner places them as low.
TEST(FromPeak, WhatIsRepeatedInTimeNeedsNoMoreAboveTheBound) {
  for (const std::uint64_t seed : {57U, 105U, 285U}) {
    const Problem list = by_begin(stretch(seed, 20 + seed % 50));
    EXPECT_LE(count_reports(in_turn(std::vector<Problem>(5, list))).peak, count_reports(list).peak) << seed;
  }
}

/// Buffers of so many pieces that neighbours are found once for all strategies.
Problem stretch_of_rows(std::uint64_t seed) {
  oracle::Random random(seed);
  std::vector<Buffer> buffers{whole("always", 1, 0, 60)};
  for (int b = 0; b < 20; ++b) {
    const Position begin = random.between(0, 15);
    Buffer buffer{.size = 80};
    for (Position row = 0; row < 40; ++row)
      buffer.pieces.push_back(
          {2 * row, random.between(1, 2), {begin + row, begin + row + random.between(1, 5)}});
    buffers.push_back(buffer);
    buffers.push_back(whole("", random.between(1, 30), begin, begin + random.between(1, 40)));
  }
  return problem_of(buffers);
}

TEST(FromPeak, NeighboursOfTheWholeListAreNotThoseOfAStretch) {
  const auto as_found = [](const Problem& problem, const pack::Neighbours* neighbours) {
    const auto placing = pack::from_peak(problem, {.rounds = 0, .neighbours = neighbours});
    expect_valid_places(problem, placing.places);
    return placing.places;
  };
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    for (const std::size_t count : {1U, 3U}) {
      std::vector<Problem> lists;
      for (std::size_t i = 0; i < count; ++i) lists.push_back(stretch_of_rows(seed + i));
      Problem problem = in_turn(lists);
      std::reverse(problem.buffers.begin(), problem.buffers.end());
      const pack::Neighbours neighbours(problem.buffers);
      ASSERT_TRUE(neighbours.are_joined());
      EXPECT_EQ(as_found(problem, &neighbours), as_found(problem, nullptr));
      expect_valid_places(problem, solve(problem, {.strategy = "from-peak"}).places);
    }
  }
}

TEST(FromPeak, StoppedWhileItRunsThereIsAValidPlan) {
  std::size_t interrupted = 0;
  for (const Problem& problem : lists_of_stretches()) {
    SCOPED_TRACE(std::to_string(problem.buffers.size()) + " buffers");
    for (const std::string strategy : {"from-peak", "auto"}) {
      for (const std::size_t threads : {1U, 8U}) {
        for (const int moment : {1, 2, 5}) {
          std::stop_source source;
          std::atomic<int> reports = 0;
          const Progress stop_then = [&](std::string_view what, double) {
            if (what.starts_with("from-peak") && ++reports == moment) source.request_stop();
          };
          const Solution solution = solve(problem, {.strategy = strategy,
                                                    .effort = 14,
                                                    .threads = threads,
                                                    .stop = source.get_token(),
                                                    .progress = stop_then});
          expect_valid_places(problem, solution.places);
          EXPECT_LE(reports, moment + 1);
          interrupted += reports >= moment && solution.interrupted ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(interrupted, 20U);
}

TEST(FromPeak, BeatenItReturnsNothingThoughNobodyStoppedIt) {
  for (const Problem& problem : lists_of_stretches()) {
    SCOPED_TRACE(std::to_string(problem.buffers.size()) + " buffers");
    const Bytes bound = pack::lower_bound_of(problem.buffers);
    for (const std::size_t threads : {1U, 8U}) {
      std::atomic<Bytes> ceiling = bound;
      pack::Control control{.options = {.threads = threads}, .ceiling = &ceiling, .rounds = 0};
      const auto beaten = pack::from_peak(problem, control);
      EXPECT_TRUE(beaten.places.empty());
      EXPECT_FALSE(beaten.cut_short);

      ceiling = largest_value;
      control.options.progress = [&](std::string_view, double) { ceiling = bound; };
      const auto beaten_later = pack::from_peak(problem, control);
      EXPECT_TRUE(beaten_later.places.empty());
      EXPECT_FALSE(beaten_later.cut_short);
    }
  }
}

TEST(FromPeak, LargeProblemsAreValidAndTheSameEachTime) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = large_problem(seed);
    const pack::Control control{.rounds = 0};
    const auto placing = pack::from_peak(problem, control);
    const auto fault = oracle::fault_of(problem, offsets_of(placing.places));
    EXPECT_FALSE(fault) << *fault;
    EXPECT_EQ(pack::from_peak(problem, control).places, placing.places);
  }
}

TEST(FromPeak, PinsStayWhenOthersAreThrownOut) {
  std::vector<Buffer> buffers;
  for (Bytes i = 0; i < 1200; ++i) {
    const Position begin = i / 3;
    buffers.push_back(whole(std::to_string(i), 1 + (i * 7) % 13, begin, begin + 1 + (i * 5) % 11));
    if (i % 100 == 0) buffers.push_back(pinned(whole("pin" + std::to_string(i), 5, begin, begin + 12), 8));
  }
  const Problem problem = problem_of(buffers);
  const auto placing = pack::from_peak(problem, {.rounds = 0});
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
