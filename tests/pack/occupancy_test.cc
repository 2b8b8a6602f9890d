// The occupancy where queries are long: buffers of hundreds of pieces, and fits from an offset on, against
// the naive ones. Short queries are in pack_test.cc.

#include "pack/occupancy.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage {
namespace {

/// Rows that are alive one after the other or all over time, in any part of the buffer.
Buffer buffer_of_rows(oracle::Random& random, std::size_t rows, Position positions) {
  Buffer buffer{.size = random.between(20, 60), .alignment = random.chance(50) ? 1 : random.between(2, 8)};
  for (std::size_t row = 0; row < rows; ++row) {
    const Bytes size = random.between(1, 4);
    const Position lower = random.between(0, positions - 1);
    const Position life = random.between(1, random.chance(10) ? positions : 4);
    buffer.pieces.push_back({random.between(0, buffer.size - size), size, {lower, lower + life}});
  }
  return buffer;
}

/// Of few and of hundreds of rows.
std::vector<Buffer> buffers_of_rows(std::uint64_t seed) {
  oracle::Random random(seed);
  const Position positions = random.between(20, 600);
  std::vector<Buffer> buffers;
  for (std::size_t b = 0; b < 24; ++b) {
    const auto rows = static_cast<std::size_t>(b % 4 == 3 ? random.between(200, 400) : random.between(1, 6));
    buffers.push_back(buffer_of_rows(random, rows, positions));
  }
  return buffers;
}

Bytes naive_fit_from(const oracle::FreeOffsets& free, Bytes alignment, Bytes from) {
  Bytes offset = (from + alignment - 1) / alignment * alignment;
  while (offset < std::ssize(free) && free[static_cast<std::size_t>(offset)] == 0) offset += alignment;
  return offset;
}

TEST(Occupancy, FitsOfBuffersOfHundredsOfPieces) {
  std::size_t between_others = 0;
  std::size_t aligned_away = 0;
  for (std::uint64_t seed = 0; seed < 20 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    oracle::Random random(seed);
    const std::vector<Buffer> buffers = buffers_of_rows(seed);
    pack::Occupancy occupancy(buffers);
    std::vector<oracle::Taken> taken;
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      SCOPED_TRACE(b);
      const Buffer& buffer = buffers[b];
      const oracle::FreeOffsets free = oracle::free_by_crossing_out(taken, buffer);
      const Bytes lowest = oracle::lowest_fit(free, buffer.alignment);
      const Bytes tightest = oracle::tightest_fit(free, buffer.alignment);
      EXPECT_EQ(occupancy.lowest_fit(buffer), lowest);
      EXPECT_EQ(occupancy.tightest_fit(buffer), tightest);
      between_others += tightest != lowest && tightest < std::ssize(free) ? 1 : 0;
      aligned_away += lowest > oracle::lowest_fit(free, 1) ? 1 : 0;
      const Bytes offset = random.between(0, 400);
      occupancy.reserve(buffer, offset);
      oracle::reserve(taken, buffer, offset);
    }
  }
  EXPECT_GT(between_others, 20U);
  EXPECT_GT(aligned_away, 20U);
}

TEST(Occupancy, FitsFromAnOffsetOn) {
  std::size_t higher = 0;
  for (std::uint64_t seed = 0; seed < 10 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    oracle::Random random(seed);
    const std::vector<Buffer> buffers = buffers_of_rows(seed);
    pack::Occupancy occupancy(buffers);
    std::vector<oracle::Taken> taken;
    for (const Buffer& buffer : buffers) {
      const oracle::FreeOffsets free = oracle::free_by_crossing_out(taken, buffer);
      for (int i = 0; i < 6; ++i) {
        const Bytes from = random.between(0, 500);
        const Bytes expected = naive_fit_from(free, buffer.alignment, from);
        EXPECT_EQ(occupancy.lowest_fit(buffer, from), expected) << from;
        higher += expected >= from + buffer.alignment ? 1 : 0;
      }
      const Bytes offset = random.between(0, 400);
      occupancy.reserve(buffer, offset);
      oracle::reserve(taken, buffer, offset);
    }
  }
  EXPECT_GT(higher, 100U);
}

/// Each of the rows meets others of its own, so that a query has a run for each.
TEST(Occupancy, RowsInAStaircase) {
  constexpr Bytes rows = 300;
  std::vector<Buffer> buffers{{.size = rows}};
  for (Bytes row = 0; row < rows; ++row) {
    buffers[0].pieces.push_back({row, 1, {row, row + 1}});
    buffers.push_back({.size = 1, .pieces = {{0, 1, {row, row + 1}}}});
  }
  const auto below = [&](Bytes row) { return row * 7 % rows; };  // each number once
  pack::Occupancy occupancy(buffers);
  for (Bytes row = 0; row < rows; ++row) {
    // Row lies at the buffer's offset + row: this one forbids one offset only.
    occupancy.reserve(buffers[static_cast<std::size_t>(row) + 1], row + below(row));
    Bytes expected = 0;
    std::vector<char> is_forbidden(static_cast<std::size_t>(rows) + 1, 0);
    for (Bytes other = 0; other <= row; ++other) is_forbidden[static_cast<std::size_t>(below(other))] = 1;
    while (is_forbidden[static_cast<std::size_t>(expected)] != 0) ++expected;
    ASSERT_EQ(occupancy.lowest_fit(buffers[0]), expected) << row;
  }
  EXPECT_EQ(occupancy.lowest_fit(buffers[0]), rows);
  EXPECT_EQ(occupancy.tightest_fit(buffers[0]), rows);
}

}  // namespace
}  // namespace stowage
