// Every strategy against its naive twin and against the exact optimum of small problems, and the
// parts that the strategies stand on: the load, the occupancy, the search for overlaps.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/overlap.h"
#include "long_tests.h"
#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "pack/bounds.h"
#include "pack/occupancy.h"
#include "pack/patents/free_list.h"
#include "pack/portfolio.h"
#include "pack/strategies.h"
#include "problems.h"
#include "rounds.h"
#include "stowage/error.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage {
namespace {

using testing::aligned;
using testing::pinned;
using testing::problem_of;
using testing::whole;

const std::uint64_t small_problems = testing::is_in_a_hurry() ? 1000 : testing::cases_of(6000);
constexpr auto generous = std::chrono::hours(1);

/// The strategies that are an order and a fit. The others have tests of their own.
std::vector<std::string> names() {
  return {"greedy-by-size",     "greedy-by-breadth",  "greedy-by-area",
          "greedy-by-duration", "first-fit-by-start", "best-fit-by-start"};
}

/// All that can serve a problem, in their order, but `auto`.
std::vector<std::string> names_for(const Problem& problem) {
  std::vector<std::string> names;
  for (const StrategyInfo& info : strategies()) {
    if (info.name != "auto" && !obstacle_to(info.name, problem)) names.emplace_back(info.name);
  }
  return names;
}

std::vector<std::string> names_and_auto() {
  std::vector<std::string> all = names();
  all.emplace_back("auto");
  return all;
}

/// As good as without limits, but that searches end soon: after a round, or, of large problems, at once.
Solution solve_with(const Problem& problem, const std::string& strategy) {
  constexpr std::size_t few = 100;
  const SolveOptions options{.strategy = strategy, .time_limit = generous};
  return testing::solve_in_rounds(problem, options, problem.buffers.size() < few ? 1 : 0);
}

std::vector<Bytes> offsets_of(const Solution& solution) {
  std::vector<Bytes> offsets;
  for (const Place& place : solution.places) {
    EXPECT_EQ(place.memory, 0U);
    offsets.push_back(place.offset);
  }
  return offsets;
}

std::vector<Bytes> offsets_by(const Problem& problem, const std::string& strategy) {
  return offsets_of(solve_with(problem, strategy));
}

void expect_valid(const Problem& problem, const Solution& solution) {
  const std::optional<std::string> fault = oracle::fault_of(problem, offsets_of(solution));
  EXPECT_FALSE(fault) << *fault;
}

/// What lies at multiples of a unit at a position, each rounded up but for one.
Bytes naive_padded_load(const Problem& problem, Position at, Bytes unit) {
  Bytes load = 0;
  Bytes most = 0;
  for (const Buffer& buffer : problem.buffers) {
    for (const Piece& piece : buffer.pieces) {
      if (at < piece.life.lower || at >= piece.life.upper ||
          buffer.alignment % unit + piece.offset % unit > 0)
        continue;
      const Bytes padded = (piece.size + unit - 1) / unit * unit;
      load += padded;
      most = std::max(most, padded - piece.size);
    }
  }
  return load - most;
}

/// What the bound is documented to be: the load, padded or not, the largest buffer, and the end of the
/// highest pin.
Bytes naive_lower_bound(const Problem& problem) {
  Bytes bound = oracle::max_load(problem.buffers);
  std::set<Bytes> units;
  std::set<Position> positions;
  for (const Buffer& buffer : problem.buffers) {
    bound = std::max(bound, buffer.pinned.value_or(0) + buffer.size);
    for (const Piece& piece : buffer.pieces) {
      if (!piece.is_ever_alive()) continue;
      positions.insert(piece.life.lower);
      if ((buffer.alignment & (buffer.alignment - 1)) == 0) units.insert(buffer.alignment);
    }
  }
  for (const Bytes unit : units) {
    for (const Position at : positions) bound = std::max(bound, naive_padded_load(problem, at, unit));
  }
  return bound;
}

/// Every strategy finds exactly what its naive twin finds, says so, and is valid.
void expect_as_naive(const Problem& problem, oracle::Method method) {
  for (const std::string& name : names()) {
    SCOPED_TRACE(name);
    const Solution solution = solve_with(problem, name);
    EXPECT_EQ(solution.strategy, name);
    EXPECT_FALSE(solution.interrupted);
    EXPECT_EQ(offsets_of(solution), oracle::place(problem, name, method));
    EXPECT_EQ(solution.lower_bound, naive_lower_bound(problem));
    expect_valid(problem, solution);
  }
}

Problem mixed_problem(std::uint64_t seed, std::size_t buffers, Position positions, Position longest_life) {
  return oracle::random_problem(seed, {.buffers = buffers,
                                       .positions = positions,
                                       .longest_life = longest_life,
                                       .largest_size = 40,
                                       .largest_alignment = 8,
                                       .percent_with_pieces = 20,
                                       .percent_pinned = 2,
                                       .percent_never_alive = 2});
}

/// A problem with so many buffers that strategies look at the clock while they work, and so few that no other
/// plan comes before theirs.
Problem large_problem(std::uint64_t seed) { return mixed_problem(seed, 950, 250, 60); }

/// One that the searches are done with soon.
Problem medium_problem(std::uint64_t seed) { return mixed_problem(seed, 150, 60, 20); }

// Small problems: every strategy, its naive twin, and the optimum.

TEST(Pack, StrategiesAreKnownToTheOracle) {
  const std::vector<StrategyInfo> infos = strategies();
  ASSERT_EQ(infos.size(), 1 + names().size() + 9);
  EXPECT_EQ(infos[0].name, "auto");
  EXPECT_TRUE(std::ranges::is_partitioned(infos, std::identity(), &StrategyInfo::is_in_auto)) << "two groups";
  for (std::size_t i = 0; i < names().size(); ++i) EXPECT_EQ(infos[i + 1].name, names()[i]);
  for (const StrategyInfo& info : infos) {
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_FALSE(info.source.empty()) << info.name;
  }
  for (const std::string& name : names()) EXPECT_NO_THROW(static_cast<void>(oracle::order_of({}, name)));
}

TEST(Pack, RandomProblemsAreValidAndVaried) {
  std::size_t with_pieces = 0;
  std::size_t with_pins = 0;
  std::size_t with_alignment = 0;
  std::size_t never_alive = 0;
  for (std::uint64_t seed = 0; seed < small_problems; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = oracle::random_problem(seed);
    EXPECT_NO_THROW(validate(problem));
    EXPECT_EQ(problem, oracle::random_problem(seed));
    for (const Buffer& buffer : problem.buffers) {
      with_pieces += buffer.pieces.size() > 1 ? 1 : 0;
      with_pins += buffer.pinned ? 1 : 0;
      with_alignment += buffer.alignment > 1 ? 1 : 0;
      never_alive += oracle::max_load({&buffer, 1}) == 0 ? 1 : 0;
    }
  }
  EXPECT_GT(with_pieces, small_problems / 2);
  EXPECT_GT(with_pins, small_problems / 4);
  EXPECT_GT(with_alignment, small_problems / 3);
  EXPECT_GT(never_alive, small_problems / 8);
}

TEST(Pack, RandomProblemsAreTheSameEverywhere) {
  const Problem problem = oracle::random_problem(1);
  ASSERT_FALSE(problem.buffers.empty());
  oracle::Random random(5489);
  EXPECT_EQ(random.between(0, 999), 30);  // the engine is fixed by the standard
}

TEST(Pack, TheOracleFindsFaults) {
  const Problem problem = problem_of({
      aligned(whole("a", 4, 0, 2), 2),
      {.id = "b", .size = 4, .pieces = {{2, 2, {1, 2}}}},
      pinned(whole("p", 2, 0, 1), 8),
  });
  const auto fault = [&](const std::vector<Bytes>& offsets) { return oracle::fault_of(problem, offsets); };
  EXPECT_EQ(fault({0, 2, 8}), std::nullopt);
  EXPECT_EQ(fault({4, 2, 8}), "a collides with b");
  EXPECT_EQ(fault({6, 0, 8}), "a collides with p");
  EXPECT_EQ(fault({4, 0, 8}), std::nullopt);
  EXPECT_EQ(fault({4, 6, 8}), std::nullopt);
  EXPECT_EQ(fault({1, 6, 8}), "a is not aligned");
  EXPECT_EQ(fault({0, -1, 8}), "b is below the memory");
  EXPECT_EQ(fault({0, 2, 9}), "p is not where it is pinned");
  EXPECT_EQ(fault({0, 2}), "not one offset per buffer");
}

TEST(Pack, EveryStrategyDoesWhatItsNaiveTwinDoes) {
  for (std::uint64_t seed = 0; seed < small_problems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    expect_as_naive(oracle::random_problem(seed), oracle::Method::one_by_one);
  }
}

TEST(Pack, NoStrategyBeatsTheOptimumNorTheOptimumTheBound) {
  std::size_t missed = 0;
  std::size_t above_bound = 0;
  for (std::uint64_t seed = 0; seed < small_problems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = oracle::random_problem(seed);
    const Bytes optimum = oracle::optimal_peak(problem);
    for (const std::string& name : names_for(problem)) {
      const Solution solution = solve_with(problem, name);
      const Bytes peak = peak_of(problem, solution, 0);
      const Bytes end_of_slots = solution.slots ? solution.slots->end() : 0;
      EXPECT_EQ(peak, std::max(end_of_slots, oracle::peak_of_offsets(problem, offsets_of(solution))));
      EXPECT_GE(peak, optimum) << name;
      EXPECT_LE(solution.lower_bound, optimum) << name;
      missed += peak > optimum ? 1 : 0;
      above_bound += optimum > solution.lower_bound ? 1 : 0;
    }
  }
  EXPECT_GT(missed, 0U) << "the problems are too easy to tell";
  EXPECT_GT(above_bound, 0U) << "the problems are too easy to tell";
}

/// The least peak over all orders, each buffer as low as it goes: another way to the optimum, where
/// every buffer has a single piece.
Bytes best_peak_of_all_orders(const Problem& problem) {
  std::vector<Bytes> offsets(problem.buffers.size(), 0);
  std::vector<oracle::Taken> pins;
  std::vector<std::size_t> order;
  for (std::size_t b = 0; b < offsets.size(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    if (!buffer.pinned) order.push_back(b);
    if (!buffer.pinned) continue;
    offsets[b] = *buffer.pinned;
    oracle::reserve(pins, buffer, offsets[b]);
  }
  Bytes least = largest_value;
  do {
    std::vector<oracle::Taken> taken = pins;
    for (const std::size_t b : order) {
      const Buffer& buffer = problem.buffers[b];
      offsets[b] = oracle::lowest_fit(oracle::free_one_by_one(taken, buffer), buffer.alignment);
      oracle::reserve(taken, buffer, offsets[b]);
    }
    least = std::min(least, oracle::peak_of_offsets(problem, offsets));
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(Pack, TwoWaysToTheOptimumAgree) {
  for (std::uint64_t seed = 0; seed < 500 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    oracle::Random random(seed);
    const Problem problem =
        oracle::random_problem(seed, {.buffers = static_cast<std::size_t>(random.between(3, 6)),
                                      .positions = random.between(3, 10),
                                      .largest_size = random.between(2, 10),
                                      .largest_alignment = random.chance(50) ? 1 : 4,
                                      .percent_pinned = random.chance(50) ? 0 : 30,
                                      .percent_never_alive = 5});
    EXPECT_EQ(oracle::optimal_peak(problem), best_peak_of_all_orders(problem));
  }
}

TEST(Pack, SeveralPiecesCanHaveAnOptimumThatNoOrderFinds) {
  // Some buffer has to lie higher than it could, or a piece of it stands in the way of another.
  const Problem problem = problem_of({
      {.id = "a", .size = 2, .pieces = {{0, 2, {0, 1}}, {0, 1, {1, 3}}}},
      {.id = "b", .size = 4, .pieces = {{0, 1, {0, 1}}, {3, 1, {1, 3}}}},
      {.id = "c", .size = 3, .pieces = {{1, 2, {1, 2}}}},
  });
  EXPECT_EQ(oracle::fault_of(problem, std::vector<Bytes>{3, 1, 0}), std::nullopt);
  EXPECT_EQ(oracle::optimal_peak(problem), 5);
  EXPECT_EQ(best_peak_of_all_orders(problem), 6);
}

TEST(Pack, AutoIsTheBestOfAll) {
  for (std::uint64_t seed = 0; seed < small_problems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = oracle::random_problem(seed);
    const Solution best = solve_with(problem, "auto");
    expect_valid(problem, best);
    EXPECT_FALSE(best.interrupted);
    EXPECT_NE(best.strategy, "auto");
    // These two begin from the placing of the others.
    if (best.strategy != "exact" && best.strategy != "ejection") {
      EXPECT_EQ(offsets_of(best), offsets_by(problem, best.strategy));
    }
    Bytes least = largest_value;
    Bytes least_run = largest_value;
    std::string first;  // of equally good ones
    for (const std::string& name : names_for(problem)) {
      if (name == "rings" && !pack::has_runs(problem)) continue;
      const Bytes peak = peak_of(problem, solve_with(problem, name), 0);
      least = std::min(least, peak);
      const bool is_run = name != "free-list" && name != "two-stack" && name != "slots";  // by auto
      if (!is_run || peak >= least_run) continue;
      first = name;
      least_run = peak;
    }
    EXPECT_EQ(peak_of(problem, best, 0), least);
    EXPECT_EQ(best.strategy, first);
  }
}

TEST(Pack, AutoIsTheDefault) {
  const Problem problem = medium_problem(3);
  EXPECT_EQ(SolveOptions().strategy, "auto");
  EXPECT_EQ(solve(problem, {.effort = 20}).places, solve(problem, {.strategy = "auto", .effort = 20}).places);
}

TEST(Pack, SameProblemSameSolution) {
  for (const std::string& name : names_and_auto()) {
    SCOPED_TRACE(name);
    for (const Problem& problem : {oracle::random_problem(12), medium_problem(1)}) {
      const Solution first = solve_with(problem, name);
      const Solution second = solve_with(problem, name);
      EXPECT_EQ(first.places, second.places);
      EXPECT_EQ(first.outcome, second.outcome);
      EXPECT_EQ(first.lower_bound, second.lower_bound);
      EXPECT_EQ(first.strategy, second.strategy);
      EXPECT_EQ(first.interrupted, second.interrupted);
    }
  }
}

// Larger problems.

TEST(Pack, MediumProblemsOffsetByOffset) {
  for (std::uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    oracle::Random random(seed);
    expect_as_naive(oracle::random_problem(seed, {.buffers = static_cast<std::size_t>(random.between(20, 60)),
                                                  .positions = random.between(10, 150),
                                                  .longest_life = random.between(2, 100),
                                                  .largest_size = random.between(2, 12),
                                                  .largest_alignment = random.chance(50) ? 1 : 8,
                                                  .percent_with_pieces = random.chance(50) ? 0 : 50,
                                                  .percent_pinned = random.chance(50) ? 0 : 10,
                                                  .percent_never_alive = 5,
                                                  .percent_like_the_last = 20}),
                    oracle::Method::one_by_one);
  }
}

TEST(Pack, WholeBuffersInTheOrderOfTimeOffsetByOffset) {
  const std::uint64_t cases = testing::has_time() ? 40 : 12;  // of each kind at least one
  for (std::uint64_t seed = 0; seed < cases && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = oracle::random_problem(seed, {.buffers = 150,
                                                          .positions = 60,
                                                          .longest_life = seed % 3 == 0 ? 50 : 12,
                                                          .largest_size = seed % 4 == 0 ? 4 : 40,
                                                          .largest_alignment = seed % 2 == 0 ? 1 : 8,
                                                          .percent_never_alive = 5,
                                                          .percent_like_the_last = 20});
    expect_as_naive(problem, oracle::Method::one_by_one);
  }
}

TEST(Pack, LargeProblemsPairByPair) {
  const std::array<oracle::ProblemShape, 7> shapes{{
      {.buffers = 300, .positions = 5, .longest_life = 5, .largest_size = 64},  // all at once
      {.buffers = 600,
       .positions = 600,
       .longest_life = 300,
       .largest_size = 30,
       .percent_like_the_last = 30},
      {.buffers = 3000, .positions = 3000, .longest_life = 20, .largest_size = 200},  // a long, thin model
      {.buffers = 3000,
       .positions = 1000,
       .longest_life = 60,
       .largest_size = 64,
       .largest_alignment = 8,
       .percent_with_pieces = 30},
      {.buffers = 1000,
       .positions = 200,
       .longest_life = 100,
       .largest_size = 25,
       .largest_alignment = 4,
       .percent_with_pieces = 100},
      {.buffers = 800, .positions = 257, .longest_life = 257, .largest_size = 1, .percent_like_the_last = 50},
      {.buffers = 1500,
       .positions = 900,
       .longest_life = 200,
       .largest_size = 40,
       .largest_alignment = 3,
       .percent_with_pieces = 40,
       .percent_pinned = 10,
       .percent_never_alive = 5},
  }};
  for (std::size_t i = 0; i < shapes.size() && !HasFailure(); ++i) {
    SCOPED_TRACE("shape " + std::to_string(i));
    expect_as_naive(oracle::random_problem(i, shapes[i]), oracle::Method::crossing_out);
  }
}

// What each strategy is, by hand.

/// Sizes 1, 4, 9, durations 10, 2, 1, areas 10, 8, 9: three orders.
Problem telling_problem() {
  return problem_of({whole("long", 1, 0, 10), whole("middle", 4, 8, 10), whole("short", 9, 9, 10)});
}

TEST(Pack, GreedyBySizePlacesTheLargestFirst) {
  EXPECT_EQ(offsets_by(telling_problem(), "greedy-by-size"), (std::vector<Bytes>{13, 9, 0}));
  const Problem equal = problem_of({whole("a", 4, 0, 2), whole("b", 4, 1, 3), whole("c", 4, 1, 2)});
  EXPECT_EQ(offsets_by(equal, "greedy-by-size"), (std::vector<Bytes>{0, 4, 8}));
}

TEST(Pack, GreedyByBreadthPlacesTheBroadestPositionFirst) {
  // breadth  6   9   10      position 2 first: d, b, c by size, and then a
  // alive    a   ab  bcd
  const Problem problem =
      problem_of({whole("a", 6, 0, 2), whole("b", 3, 1, 3), whole("c", 3, 2, 3), whole("d", 4, 2, 3)});
  EXPECT_EQ(offsets_by(problem, "greedy-by-breadth"), (std::vector<Bytes>{7, 4, 7, 0}));
  EXPECT_EQ(offsets_by(problem, "greedy-by-size"), (std::vector<Bytes>{0, 6, 9, 0}));
}

TEST(Pack, GreedyByBreadthTakesTheEarlierOfEqualPositions) {
  // breadth  6    6      position 0 first: d, a, b by size, and then c, though it is the largest
  // alive    abd  ac
  const Problem problem =
      problem_of({whole("c", 4, 1, 2), whole("b", 1, 0, 1), whole("a", 2, 0, 2), whole("d", 3, 0, 1)});
  EXPECT_EQ(offsets_by(problem, "greedy-by-breadth"), (std::vector<Bytes>{5, 5, 3, 0}));
}

TEST(Pack, GreedyByBreadthKnowsThatAGapIsNotAlive) {
  // breadth  5   9   2      position 1 first: b alone, for a is not alive there; then c, a by size
  // alive    ac  b   a
  const Problem problem = problem_of({
      {.id = "a", .size = 2, .pieces = {{0, 2, {0, 1}}, {0, 2, {2, 3}}}},
      whole("b", 9, 1, 2),
      whole("c", 3, 0, 1),
  });
  EXPECT_EQ(offsets_by(problem, "greedy-by-breadth"), (std::vector<Bytes>{3, 0, 0}));
}

TEST(Pack, GreedyByAreaPlacesTheLargestAreaFirst) {
  EXPECT_EQ(offsets_by(telling_problem(), "greedy-by-area"), (std::vector<Bytes>{0, 10, 1}));
  // Pieces are summed: the area of a is 2 + 2, that of b 5.
  const Problem gap =
      problem_of({{.id = "a", .size = 2, .pieces = {{0, 2, {0, 1}}, {0, 2, {9, 10}}}}, whole("b", 5, 0, 1)});
  EXPECT_EQ(offsets_by(gap, "greedy-by-area"), (std::vector<Bytes>{5, 0}));
}

TEST(Pack, GreedyByAreaDoesNotRoundOrOverflow) {
  constexpr Bytes large = Bytes{1} << 55;
  const Problem problem = problem_of({whole("a", large, 0, large), whole("b", large, 0, large + 1)});
  EXPECT_EQ(offsets_by(problem, "greedy-by-area"), (std::vector<Bytes>{large, 0}));
  // 64 bits would hold nothing of the second area, 2 to the power of 64.
  const Problem wide = problem_of({whole("a", large, 0, 1), whole("b", large, 0, Position{1} << 9)});
  EXPECT_EQ(offsets_by(wide, "greedy-by-area"), (std::vector<Bytes>{large, 0}));
  const Problem equal = problem_of({whole("a", large, 0, large), whole("b", large, 1, large + 1)});
  EXPECT_EQ(offsets_by(equal, "greedy-by-area"), (std::vector<Bytes>{0, large}));
}

TEST(Pack, GreedyByDurationPlacesTheLongestLifeFirst) {
  EXPECT_EQ(offsets_by(telling_problem(), "greedy-by-duration"), (std::vector<Bytes>{0, 1, 5}));
  // Of equal ones the larger, and of those the one given first; a life lasts to the last piece.
  const Problem equal = problem_of({whole("a", 2, 0, 3), whole("b", 3, 0, 3), whole("c", 3, 0, 3)});
  EXPECT_EQ(offsets_by(equal, "greedy-by-duration"), (std::vector<Bytes>{6, 0, 3}));
  const Problem gap =
      problem_of({whole("a", 9, 0, 9), {.id = "b", .size = 1, .pieces = {{0, 1, {9, 10}}, {0, 1, {0, 1}}}}});
  EXPECT_EQ(offsets_by(gap, "greedy-by-duration"), (std::vector<Bytes>{1, 0}));
}

TEST(Pack, ByStartPlacesInTheOrderOfTime) {
  const Problem problem = problem_of(
      {whole("late", 9, 1, 3), whole("small", 2, 0, 2), whole("large", 3, 0, 1), whole("equal", 2, 0, 1)});
  for (const std::string name : {"first-fit-by-start", "best-fit-by-start"}) {
    EXPECT_EQ(offsets_by(problem, name), (std::vector<Bytes>{5, 3, 0, 5})) << name;
  }
}

TEST(Pack, LowestAndTightestDiffer) {
  // Gaps [0, 3) and [4, 6), and an open end above 8.
  const Problem problem =
      problem_of({pinned(whole("p", 1, 0, 2), 3), pinned(whole("q", 2, 0, 2), 6), whole("x", 2, 0, 2)});
  for (const std::string& name : names()) {
    const bool tightest = name.starts_with("best") || name.ends_with("size") || name.ends_with("breadth");
    EXPECT_EQ(offsets_by(problem, name)[2], tightest ? 4 : 0) << name;
  }
}

TEST(Pack, OfEqualGapsTheLowest) {
  // Gaps [0, 2) and [3, 5), and an open end above 6.
  const Problem problem =
      problem_of({pinned(whole("p", 1, 0, 2), 2), pinned(whole("q", 1, 0, 2), 5), whole("x", 2, 0, 2)});
  for (const std::string& name : names()) EXPECT_EQ(offsets_by(problem, name)[2], 0) << name;
}

TEST(Pack, AGapThatFitsUnalignedOnlyIsNoGap) {
  // Gap [1, 5) holds 4 bytes, but no multiple of 4 in it starts 4 bytes.
  const Problem problem = problem_of(
      {pinned(whole("p", 1, 0, 2), 0), pinned(whole("q", 2, 0, 2), 5), aligned(whole("x", 4, 0, 2), 4)});
  for (const std::string& name : names()) EXPECT_EQ(offsets_by(problem, name)[2], 8) << name;
}

TEST(Pack, AnAlignmentMayBeAnyNumber) {
  const Problem problem = problem_of({pinned(whole("p", 4, 0, 2), 0), aligned(whole("x", 1, 0, 2), 3)});
  for (const std::string& name : names()) EXPECT_EQ(offsets_by(problem, name)[1], 6) << name;
}

TEST(Pack, BytesOfAGapAreFreeForOthers) {
  const Problem problem = problem_of({
      {.id = "a", .size = 8, .pieces = {{0, 8, {0, 1}}, {0, 2, {1, 2}}, {0, 8, {2, 3}}}},
      whole("b", 6, 1, 2),
  });
  for (const std::string& name : names()) {
    EXPECT_EQ(peak_of(problem, solve_with(problem, name), 0), 8) << name;
    EXPECT_EQ(offsets_by(problem, name)[1], 2) << name;
  }
}

TEST(Pack, SlotsAreReservedOnceTheyAreFilled) {
  // The second half of `rows` comes alive when `early` is gone.
  const Problem problem = problem_of({
      {.id = "rows", .size = 8, .pieces = {{0, 4, {0, 4}}, {4, 4, {2, 4}}}},
      whole("early", 4, 0, 2),
  });
  for (const std::string& name : names()) {
    EXPECT_EQ(offsets_by(problem, name), (std::vector<Bytes>{0, 4})) << name;
  }
}

TEST(Pack, BuffersThatAreNeverAliveTakeNoRoom) {
  const Problem problem = problem_of({
      whole("a", 4, 0, 2),
      whole("empty life", 4, 1, 1),
      {.id = "no piece", .size = 4},
      whole("no byte", 0, 0, 2),
      pinned(whole("pinned", 4, 1, 1), 2),
      {.id = "pieces without bytes", .size = 3, .pieces = {{1, 0, {0, 2}}}},
  });
  for (const std::string& name : names_and_auto()) {
    EXPECT_EQ(offsets_by(problem, name), (std::vector<Bytes>{0, 0, 0, 0, 2, 0})) << name;
    EXPECT_EQ(peak_of(problem, solve_with(problem, name), 0), 6) << name;
    EXPECT_EQ(solve_with(problem, name).lower_bound, 6) << name;
  }
}

TEST(Pack, AnEmptyProblemHasAnEmptySolution) {
  for (const std::string& name : names_and_auto()) {
    const Solution solution = solve_with(problem_of({}), name);
    EXPECT_TRUE(solution.places.empty());
    EXPECT_EQ(solution.outcome, Outcome::fits);
    EXPECT_EQ(solution.lower_bound, 0);
    EXPECT_FALSE(solution.interrupted);
    EXPECT_EQ(peak_of(problem_of({}), solution, 0), 0);
  }
}

TEST(Pack, TheLargestValuesAreHandled) {
  constexpr Bytes half = largest_value / 2;
  const Problem problem = problem_of(
      {whole("a", half - 2, 0, largest_value), whole("b", half - 2, largest_value - 1, largest_value)});
  for (const std::string& name : names_and_auto()) {
    const Solution solution = solve_with(problem, name);
    expect_valid(problem, solution);
    EXPECT_EQ(peak_of(problem, solution, 0), largest_value - 4) << name;
  }
}

// solve(): options, outcomes, errors.

TEST(Pack, AnUnknownStrategyIsWrongUsage) {
  for (const std::string unknown : {"nonsense", "", "AUTO", "greedy"}) {
    try {
      static_cast<void>(solve_with(problem_of({whole("a", 1, 0, 1)}), unknown));
      FAIL() << unknown;
    } catch (const UsageError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("'" + unknown + "'"), std::string::npos) << message;
      for (const std::string& name : names_and_auto()) {
        EXPECT_NE(message.find(name), std::string::npos) << message;
      }
    }
  }
}

struct Invalid {
  std::string what;
  std::vector<Buffer> buffers;
  std::vector<std::string> said{};  ///< In the message, the buffer's name aside.
};

std::vector<Invalid> invalid_problems() {
  const Buffer good = whole("good", 4, 0, 2);
  const auto bad = [](auto change) {
    Buffer buffer = whole("bad", 8, 1, 3);
    change(buffer);
    return buffer;
  };
  return {
      {"negative size", {good, bad([](Buffer& b) { b.size = -4; })}, {"size", "-4"}},
      {"size too large", {good, bad([](Buffer& b) { b.size = largest_value + 1; })}, {"size"}},
      {"sizes overflow together",
       {whole("huge", largest_value - 64, 0, 1), whole("bad", 64, 5, 6)},
       {"size"}},
      {"sizes overflow the type",
       {whole("a", largest_value / 2, 0, 1), whole("bad", largest_value, 0, 1),
        whole("c", largest_value, 0, 1), whole("d", largest_value, 0, 1), whole("e", largest_value, 0, 1)},
       {"size"}},
      {"alignment zero", {good, bad([](Buffer& b) { b.alignment = 0; })}, {"alignment", "0"}},
      {"alignment negative", {good, bad([](Buffer& b) { b.alignment = -8; })}, {"alignment", "-8"}},
      {"alignment too large", {good, bad([](Buffer& b) { b.alignment = largest_value + 1; })}, {"alignment"}},
      {"lower above upper",
       {good, bad([](Buffer& b) {
          b.pieces[0].life = {3, 2};
        })},
       {"3", "2"}},
      {"negative lower", {good, bad([](Buffer& b) { b.pieces[0].life.lower = -1; })}, {"lower", "-1"}},
      {"upper too large",
       {good, bad([](Buffer& b) { b.pieces[0].life.upper = largest_value + 1; })},
       {"upper"}},
      {"duplicate id", {whole("bad", 4, 0, 2), good, whole("bad", 4, 5, 6)}, {"id"}},
      {"piece below its buffer", {good, bad([](Buffer& b) { b.pieces[0].offset = -1; })}, {"piece", "-1"}},
      {"piece above its buffer", {good, bad([](Buffer& b) { b.pieces[0].offset = 1; })}, {"piece", "8"}},
      {"piece larger than its buffer", {good, bad([](Buffer& b) { b.pieces[0].size = 9; })}, {"piece", "9"}},
      {"piece of negative size", {good, bad([](Buffer& b) { b.pieces[0].size = -9; })}, {"piece", "-9"}},
      {"piece that overflows",
       {good, bad([](Buffer& b) {
          b.pieces[0] = {8, INT64_MAX, {0, 1}};
        })},
       {"piece"}},
      {"piece far away",
       {good, bad([](Buffer& b) {
          b.pieces[0] = {INT64_MAX, 1, {0, 1}};
        })},
       {"piece"}},
      {"pieces that overlap",
       {good, bad([](Buffer& b) {
          b.pieces.push_back({7, 1, {2, 9}});
        })},
       {"piece", "2"}},
      {"pins that collide",
       {pinned(whole("good", 4, 0, 2), 8), pinned(whole("bad", 4, 1, 2), 11)},
       {"good", "8", "11"}},
      {"pins that collide in a piece",
       {pinned(whole("good", 4, 5, 6), 8),
        pinned(Buffer{.id = "bad", .size = 8, .pieces = {{0, 4, {5, 6}}, {4, 4, {5, 6}}}}, 4)},
       {"8", "4"}},
      {"misaligned pin", {good, aligned(pinned(whole("bad", 4, 0, 2), 6), 4)}, {"6", "4"}},
      {"negative pin", {good, pinned(whole("bad", 4, 0, 2), -4)}, {"-4"}},
      {"pin too high", {good, pinned(whole("bad", 4, 0, 2), largest_value + 1)}, {"pinned"}},
      {"memory that does not exist",
       {good, bad([](Buffer& b) {
          b.memories = {0, 1};
        })},
       {"memory", "1"}},
  };
}

TEST(Pack, InvalidProblemsAreErrorsThatNameTheBuffer) {
  for (const Invalid& invalid : invalid_problems()) {
    for (const std::string name : {"auto", "greedy-by-size"}) {
      SCOPED_TRACE(invalid.what);
      try {
        static_cast<void>(solve_with(problem_of(invalid.buffers), name));
        ADD_FAILURE() << "was accepted";
      } catch (const Error& error) {
        const std::string message = error.what();
        EXPECT_NE(message.find("'bad'"), std::string::npos) << message;
        for (const std::string& said : invalid.said) {
          EXPECT_NE(message.find(said), std::string::npos) << message;
        }
      }
    }
    EXPECT_THROW(validate(problem_of(invalid.buffers)), Error) << invalid.what;
  }
}

TEST(Pack, WhatTouchesDoesNotCollide) {
  EXPECT_NO_THROW(validate(problem_of({
      pinned(whole("below", 4, 0, 2), 0),
      pinned(whole("above", 4, 0, 2), 4),
      pinned(whole("after", 8, 2, 3), 0),
      pinned(whole("never", 8, 1, 1), 0),
      pinned(whole("nothing", 0, 0, 3), 2),
      {.id = "itself", .size = 8, .pieces = {{0, 4, {0, 2}}, {4, 4, {0, 2}}, {0, 8, {2, 3}}}},
  })));
}

TEST(Pack, AMemoryIsNeeded) {
  EXPECT_THROW(static_cast<void>(solve({.buffers = {whole("a", 1, 0, 1)}})), Error);
  EXPECT_THROW(static_cast<void>(solve({})), Error);
  Problem problem = problem_of({});
  problem.memories[0].alignment = 0;
  EXPECT_THROW(static_cast<void>(solve(problem)), Error);
}

TEST(Pack, CapacityIsExceededIfThePeakIsAboveIt) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = oracle::random_problem(seed);
    for (const std::string& name : names_and_auto()) {
      problem.memories[0].capacity.reset();
      const Solution unbounded = solve_with(problem, name);
      EXPECT_EQ(unbounded.outcome, Outcome::fits);
      const Bytes peak = peak_of(problem, unbounded, 0);
      for (const Bytes capacity : {Bytes{0}, peak - 1, peak, peak + 1}) {
        if (capacity < 0) continue;
        problem.memories[0].capacity = capacity;
        const Solution solution = solve_with(problem, name);
        EXPECT_EQ(solution.outcome, peak > capacity ? Outcome::exceeds_capacity : Outcome::fits);
        EXPECT_EQ(solution.places, unbounded.places);
      }
    }
  }
}

TEST(Pack, StoppedBeforehandStillPlacesEverything) {
  std::stop_source source;
  source.request_stop();
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Problem problem = seed == 0 ? large_problem(0) : oracle::random_problem(seed);
    if (problem.buffers.empty()) continue;
    std::vector<std::string> every = names_for(problem);
    every.emplace_back("auto");
    for (const std::string& name : every) {
      SCOPED_TRACE(name);
      const Solution solution = solve(problem, {.strategy = name, .stop = source.get_token()});
      const bool may_be_cut = name != "free-list";  // which places so few buffers in any case
      EXPECT_EQ(solution.interrupted, may_be_cut && peak_of(problem, solution, 0) > solution.lower_bound);
      EXPECT_LE(solution.lower_bound, peak_of(problem, solution, 0));
      expect_valid(problem, solution);
    }
  }
}

