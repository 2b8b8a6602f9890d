/// Random problems that are the same on every machine: the same seed, the same problem.
///
///     const Problem problem = oracle::random_problem(7);            // a handful of small buffers
///     const Problem larger = oracle::random_problem(7, {.buffers = 1000, .positions = 500});
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::oracle {

/// Draws numbers. The distributions of the standard library differ from one to the next, so these
/// are our own; that they are not quite even is no matter here.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// One of `lowest` to `highest`, both included.
  [[nodiscard]] std::int64_t between(std::int64_t lowest, std::int64_t highest);

  /// True in so many of a hundred cases.
  [[nodiscard]] bool chance(int percent) { return between(1, 100) <= percent; }

 private:
  std::mt19937_64 engine_;
};

/// What a random problem looks like; as it stands, small enough for every oracle.
struct ProblemShape {
  std::size_t buffers = 7;        ///< Exactly so many; see random_problem(seed).
  Position positions = 8;         ///< Lives end there at the latest.
  Position longest_life = 8;      ///< Of a piece, in positions.
  Bytes largest_size = 9;         ///< In bytes; 0 occurs too.
  Bytes largest_alignment = 1;    ///< One of 1, 2, 3, 4 and 8 that is not larger.
  int percent_with_pieces = 0;    ///< Have gaps, windows in gaps, or slots filled one by one.
  int percent_pinned = 0;         ///< Fewer where a pin would collide with another.
  int percent_never_alive = 0;    ///< Empty lifetimes, no pieces, or no bytes.
  int percent_like_the_last = 0;  ///< As large as the buffer before, or alive at the same time, or both.
};

/// A valid problem with one memory.
[[nodiscard]] Problem random_problem(std::uint64_t seed, const ProblemShape& shape);

/// The same. For some seeds buffers also have alignments, pieces or pins, or are never alive.
[[nodiscard]] Problem random_mixed_problem(std::uint64_t seed, ProblemShape shape);

/// A valid problem of up to 7 small buffers; the seed decides its shape, too.
[[nodiscard]] Problem random_problem(std::uint64_t seed);

}  // namespace stowage::oracle
