// Problems with relations and costs of reuse: equal to brute force on many small ones, checked by `faults_of`.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>

#include "image_networks.h"
#include "long_tests.h"
#include "pack/relations/search.h"
#include "stowage/error.h"
#include "stowage/planner.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using testing::pick;
using testing::Random;

/// A buffer of all bytes live in [lower, upper).
Buffer live(std::string id, Bytes size, Position lower, Position upper) {
  return {.id = std::move(id), .size = size, .pieces = {{0, size, {lower, upper}}}};
}

BufferPair two_of(Random& random, std::size_t count) {
  const auto first = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(count) - 1));
  auto second = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(count) - 2));
  if (second >= first) ++second;
  return {first, second};
}

/// 2 to 5 buffers of 1 to 3 bytes in one or two memories of up to 7.
Problem random_problem(Random& random) {
  Problem problem;
  const std::int64_t memories = pick(random, 1, 2);
  for (std::int64_t m = 0; m < memories; ++m) {
    Memory memory{.name = std::to_string(m), .capacity = pick(random, 2, memories == 1 ? 7 : 4)};
    if (pick(random, 0, 2) == 0) {
      const Bytes begin = pick(random, 0, *memory.capacity - 1);
      memory.reserved = {{begin, begin + 1}};
    }
    problem.memories.push_back(memory);
  }
  const std::int64_t count = pick(random, 2, 5);
  for (std::int64_t b = 0; b < count; ++b) {
    const Position lower = pick(random, 0, 5);
    problem.buffers.push_back(live(std::to_string(b), pick(random, 1, 3), lower, lower + pick(random, 1, 3)));
    Buffer& buffer = problem.buffers.back();
    if (pick(random, 0, 4) == 0)
      buffer.pieces.push_back(
          {0, buffer.size, {buffer.pieces[0].life.upper + 1, buffer.pieces[0].life.upper + 2}});
    if (memories == 2 && pick(random, 0, 1) == 0)
      buffer.memories = {static_cast<std::size_t>(pick(random, 0, 1))};
    if (pick(random, 0, 9) == 0) buffer.pinned = pick(random, 0, 2);
    if (pick(random, 0, 9) == 0 && !buffer.pinned) buffer.alignment = 2;
  }
  const auto n = problem.buffers.size();
  Relations& relations = problem.relations;
  for (std::int64_t i = pick(random, 0, 6); i > 0; --i)
    relations.reuse_costs.push_back({two_of(random, n), pick(random, 1, 3)});
  for (std::int64_t i = pick(random, 0, 2); i > 0; --i) relations.apart.push_back(two_of(random, n));
  if (pick(random, 0, 3) == 0) relations.exclusive.push_back(two_of(random, n));
  if (pick(random, 0, 3) == 0) relations.together.push_back(two_of(random, n));
  if (relations.empty()) relations.reuse_costs.push_back({two_of(random, n), 1});
  return problem;
}

/// Whether a buffer shares no byte with one before it that is live at the same time.
bool can_be(const Problem& problem, const std::vector<Place>& places, std::size_t b) {
  const auto is_related = [&](std::size_t a, const std::vector<BufferPair>& pairs) {
    return std::ranges::count(pairs, BufferPair{a, b}) + std::ranges::count(pairs, BufferPair{b, a}) > 0;
  };
  const auto& pieces = problem.buffers[b].pieces;
  for (std::size_t a = 0; a < b; ++a) {
    const bool share = places[a].memory == places[b].memory &&
                       places[a].offset < places[b].offset + problem.buffers[b].size &&
                       places[b].offset < places[a].offset + problem.buffers[a].size;
    if (!share || is_related(a, problem.relations.together) || is_related(a, problem.relations.exclusive))
      continue;
    for (const Piece& mine : pieces) {
      for (const Piece& other : problem.buffers[a].pieces) {
        if (mine.life.lower < other.life.upper && other.life.lower < mine.life.upper) return false;
      }
    }
  }
  return true;
}

/// The least cost of all places that `faults_of` accepts; none if it accepts none.
std::optional<std::int64_t> brute_force(const Problem& problem) {
  std::optional<std::int64_t> least;
  Solution solution;
  solution.places.resize(problem.buffers.size());
  const std::function<void(std::size_t)> place = [&](std::size_t b) {
    if (b == problem.buffers.size()) {
      solution.reuse_cost = 0;
      const auto& places = solution.places;
      for (const ReuseCost& reuse : problem.relations.reuse_costs) {
        const auto [x, y] = reuse.pair;
        Bytes size_x = problem.buffers[x].size;
        Bytes size_y = problem.buffers[y].size;
        bool is_together = false;
        for (const BufferPair& pair : problem.relations.together) {  // there is at most one
          const Bytes both = std::max(problem.buffers[pair.first].size, problem.buffers[pair.second].size);
          if (pair.first == x || pair.second == x) size_x = both;
          if (pair.first == y || pair.second == y) size_y = both;
          is_together = is_together || pair == BufferPair{x, y} || pair == BufferPair{y, x};
        }
        if (!is_together && places[x].memory == places[y].memory &&
            places[x].offset < places[y].offset + size_y && places[y].offset < places[x].offset + size_x)
          solution.reuse_cost += reuse.cost;
      }
      if ((!least || solution.reuse_cost < *least) && faults_of(problem, solution).empty())
        least = solution.reuse_cost;
      return;
    }
    for (std::size_t m = 0; m < problem.memories.size(); ++m) {
      for (Bytes offset = 0; offset + problem.buffers[b].size <= *problem.memories[m].capacity; ++offset) {
        solution.places[b] = {m, offset};
        if (can_be(problem, solution.places, b)) place(b + 1);
      }
    }
  };
  place(0);
  return least;
}