TEST(Pack, StoppedMidwayStillPlacesEverything) {
  const Problem problem = large_problem(5);
  for (const std::string& name : names_and_auto()) {
    SCOPED_TRACE(name);
    // In no round the searches of `auto` still take twenty seconds; this is one.
    const bool is_short = name == "auto" && !testing::has_time();
    const Solution uncut =
        is_short ? solve(problem, {.strategy = name, .effort = 1000}) : solve_with(problem, name);
    for (const double until : {0.0, 0.5}) {
      if (!testing::has_time() && until == 0) continue;  // the next test is much the same
      std::stop_source source;
      const auto stop = [&](std::string_view, double fraction) {
        if (fraction > until) source.request_stop();
      };
      const Solution solution = solve(
          problem, {.strategy = name, .time_limit = generous, .stop = source.get_token(), .progress = stop});
      EXPECT_TRUE(solution.interrupted);
      EXPECT_NE(solution.places, uncut.places);
      EXPECT_LE(solution.lower_bound, peak_of(problem, solution, 0));
      expect_valid(problem, solution);
    }
  }
}

TEST(Pack, StoppedLaterThePlanSoFarIsKept) {
  const Problem problem = large_problem(6);
  std::stop_source source;
  std::string first;
  const auto stop_the_second = [&](std::string_view what, double fraction) {
    if (first.empty()) first = what;
    if (what != first && fraction > 0) source.request_stop();
  };
  const Solution solution =
      solve(problem, {.time_limit = generous, .stop = source.get_token(), .progress = stop_the_second});
  EXPECT_TRUE(solution.interrupted);
  EXPECT_EQ(solution.strategy, first);
  EXPECT_EQ(offsets_of(solution), offsets_by(problem, first));
}

