// Moves between memories: against all combinations of small problems, replayed access by access, and never
// worse than without them.

#include "pack/memories/moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "long_tests.h"
#include "oracle/naive_levels.h"
#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "problems.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using memories::Course;
using memories::Movable;
using memories::MovePlan;
using testing::whole;

constexpr std::uint64_t small_cases = 400;

struct Case {
  Problem problem;
  std::vector<Movable> movables;
};

/// A buffer that is written at the first position and read at the others.
void add(Case& it, std::string id, Bytes size, std::vector<Position> accesses, Position upper = 0) {
  Buffer buffer = whole(std::move(id), size, accesses.front(), std::max(upper, accesses.back() + 1));
  buffer.traffic = size * std::ssize(accesses);
  it.movables.push_back({it.problem.buffers.size(), size, std::move(accesses), false});
  it.problem.buffers.push_back(std::move(buffer));
}

Case in_two(Bytes capacity) {
  Case it;
  it.problem.memories = {{.name = "fast", .capacity = capacity}, {.name = "slow", .cost = 10}};
  return it;
}

std::int64_t price_of(const Problem& problem, const Movable& movable, std::size_t memory) {
  return movable.bytes * problem.memories[memory].cost;
}

/// Plays the moves back: every access is served by the fastest copy that is alive, every copy has something
/// to copy, and all that is paid is what the plan says.
void expect_played(const Case& it, const Solution& solution, const MovePlan& plan) {
  const memories::Moved& moved = plan.moved;
  const auto& buffers = moved.problem.buffers;
  const auto memory_of = [&](std::size_t b) { return moved.solution.places[b].memory; };
  std::int64_t cost = 0;
  for (std::size_t b = 0; b < it.problem.buffers.size(); ++b) {
    const auto is_it = [&](const Movable& movable) { return movable.buffer == b; };
    if (std::any_of(it.movables.begin(), it.movables.end(), is_it)) continue;
    cost += it.problem.buffers[b].traffic * it.problem.memories[solution.places[b].memory].cost;
  }
  std::set<Position> taken(moved.positions.begin(), moved.positions.end());
  EXPECT_EQ(taken.size(), moved.positions.size());
  for (std::size_t m = 0; m < it.movables.size(); ++m) {
    const Movable& movable = it.movables[m];
    std::vector<std::size_t> parts;
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      if (moved.origins[b] == movable.buffer) parts.push_back(b);
    }
    std::set<std::size_t> good;  // those that hold the value
    auto copy = moved.copies.begin();
    const auto play_until = [&](Position now) {
      for (; copy != moved.copies.end() && copy->at < now; ++copy) {
        if (copy->movable != m) continue;
        const Lifetime from = buffers[copy->from].pieces[0].life;
        EXPECT_TRUE(from.lower <= copy->at && copy->at < from.upper);
        EXPECT_EQ(buffers[copy->to].pieces[0].life.lower, copy->at);
        EXPECT_TRUE(good.contains(copy->from));
        EXPECT_NE(memory_of(copy->from), memory_of(copy->to));
        EXPECT_TRUE(good.insert(copy->to).second);
        cost += price_of(it.problem, movable, memory_of(copy->from));
        cost += price_of(it.problem, movable, memory_of(copy->to));
        EXPECT_TRUE(taken.insert(copy->at).second);
      }
    };
    for (std::size_t a = 0; a < movable.accesses.size(); ++a) {
      const Position now = moved.positions[static_cast<std::size_t>(movable.accesses[a])];
      if (a > 0) play_until(now);
      std::optional<std::size_t> server;
      for (const std::size_t b : parts) {
        const Lifetime life = buffers[b].pieces[0].life;
        const bool is_start = a == 0 && movable.is_given;
        const bool is_alive =
            is_start ? life.lower <= now && !std::any_of(moved.copies.begin(), moved.copies.end(),
                                                         [&](const auto& it2) { return it2.to == b; })
                     : life.lower <= now && now < life.upper;
        if (is_alive && (!server || memory_of(b) < memory_of(*server))) server = b;
      }
      ASSERT_TRUE(server);
      if (a == 0) good.insert(*server);
      EXPECT_TRUE(good.contains(*server));
      if (a > 0 || !movable.is_given) cost += price_of(it.problem, movable, memory_of(*server));
    }
    play_until(moved.positions.back() + 1);
    const Position end = it.problem.buffers[movable.buffer].pieces[0].life.upper;
    const Position last = moved.positions[static_cast<std::size_t>(end - 1)];
    EXPECT_TRUE(std::any_of(parts.begin(), parts.end(), [&](std::size_t b) {
      return good.contains(b) && buffers[b].pieces[0].life.upper == last + 1;
    }));
  }
  EXPECT_EQ(cost, plan.cost);
  EXPECT_EQ(moved.solution.cost, plan.cost);
  EXPECT_EQ(static_cast<Position>(taken.size()), moved.positions.back() + 1);
}

