// Lives in a partial order: bounds and peaks equal brute force.

#include "stowage/partial_lives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "image_networks.h"
#include "long_tests.h"
#include "stowage/error.h"

namespace stowage {
namespace {

using testing::pick;

struct Drawn {
  std::size_t events = 0;
  std::vector<std::pair<std::size_t, std::size_t>> edges{};
  std::vector<EventLife> lives{};
  std::vector<std::vector<bool>> later{};  ///< The same or later, by Warshall's way.
};

Drawn draw(testing::Random& random, std::size_t count) {
  Drawn it{.events = static_cast<std::size_t>(pick(random, 2, 7)), .edges = {{0, 1}}};
  it.later.assign(it.events, std::vector<bool>(it.events));
  for (std::size_t a = 0; a < it.events; ++a) {
    it.later[a][a] = true;
    it.later[0][1] = true;
    for (std::size_t b = a + 1; b < it.events; ++b) {
      if (pick(random, 0, 2) > 0) continue;
      it.edges.emplace_back(a, b);
      it.later[a][b] = true;
    }
  }
  for (std::size_t k = 0; k < it.events; ++k)
    for (std::size_t a = 0; a < it.events; ++a)
      for (std::size_t b = 0; b < it.events; ++b)
        if (it.later[a][k] && it.later[k][b]) it.later[a][b] = true;
  while (it.lives.size() < count) {
    const auto last = static_cast<std::int64_t>(it.events) - 1;
    const EventLife life{static_cast<std::size_t>(pick(random, 0, last)),
                         static_cast<std::size_t>(pick(random, 0, last))};
    if (life.begin != life.end && it.later[life.begin][life.end]) it.lives.push_back(life);
  }
  return it;
}

TEST(PartialLives, EqualBruteForce) {
  testing::Random random(3);
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 20000 : 300);
  std::uint64_t gaps = 0;
  for (std::uint64_t i = 0; i < cases; ++i) {
    const auto count = static_cast<std::size_t>(pick(random, 1, 5));
    const Drawn drawn = draw(random, count);
    Problem problem{.memories = {{.name = "arena"}}};
    Bytes all = 0;
    for (std::size_t b = 0; b < count; ++b) {
      problem.buffers.push_back({.id = std::to_string(b), .size = pick(random, 1, 3)});
      all += problem.buffers.back().size;
    }
    const PartialLives lives = PartialLives::of_events(drawn.events, drawn.edges, drawn.lives);
    const auto may_meet = [&](std::size_t a, std::size_t b) {
      return !drawn.later[drawn.lives[a].end][drawn.lives[b].begin] &&
             !drawn.later[drawn.lives[b].end][drawn.lives[a].begin];
    };
    Bytes most = 0;
    for (std::size_t set = 0; set < std::size_t{1} << count; ++set) {
      Bytes bytes = 0;
      bool is_antichain = true;
      for (std::size_t b = 0; b < count; ++b) {
        if ((set >> b & 1U) == 0) continue;
        bytes += problem.buffers[b].size;
        for (std::size_t a = 0; a < b; ++a)
          is_antichain = is_antichain && ((set >> a & 1U) == 0 || may_meet(a, b));
      }
      if (is_antichain) most = std::max(most, bytes);
    }
    ASSERT_EQ(lives.most_at_once(problem.buffers), most) << i;
    const Solution solution = solve(problem, lives, {.effort = 20});
    lives.add_to(problem);
    Bytes least = all;
    std::vector<Bytes> offsets(count);
    const std::function<void(std::size_t, Bytes)> place = [&](std::size_t b, Bytes peak) {
      if (peak >= least) return;
      if (b == count) {
        least = peak;
        return;
      }
      for (Bytes offset = 0; offset < least; ++offset) {
        offsets[b] = offset;
        bool fits = true;
        for (std::size_t a = 0; a < b; ++a)
          fits = fits && (!may_meet(a, b) || offsets[a] >= offset + problem.buffers[b].size ||
                          offset >= offsets[a] + problem.buffers[a].size);
        if (fits) place(b + 1, std::max(peak, offset + problem.buffers[b].size));
      }
    };
    place(0, 0);
    EXPECT_GE(solution.lower_bound, most) << i;
    EXPECT_LE(solution.lower_bound, least) << i;
    if (problem.relations.empty()) continue;  // one after the other: lives that say nothing more
    EXPECT_EQ(faults_of(problem, solution), std::vector<std::string>()) << i;
    ASSERT_EQ(peak_of(problem, solution, 0), least) << i;
    EXPECT_TRUE(solution.is_least_peak) << i;
    gaps += least > most ? 1U : 0U;
  }
  EXPECT_LT(gaps * 4, cases);
}

TEST(PartialLives, ClocksAreTheSameAsEvents) {
  // Thread 0 does events 0, 1 and 4; thread 1 does 2 and 3 after it has heard of event 1.
  const auto events = PartialLives::of_events(5, {{0, 1}, {1, 2}, {2, 3}, {1, 4}}, {{0, 1}, {1, 4}, {2, 3}});
  const auto clocks = PartialLives::of_clocks({{{1, 0}, {2, 0}}, {{2, 0}, {3, 0}}, {{2, 1}, {2, 2}}});
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      EXPECT_EQ(events.is_over_before(a, b), clocks.is_over_before(a, b)) << a << b;
  EXPECT_TRUE(events.is_over_before(0, 2));
  EXPECT_FALSE(events.is_over_before(1, 2));
}

/// Threads that begin and end their own buffers, and hear of each other now and then.
struct Threads {
  Problem problem{.memories = {{.name = "arena"}}};
  std::vector<ClockLife> clocks{};
};

Threads draw_threads(testing::Random& random, std::size_t count, std::size_t threads = 3,
                     std::int64_t hears_in = 6, Bytes largest = 1000) {
  Threads it;
  const auto any_thread = [&] {
    return static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(threads) - 1));
  };
  std::vector<std::vector<std::int64_t>> now(threads, std::vector<std::int64_t>(threads));
  std::vector<std::vector<std::vector<std::int64_t>>> past(threads);
  for (std::size_t step = 0; step < count; ++step) {
    for (std::size_t t = 0; t < threads; ++t) {
      ++now[t][t];
      if (pick(random, 1, hears_in) == 1) {
        const auto& other = now[any_thread()];
        for (std::size_t k = 0; k < threads; ++k) now[t][k] = std::max(now[t][k], other[k]);
      }
      past[t].push_back(now[t]);
    }
  }
  for (std::size_t b = 0; b < count; ++b) {
    const auto& own = past[any_thread()];
    const auto last = static_cast<std::int64_t>(own.size()) - 1;
    const std::int64_t begin = pick(random, 0, last - 1);
    const std::int64_t end = std::min(last, begin + pick(random, 1, 12));
    it.problem.buffers.push_back({.id = std::to_string(b), .size = pick(random, 1, largest)});
    it.clocks.push_back({own[static_cast<std::size_t>(begin)], own[static_cast<std::size_t>(end)]});
  }
  return it;
}

