#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>

#include "import/known.h"
#include "stowage/graph.h"
#include "stowage/import.h"

namespace stowage::import {

/// Two numbers that a model holds against each other: a pair of operands of an operator, and the element in these.
struct TurnPlace {
  bool is_sum = false;  ///< Only added or taken away; what is compared comes first.
  std::size_t subgraph = 0;
  std::size_t op = 0;
  std::size_t first = 0;
  std::size_t second = 0;
  std::size_t element = 0;

  auto operator<=>(const TurnPlace&) const = default;
};

/// The two numbers in one reading.
struct Turn {
  std::int64_t first = 0;
  std::int64_t second = 0;
};

using Turns = std::map<TurnPlace, Turn>;

/// What the model holds against each other, as far as it is known in a reading. `value_of` gives null for what is not.
[[nodiscard]] Turns turns_in(const Graph& graph, const std::function<const Value*(TensorId)>& value_of);

/// The turns of a reading, and the size of a range there.
struct TurnsAt {
  std::int64_t size = 0;
  Turns turns{};
};

/// Sizes of the range at which two numbers are equal, if they are affine functions of it, and constants that are
/// compared, each with one less and one more; a few of them. `largest` and `other` are readings that differ in the size
/// of this range alone.
[[nodiscard]] std::set<std::int64_t> turning_sizes(const GivenSize& range, const Turns& largest,
                                                   const TurnsAt& other);

}  // namespace stowage::import