/// Memory by memory no fault, within capacity, and each where it is told to be.
void expect_placed(const memories::Moved& moved) {
  const Problem& problem = moved.problem;
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    Problem inside{.memories = {problem.memories[m]}};
    std::vector<Bytes> offsets;
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
      EXPECT_EQ(problem.buffers[b].memories, std::vector<std::size_t>{moved.solution.places[b].memory});
      if (moved.solution.places[b].memory != m) continue;
      inside.buffers.push_back(problem.buffers[b]);
      offsets.push_back(moved.solution.places[b].offset);
    }
    EXPECT_EQ(oracle::fault_of(inside, offsets), std::nullopt);
    EXPECT_LE(oracle::peak_of_offsets(inside, offsets), problem.memories[m].capacity.value_or(largest_value));
  }
  EXPECT_NO_THROW(validate(problem));
}

/// The work is bounded: time shall not end it first.
pack::Control patient() { return {.deadline = base::Deadline(std::chrono::minutes(2))}; }

MovePlan moves_of(const Case& it) {
  const Solution solution = solve(it.problem);
  EXPECT_EQ(solution.outcome, Outcome::fits);
  MovePlan plan = memories::choose_moves(it.problem, solution, it.movables, patient());
  EXPECT_LE(plan.cost, solution.cost);
  expect_placed(plan.moved);
  expect_played(it, solution, plan);
  return plan;
}

TEST(Moves, WhatIsNotReadForLongIsSpilled) {
  Case it = in_two(10);
  add(it, "long", 10, {0, 1, 2, 6, 7, 8});
  add(it, "busy", 10, {3, 4, 4, 4, 5});
  const MovePlan plan = moves_of(it);
  // Both are fast where they are read; one spill and one fetch.
  EXPECT_EQ(plan.cost, 11 * 10 + 2 * 110);
  EXPECT_TRUE(plan.is_exhaustive);
  EXPECT_EQ(plan.courses[0], (Course{1, {{0, 0, 2}, {0, 3, 5}}}));
  EXPECT_EQ(plan.courses[1], (Course{0, {}}));
  ASSERT_EQ(plan.moved.copies.size(), 2U);
  EXPECT_EQ(plan.moved.copies[0].at, 3);
  EXPECT_EQ(plan.moved.copies[1].at, 7);
  EXPECT_EQ(plan.moved.positions, (std::vector<Position>{0, 1, 2, 4, 5, 6, 8, 9, 10, 11}));
  ASSERT_EQ(plan.moved.problem.buffers.size(), 4U);
  EXPECT_EQ(plan.moved.problem.buffers[0].id, "long");
  EXPECT_EQ(plan.moved.problem.buffers[0].pieces[0].life, (Lifetime{3, 8}));
  EXPECT_EQ(plan.moved.problem.buffers[1].id, "long@fast");
  EXPECT_EQ(plan.moved.problem.buffers[1].pieces[0].life, (Lifetime{0, 4}));
  EXPECT_EQ(plan.moved.problem.buffers[2].id, "long@fast#2");
  EXPECT_EQ(plan.moved.problem.buffers[2].pieces[0].life, (Lifetime{7, 11}));
  EXPECT_EQ(plan.moved.problem.buffers[3].pieces[0].life, (Lifetime{4, 7}));
}