TEST(Pack, ProgressNamesTheStrategyAndRises) {
  const Problem problem = large_problem(7);
  for (const std::string& name : names()) {
    SCOPED_TRACE(name);
    double last = -1;
    const auto progress = [&](std::string_view what, double fraction) {
      EXPECT_EQ(what, name);
      EXPECT_GT(fraction, last);
      EXPECT_LE(fraction, 1);
      last = fraction;
    };
    static_cast<void>(solve(problem, {.strategy = name, .time_limit = generous, .progress = progress}));
    EXPECT_GT(last, 0);
  }
}

TEST(Pack, WithoutTimeThereIsStillAPlan) {
  for (const double seconds : {0.0, -1.0}) {
    for (const Problem& problem : {large_problem(8), oracle::random_problem(8)}) {
      for (const std::string& name : names_and_auto()) {
        SCOPED_TRACE(name);
        const SolveOptions options{.strategy = name, .time_limit = std::chrono::duration<double>(seconds)};
        const Solution solution = solve(problem, options);
        const bool is_optimal = peak_of(problem, solution, 0) == solution.lower_bound;
        EXPECT_EQ(solution.interrupted, name == "auto" && !is_optimal);
        EXPECT_EQ(offsets_of(solution), offsets_by(problem, solution.strategy));
        expect_valid(problem, solution);
      }
    }
  }
}

