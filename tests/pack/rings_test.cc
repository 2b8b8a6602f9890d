// Rings: equal buffers that come and go in turn lie in the slots of one ring, others on their own. Encoders
// by rows come to max load that way, far below single passes.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "pack/strategies.h"
#include "problems.h"
#include "stowage/error.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using testing::aligned;
using testing::offsets_of;
using testing::pinned;
using testing::problem_of;
using testing::whole;

using Offsets = std::vector<Bytes>;

/// Of a placing, which is checked.
Offsets by_rings(const Problem& problem) {
  const pack::Placing placing = pack::rings(problem, {});
  EXPECT_FALSE(placing.cut_short);
  const auto fault = oracle::fault_of(problem, offsets_of(placing.places));
  EXPECT_FALSE(fault) << *fault;
  return offsets_of(placing.places);
}

/// When row 0 comes or goes, and how much later each next row does.
struct Beat {
  Position first = 0;
  Position step = 0;
};

void add_rows(Problem& problem, const std::string& name, Bytes size, std::int64_t count, Beat born,
              Beat dies) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string id = name + "[" + std::to_string(i) + "]";
    problem.buffers.push_back(whole(id, size, born.first + i * born.step, dies.first + i * dies.step));
  }
}

Problem rows(Bytes size, std::int64_t count, Beat born, Beat dies) {
  Problem problem = problem_of({});
  add_rows(problem, "row", size, count, born, dies);
  return problem;
}

TEST(Rings, BufferIIsInSlotIModuloThoseAliveAtOnce) {
  Problem problem = rows(10, 7, {0, 2}, {5, 2});
  EXPECT_EQ(by_rings(problem), (Offsets{0, 10, 20, 0, 10, 20, 0}));
  for (Buffer& buffer : problem.buffers) buffer.alignment = 8;
  EXPECT_EQ(by_rings(problem), (Offsets{0, 16, 32, 0, 16, 32, 0}));
  // One that ends where another begins is not alive then.
  EXPECT_EQ(by_rings(rows(10, 4, {0, 3}, {6, 3})), (Offsets{0, 10, 0, 10}));
  EXPECT_EQ(by_rings(rows(10, 3, {0, 3}, {3, 3})), (Offsets{0, 0, 0}));
  EXPECT_EQ(by_rings(rows(10, 3, {0, 5}, {2, 5})), (Offsets{0, 0, 0}));
  EXPECT_EQ(by_rings(problem_of({})), Offsets{});
}

TEST(Rings, AnotherFollowsThroughSlotsThatBecomeFree) {
  Problem problem = rows(8, 4, {4, 1}, {20, 0});
  add_rows(problem, "before", 8, 4, {0, 0}, {4, 1});
  EXPECT_EQ(by_rings(problem), (Offsets{0, 8, 16, 24, 0, 8, 16, 24}));
}

// What is a run.

TEST(Rings, SuitProblemsWithHalfAsManyRingsAsBuffers) {
  for (std::int64_t singles = 0; singles < 5; ++singles) {
    for (std::int64_t equal = 1; equal < 9; ++equal) {
      Problem problem = rows(100, equal, {0, 1}, {3, 1});
      for (std::int64_t i = 0; i < singles; ++i) problem.buffers.push_back(whole("", i + 1, i, 9));
      EXPECT_EQ(pack::has_runs(problem), 2 * (singles + 1) <= singles + equal) << singles << " " << equal;
    }
  }
}

/// A run of both has no room below the pin. Of two on their own, one is there.
void expect_run(bool is_run, const Buffer& a, const Buffer& b) {
  EXPECT_EQ(pack::has_runs(problem_of({a, b})), is_run);
  const Offsets offsets = by_rings(problem_of({a, b, pinned(whole("pin", 16, 0, 99), 16)}));
  if (is_run)
    EXPECT_EQ(offsets, (Offsets{32, 48, 16}));
  else
    EXPECT_EQ(std::min(offsets[0], offsets[1]), 0);
}