TEST(Moves, NothingMovesWhereThatSavesNothing) {
  Case it = in_two(10);
  add(it, "a", 10, {0, 1, 5});
  add(it, "b", 10, {2, 3});
  const Solution solution = solve(it.problem);
  const MovePlan plan = memories::choose_moves(it.problem, solution, it.movables, patient());
  EXPECT_EQ(plan.cost, solution.cost);
  EXPECT_EQ(plan.moved.solution.places, solution.places);
  EXPECT_TRUE(plan.moved.copies.empty());
}

TEST(Moves, AnInputIsHandedOverBeforeTheFirstCopy) {
  Case it = in_two(10);
  add(it, "x", 10, {0, 0, 0, 0, 6, 7, 8, 9});
  it.movables[0].is_given = true;
  it.problem.buffers[0].kind = TensorKind::input;
  it.problem.buffers[0].traffic = 70;
  add(it, "busy", 10, {2, 3, 3, 3, 3, 3});
  const MovePlan plan = moves_of(it);
  EXPECT_EQ(plan.cost, 70 + 60 + 2 * 110);
}

TEST(Moves, WhoSaysOtherThanWhatIsSoStaysWhereItIs) {
  Case it = in_two(10);
  add(it, "long", 10, {0, 1, 2, 6, 7, 8});
  add(it, "busy", 10, {3, 4, 4, 4, 5});
  it.problem.buffers[0].traffic += 1;
  const Solution solution = solve(it.problem);
  EXPECT_TRUE(memories::choose_moves(it.problem, solution, it.movables, patient()).moved.copies.empty());
}

// The naive twin.

struct NaiveCourse {
  Course course;
  std::int64_t cost = 0;
};

std::vector<NaiveCourse> all_courses(const Case& it, const Movable& movable) {
  const Problem& problem = it.problem;
  const auto& allowed = problem.buffers[movable.buffer].memories;
  const auto is_allowed = [&](std::size_t m) {
    return allowed.empty() || std::count(allowed.begin(), allowed.end(), m) > 0;
  };
  const auto& accesses = movable.accesses;
  const std::size_t count = accesses.size();
  std::vector<NaiveCourse> courses;
  const std::function<void(Course, std::size_t, std::int64_t)> go_on = [&](Course course, std::size_t access,
                                                                           std::int64_t cost) {
    if (access == count) {
      courses.push_back({course, cost});
      return;
    }
    const bool is_free = access == 0 && movable.is_given;
    const std::int64_t at_home = price_of(problem, movable, course.home);
    go_on(course, access + 1, cost + (is_free ? 0 : at_home));
    for (std::size_t f = 0; f < course.home; ++f) {
      if (!is_allowed(f) || problem.memories[f].cost >= problem.memories[course.home].cost) continue;
      for (std::size_t last = access; last < count; ++last) {
        const bool parts_before = access == 0 || accesses[access - 1] < accesses[access];
        const bool parts_after = last + 1 == count || accesses[last] < accesses[last + 1];
        if (!parts_before || !parts_after || (access == 0 && last + 1 == count)) continue;
        if (is_free && last == 0) continue;
        Course longer = course;
        longer.visits.push_back({f, access, last});
        const auto served = static_cast<std::int64_t>(last - access + 1) - (is_free ? 1 : 0);
        go_on(longer, last + 1, cost + (served + 1) * price_of(problem, movable, f) + at_home);
      }
    }
  };
  for (std::size_t home = 0; home < problem.memories.size(); ++home) {
    if (is_allowed(home)) go_on({home, {}}, 0, 0);
  }
  return courses;
}