/// Many buffers that are alive for a short time each, with a pin.
Problem many_short_lives() {
  Problem problem = oracle::random_problem(
      4, {.buffers = 100'000, .positions = 100'000, .longest_life = 40, .largest_size = 1000});
  problem.buffers[0].pinned = 0;
  return problem;
}

/// Whether no two of many buffers of one piece overlap in time and address: the naive check compares all pairs.
bool are_apart(const Problem& problem, const std::vector<Place>& places) {
  std::vector<std::size_t> by_start(problem.buffers.size());
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  const auto life = [&](std::size_t b) { return problem.buffers[b].pieces.at(0).life; };
  std::ranges::sort(by_start, {}, [&](std::size_t b) { return life(b).lower; });
  for (std::size_t i = 0; i < by_start.size(); ++i) {
    const std::size_t a = by_start[i];
    for (std::size_t j = i + 1; j < by_start.size() && life(by_start[j]).lower < life(a).upper; ++j) {
      const std::size_t b = by_start[j];
      const Bytes gap = places[b].offset - places[a].offset;
      if (places[a].memory == places[b].memory && gap < problem.buffers[a].size &&
          -gap < problem.buffers[b].size)
        return false;
    }
  }
  return true;
}

/// Only the user can cut the first pass over a list, and even then not all that is left is stacked.
TEST(Pack, TheFirstPassEndsWhateverTheLimit) {
  Problem problem = many_short_lives();
  const Bytes first =
      peak_of(problem, {.places = pack::free_list_pass(problem, pack::Growing::largest, {}).places}, 0);
  for (const std::string name : {"auto", "exact", "greedy-by-size", "rectangle", "free-list"}) {
    SCOPED_TRACE(name);
    for (const SolveOptions& options :
         {SolveOptions{.strategy = name, .time_limit = std::chrono::seconds(0)},
          SolveOptions{.strategy = name, .effort = 0}, SolveOptions{.strategy = name, .effort = 1}}) {
      if (obstacle_to(name, problem)) continue;
      const Solution hasty = solve(problem, options);
      EXPECT_TRUE(are_apart(problem, hasty.places));
      EXPECT_LE(peak_of(problem, hasty, 0), first);
    }
  }
  std::stop_source source;
  source.request_stop();
  const Solution stopped = solve(problem, {.stop = source.get_token()});
  EXPECT_TRUE(stopped.interrupted);
  EXPECT_TRUE(are_apart(problem, stopped.places));
  EXPECT_LE(peak_of(problem, stopped, 0), 8 * first);
  problem.memories = {{.name = "fast", .capacity = first / 2}, {.name = "slow", .cost = 10}};
  const Solution in_two = solve(problem, {.time_limit = std::chrono::seconds(0)});
  EXPECT_TRUE(are_apart(problem, in_two.places));
  EXPECT_LE(peak_of(problem, in_two, 0) + peak_of(problem, in_two, 1), 2 * first);
}