std::int64_t bound_by_cliques(const Problem& problem) {
  std::int64_t bound = 0;
  const pack::relations::Arena arena(problem);
  for (const auto& part : arena.parts())
    bound += pack::relations::clique_bound(part, base::Deadline::after_work(std::chrono::milliseconds(1)));
  return bound;
}

bool is_valid(const Problem& problem) {
  try {
    validate(problem);
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(Relations, EqualBruteForce) {
  Random random(1);
  std::uint64_t compared = 0;
  std::uint64_t impossible = 0;
  std::uint64_t costly = 0;
  std::uint64_t bounded = 0;
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 100000 : 400);
  while (compared < cases) {
    const Problem problem = random_problem(random);
    if (!is_valid(problem)) continue;
    ++compared;
    const auto least = brute_force(problem);
    const Solution solution = solve(problem, {.effort = 50, .seed = compared});
    for (const std::string& fault : faults_of(problem, solution)) ADD_FAILURE() << compared << ": " << fault;
    ASSERT_EQ(solution.outcome == Outcome::fits, least.has_value()) << compared;
    if (!least) {
      ++impossible;
      continue;
    }
    ASSERT_FALSE(solution.cannot_fit) << compared;
    ASSERT_EQ(solution.reuse_cost, *least) << compared;
    ASSERT_LE(solution.reuse_cost_bound, *least) << compared;
    costly += *least > 0 ? 1U : 0U;
    const auto bound = bound_by_cliques(problem);
    ASSERT_LE(bound, *least) << compared;
    bounded += bound > 0 ? 1U : 0U;
  }
  EXPECT_GT(impossible * 20, cases);
  EXPECT_GT(costly * 20, cases);
  EXPECT_GT(bounded * 50, cases);
}

/// Three buffers one after the other in 4 bytes. The first two cost nothing together, so each pair with a cost is apart.
Problem chain() {
  Problem problem{.buffers = {live("a", 2, 0, 1), live("b", 2, 1, 2), live("c", 2, 2, 3)},
                  .memories = {{.name = "vec", .capacity = 4}}};
  problem.relations.reuse_costs = {{{0, 2}, 5}, {{1, 2}, 2}};
  return problem;
}

TEST(Relations, TakesTheCheapestReuse) {
  const Problem problem = chain();
  const Solution solution = solve(problem);
  EXPECT_EQ(solution.reuse_cost, 0);
  EXPECT_EQ(solution.places[0].offset, solution.places[1].offset);
  EXPECT_NE(solution.places[0].offset, solution.places[2].offset);
  Problem apart = problem;
  apart.relations.apart = {{0, 1}};
  const Solution costly = solve(apart);
  EXPECT_EQ(costly.reuse_cost, 2);
  EXPECT_EQ(costly.reuse_cost_bound, 2);
  EXPECT_EQ(costly.places[1].offset, costly.places[2].offset);
}

TEST(Relations, SaysWhichBuffersAreTooMany) {
  Problem problem = chain();
  problem.memories[0].reserved = {{0, 3}};
  problem.buffers[1].size = 1;
  problem.buffers[1].pieces[0].size = 1;
  const Solution solution = solve(problem);
  EXPECT_EQ(solution.outcome, Outcome::exceeds_capacity);
  EXPECT_TRUE(solution.cannot_fit);
  ASSERT_TRUE(solution.overload);
  EXPECT_EQ(solution.overload->needed, 2);
  EXPECT_EQ(solution.overload->room, 1);
  EXPECT_TRUE(faults_of(problem, solution).empty());
}

TEST(Relations, ARangeWithoutAnAlignedOffsetIsNone) {
  Problem problem{.buffers = {live("a", 4, 0, 1)}, .memories = {{.name = "vec", .capacity = 7}}};
  problem.buffers[0].alignment = 4;
  problem.memories[0].reserved = {{0, 1}};
  const Solution solution = solve(problem);
  EXPECT_EQ(solution.outcome, Outcome::exceeds_capacity);
  EXPECT_TRUE(solution.cannot_fit);
}

TEST(Relations, AreForAutoAlone) {
  EXPECT_TRUE(obstacle_to("free-list", chain()));
  EXPECT_FALSE(obstacle_to("auto", chain()));
  EXPECT_THROW(static_cast<void>(solve(chain(), {.strategy = "free-list"})), UsageError);
}

TEST(Relations, AreNotForPlans) {
  EXPECT_THROW(static_cast<void>(make_plan({.content = chain()})), UsageError);
  PlanOptions options;
  options.memories = {{.name = "arena", .capacity = 64, .reserved = {{0, 8}}}};
  Problem plain = chain();
  plain.relations = {};
  EXPECT_THROW(static_cast<void>(make_plan({.content = plain}, options)), UsageError);
}

TEST(Relations, ContradictionsAreRejected) {
  const auto rejects = [](const std::function<void(Problem&)>& change) {
    Problem problem = chain();
    change(problem);
    return !is_valid(problem);
  };
  EXPECT_TRUE(rejects([](Problem& it) { it.relations.apart = {{0, 3}}; }));
  EXPECT_TRUE(rejects([](Problem& it) { it.relations.exclusive = {{1, 1}}; }));
  EXPECT_TRUE(rejects([](Problem& it) { it.relations.reuse_costs[0].cost = -1; }));
  EXPECT_TRUE(rejects([](Problem& it) { it.relations.reuse_costs[0].cost = largest_value; }));
  EXPECT_TRUE(rejects([](Problem& it) { it.memories[0].reserved = {{2, 5}}; }));
  EXPECT_TRUE(rejects([](Problem& it) { it.memories[0].reserved = {{0, 2}, {1, 3}}; }));
  EXPECT_TRUE(rejects([](Problem& it) { it.buffers[0].pieces[0].size = 1; }));
  EXPECT_TRUE(rejects([](Problem& it) {
    it.relations.together = {{0, 1}, {1, 2}};
    it.relations.apart = {{0, 2}};
  }));
  EXPECT_TRUE(rejects([](Problem& it) {
    it.relations.together = {{0, 1}};
    it.buffers[0].pinned = 0;
    it.buffers[1].pinned = 2;
  }));
}

TEST(Relations, CheckerFindsWhatIsWrong) {
  Problem problem = chain();
  problem.relations.apart = {{0, 1}};
  problem.relations.together = {{1, 2}};
  problem.relations.reuse_costs.pop_back();
  problem.buffers.push_back(live("d", 1, 0, 1));
  problem.memories[0].capacity = 6;
  problem.memories[0].reserved = {{5, 6}};
  const Solution good = solve(problem);
  ASSERT_EQ(faults_of(problem, good), std::vector<std::string>());
  const auto finds = [&](const std::function<void(Solution&)>& change) {
    Solution bad = good;
    change(bad);
    return !faults_of(problem, bad).empty();
  };
  EXPECT_TRUE(finds([](Solution& it) { it.places.pop_back(); }));
  EXPECT_TRUE(finds([](Solution& it) { it.places[0] = it.places[1]; }));
  EXPECT_TRUE(finds([](Solution& it) { it.places[3] = it.places[0]; }));
  EXPECT_TRUE(finds([](Solution& it) { it.places[3] = {0, 5}; }));
  EXPECT_TRUE(finds([](Solution& it) { it.places[3] = {0, 6}; }));
  EXPECT_TRUE(finds([](Solution& it) { it.places[3] = {1, 0}; }));
  EXPECT_TRUE(finds([](Solution& it) { ++it.places[1].offset; }));
  EXPECT_TRUE(finds([](Solution& it) { it.reuse_cost = 1; }));
  EXPECT_TRUE(finds([](Solution& it) { it.reuse_cost_bound = 1; }));
  EXPECT_TRUE(finds([](Solution& it) { it.cannot_fit = true; }));
  EXPECT_TRUE(finds([](Solution& it) { it.overload = Overload{0, 0, 7, 5}; }));
}

/// Threads have runs of their own, which begin with one placing.
TEST(Relations, ThreadsFindAPlacing) {
  if (!testing::has_time()) GTEST_SKIP() << "takes seconds";
  Random random(5);
  Problem problem{.memories = {{.name = "vec", .capacity = 96}}};
  for (int b = 0; b < 80; ++b) {
    const Position lower = pick(random, 0, 60);
    problem.buffers.push_back(
        live(std::to_string(b), pick(random, 2, 9), lower, lower + pick(random, 1, 12)));
  }
  for (int i = 0; i < 400; ++i) problem.relations.reuse_costs.push_back({two_of(random, 80), 1});
  const Solution solution = solve(problem, {.time_limit = std::chrono::milliseconds(2200), .threads = 2});
  EXPECT_EQ(solution.outcome, Outcome::fits);
  EXPECT_EQ(faults_of(problem, solution), std::vector<std::string>());
}

}  // namespace
}  // namespace stowage