/// Whether it fits, on a clock with room for a hundred copies before each operator.
bool fits(const Case& it, const Solution& solution, const std::vector<const Course*>& courses) {
  constexpr Position stride = 100;
  constexpr Position fetches = 50;
  const auto op = [](Position at) { return at * stride + stride - 1; };
  std::vector<Problem> inside(it.problem.memories.size());
  std::vector<Position> spilled(40, 0);
  std::vector<Position> fetched(40, 0);
  const auto put = [&](const Buffer& buffer, std::size_t memory, Position lower, Position upper) {
    inside[memory].buffers.push_back(buffer);
    inside[memory].buffers.back().pieces[0].life = {lower, upper};
  };
  std::vector<bool> is_done(it.problem.buffers.size());
  for (std::size_t m = 0; m < it.movables.size(); ++m) {
    const Movable& movable = it.movables[m];
    const Buffer& buffer = it.problem.buffers[movable.buffer];
    const Course& course = *courses[m];
    is_done[movable.buffer] = true;
    const Lifetime life = buffer.pieces[0].life;
    const Position start = buffer.kind == TensorKind::input ? life.lower * stride : op(life.lower);
    Position home_lower = start;
    std::vector<Position> home_uses;
    std::size_t next = 0;
    for (const memories::Visit& visit : course.visits) {
      if (visit.first_access > next) home_uses.push_back(op(movable.accesses[visit.first_access - 1]));
      next = visit.last_access + 1;
      const Position last = movable.accesses[visit.last_access];
      if (visit.first_access == 0) {
        home_lower = (last + 1) * stride + spilled[static_cast<std::size_t>(last)]++;
        put(buffer, visit.memory, start, home_lower + 1);
        home_uses.push_back(home_lower);
      } else {
        const Position first = movable.accesses[visit.first_access];
        const Position copy = first * stride + fetches + fetched[static_cast<std::size_t>(first)]++;
        put(buffer, visit.memory, copy, op(last) + 1);
        home_uses.push_back(copy);
      }
    }
    const bool to_the_end = next < movable.accesses.size() || life.upper > movable.accesses.back() + 1;
    if (to_the_end) home_uses.push_back(op(life.upper - 1));
    put(buffer, course.home, home_lower, *std::max_element(home_uses.begin(), home_uses.end()) + 1);
  }
  for (std::size_t b = 0; b < it.problem.buffers.size(); ++b) {
    if (is_done[b]) continue;
    const Buffer& buffer = it.problem.buffers[b];
    const Lifetime life = buffer.pieces[0].life;
    put(buffer, solution.places[b].memory, op(life.lower), op(life.upper - 1) + 1);
  }
  for (std::size_t m = 0; m < inside.size(); ++m) {
    if (const auto capacity = it.problem.memories[m].capacity) {
      inside[m].memories = {{.name = "one"}};
      if (oracle::max_load(inside[m].buffers) > *capacity || oracle::optimal_peak(inside[m]) > *capacity)
        return false;
    }
  }
  return true;
}

std::int64_t least_cost(const Case& it, const Solution& solution) {
  std::vector<std::vector<NaiveCourse>> courses;
  for (const Movable& movable : it.movables) courses.push_back(all_courses(it, movable));
  std::int64_t fixed = 0;
  for (std::size_t b = it.movables.size(); b < it.problem.buffers.size(); ++b)
    fixed += it.problem.buffers[b].traffic * it.problem.memories[solution.places[b].memory].cost;
  std::int64_t least = solution.cost;
  std::vector<const Course*> chosen;
  const std::function<void(std::int64_t)> choose = [&](std::int64_t cost) {
    if (cost >= least) return;
    if (chosen.size() == it.movables.size()) {
      if (fits(it, solution, chosen)) least = cost;
      return;
    }
    for (const NaiveCourse& course : courses[chosen.size()]) {
      chosen.push_back(&course.course);
      choose(cost + course.cost);
      chosen.pop_back();
    }
  };
  choose(fixed);
  return least;
}