TEST(PartialLives, PeaksOfThreadsAreNearTheBound) {
  testing::Random random(5);
  double sum = 0;
  const std::uint64_t cases = testing::cases_of(20);
  for (std::uint64_t i = 0; i < cases; ++i) {
    Threads drawn = draw_threads(random, 90);
    const PartialLives lives = PartialLives::of_clocks(drawn.clocks);
    const Bytes most = lives.most_at_once(drawn.problem.buffers);
    const SolveOptions options{.effort = 60, .threads = 1};
    const Solution solution = solve(drawn.problem, lives, options);
    EXPECT_EQ(solve(drawn.problem, lives, options).places, solution.places) << i;
    EXPECT_GE(solution.lower_bound, most) << i;
    lives.add_to(drawn.problem);
    EXPECT_EQ(faults_of(drawn.problem, solution), std::vector<std::string>()) << i;
    const Bytes peak = peak_of(drawn.problem, solution, 0);
    EXPECT_LE(solution.lower_bound, peak) << i;
    sum += static_cast<double>(peak) / static_cast<double>(most) - 1;
  }
  EXPECT_LT(sum / static_cast<double>(cases), 0.02);
}

TEST(PartialLives, PeaksOfThreadsThatSeldomHearAreMostlyAtTheBound) {
  testing::Random random(5);
  std::size_t at_bound = 0;
  for (std::uint64_t i = 0; i < 10; ++i) {
    Threads drawn = draw_threads(random, 90, 4, 31, 1'000'000);
    const PartialLives lives = PartialLives::of_clocks(drawn.clocks);
    const Solution solution = solve(drawn.problem, lives, {.effort = 100, .threads = 1});
    at_bound += peak_of(drawn.problem, solution, 0) == lives.most_at_once(drawn.problem.buffers) ? 1U : 0U;
  }
  EXPECT_GE(at_bound, 8U);  // 7 without the search of orders
}

