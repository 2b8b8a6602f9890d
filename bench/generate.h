#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "stowage/problem.h"

namespace stowage::bench {

/// `count` buffers of which a few dozen are alive at once: a buffer starts at every position and
/// lives for 1 to 64 of them; sizes are multiples of 64 bytes up to 64 KiB, small ones more often.
/// The same seed gives the same buffers everywhere.
inline Problem generate(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) { return static_cast<std::int64_t>(random() % limit); };
  constexpr std::uint64_t longest = 64;
  constexpr std::uint64_t largest = 1024;
  constexpr Bytes unit = 64;
  Problem problem{{}, {{.name = "arena"}}};
  problem.buffers.reserve(count);
  for (std::size_t b = 0; b < count; ++b) {
    const auto lower = static_cast<Position>(b);
    const Bytes size = unit * (1 + below(1 + static_cast<std::uint64_t>(below(largest))));
    problem.buffers.push_back(
        {.id = std::to_string(b), .size = size, .pieces = {{0, size, {lower, lower + 1 + below(longest)}}}});
  }
  return problem;
}

}  // namespace stowage::bench
