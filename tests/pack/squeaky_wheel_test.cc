// The squeaky wheel: valid on everything, at the least peak of small problems of rows, below greedy passes on larger ones.

#include "pack/squeaky_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "pack/random.h"
#include "pack/strategies.h"
#include "problems.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using testing::offsets_of;
using testing::problem_of;
using testing::whole;

std::vector<Place> wheel(const Problem& problem, Bytes enough, const pack::Control& control = {}) {
  return pack::squeaky_wheel(problem, pack::Neighbours(problem.buffers), enough, control);
}

/// The peak of the placing, which is checked.
Bytes peak_by_passes(const Problem& problem) {
  const Bytes load = max_load(problem.buffers);
  const std::vector<Bytes> offsets = offsets_of(wheel(problem, load));
  const auto fault = oracle::fault_of(problem, offsets);
  EXPECT_FALSE(fault) << *fault;
  const Bytes peak = oracle::peak_of_offsets(problem, offsets);
  EXPECT_GE(peak, load);
  return peak;
}

/// A chain of operators by rows, as streaming makes it: in every period each tensor gets a row, which lives for
/// some periods and a little more. Now and then a tensor waits as a whole.
Problem rows_in_turn(std::uint64_t seed, std::int64_t tensors, std::int64_t periods) {
  pack::Random random(seed);
  const auto up_to = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most)));
  };
  std::vector<Buffer> buffers;
  for (std::int64_t t = 0; t < tensors; ++t) {
    const Bytes size = 16 * up_to(30);
    const bool waits = up_to(8) == 1;
    const Position life = waits ? tensors * periods / 2 : up_to(3) * tensors + up_to(tensors);
    for (std::int64_t row = 0; row < periods; ++row) {
      const Position at = row * tensors + t;
      buffers.push_back(whole(std::to_string(t) + "[" + std::to_string(row) + "]", size, at, at + life));
    }
  }
  return problem_of(buffers);
}

TEST(SqueakyWheel, PlacesAnythingWithoutFaults) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    (void)peak_by_passes(oracle::random_problem(seed, {.buffers = 30,
                                                       .positions = 30,
                                                       .longest_life = 20,
                                                       .largest_size = 50,
                                                       .largest_alignment = seed % 2 == 0 ? 1 : 8,
                                                       .percent_with_pieces = 20,
                                                       .percent_pinned = 5,
                                                       .percent_never_alive = 5}));
  }
}

TEST(SqueakyWheel, FindsTheLeastPeakOfMostSmallProblemsOfRows) {
  int found_least = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = rows_in_turn(seed, 2, 3);
    const Bytes least = oracle::optimal_peak(problem);
    const Bytes peak = peak_by_passes(problem);
    EXPECT_GE(peak, least);
    found_least += peak == least ? 1 : 0;
  }
  EXPECT_GE(found_least, 95);
}

/// One by one it may be above the lowest greedy pass; all in all it is lower.
TEST(SqueakyWheel, IsLowerThanGreedyPassesOnRows) {
  Bytes above_load = 0;
  Bytes greedy_above_load = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = rows_in_turn(seed, 20, 20);
    const Bytes load = max_load(problem.buffers);
    Bytes lowest = 0;
    for (const pack::Greedy& greedy : pack::greedies()) {
      const auto placing = pack::place_greedily(greedy, problem, {});
      const Bytes peak = oracle::peak_of_offsets(problem, offsets_of(placing.places));
      lowest = lowest == 0 ? peak : std::min(lowest, peak);
    }
    above_load += peak_by_passes(problem) - load;
    greedy_above_load += lowest - load;
  }
  EXPECT_LT(above_load, greedy_above_load * 9 / 10);
}

/// With many pieces, taken addresses are looked up in another way.
TEST(SqueakyWheel, BuffersOfManyPiecesLieApart) {
  std::vector<Buffer> buffers;
  for (Position b = 0; b < 6; ++b) {
    Buffer buffer{.id = std::to_string(b), .size = 40 * (b + 1)};
    for (Position i = 0; i < 40; ++i)
      buffer.pieces.push_back({i * (b + 1), b + 1, {10 * b + i, 10 * b + 2 * i + 12}});
    buffers.push_back(buffer);
  }
  const Problem problem = problem_of(buffers);
  EXPECT_LT(peak_by_passes(problem), 6 * 7 / 2 * 40) << "they share bytes";
}

TEST(SqueakyWheel, TheSameEachTime) {
  const Problem problem = rows_in_turn(1, 15, 15);
  EXPECT_EQ(wheel(problem, 0), wheel(problem, 0));
}

TEST(SqueakyWheel, WithoutTimeThereIsNothing) {
  std::stop_source source;
  source.request_stop();
  const Problem problem = rows_in_turn(1, 3, 3);
  EXPECT_TRUE(wheel(problem, 0, {.deadline = base::Deadline(source.get_token())}).empty());
}

}  // namespace
}  // namespace stowage