TEST(Rings, BuffersThatComeAndGoInTurnAreARun) {
  const Buffer a = whole("a", 16, 10, 20);
  for (const Lifetime in_turn : {Lifetime{11, 21}, {10, 20}, {15, 20}, {10, 30}})
    expect_run(true, a, whole("b", 16, in_turn.lower, in_turn.upper));
  for (const Lifetime falling : {Lifetime{9, 21}, {9, 20}, {11, 19}, {10, 19}, {9, 19}})
    expect_run(false, a, whole("b", 16, falling.lower, falling.upper));
  EXPECT_TRUE(pack::has_runs(problem_of({a, whole("b", 16, 70, 71)}))) << "they need not meet";
}

TEST(Rings, WhatDiffersIsNotInARun) {
  const Buffer a = whole("a", 16, 10, 20);
  const Buffer b = whole("b", 16, 11, 21);
  expect_run(true, aligned(a, 8), aligned(b, 8));
  expect_run(false, a, aligned(b, 8));
  expect_run(false, aligned(a, 8), b);
  expect_run(false, a, whole("b", 12, 11, 21));
  expect_run(false, whole("a", 12, 10, 20), b);
  expect_run(false, a, pinned(b, 64));
  expect_run(false, pinned(a, 64), b);
  EXPECT_FALSE(pack::has_runs(problem_of({pinned(a, 64), pinned(b, 80)})));
  EXPECT_FALSE(pack::has_runs(rows(0, 2, {10, 1}, {20, 1}))) << "without bytes";
  using Pieces = std::vector<Piece>;
  for (const Pieces& pieces : {Pieces{}, Pieces{{0, 16, {10, 10}}}, Pieces{{0, 16, {21, 21}}},
                               Pieces{{0, 15, {10, 21}}}, Pieces{{0, 16, {11, 20}}, {0, 16, {22, 23}}}}) {
    expect_run(false, a, {.id = "b", .size = 16, .pieces = pieces});
    expect_run(false, {.id = "a", .size = 16, .pieces = pieces}, b);
  }
}

// Whatever the runs.

/// Rows that come and go in turn, some of them spoilt; after each tensor there may be buffers of any kind.
Problem random_runs(std::uint64_t seed) {
  oracle::Random random(seed);
  Problem problem = problem_of({});
  Bytes pins = 0;
  for (std::int64_t tensor = random.between(2, 6); tensor > 0; --tensor) {
    const Bytes size = random.between(1, 24);
    const Bytes alignment = std::int64_t{1} << random.between(0, 4);
    const Position longest = random.between(1, 12);
    Lifetime life{random.between(0, 20), 0};
    for (std::int64_t row = random.between(1, 10); row > 0; --row) {
      life.upper = std::max(life.upper, life.lower + random.between(1, longest));
      Buffer buffer = aligned(whole("", size, life.lower, life.upper), random.chance(3) ? 3 : alignment);
      if (random.chance(3)) buffer.pieces[0].life.upper = life.lower + 1;
      if (random.chance(3)) buffer.pieces[0].size = size / 2;
      if (random.chance(3)) buffer.pinned = 48 * pins++;
      problem.buffers.push_back(buffer);
      life.lower += random.between(0, 3);
    }
    const auto count = static_cast<std::size_t>(random.between(0, 3));
    const Problem others = oracle::random_problem(
        10 * seed + count, {.buffers = count, .positions = 30, .percent_with_pieces = 50});
    problem.buffers.insert(problem.buffers.end(), others.buffers.begin(), others.buffers.end());
  }
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) problem.buffers[b].id = std::to_string(b);
  return problem;
}

bool is_row(const Buffer& it) {
  return !it.pinned && it.size > 0 && it.pieces.size() == 1 && it.pieces[0].size == it.size &&
         it.pieces[0].life.lower < it.pieces[0].life.upper;
}

bool goes_on(const Buffer& a, const Buffer& b) {
  return is_row(a) && is_row(b) && a.size == b.size && a.alignment == b.alignment &&
         a.pieces[0].life.lower <= b.pieces[0].life.lower && a.pieces[0].life.upper <= b.pieces[0].life.upper;
}