TEST(PartialLives, PinsAlignmentsAndCapacitiesHold) {
  testing::Random random(6);
  for (std::uint64_t i = 0; i < testing::cases_of(20); ++i) {
    Threads drawn = draw_threads(random, 70);
    const PartialLives lives = PartialLives::of_clocks(drawn.clocks);
    for (Buffer& buffer : drawn.problem.buffers) buffer.alignment = 16;
    drawn.problem.buffers[0].pinned = 1600;
    const Solution solution = solve(drawn.problem, lives, {.effort = 20});
    EXPECT_EQ(solution.places[0].offset, 1600);
    const Bytes peak = peak_of(drawn.problem, solution, 0);
    EXPECT_EQ(solution.outcome, Outcome::fits);
    lives.add_to(drawn.problem);
    EXPECT_EQ(faults_of(drawn.problem, solution), std::vector<std::string>()) << i;
    drawn.problem.relations = {};
    drawn.problem.memories[0].capacity = solution.lower_bound - 1;
    EXPECT_EQ(solve(drawn.problem, lives, {.effort = 5}).outcome, Outcome::exceeds_capacity) << i;
    drawn.problem.memories[0].capacity = peak + 1000;
    EXPECT_LE(peak_of(drawn.problem, solve(drawn.problem, lives, {.effort = 20}), 0), peak + 1000) << i;
  }
}

TEST(PartialLives, OtherStrategiesAreRejected) {
  const Problem problem{.buffers = {{.id = "a", .size = 1}, {.id = "b", .size = 1}},
                        .memories = {{.name = "arena"}}};
  const PartialLives lives = PartialLives::of_clocks({{{0, 0}, {1, 0}}, {{0, 0}, {0, 1}}});
  EXPECT_THROW(static_cast<void>(solve(problem, lives, {.strategy = "exact"})), NotApplicable);
}

TEST(PartialLives, PinsThatOverlapAreRejected) {
  const auto solve_pinned = [](Bytes second, const ClockLife& life) {
    const Problem problem{
        .buffers = {{.id = "a", .size = 4, .pinned = 0}, {.id = "b", .size = 4, .pinned = second}},
        .memories = {{.name = "arena"}}};
    return peak_of(problem, solve(problem, PartialLives::of_clocks({{{0, 0}, {1, 0}}, life})), 0);
  };
  EXPECT_THROW(static_cast<void>(solve_pinned(3, {{0, 0}, {0, 1}})), Error);
  EXPECT_EQ(solve_pinned(4, {{0, 0}, {0, 1}}), 8);
  EXPECT_EQ(solve_pinned(3, {{1, 0}, {2, 0}}), 7);
}

TEST(PartialLives, ContradictionsAreRejected) {
  EXPECT_THROW(static_cast<void>(PartialLives::of_events(2, {{0, 1}, {1, 0}}, {})), Error);
  EXPECT_THROW(static_cast<void>(PartialLives::of_events(2, {{0, 2}}, {})), Error);
  EXPECT_THROW(static_cast<void>(PartialLives::of_events(2, {}, {{0, 1}})), Error);
  EXPECT_THROW(static_cast<void>(PartialLives::of_clocks({{{1, 0}, {0, 1}}})), Error);
  EXPECT_THROW(static_cast<void>(PartialLives::of_clocks({{{1}, {1}}, {{1, 2}, {1, 2}}})), Error);
  Problem problem{.buffers = {{.id = "a", .size = 1}}, .memories = {{.name = "arena"}}};
  EXPECT_THROW(PartialLives::of_clocks({}).add_to(problem), Error);
}

}  // namespace
}  // namespace stowage