/// Movables come first; a fixed buffer or two after them.
Case random_case(std::uint64_t seed, std::size_t movables, std::size_t most_accesses, Position positions) {
  oracle::Random random(seed);
  Case it;
  it.problem.memories = {{.name = "fast", .capacity = random.between(3, 7)}};
  if (random.chance(25))
    it.problem.memories.push_back({.name = "middle", .capacity = random.between(2, 12), .cost = 3});
  it.problem.memories.push_back({.name = "slow", .cost = random.between(4, 30)});
  for (std::size_t m = 0; m < movables; ++m) {
    const auto count = static_cast<std::size_t>(random.between(1, static_cast<std::int64_t>(most_accesses)));
    std::vector<Position> accesses;
    while (accesses.size() < count) accesses.push_back(random.between(0, positions - 1));
    std::sort(accesses.begin(), accesses.end());
    // Nothing reads what is written at the same position.
    if (count > 1 && accesses[0] == accesses[1])
      accesses.erase(std::unique(accesses.begin(), accesses.end()), accesses.end());
    const Position upper = random.chance(20) ? positions : 0;
    add(it, "b" + std::to_string(m), random.between(1, 5), std::move(accesses), upper);
    Buffer& buffer = it.problem.buffers.back();
    if (random.chance(20)) buffer.alignment = 2;
    if (random.chance(10)) buffer.memories = {it.problem.memories.size() - 1};
    if (!random.chance(20)) continue;
    it.movables.back().is_given = true;
    buffer.kind = TensorKind::input;
    buffer.traffic -= buffer.size;
  }
  for (std::int64_t fixed = random.between(0, 2); fixed > 0; --fixed) {
    const Position lower = random.between(0, positions - 1);
    Buffer buffer =
        whole("f" + std::to_string(fixed), random.between(1, 4), lower, random.between(lower + 1, positions));
    buffer.traffic = buffer.size * random.between(0, 4);
    it.problem.buffers.push_back(std::move(buffer));
  }
  return it;
}

TEST(Moves, AreTheBestThereAreInSmallProblems) {
  std::size_t moving = 0;
  std::size_t exhausted = 0;
  for (std::uint64_t seed = 0; seed < small_cases && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Case it = seed % 8 == 0 ? random_case(seed, 3, 5, 10) : random_case(seed, 3, 4, 8);
    const Solution solution = solve(it.problem);
    ASSERT_EQ(solution.outcome, Outcome::fits);
    const MovePlan plan = moves_of(it);
    const std::int64_t least = least_cost(it, solution);
    EXPECT_LE(least, plan.cost);
    EXPECT_EQ(plan.cost, plan.is_exhaustive ? least : plan.cost);
    exhausted += plan.is_exhaustive ? 1 : 0;
    moving += plan.moved.copies.empty() ? 0 : 1;
  }
  EXPECT_GT(moving, small_cases / 20);
  EXPECT_GT(exhausted, small_cases * 9 / 10);
}

TEST(Moves, AreNeverWorseThanNone) {
  const std::uint64_t problems = testing::is_in_a_hurry() ? 6 : 40;
  std::size_t better = 0;
  for (std::uint64_t seed = 0; seed < problems && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Case it = random_case(seed, 15 + 2 * static_cast<std::size_t>(seed), 6, 30);
    it.problem.memories[0].capacity = 20;
    const Solution solution = solve(it.problem);
    if (solution.outcome != Outcome::fits) continue;
    const MovePlan plan = moves_of(it);
    better += plan.cost < solution.cost ? 1 : 0;
    EXPECT_EQ(memories::choose_moves(it.problem, solution, it.movables, patient()).courses, plan.courses);
  }
  EXPECT_GT(better, problems / 5);
}

}  // namespace
}  // namespace stowage