TEST(Pack, OfVeryManyBuffersSomePlanComesSoon) {
  const Problem problem = oracle::random_problem(
      9, {.buffers = 10'000, .positions = 10'000, .longest_life = 40, .largest_size = 1000});
  for (const std::string name : {"rectangle", "from-peak", "greedy-by-duration", "slots", "auto"}) {
    SCOPED_TRACE(name);
    const Solution hasty = solve(problem, {.strategy = name, .time_limit = std::chrono::seconds(0)});
    EXPECT_EQ(hasty.strategy, "free-list");
    EXPECT_TRUE(hasty.interrupted);
    expect_valid(problem, hasty);
  }
  for (const std::string name : {"greedy-by-duration", "from-peak"}) {
    const Solution asked = solve(problem, {.strategy = name, .time_limit = generous});
    EXPECT_EQ(asked.strategy, name) << "even where the stopgap is better";
    EXPECT_FALSE(asked.interrupted);
    expect_valid(problem, asked);
  }
  Problem one_by_one{.memories = {{.name = "arena"}}};
  for (Position at = 0; at < 10'000; ++at)
    one_by_one.buffers.push_back({.id = std::to_string(at), .size = 64, .pieces = {{0, 64, {at, at + 1}}}});
  EXPECT_EQ(solve(one_by_one, {}).strategy, "free-list") << "nothing is lower";
}

TEST(Pack, StrategiesThatAreTooLateReturnNothing) {
  std::stop_source source;
  source.request_stop();
  const Problem problem = large_problem(2);
  for (const pack::Strategy& strategy : pack::packers()) {
    if (strategy.turn.is_stopgap || strategy.obstacle(problem)) continue;
    SCOPED_TRACE(strategy.info.name);
    const auto placing = strategy.run(problem, {.deadline = base::Deadline(source.get_token())});
    EXPECT_TRUE(placing.places.empty());
    EXPECT_TRUE(placing.cut_short);
    EXPECT_FALSE(placing.is_least);
    EXPECT_EQ(placing.lower_bound, 0);
  }
}

TEST(Pack, CutAtAnyMomentThereIsAValidPlan) {
  const Problem problem = oracle::random_problem(5, {.buffers = 2000,
                                                     .positions = 1000,
                                                     .longest_life = 30,
                                                     .largest_size = 1000,
                                                     .largest_alignment = 8,
                                                     .percent_with_pieces = 5,
                                                     .percent_pinned = 1});
  const auto moments = static_cast<int>(testing::cases_of(60));
  for (const std::string name : {"rectangle", "from-peak", "exact", "ejection", "auto"}) {
    SCOPED_TRACE(name);
    ASSERT_EQ(obstacle_to(name, problem), std::nullopt);
    for (int moment = 0; moment < moments && !HasFailure(); ++moment) {
      const std::chrono::microseconds limit(moment * 30'000 / moments);
      const Solution solution = solve(problem, {.strategy = name, .time_limit = limit, .threads = 2});
      expect_valid(problem, solution);
      EXPECT_GE(peak_of(problem, solution, 0), solution.lower_bound);
      if (moment == 0) {
        EXPECT_TRUE(solution.interrupted);
      }
    }
  }
}

TEST(Pack, HoweverLongTheTimeLimitItIsNoneThatHasPassed) {
  Problem problem;
  Solution expected;
  for (std::uint64_t seed = 0; peak_of(problem, expected, 0) == expected.lower_bound; ++seed) {
    problem = oracle::random_problem(seed, {.buffers = 40, .percent_pinned = 20});
    expected = solve_with(problem, "auto");  // until every strategy has its turn
  }
  for (const double seconds : {1e9, 1e10, 1e18, 1e300, std::numeric_limits<double>::infinity()}) {
    const Solution solution =
        testing::solve_in_rounds(problem, {.time_limit = std::chrono::duration<double>(seconds)}, 1);
    EXPECT_FALSE(solution.interrupted) << seconds;
    EXPECT_EQ(solution.places, expected.places) << seconds;
  }
}

// The load.

TEST(Load, MaxLoadAndBoundAreThoseOfTheOracle) {
  for (std::uint64_t seed = 0; seed < small_problems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = oracle::random_problem(seed);
    EXPECT_EQ(max_load(problem.buffers), oracle::max_load(problem.buffers));
    EXPECT_EQ(pack::lower_bound_of(problem.buffers), naive_lower_bound(problem));
  }
  const Problem problem = large_problem(9);
  EXPECT_EQ(max_load(problem.buffers), oracle::max_load(problem.buffers));
  EXPECT_EQ(pack::lower_bound_of(problem.buffers), naive_lower_bound(problem));
}

TEST(Load, ProfileIsTheLoadAtEveryPosition) {
  for (std::uint64_t seed = 0; seed < 1000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = oracle::random_problem(seed);
    const std::vector<pack::Load> profile = pack::load_profile(problem.buffers);
    std::size_t entry = 0;  // the first above `at`
    for (Position at = 0; at <= 12; ++at) {
      if (entry < profile.size() && profile[entry].at == at) ++entry;
      if (entry < profile.size()) {
        EXPECT_GT(profile[entry].at, at);
      }
      EXPECT_EQ(entry == 0 ? 0 : profile[entry - 1].bytes, oracle::load_at(problem.buffers, at)) << at;
    }
    EXPECT_EQ(entry, profile.size());
    if (!profile.empty()) {
      EXPECT_EQ(profile.back().bytes, 0);
    }
  }
}

TEST(Load, PositionsMayLieFarApart) {
  for (std::uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem near = oracle::random_problem(seed);
    Problem far = near;
    constexpr Position scale = Position{1} << 50;
    for (Buffer& buffer : far.buffers) {
      for (Piece& piece : buffer.pieces)
        piece.life = {piece.life.lower * scale + 7, piece.life.upper * scale + 7};
    }
    const auto expected = pack::load_profile(near.buffers);
    const auto profile = pack::load_profile(far.buffers);
    ASSERT_EQ(profile.size(), expected.size());
    for (std::size_t i = 0; i < profile.size(); ++i) {
      EXPECT_EQ(profile[i].at, expected[i].at * scale + 7);
      EXPECT_EQ(profile[i].bytes, expected[i].bytes);
    }
  }
}

TEST(Load, Literal) {
  EXPECT_EQ(max_load({}), 0);
  EXPECT_EQ(pack::lower_bound_of({}), 0);
  EXPECT_TRUE(pack::load_profile({}).empty());
  const std::vector<Buffer> buffers{whole("a", 4, 0, 2), whole("b", 3, 2, 4), whole("c", 2, 1, 3)};
  EXPECT_EQ(max_load(buffers), 6);  // a and b never meet
  EXPECT_EQ(pack::lower_bound_of(buffers), 6);
  EXPECT_EQ(pack::lower_bound_of(std::vector<Buffer>{whole("dead", 9, 1, 1), buffers[0]}), 9);
  EXPECT_EQ(pack::lower_bound_of(std::vector<Buffer>{pinned(whole("dead", 9, 1, 1), 3), buffers[0]}), 12);
}

// The occupancy.

TEST(Occupancy, AddressSetMergesWhatTouches) {
  pack::AddressSet set;
  set.insert({10, 20});
  set.insert({30, 40});
  EXPECT_EQ(set.intervals(), (std::vector<pack::Interval>{{10, 20}, {30, 40}}));
  set.insert({20, 22});
  set.insert({28, 30});
  EXPECT_EQ(set.intervals(), (std::vector<pack::Interval>{{10, 22}, {28, 40}}));
  set.insert({5, 8});
  set.insert({50, 60});
  set.insert({12, 13});
  EXPECT_EQ(set.intervals(), (std::vector<pack::Interval>{{5, 8}, {10, 22}, {28, 40}, {50, 60}}));
  set.insert({7, 29});
  EXPECT_EQ(set.intervals(), (std::vector<pack::Interval>{{5, 40}, {50, 60}}));
}

TEST(Occupancy, AddressSetIsASet) {
  for (std::uint64_t seed = 0; seed < 500 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    oracle::Random random(seed);
    pack::AddressSet set;
    std::array<bool, 60> taken{};
    for (int i = 0; i < 15; ++i) {
      const Bytes begin = random.between(0, 50);
      const Bytes end = random.between(begin + 1, std::min<Bytes>(begin + 10, 60));
      set.insert({begin, end});
      std::fill(taken.begin() + begin, taken.begin() + end, true);
      std::vector<pack::Interval> expected;
      for (std::size_t at = 0; at < taken.size(); ++at) {
        const auto address = static_cast<Bytes>(at);
        if (!taken[at]) continue;
        if (expected.empty() || expected.back().end < address) expected.push_back({address, address});
        expected.back().end = address + 1;
      }
      EXPECT_EQ(set.intervals(), expected);
    }
  }
}

/// Reserves buffers at any offsets, over each other too, and asks after each where the next would fit.
void expect_fits_as_naive(const Problem& problem, std::uint64_t seed, Bytes highest) {
  oracle::Random random(seed);
  pack::Occupancy occupancy(problem.buffers);
  std::vector<oracle::Taken> taken;
  for (const Buffer& buffer : problem.buffers) {
    const oracle::FreeOffsets free = oracle::free_one_by_one(taken, buffer);
    EXPECT_EQ(free, oracle::free_by_crossing_out(taken, buffer)) << "the oracles disagree";
    EXPECT_EQ(occupancy.lowest_fit(buffer), oracle::lowest_fit(free, buffer.alignment)) << buffer.id;
    EXPECT_EQ(occupancy.tightest_fit(buffer), oracle::tightest_fit(free, buffer.alignment)) << buffer.id;
    const Bytes offset = random.between(0, highest);
    occupancy.reserve(buffer, offset);
    oracle::reserve(taken, buffer, offset);
  }
}

TEST(Occupancy, FitsOfFewBuffers) {
  for (std::uint64_t seed = 0; seed < small_problems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    expect_fits_as_naive(oracle::random_problem(seed), seed, 30);
  }
}

TEST(Occupancy, FitsOfManyBuffers) {
  for (std::uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    oracle::Random random(seed);
    const oracle::ProblemShape shape{.buffers = 80,
                                     .positions = random.between(10, 300),
                                     .longest_life = random.between(1, 200),
                                     .largest_size = random.between(1, 12),
                                     .largest_alignment = random.chance(50) ? 1 : 8,
                                     .percent_with_pieces = random.chance(50) ? 0 : 60,
                                     .percent_never_alive = 5};
    expect_fits_as_naive(oracle::random_problem(seed, shape), seed, random.between(20, 200));
  }
}

TEST(Occupancy, EveryCellAlone) {
  // Lives of one position each, as many as make one to several blocks of cells: a byte that is taken
  // at one position is free at all others.
  for (const Position positions : {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100}) {
    std::vector<Buffer> buffers;
    for (Position at = 0; at < positions; ++at) {
      buffers.push_back(whole("b" + std::to_string(at), 3, at, at + 1));
    }
    for (std::size_t taken = 0; taken < buffers.size(); ++taken) {
      pack::Occupancy occupancy(buffers);
      occupancy.reserve(buffers[taken], 1);
      for (std::size_t asked = 0; asked < buffers.size(); ++asked) {
        EXPECT_EQ(occupancy.lowest_fit(buffers[asked]), asked == taken ? 4 : 0);
      }
    }
  }
}

TEST(Occupancy, SeveralPiecesAtOnce) {
  // A free place must suit both pieces: the lower one rules out 0, the upper one 2.
  const std::vector<Buffer> buffers{
      {.id = "two", .size = 4, .pieces = {{0, 1, {0, 1}}, {3, 1, {1, 2}}}},
      whole("first", 2, 0, 1),
      whole("second", 1, 1, 2),
  };
  pack::Occupancy occupancy(buffers);
  occupancy.reserve(buffers[1], 0);
  EXPECT_EQ(occupancy.lowest_fit(buffers[0]), 2);
  occupancy.reserve(buffers[2], 5);
  EXPECT_EQ(occupancy.lowest_fit(buffers[0]), 3);
  EXPECT_EQ(occupancy.tightest_fit(buffers[0]), 3);
}

// The search for overlaps.

/// The earliest position at which two boxes hold a common byte, by looking at every pair.
std::optional<Position> earliest_overlap(std::span<const base::Box> boxes) {
  std::optional<Position> earliest;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Bytes begin = std::max(boxes[i].begin, boxes[j].begin);
      const Bytes end = std::min(boxes[i].end, boxes[j].end);
      const Position lower = std::max(boxes[i].life.lower, boxes[j].life.lower);
      const Position upper = std::min(boxes[i].life.upper, boxes[j].life.upper);
      if (begin < end && lower < upper) earliest = std::min(earliest.value_or(lower), lower);
    }
  }
  return earliest;
}