/// Of a run, by looking at all pairs.
std::ptrdiff_t most_at_once(std::span<const Buffer> run) {
  std::ptrdiff_t most = 0;
  for (const Buffer& row : run) {
    const auto is_alive = [at = row.pieces[0].life.lower](const Buffer& other) {
      return other.pieces[0].life.lower <= at && at < other.pieces[0].life.upper;
    };
    most = std::max(most, std::ranges::count_if(run, is_alive));
  }
  return most;
}

TEST(Rings, AreValidAndKeepEachRunTogether) {
  std::size_t used_again = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = random_runs(seed);
    const auto& buffers = problem.buffers;
    ASSERT_NO_THROW(validate(problem));
    const Offsets offsets = by_rings(problem);
    EXPECT_GE(oracle::peak_of_offsets(problem, offsets), oracle::max_load(buffers));
    std::size_t rings = 0;
    for (std::size_t first = 0, end = 0; first < buffers.size(); first = end, ++rings) {
      for (end = first + 1; end < buffers.size() && goes_on(buffers[end - 1], buffers[end]);) ++end;
      if (end - first < 2) continue;
      const std::ptrdiff_t slots = most_at_once(std::span(buffers).subspan(first, end - first));
      Bytes stride = buffers[first].size;
      while (stride % buffers[first].alignment != 0) ++stride;
      for (std::size_t b = first; b < end; ++b)
        EXPECT_EQ(offsets[b] - offsets[first], static_cast<Bytes>(b - first) % slots * stride) << b;
      used_again += slots > 1 && first + static_cast<std::size_t>(slots) < end ? 1 : 0;
    }
    EXPECT_EQ(pack::has_runs(problem), 2 * rings <= buffers.size());
  }
  EXPECT_GT(used_again, 300U);
}

// Encoders.

/// Layers of an encoder by rows. In the attention, keys and values are whole, and each row of x becomes one
/// of h. Then each row of h becomes a hidden one and one of the next x; all of h waits for the last of them.
Problem encoder(int layers, std::int64_t count = 24, Position step = 8) {
  const Bytes size = 96;
  Problem problem = problem_of({});
  Beat x{0, 0};
  Position begin = 0;
  for (int layer = 0; layer < layers; ++layer) {
    const auto name = [&](const char* tensor) { return tensor + std::to_string(layer); };
    const Position attention = begin + 4 * count;
    const Position norm = attention + step * count;
    const Position forward = norm + count;
    const Position end = forward + step * count;
    add_rows(problem, name("x"), size, count, x, {attention + 2, step});
    problem.buffers.push_back(whole(name("k"), count * size, begin, norm));
    problem.buffers.push_back(whole(name("v"), count * size, begin + 2 * count, norm));
    add_rows(problem, name("h"), size, count, {attention, step}, {end + 1, 1});
    add_rows(problem, name("norm"), size, count, {norm + 1, 1}, {forward + 3, step});
    add_rows(problem, name("hidden"), 4 * size, count, {forward, step}, {forward + 4, step});
    x = {forward + 3, step};
    begin = end + count + 2;
  }
  add_rows(problem, "y", size, count, x, {begin, 0});
  return problem;
}

/// Of 514 and 1004 buffers: from 1000 on, strategies run side by side, and there is a fallback.
std::array<Problem, 2> encoders() { return {encoder(5), encoder(10)}; }

TEST(Rings, AreFarBelowSinglePassesOnEncoders) {
  for (const Problem& problem : encoders()) {
    SCOPED_TRACE(problem.buffers.size());
    const auto peak_by = [&](const std::string& strategy) {
      return peak_of(problem, solve(problem, {.strategy = strategy, .effort = 1000}), 0);
    };
    const Bytes load = max_load(problem.buffers);
    const Bytes peak = oracle::peak_of_offsets(problem, by_rings(problem));
    EXPECT_LE(peak, load * 102 / 100);
    EXPECT_EQ(peak_by("rings"), peak);
    for (const char* const pass : {"greedy-by-size", "greedy-by-duration", "first-fit-by-start", "from-peak"})
      EXPECT_GE(peak_by(pass), load * 115 / 100) << pass;
    EXPECT_TRUE(pack::has_runs(problem));
    EXPECT_LE(peak_by("auto"), peak);
  }
}

