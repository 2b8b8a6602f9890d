/// Naive answers to what src/levels answers fast: all assignments are tried, and whether a set fits into a
/// memory is what naive_pack says of it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "oracle/random_problem.h"
#include "stowage/problem.h"

namespace stowage::oracle {

/// The lesser is the better.
struct Objective {
  Bytes excess = 0;
  std::int64_t cost = 0;
  std::vector<Bytes> peaks{};  ///< The last memory first.

  auto operator<=>(const Objective&) const = default;
};

[[nodiscard]] Objective objective_of(const Problem& problem, std::span<const Place> places);

/// The least cost of all choices of memories that fit; none: nothing fits. Exponential.
[[nodiscard]] std::optional<std::int64_t> least_cost(const Problem& problem);

/// The problem with two or three memories, traffic, and buffers that may not live everywhere.
[[nodiscard]] Problem in_levels(Problem problem, std::uint64_t seed, Bytes largest_capacity);

/// As `random_problem`, in two or three memories.
[[nodiscard]] Problem random_levels(std::uint64_t seed, const ProblemShape& shape);
[[nodiscard]] Problem random_levels(std::uint64_t seed);

}  // namespace stowage::oracle