bool holds_at(const base::Box& box, Position at) { return box.life.lower <= at && at < box.life.upper; }

TEST(Occupancy, FindOverlapLooksLikeEveryPair) {
  std::size_t overlapping = 0;
  constexpr std::uint64_t count = 5000;
  for (std::uint64_t seed = 0; seed < count && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    oracle::Random random(seed);
    std::vector<base::Box> boxes;
    const std::int64_t extent = random.between(3, 60);
    const auto number = static_cast<std::size_t>(random.between(0, 12));
    for (std::size_t i = 0; i < number; ++i) {
      const Position lower = random.between(0, extent);
      const Bytes begin = random.between(0, extent);
      boxes.push_back(
          {{lower, lower + random.between(0, extent / 3)}, begin, begin + random.between(0, extent / 3), i});
    }
    const auto found = base::find_overlap(boxes);
    const auto expected = earliest_overlap(boxes);
    ASSERT_EQ(found.has_value(), expected.has_value());
    if (!found) continue;
    ++overlapping;
    EXPECT_EQ(found->at, *expected);
    const base::Box& first = boxes[found->first];
    const base::Box& second = boxes[found->second];
    EXPECT_NE(found->first, found->second);
    EXPECT_TRUE(holds_at(first, found->at) && holds_at(second, found->at));
    EXPECT_TRUE(first.begin < second.end && second.begin < first.end);
  }
  EXPECT_GT(overlapping, count / 10);
  EXPECT_LT(overlapping, count - count / 10);
}

TEST(Occupancy, FindOverlapInAFullPlane) {
  // Every cell of a grid holds a box, and none overlap; then one grows by one byte or one position.
  std::vector<base::Box> boxes;
  for (Position at = 0; at < 12; ++at) {
    for (Bytes begin = 0; begin < 12; ++begin)
      boxes.push_back({{at, at + 1}, begin, begin + 1, boxes.size()});
  }
  EXPECT_FALSE(base::find_overlap(boxes));
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    std::vector<base::Box> grown = boxes;
    ++grown[b].end;
    EXPECT_EQ(base::find_overlap(grown).has_value(), boxes[b].end < 12);
    grown = boxes;
    ++grown[b].life.upper;
    EXPECT_EQ(base::find_overlap(grown).has_value(), boxes[b].life.upper < 12);
  }
}

}  // namespace
}  // namespace stowage