/// Rows and keys live in other classes of the squeaky wheel.
TEST(Rings, ComeToMaxLoadWhateverTheSteps) {
  for (const std::int64_t count : {24, 32}) {
    for (const Position step : {6, 7, 8, 10}) {
      SCOPED_TRACE(std::to_string(count) + " rows, " + std::to_string(step) + " steps each");
      const Problem problem = encoder(6, count, step);
      const Bytes peak = oracle::peak_of_offsets(problem, by_rings(problem));
      EXPECT_LE(peak, max_load(problem.buffers) * 102 / 100);
    }
  }
}

// Time, threads and memories.

TEST(Rings, AreTheSameWhateverTheThreads) {
  std::vector<Problem> problems{encoder(5), encoder(10)};
  for (std::uint64_t seed = 0; seed < 2; ++seed) problems.push_back(random_runs(seed));
  for (const Problem& problem : problems) {
    for (const char* const strategy : {"rings", "auto"}) {
      const Solution one = solve(problem, {.strategy = strategy, .effort = 30, .threads = 1});
      const Solution four = solve(problem, {.strategy = strategy, .effort = 30, .threads = 4});
      EXPECT_EQ(one.places, four.places);
      EXPECT_EQ(one.strategy, four.strategy);
    }
  }
}

TEST(Rings, WithoutTimeThereIsStillAPlan) {
  std::stop_source source;
  source.request_stop();
  const auto expect_plan = [](const Problem& problem, const std::vector<Place>& places) {
    EXPECT_EQ(oracle::fault_of(problem, offsets_of(places)), std::nullopt);
  };
  for (const Problem& problem : encoders()) {
    const pack::Placing stopped = pack::rings(problem, {.deadline = base::Deadline(source.get_token())});
    EXPECT_TRUE(stopped.places.empty() && stopped.cut_short);
    expect_plan(problem, solve(problem, {.strategy = "rings", .stop = source.get_token()}).places);

    const auto no_work = base::Deadline::after_work(base::Deadline::Seconds(0));
    const auto hardly_any = base::Deadline::after_work(base::Deadline::Seconds(1e-9));
    for (const base::Deadline& deadline : {no_work, hardly_any}) {
      const pack::Placing late = pack::rings(problem, {.deadline = deadline, .has_plan = true});
      EXPECT_TRUE(late.places.empty() && late.cut_short);
    }
    const pack::Placing first = pack::rings(problem, {.deadline = no_work});
    EXPECT_TRUE(first.cut_short);
    expect_plan(problem, first.places);
    expect_plan(problem, solve(problem, {.strategy = "rings", .effort = 0}).places);
  }
}

TEST(Rings, WhatCannotWinIsGivenUp) {
  const Problem problem = encoder(5);
  const Bytes peak = oracle::peak_of_offsets(problem, by_rings(problem));
  std::atomic<Bytes> ceiling = peak + 1;
  EXPECT_EQ(offsets_of(pack::rings(problem, {.ceiling = &ceiling}).places), by_rings(problem));
  ceiling = max_load(problem.buffers);
  const pack::Placing beaten = pack::rings(problem, {.ceiling = &ceiling});
  EXPECT_TRUE(beaten.places.empty());
  EXPECT_FALSE(beaten.cut_short) << "nobody told it to stop";
}

TEST(Rings, ServeOneMemory) {
  Problem problem = rows(8, 4, {0, 1}, {2, 1});
  EXPECT_EQ(obstacle_to("rings", problem), std::nullopt);
  problem.memories.push_back({.name = "other"});
  EXPECT_THROW((void)solve(problem, {.strategy = "rings"}), NotApplicable);
}

}  // namespace
}  // namespace stowage
